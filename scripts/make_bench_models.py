#!/usr/bin/env python3
"""Makes the model files that benches need besides the two fetched ones, in target/models, with the pinned llama.cpp.

  SmolLM2-135M-Instruct.<type>.gguf   the fetched Q4_1 file quantised anew
  wide-2048.<type>.gguf               a llama of width 2,048 with random weights and SmolLM2's vocabulary: SmolLM2's rows of 576 are no
                                      multiple of 256, so most of its K-quant matrices fall back to other types; this one's do not

Names are `smollm2:<type>` and `wide:<type>`, types as in scripts/peer.py (`F32`, `Q4_0`, `Q4_K_M`, ...). Files that are there are kept.
"""

import argparse
import os
import pathlib
import sys

import gguf
import numpy
from gguf import GGMLQuantizationType as Type

import gguf_convert
import peer

ROOT = pathlib.Path(__file__).resolve().parent.parent
SMOLLM2 = "SmolLM2-135M-Instruct"
DEFAULT = [f"smollm2:{t}" for t in ("Q4_0", "Q4_K_M", "Q6_K", "Q8_0", "BF16", "F16")] + ["wide:Q4_K_M", "wide:Q6_K"]
WIDE = {
    "model_type": "llama", "vocab_size": 49152, "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 4,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64, "rms_norm_eps": 1e-5, "rope_theta": 100000.0,
    "max_position_embeddings": 8192, "tie_word_embeddings": True,
}


def path_of(name, directory):
    family, kind = name.split(":")
    return directory / {"smollm2": f"{SMOLLM2}.{kind}.gguf", "wide": f"wide-2048.{kind}.gguf"}[family]


def make(name, directory):
    """Makes one file unless it is there; returns its path."""
    family, kind = name.split(":")
    target = path_of(name, directory)
    if target.exists():
        return target
    smollm2 = directory / f"{SMOLLM2}.Q4_1.gguf"
    if not smollm2.exists():
        raise FileNotFoundError(f"{smollm2}: not there; scripts/fetch_models.py brings it")
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        if family == "smollm2":
            peer.quantize(smollm2, partial, kind)
        elif kind == "F16":
            write_wide(partial, smollm2)
        else:
            peer.quantize(make("wide:F16", directory), partial, kind)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    print(f"{target}: {target.stat().st_size / 1e6:.0f} MB", file=sys.stderr)
    return target


def write_wide(path, vocabulary_from):
    """The random model in F16. Values are small enough for activations to stay of order one through the layers."""
    rng = numpy.random.Generator(numpy.random.PCG64(2048))
    c = WIDE
    width, kv = c["hidden_size"], c["num_key_value_heads"] * c["head_dim"]
    shapes = {"token_embd": (c["vocab_size"], width), "output_norm": (width,)}
    for i in range(c["num_hidden_layers"]):
        for part, shape in {
            "attn_norm": (width,), "attn_q": (width, width), "attn_k": (kv, width), "attn_v": (kv, width), "attn_output": (width, width),
            "ffn_norm": (width,), "ffn_gate": (c["intermediate_size"], width), "ffn_up": (c["intermediate_size"], width),
            "ffn_down": (width, c["intermediate_size"]),
        }.items():
            shapes[f"blk.{i}.{part}"] = shape
    writer = gguf_convert.new_writer(path, "llama", "random llama of width 2048")
    gguf_convert.write_configuration(writer, c)
    copy_vocabulary(writer, gguf.GGUFReader(vocabulary_from))
    writer.add_file_type(1)
    for name, shape in shapes.items():
        values = rng.standard_normal(shape, dtype=numpy.float32)
        values = 1 + 0.1 * values if len(shape) == 1 else values / shape[1] ** 0.5
        gguf_convert.write_tensor(writer, f"{name}.weight", values, Type.F16)
    gguf_convert.finish(writer)


def copy_vocabulary(writer, reader):
    for key, field in reader.fields.items():
        if key.startswith("tokenizer."):
            writer.add_key_value(key, field.contents(), field.types[0], field.types[-1] if len(field.types) > 1 else None)


def main():
    parser = argparse.ArgumentParser(description="Makes quantised SmolLM2 files and the 2,048-wide random model.")
    parser.add_argument("names", nargs="*", default=DEFAULT, help=f"smollm2:<type> or wide:<type> (default: {' '.join(DEFAULT)})")
    parser.add_argument("--dir", type=pathlib.Path, default=ROOT / "target" / "models")
    arguments = parser.parse_args()
    for name in arguments.names:
        print(make(name, arguments.dir))


if __name__ == "__main__":
    main()
