#!/usr/bin/env python3
"""Makes the goldens of the two real models in tests/data/real, and checks them against the peer on the machine at hand.

For each prompt the pinned llama.cpp generates up to 48 tokens greedily from the quantised file, as a user runs it (KV in f16). Along those
tokens the same weights, dequantised to float32, are run by transformers. Stored for every position: the float32 model's top logits
and its logits at fixed random ids, and how far llama.cpp was from them. A runtime is right when, along the same tokens, it is no further
from the float32 model than llama.cpp is, and where its first choice differs, the float32 model itself was nearly undecided.

  python scripts/make_real_goldens.py           makes them (packages of scripts/requirements-goldens.txt; fetched models)
  python scripts/make_real_goldens.py --check   runs only llama.cpp again and compares (packages of scripts/requirements-peer.txt)
"""

import argparse
import hashlib
import json
import pathlib
import sys

import jinja2.sandbox
import numpy
from safetensors.numpy import load_file

import peer
import real_prompts

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "tests" / "data" / "real"
TOKENS = 48
SUBSET = 160  # random ids whose logits are stored at every position
TOP = 24  # best ids of the float32 model stored at every position
SETTINGS = {"kv": "f16", "flash": True, "repack": True, "threads": 2}

MODELS = {
    "smollm2": {"file": "SmolLM2-135M-Instruct.Q4_1.gguf", "prompts": "chat"},
    "gemma3": {"file": "gemma-3-270m-q4_k_m.gguf", "prompts": "text"},
}


def render(model, messages):
    """The chat template of the file, rendered as transformers does it."""
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(model.chat_template())
    names = {"bos_token": model.piece(model.bos).decode(), "eos_token": model.piece(model.eos).decode()}
    return template.render(messages=messages, add_generation_prompt=True, **names)


def prompts_of(model, kind):
    """`{"name", "messages" or none, "text", "ids"}` of every prompt."""
    if kind == "text":
        return [{"name": n, "text": t, "ids": model.tokenize(t)} for n, t in real_prompts.TEXTS]
    prompts = []
    for name, messages in real_prompts.CHATS:
        text = render(model, messages)
        prompts.append({"name": name, "messages": messages, "text": text, "ids": model.tokenize(text)})
    return prompts


def peer_greedy(model, ids):
    """llama.cpp's greedy tokens (up to the first end token) and its logits `[tokens, vocabulary]` at each of them."""
    with peer_context(model, len(ids)) as context:
        row, tokens, rows = context.logits(ids, keep=len(ids) - 1)[0], [], []
        while True:
            tokens.append(int(row.argmax()))
            rows.append(row)
            if len(tokens) == TOKENS or model.is_end(tokens[-1]):
                return tokens, numpy.stack(rows)
            row = context.logits([tokens[-1]], first=len(ids) + len(tokens) - 1)[0]


def peer_forced(model, ids, tokens):
    """llama.cpp's logits at each of `tokens`, fed one by one."""
    with peer_context(model, len(ids)) as context:
        rows = [context.logits(ids, keep=len(ids) - 1)[0]]
        for i, token in enumerate(tokens[:-1]):
            rows.append(context.logits([token], first=len(ids) + i)[0])
        return numpy.stack(rows)


def errors_by_setting(path, prompts, tokens, references):
    """llama.cpp's error along the same tokens, all in one batch, with and without flash attention and with an f32 KV cache: how much
    of it is chance. `max` and `median` are over the prompts' largest errors."""
    tried = []
    with peer.Model(path, repack=SETTINGS["repack"]) as model:
        for flash, kv in ((True, peer.F16), (False, peer.F16), (False, peer.F32)):
            worst, flips = [], 0
            for prompt, forced, reference in zip(prompts, tokens, references):
                ids = prompt["ids"]
                with model.context(len(ids) + TOKENS + 1, threads=SETTINGS["threads"], flash=flash, kv=kv) as context:
                    rows = context.logits(ids + forced[:-1], keep=len(ids) - 1)
                worst.append(float(abs(rows - reference).max()))
                flips += int((rows.argmax(axis=1) != reference.argmax(axis=1)).sum())
            median = float(numpy.median(worst))
            tried.append({"flash": flash, "kv": "f16" if kv == peer.F16 else "f32", "max": max(worst), "median": median, "flips": flips})
    return tried


def stored_squares(rows, subset, reference_subset, top_ids, reference_top):
    """Sum and number of llama.cpp's squared differences to the float32 model, over the logits that are stored."""
    off = numpy.concatenate([rows[:, subset] - reference_subset, numpy.take_along_axis(rows, top_ids, 1) - reference_top], axis=1)
    return float((off.astype(numpy.float64) ** 2).sum()), off.size


def root_mean_square(squares):
    return float(numpy.sqrt(sum(s for s, _ in squares) / sum(n for _, n in squares)))


def peer_context(model, prompt):
    return model.context(prompt + TOKENS + 1, threads=SETTINGS["threads"], flash=SETTINGS["flash"], kv=peer.F16)


def float_model(path):
    """The file's weights, dequantised, as a float32 model of transformers."""
    import tempfile

    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    import gguf_convert

    config, state = gguf_convert.to_hf([path])
    with tempfile.TemporaryDirectory() as temporary:
        (pathlib.Path(temporary) / "config.json").write_text(json.dumps(config))
        parsed = AutoConfig.from_pretrained(temporary)
    model = AutoModelForCausalLM.from_config(parsed, dtype=torch.float32, attn_implementation="eager")
    missing, unexpected = model.load_state_dict({n: torch.from_numpy(a.copy()) for n, a in state.items()}, strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}, (missing, unexpected)
    model.tie_weights()
    return model.eval()


def float_logits(model, ids, tokens):
    import torch

    with torch.no_grad():
        out = model(torch.tensor([ids + tokens[:-1]]), use_cache=False, logits_to_keep=len(tokens))
    return out.logits[0].numpy()


def margins(rows):
    """First choice and its distance to the second, per position."""
    second, first = numpy.sort(numpy.partition(rows, -2, axis=1)[:, -2:], axis=1).T
    return rows.argmax(axis=1).astype(numpy.int32), (first - second).astype(numpy.float32)


def make(name, models):
    import torch
    import transformers

    import golden_io

    recipe = MODELS[name]
    path = models / recipe["file"]
    with peer.Model(path, repack=SETTINGS["repack"]) as model:
        prompts = prompts_of(model, recipe["prompts"])
        runs = [peer_greedy(model, p["ids"]) for p in prompts]
        n_vocab = model.n_vocab
        texts = ["".join(model.piece(t).decode("utf-8", "replace") for t in tokens) for tokens, _ in runs]
    reference_model = float_model(path)
    rng = numpy.random.Generator(numpy.random.PCG64(160))
    subset = numpy.sort(rng.choice(n_vocab, SUBSET, replace=False)).astype(numpy.int32)
    arrays, entries, flips, squares = {"subset_ids": subset}, [], 0, []
    references = [float_logits(reference_model, p["ids"], tokens) for p, (tokens, _) in zip(prompts, runs)]
    for prompt, (tokens, theirs), text, reference in zip(prompts, runs, texts, references):
        top = numpy.argsort(-reference, axis=1, kind="stable")[:, :TOP].astype(numpy.int32)
        error = abs(theirs - reference)
        choice, margin = margins(theirs)
        stored = numpy.maximum(error[:, subset].max(axis=1), numpy.take_along_axis(error, top, 1).max(axis=1))
        key = prompt["name"]
        squares.append(stored_squares(theirs, subset, reference[:, subset], top, numpy.take_along_axis(reference, top, 1)))
        arrays |= {
            f"{key}.subset": reference[:, subset], f"{key}.top_ids": top, f"{key}.top_logits": numpy.take_along_axis(reference, top, 1),
            f"{key}.peer_choice": choice, f"{key}.peer_margin": margin, f"{key}.peer_error": error.max(axis=1),
            f"{key}.peer_error_stored": stored,
        }
        flips += int((choice != reference.argmax(axis=1)).sum())
        errors = {"peer_error": float(error.max()), "peer_error_stored": float(stored.max())}
        entries.append(prompt | {"tokens": tokens, "peer_text": text} | errors)
        print(f"{name} {key:12} {len(prompt['ids']):4} + {len(tokens)} tokens, peer error {error.max():.3f}, {text[:60]!r}")
    worst = [e["peer_error"] for e in entries]
    document = {
        "model": recipe["file"], "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "peer": {"llama_cpp_python": peer.version(), "system": peer.system_info(), **SETTINGS},
        "reference": {"transformers": transformers.__version__, "torch": torch.__version__, "dtype": "float32", "attention": "eager"},
        "positions": sum(len(e["tokens"]) for e in entries), "peer_flips": flips,
        "peer_error": max(worst), "peer_error_median": float(numpy.median(worst)),
        "peer_error_stored": max(e["peer_error_stored"] for e in entries),
        "peer_error_rms_stored": root_mean_square(squares),
        "peer_error_by_setting": errors_by_setting(path, prompts, [t for t, _ in runs], references),
        "prompts": entries,
    }
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{name}.json").write_text(golden_io.compact_json(document))
    golden_io.save_arrays(arrays, OUT / f"{name}.safetensors")
    print(f"{name}: {document['positions']} positions, peer error {document['peer_error']:.3f} (median of prompts "
          f"{document['peer_error_median']:.3f}), {flips} first choices unlike the float32 model's")


def check(name, models):
    """Runs llama.cpp along the stored tokens again. Its choices may differ only where it was undecided, and its margins by a tenth of
    its error: another processor sums in another order. Returns whether all is as stored."""
    document = json.loads((OUT / f"{name}.json").read_text())
    arrays = load_file(OUT / f"{name}.safetensors")
    allowed = 0.1 * document["peer_error"]
    good, squares = True, []
    with peer.Model(models / document["model"], repack=SETTINGS["repack"]) as model:
        for entry, fresh in zip(document["prompts"], prompts_of(model, MODELS[name]["prompts"]), strict=True):
            key = entry["name"]
            rows = peer_forced(model, entry["ids"], entry["tokens"])
            stored = [arrays[f"{key}.{name}"] for name in ("subset", "top_ids", "top_logits")]
            squares.append(stored_squares(rows, arrays["subset_ids"], *stored))
            choice, margin = margins(rows)
            stored = arrays[f"{key}.peer_margin"]
            turned = (choice != arrays[f"{key}.peer_choice"]) & (numpy.minimum(margin, stored) > allowed)
            moved = float(abs(margin - stored)[choice == arrays[f"{key}.peer_choice"]].max())
            same_ids = fresh["ids"] == entry["ids"]
            if not same_ids or turned.any() or moved > allowed:
                good = False
                print(f"{name} {key}: ids {'same' if same_ids else 'DIFFER'}, {int(turned.sum())} choices turned, margins moved {moved:.3f} "
                      f"(allowed {allowed:.3f})", file=sys.stderr)
    rms, stored = root_mean_square(squares), document["peer_error_rms_stored"]
    if abs(rms - stored) > 0.05 * stored:
        good = False
        print(f"{name}: root mean square error {rms:.4f}, stored {stored:.4f}", file=sys.stderr)
    print(f"{name}: llama.cpp {peer.version()} {'gives the stored goldens' if good else 'does NOT give the stored goldens'}", file=sys.stderr)
    return good


def main():
    parser = argparse.ArgumentParser(description="Makes or checks the goldens of the real models.")
    parser.add_argument("--check", action="store_true", help="run llama.cpp again and compare; write nothing")
    parser.add_argument("--only", choices=sorted(MODELS), action="append")
    parser.add_argument("--models", type=pathlib.Path, default=ROOT / "target" / "models")
    arguments = parser.parse_args()
    names = arguments.only or list(MODELS)
    if arguments.check:
        sys.exit(0 if all([check(n, arguments.models) for n in names]) else 1)
    for name in names:
        make(name, arguments.models)


if __name__ == "__main__":
    main()
