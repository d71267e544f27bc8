#!/usr/bin/env python3
"""Makes the tiny GGUF files in tests/data/gguf and their references.

Two independent computations stand behind each file. `logits` come from transformers in float32 on the weights as the `gguf` package
dequantises them from the finished file; the same file is run by the pinned llama.cpp with an F32 KV cache and plain attention, and the
largest difference is recorded (`peer_error`). For F32 files the two must agree to 1e-4 relative, or nothing is written: so names, row
orders, RoPE tables and vocabulary are right.

Run with the packages of scripts/requirements-goldens.txt, after make_tiny_models.py:  python scripts/make_tiny_ggufs.py [name ...]
"""

import argparse
import json
import pathlib
import tempfile

import gguf
import numpy
import torch
from gguf import GGMLQuantizationType as Type
from gguf import TokenType
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForCausalLM

import golden_io
import gguf_convert
import peer
import tiny_tokenizers as tt

OUT = golden_io.DATA / "gguf"
TINY = golden_io.DATA / "tiny"
TEXT = "The boats come in at 7, and the town wakes."
LONG = 48

# One layer with 256 columns in every matrix, so that K-quant super-blocks fit; a small vocabulary, since rows of it are large.
WIDE = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 101, "hidden_size": 256, "intermediate_size": 256,
    "num_hidden_layers": 1, "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 32, "hidden_act": "silu",
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "max_position_embeddings": 256, "tie_word_embeddings": True, "bos_token_id": 1,
    "eos_token_id": 2,
}
QUANTS = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS"]


def rope(scaling):
    return {"num_hidden_layers": 1, "max_position_embeddings": 128, "rope_scaling": scaling}


# name → the checkpoint it is made from, changes to its configuration, stored type of the matrices.
CONVERTED = {
    "llama-f32": {
        "from": "llama", "config": {"num_hidden_layers": 1}, "type": Type.F32, "prompts": {"text": "She counted the boats in 1987."}},
    "llama-f16": {"from": "llama-f16", "config": {}, "type": Type.F16},
    "llama-bf16": {"from": "llama-bf16", "config": {}, "type": Type.BF16},
    "llama-f16-split": {"from": "llama-f16", "config": {}, "type": Type.F16, "parts": 3, "same_as": "llama-f16"},
    "llama-rope-llama3": {
        "from": "llama-bf16", "type": Type.F32, "config": rope({
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 32})},
    "llama-rope-linear": {"from": "llama-bf16", "type": Type.F32, "config": rope({"rope_type": "linear", "factor": 4.0})},
    "llama-rope-yarn": {
        "from": "llama-bf16", "type": Type.F32,
        "config": rope({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32})},
    # SentencePiece vocabulary with a space put before the text. GGUF has no sliding window for this architecture.
    "llama-spm-f16": {"from": "mistral", "config": {"sliding_window": None}, "type": Type.F16},
    "qwen2-f32": {"from": "qwen2", "config": {"num_hidden_layers": 1}, "type": Type.F32},
    "qwen3-f32": {"from": "qwen3", "config": {"num_hidden_layers": 1}, "type": Type.F32},
    # llama.cpp fixes the score scale to the head size; linear scaling applies to the global layer only.
    "gemma3-f32": {
        "from": "gemma3", "type": Type.F32, "config": {
            "num_hidden_layers": 3, "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
            "sliding_window_pattern": 3, "query_pre_attn_scalar": 24, "rope_scaling": {"rope_type": "linear", "factor": 8.0}}},
}


def checkpoint(name, changes):
    """Configuration and f32 state dict of a tiny checkpoint, cut to the layers asked for."""
    directory = TINY / name
    config = json.loads((directory / "config.json").read_text()) | changes
    state = {}
    for file in sorted(directory.glob("*.safetensors")):
        state |= {n: t.to(torch.float32).numpy() for n, t in load_file(file).items()}
    layers = config["num_hidden_layers"]
    return config, {n: a for n, a in state.items() if not n.startswith("model.layers.") or int(n.split(".")[2]) < layers}


def write_vocabulary(writer, directory, config):
    """The tokenizer.json of `directory` as GGUF keys. Rows without a piece become unused placeholders, as converters write them."""
    document = json.loads((directory / "tokenizer.json").read_text())
    settings = json.loads((directory / "tokenizer_config.json").read_text())
    pieces = {i: p for p, i in document["model"]["vocab"].items()} | {t["id"]: t["content"] for t in document["added_tokens"]}
    control = {t["id"] for t in document["added_tokens"] if t["special"]}
    sentencepiece = document["model"]["byte_fallback"]
    types, tokens = [], []
    for i in range(config["vocab_size"]):
        piece = pieces.get(i, f"[PAD{i}]")
        tokens.append(piece)
        if i not in pieces:
            types.append(TokenType.UNUSED)
        elif piece == "<unk>":
            types.append(TokenType.UNKNOWN)
        elif i in control:
            types.append(TokenType.CONTROL)
        elif sentencepiece and piece.startswith("<0x"):
            types.append(TokenType.BYTE)
        else:
            types.append(TokenType.NORMAL)
    if sentencepiece:
        writer.add_tokenizer_model("llama")
        writer.add_tokenizer_pre("default")
        first = 256 + len(control)
        # As SentencePiece writes scores of a BPE model: minus the rank, 0 for what is never merged to.
        scores = [0.0 if t != TokenType.NORMAL else float(first - i) for i, t in enumerate(types)]
    else:
        pre = "smollm" if document["pre_tokenizer"]["pretokenizers"][0]["type"] == "Digits" else "qwen2"
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    if sentencepiece:
        writer.add_token_scores(scores)
        prefix = document["normalizer"]["type"] == "Sequence"
        writer.add_add_space_prefix(prefix)
    writer.add_token_types(types)
    if not sentencepiece:
        writer.add_token_merges([" ".join(m) for m in document["model"]["merges"]])
    writer.add_bos_token_id(config["bos_token_id"])
    eos = config["eos_token_id"]
    writer.add_eos_token_id(eos if isinstance(eos, int) else eos[0])
    if isinstance(eos, list):
        writer.add_eot_token_id(eos[1])
    writer.add_add_bos_token(settings["add_bos_token"])
    template = settings.get("chat_template")
    if (directory / "chat_template.jinja").exists():
        template = (directory / "chat_template.jinja").read_text()
    if template:
        writer.add_chat_template(template)


def write_gguf(path, name, config, state, directory, stored, parts=1):
    arch = gguf_convert.ARCHITECTURES[config["model_type"]]
    tensors = gguf_convert.to_gguf_tensors(config, state)
    options = {"split_max_tensors": -(-len(tensors) // parts)} if parts > 1 else {}
    writer = gguf_convert.new_writer(path, arch, f"tiny {name}", **options)
    gguf_convert.write_configuration(writer, config)
    write_vocabulary(writer, directory, config)
    writer.add_file_type({Type.F32: 0, Type.F16: 1, Type.BF16: 32}[stored])
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    for tensor, array in tensors.items():
        gguf_convert.write_tensor(writer, tensor, array, stored)
    gguf_convert.finish(writer)


def reference_model(paths, changes):
    """transformers' model of what the finished file (or its parts) holds. `changes`: configuration that GGUF has no key for."""
    config, state = gguf_convert.to_hf(paths)
    config = config | changes
    with tempfile.TemporaryDirectory() as temporary:
        (pathlib.Path(temporary) / "config.json").write_text(json.dumps(config))
        parsed = AutoConfig.from_pretrained(temporary)
    model = AutoModelForCausalLM.from_config(parsed, dtype=torch.float32, attn_implementation="eager")
    missing, unexpected = model.load_state_dict({n: torch.from_numpy(a.copy()) for n, a in state.items()}, strict=False)
    assert not unexpected and set(missing) <= ({"lm_head.weight"} if config["tie_word_embeddings"] else set()), (missing, unexpected)
    model.tie_weights()
    return model.eval()


class HalfGelu(torch.nn.Module):
    """GELU as llama.cpp has it on a CPU: a table over half-precision inputs with half-precision values."""

    def forward(self, x):
        return torch.nn.functional.gelu(x.half().float(), approximate="tanh").half().float()


def largest_relative_error(rows, reference):
    return float((abs(rows - reference).max(axis=1) / abs(reference).max(axis=1)).max())


def random_ids(tokenizer, seed):
    plain = [i for i in tokenizer.get_vocab().values() if not tokenizer.id_to_token(i).startswith("<")]
    return [int(i) for i in numpy.random.Generator(numpy.random.PCG64(seed)).choice(sorted(plain), LONG)]


def decided(entry, arrays):
    """Whether no greedy choice is so close that rounding in f32 could turn it."""
    return entry["greedy_margin"] > 5e-4 * abs(arrays[entry["logits"]]).max()


def make_reference(name, paths, tokenizer, legal, changes, stored, tolerance, text=TEXT):
    short = {"name": "short", "text": text, "ids": tokenizer.encode(text).ids}
    with peer.Model(paths[0]) as model:
        theirs = model.tokenize(text)
        assert theirs == short["ids"], f"{name}: llama.cpp tokenizes the text as {theirs}, tokenizers as {short['ids']}"
        tested = "  7 boats\n\nwake!  zq"
        assert model.tokenize(tested) == tokenizer.encode(tested).ids, (name, model.tokenize(tested), tokenizer.encode(tested).ids)
        reference = reference_model(paths, changes)
        entries, arrays = golden_io.reference_of(None, [short], legal, load=lambda _: reference)
        for seed in range(7, 20):
            long = {"name": "long", "ids": random_ids(tokenizer, seed)}
            (entry,), more = golden_io.reference_of(None, [long], legal, load=lambda _: reference)
            if decided(entry, more):
                break
        entries.append(entry)
        arrays |= more
        for entry in entries:
            ours = arrays[entry["logits"]]
            with model.context(256, kv=peer.F32) as context:
                rows = context.logits(entry["ids"])
            entry["peer_error"] = largest_relative_error(rows, ours)
            if tolerance is not None:
                exact = ours
                if "gemma" in name:
                    for layer in reference.model.layers:
                        layer.mlp.act_fn, keep = HalfGelu(), layer.mlp.act_fn
                    exact, _ = golden_io.forward(reference, entry["ids"])
                    for layer in reference.model.layers:
                        layer.mlp.act_fn = keep
                error = largest_relative_error(rows, exact)
                assert error <= tolerance, f"{name}, {entry['name']}: llama.cpp differs by {error:.2e} relative"
                assert decided(entry, arrays), f"{name}: greedy choices too close: {entry['greedy_margin']}"
            print(f"{name:20} {entry['name']:6} peer error {entry['peer_error']:.1e} relative, smallest greedy margin "
                  f"{entry['greedy_margin']:.4f}, {len(set(entry['greedy']))} different tokens")
    more = {"stored": stored, "peer": f"llama-cpp-python {peer.version()}, F32 KV cache"}
    golden_io.write_reference(f"gguf-{name}", f"gguf/{paths[0].name}", entries, arrays, **more)


def make_converted(name):
    recipe = CONVERTED[name]
    config, state = checkpoint(recipe["from"], recipe["config"])
    directory = TINY / recipe["from"]
    parts = recipe.get("parts", 1)
    for old in OUT.glob(f"{name}*.gguf"):
        if old.stem == name or old.stem.startswith(f"{name}-0000"):
            old.unlink()
    write_gguf(OUT / f"{name}.gguf", name, config, state, directory, recipe["type"], parts)
    paths = [OUT / f"{name}.gguf"] if parts == 1 else [OUT / f"{name}-{i:05}-of-{parts:05}.gguf" for i in range(1, parts + 1)]
    assert all(p.exists() for p in paths), sorted(OUT.iterdir())
    if "same_as" in recipe:
        ids = list(range(3, 3 + LONG))
        both = []
        for path in (paths[0], OUT / f"{recipe['same_as']}.gguf"):
            with peer.Model(path) as model, model.context(256, kv=peer.F32) as context:
                both.append(context.logits(ids))
        assert (both[0] == both[1]).all(), f"{name}: llama.cpp reads other weights from the parts than from the single file"
        return
    # GGUF says llama3 scaling only through its tensor of divisors, and has no key for these two.
    changes = {k: config[k] for k in ("rope_scaling", "query_pre_attn_scalar", "layer_types") if k in config}
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    legal = max(tokenizer.get_vocab().values()) + 1
    tolerance = None
    if recipe["type"] == Type.F32:
        tolerance = 3e-4 if "gemma" in name else 1e-4  # an input on the edge between two halves may fall to either side
    make_reference(name, paths, tokenizer, legal, changes, recipe["type"].name, tolerance, **recipe.get("prompts", {}))


def wide_base(directory):
    """The F32 file all quantised ones are made from, and its tokenizer."""
    import make_tiny_models

    tokenizer = tt.byte_level(tt.CHATML_TOKENS, WIDE["vocab_size"], "smollm", alphabet="corpus")
    tokenizer.save(str(directory / "tokenizer.json"))
    (directory / "tokenizer_config.json").write_text(json.dumps({"add_bos_token": False, "chat_template": tt.CHATML_TEMPLATE}))
    (directory / "config.json").write_text(json.dumps(WIDE))
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(directory), dtype=torch.float32)
    make_tiny_models.random_parameters(model, 11)
    state = {n: p.detach().numpy() for n, p in model.named_parameters()}
    write_gguf(directory / "wide.gguf", "wide", WIDE, state, directory, Type.F32)
    return directory / "wide.gguf", tokenizer


def make_quantised(names):
    with tempfile.TemporaryDirectory() as temporary:
        base, tokenizer = wide_base(pathlib.Path(temporary))
        for kind in names:
            name = f"llama-{kind.lower()}"
            path = OUT / f"{name}.gguf"
            peer.quantize(base, path, kind, pure=True)
            stored = {t.tensor_type.name for t in gguf.GGUFReader(path).tensors if len(t.shape) == 2}
            assert stored == {kind}, f"{path}: matrices are {stored}, expected {kind} only"
            make_reference(name, [path], tokenizer, WIDE["vocab_size"], {}, kind, None)


def main():
    parser = argparse.ArgumentParser(description="Makes the tiny GGUF files and their references.")
    parser.add_argument("names", nargs="*", help="files to make, without .gguf (default: all)")
    names = parser.parse_args().names or [*CONVERTED, *(f"llama-{q.lower()}" for q in QUANTS)]
    OUT.mkdir(parents=True, exist_ok=True)
    for name in names:
        if name in CONVERTED:
            make_converted(name)
    make_quantised([q for q in QUANTS if f"llama-{q.lower()}" in names])


if __name__ == "__main__":
    main()
