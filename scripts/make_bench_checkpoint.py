#!/usr/bin/env python3
"""Makes a checkpoint of random weights in the shape of a published model, to measure speed with.

    make_bench_checkpoint.py SHAPE DIR      SHAPE: llama-3.1-8b, qwen3-0.6b

Writes config.json, bf16 shards and a tokenizer whose vocabulary is as large as the model's (that of tests/data/tiny/llama with words
without meaning after it). Weights are normal with a deviation of 0.02, so that activations stay within the range of trained models.
Needs torch and safetensors; uses the GPU where there is one.
"""

import json
import pathlib
import sys

import torch
from safetensors.torch import save_file

SHAPES = {
    "llama-3.1-8b": {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128256,
        "max_position_embeddings": 131072, "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "tie_word_embeddings": False,
        "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                         "original_max_position_embeddings": 8192},
    },
    "qwen3-0.6b": {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 3072,
        "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
        "max_position_embeddings": 40960, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "tie_word_embeddings": True,
        "use_sliding_window": False, "sliding_window": None,
    },
}
COMMON = {"hidden_act": "silu", "attention_bias": False, "mlp_bias": False, "torch_dtype": "bfloat16", "bos_token_id": 1, "eos_token_id": 2}
ROOT = pathlib.Path(__file__).resolve().parent.parent


def tensors(shape):
    """Names and sizes, layer by layer."""
    hidden, mlp, dim = shape["hidden_size"], shape["intermediate_size"], shape["head_dim"]
    q, kv = shape["num_attention_heads"] * dim, shape["num_key_value_heads"] * dim
    yield {"model.embed_tokens.weight": (shape["vocab_size"], hidden)}
    for i in range(shape["num_hidden_layers"]):
        layer = {
            "self_attn.q_proj.weight": (q, hidden), "self_attn.k_proj.weight": (kv, hidden), "self_attn.v_proj.weight": (kv, hidden),
            "self_attn.o_proj.weight": (hidden, q), "mlp.gate_proj.weight": (mlp, hidden), "mlp.up_proj.weight": (mlp, hidden),
            "mlp.down_proj.weight": (hidden, mlp), "input_layernorm.weight": (hidden,), "post_attention_layernorm.weight": (hidden,),
        }
        if shape["model_type"] == "qwen3":
            layer |= {"self_attn.q_norm.weight": (dim,), "self_attn.k_norm.weight": (dim,)}
        yield {f"model.layers.{i}.{name}": size for name, size in layer.items()}
    last = {"model.norm.weight": (hidden,)}
    if not shape["tie_word_embeddings"]:
        last["lm_head.weight"] = (shape["vocab_size"], hidden)
    yield last


def main():
    name, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    shape = SHAPES[name]
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(shape | COMMON, indent=1))

    tokenizer = json.loads((ROOT / "tests/data/tiny/llama/tokenizer.json").read_text())
    vocab = tokenizer["model"]["vocab"]
    taken = set(vocab.values()) | {token["id"] for token in tokenizer["added_tokens"]}
    vocab |= {f"word{i}": i for i in range(shape["vocab_size"]) if i not in taken}
    (directory / "tokenizer.json").write_text(json.dumps(tokenizer))

    device = "cuda" if torch.cuda.is_available() else "cpu"
    generator = torch.Generator(device).manual_seed(1)
    groups, index, shards = list(tensors(shape)), {}, []
    per_shard = 9
    chunks = [groups[i:i + per_shard] for i in range(0, len(groups), per_shard)]
    for number, chunk in enumerate(chunks, 1):
        file = f"model-{number:05}-of-{len(chunks):05}.safetensors"
        data = {}
        for group in chunk:
            for key, size in group.items():
                values = torch.empty(size, dtype=torch.bfloat16, device=device).normal_(0, 0.02, generator=generator)
                data[key] = (values + 1 if len(size) == 1 else values).cpu()
                index[key] = file
        save_file(data, directory / file, metadata={"format": "pt"})
        shards.append(file)
    (directory / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    print(f"{directory}: {len(index)} tensors in {len(shards)} files")


if __name__ == "__main__":
    main()
