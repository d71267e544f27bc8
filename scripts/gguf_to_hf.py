#!/usr/bin/env python3
"""Makes a Hugging Face directory of a llama-architecture GGUF file, so that one model can be loaded through both doors.

Made for SmolLM2-135M-Instruct: the vocabulary and merges become tokenizer.json with the pre-tokeniser the model was published with
(each digit on its own, then the byte-level pattern of GPT-2), the weights are dequantised to F32, which keeps every value exactly, and
written in two shards with an index. Token ids, rendered prompts and f32 logits must then agree through either door.

Needs the packages of scripts/requirements-convert.txt (no torch); scripts/hf_copy.sh brings them. A second run with the same file does
nothing. The directory appears only when it is complete.
"""

import argparse
import hashlib
import json
import os
import pathlib
import shutil
import sys

try:
    import numpy
    from safetensors.numpy import save_file
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    import gguf_convert
    from gguf import GGUFReader, TokenType
except ImportError as error:
    sys.exit(f"gguf_to_hf: {error}; install scripts/requirements-convert.txt, or run scripts/hf_copy.sh, which does")

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "target" / "models"
VERSION = 1  # of what is written here; a change makes old copies be written anew
SHARDS = 2


class ConvertError(Exception):
    """Why the file cannot be converted, in words for the person at the terminal."""


def tokenizer_of(metadata):
    """The `tokenizers` object of a file's vocabulary."""
    kind, pre = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre")
    if (kind, pre) != ("gpt2", "smollm"):
        raise ConvertError(f"vocabulary of kind {kind!r} with pre-tokeniser {pre!r}; only 'gpt2' with 'smollm' is known here")
    tokens = metadata["tokenizer.ggml.tokens"]
    types = metadata["tokenizer.ggml.token_type"]
    merges = [tuple(m.split(" ", 1)) for m in metadata["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    added = {TokenType.CONTROL: True, TokenType.USER_DEFINED: False}
    for token, kind in zip(tokens, types):
        if kind in added:
            tokenizer.add_tokens([AddedToken(token, special=added[kind], normalized=False)])
    return tokenizer


def tokenizer_settings(metadata):
    tokens = metadata["tokenizer.ggml.tokens"]
    name = lambda key: tokens[metadata[key]] if key in metadata else None  # noqa: E731
    return {
        "add_bos_token": metadata.get("tokenizer.ggml.add_bos_token", False),
        "add_prefix_space": False,
        "bos_token": name("tokenizer.ggml.bos_token_id"),
        "eos_token": name("tokenizer.ggml.eos_token_id"),
        "unk_token": name("tokenizer.ggml.unknown_token_id"),
        "pad_token": name("tokenizer.ggml.padding_token_id"),
        "clean_up_tokenization_spaces": False,
        "model_max_length": metadata["llama.context_length"],
        "tokenizer_class": "PreTrainedTokenizerFast",
        "chat_template": metadata["tokenizer.chat_template"],
    }


def write_shards(state, directory):
    """Layers in order, cut where half of the bytes are reached, so that the second shard starts inside the stack of layers."""
    def place(name):
        parts = name.split(".")
        return (0, 0, name) if "embed" in name else (1, int(parts[2]), name) if parts[1] == "layers" else (2, 0, name)

    total = sum(a.nbytes for a in state.values())
    shards, done = [{} for _ in range(SHARDS)], 0
    for name in sorted(state, key=place):
        shards[min(done * SHARDS // total, SHARDS - 1)][name] = numpy.ascontiguousarray(state[name])
        done += state[name].nbytes
    weight_map = {}
    for i, shard in enumerate(shards, 1):
        file = f"model-{i:05}-of-{SHARDS:05}.safetensors"
        save_file(shard, directory / file, metadata={"format": "pt"})
        (directory / file).chmod(0o644)  # the writer leaves 0600
        weight_map |= {name: file for name in shard}
    write_json(directory / "model.safetensors.index.json", {"metadata": {"total_size": total}, "weight_map": weight_map})


def write_json(path, document):
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def convert(source, target):
    if not source.is_file():
        raise ConvertError(f"{source}: not there; scripts/fetch_models.py brings it")
    stamp = {"source": source.name, "sha256": hashlib.sha256(source.read_bytes()).hexdigest(), "version": VERSION}
    stamp_file = target / "converted_from.json"
    if stamp_file.is_file() and json.loads(stamp_file.read_text()) == stamp:
        print(f"{target}: present, made from this file", file=sys.stderr)
        return
    metadata = gguf_convert.read_metadata(GGUFReader(source))
    if metadata.get("general.architecture") != "llama":
        raise ConvertError(f"{source}: architecture {metadata.get('general.architecture')!r}; only 'llama' is converted")
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    partial.mkdir(parents=True)
    try:
        tokenizer_of(metadata).save(str(partial / "tokenizer.json"))
        write_json(partial / "tokenizer_config.json", tokenizer_settings(metadata))
        print(f"{source.name}: dequantising to F32", file=sys.stderr)
        config, state = gguf_convert.to_hf([source])
        pad = metadata.get("tokenizer.ggml.padding_token_id")
        write_json(partial / "config.json", config | {"torch_dtype": "float32", "pad_token_id": pad})
        generation = {k: config[k] for k in ("bos_token_id", "eos_token_id")} | {"pad_token_id": pad}
        write_json(partial / "generation_config.json", generation)
        write_shards(state, partial)
        write_json(partial / stamp_file.name, stamp)
        if target.exists():
            shutil.rmtree(target)
        os.replace(partial, target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    print(f"{target}: made from {source.name}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description="Makes a Hugging Face directory (F32, two shards) of a GGUF file.")
    parser.add_argument("--model", type=pathlib.Path, default=MODELS / "SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument("--out", type=pathlib.Path, default=MODELS / "SmolLM2-135M-Instruct-hf")
    arguments = parser.parse_args()
    try:
        convert(arguments.model, arguments.out)
    except (ConvertError, OSError) as error:
        sys.exit(f"gguf_to_hf: {error}")
    print(arguments.out)


if __name__ == "__main__":
    main()
