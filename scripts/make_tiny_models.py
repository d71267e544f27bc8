#!/usr/bin/env python3
"""Makes the tiny Hugging Face checkpoints in tests/data/tiny and their references in tests/data/reference.

Every parameter is random, norms and biases included, so that a forgotten one changes the logits. Shapes are picked to be awkward:
grouped query heads, head sizes that are not width / heads where the family allows it, a vocabulary that is no multiple of 16, widths
that are no multiple of 64 beyond the first. Prompts go past the sliding window and the original RoPE length. Checkpoints that differ
only in configuration share one weight file through symbolic links, as snapshots in a hub cache do.

Run with the packages of scripts/requirements-goldens.txt:  python scripts/make_tiny_models.py [name ...]
"""

import argparse
import json
import os
import shutil

import numpy
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForCausalLM

import golden_io
import tiny_tokenizers as tt

TINY = golden_io.DATA / "tiny"
SHORT_TEXT = "The boats come in at 7, and the town wakes."
WINDOW = 24
ORIGINAL_LENGTH = 32
LONG = 72

LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 291, "hidden_size": 64, "intermediate_size": 104,
    "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 24, "hidden_act": "silu",
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "max_position_embeddings": 256, "tie_word_embeddings": False,
    "attention_bias": False, "mlp_bias": False, "bos_token_id": 1, "eos_token_id": 2,
}
MISTRAL = {
    "architectures": ["MistralForCausalLM"], "model_type": "mistral", "vocab_size": 347, "hidden_size": 56, "intermediate_size": 88,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "hidden_act": "silu",
    "rms_norm_eps": 1e-5, "rope_theta": 1000000.0, "sliding_window": WINDOW, "max_position_embeddings": 256,
    "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2,
}
QWEN2 = {
    "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "vocab_size": 291, "hidden_size": 64, "intermediate_size": 104,
    "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_act": "silu", "rms_norm_eps": 1e-6,
    "rope_theta": 1000000.0, "use_sliding_window": False, "sliding_window": WINDOW, "max_window_layers": 3,
    "max_position_embeddings": 256, "tie_word_embeddings": True, "bos_token_id": 0, "eos_token_id": 2,
}
# Rows beyond the tokenizer: 275 pieces, ids up to 280 with holes, 291 rows (FIELD_CASES 46).
QWEN3 = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": 291, "hidden_size": 48, "intermediate_size": 80,
    "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 16, "hidden_act": "silu",
    "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "rope_scaling": None, "use_sliding_window": False, "sliding_window": None,
    "max_window_layers": 3, "attention_bias": False, "max_position_embeddings": 256, "tie_word_embeddings": False,
    "bos_token_id": 0, "eos_token_id": 2,
}
GEMMA3 = {
    "architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "vocab_size": 347, "hidden_size": 48,
    "intermediate_size": 72, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 24,
    "hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0,
    "sliding_window": WINDOW, "layer_types": ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"],
    "query_pre_attn_scalar": 40, "attention_bias": False, "max_position_embeddings": 256, "final_logit_softcapping": None,
    "attn_logit_softcapping": None, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": [1, 5], "use_cache": True,
}


def without(config, *keys, **changes):
    return {k: v for k, v in config.items() if k not in keys} | changes


def rope_variant(scaling, **changes):
    return without(LLAMA, max_position_embeddings=128, rope_scaling=scaling, **changes)


# name → how it is made. `weights`: name of the checkpoint whose weights and tokenizer are linked; `seed`: own random weights.
MODELS = {
    "llama": {"config": LLAMA, "tokenizer": "smollm", "seed": 1, "long": 150, "hidden": True},
    "llama-f16": {
        "config": without(LLAMA, num_hidden_layers=2, torch_dtype="float16"), "tokenizer": "smollm", "seed": 2, "dtype": torch.float16},
    "llama-bf16": {
        "config": without(LLAMA, num_hidden_layers=2, tie_word_embeddings=True, torch_dtype="bfloat16"), "tokenizer": "smollm",
        "seed": 3, "dtype": torch.bfloat16},
    "llama-rope-llama3": {
        "config": rope_variant({
            "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": ORIGINAL_LENGTH,
            "rope_type": "llama3"}),
        "weights": "llama"},
    # The shape transformers 5 writes: everything in rope_parameters, no rope_theta outside (FIELD_CASES 115).
    "llama-rope-linear": {
        "config": without(LLAMA, "rope_theta", max_position_embeddings=128,
                          rope_parameters={"rope_type": "linear", "factor": 4.0, "rope_theta": 500000.0}),
        "weights": "llama"},
    "llama-rope-yarn": {
        "config": rope_variant({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": ORIGINAL_LENGTH}),
        "weights": "llama"},
    # The oldest spelling: "type". Positions go past max_position_embeddings, up to factor times it.
    "llama-rope-dynamic": {
        "config": without(LLAMA, max_position_embeddings=48, rope_scaling={"type": "dynamic", "factor": 2.0}), "weights": "llama"},
    "mistral": {"config": MISTRAL, "tokenizer": "sp-llama", "seed": 4, "shards": 2},
    "qwen2": {"config": QWEN2, "tokenizer": "qwen", "seed": 5},
    "qwen2-window": {
        "config": without(QWEN2, use_sliding_window=True, max_window_layers=1), "weights": "qwen2"},
    # No reference of its own: its logits are qwen2's (transformers unties such a checkpoint with a warning, the field does not).
    "qwen2-tied-head": {"config": QWEN2, "weights": "qwen2", "zero_head": True},
    "qwen3": {"config": QWEN3, "tokenizer": "qwen-sparse", "seed": 42},
    "gemma3": {"config": GEMMA3, "tokenizer": "sp-gemma", "seed": 26, "hidden": True},
    # As the larger Gemma 3 files say it: a pattern number instead of a list of layers, and linear scaling of the global layers only.
    "gemma3-pattern": {
        "config": without(GEMMA3, "layer_types", sliding_window_pattern=2, rope_scaling={"rope_type": "linear", "factor": 8.0}),
        "weights": "gemma3"},
}


def random_parameters(model, seed):
    """Fills every parameter. Matrices keep activations of order one and attention scores of order 1.7, so that positions matter;
    norm weights and biases have real spread. A tied head gets small embeddings and a large final norm, or every token would predict
    itself."""
    rng = numpy.random.Generator(numpy.random.PCG64(seed))
    gemma = model.config.model_type.startswith("gemma")
    tied = model.config.tie_word_embeddings
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            noise = torch.from_numpy(rng.standard_normal(tuple(p.shape), dtype=numpy.float32))
            if "norm" in name:
                centre = 5.0 if tied and name == "model.norm.weight" else 1.7 if "q_norm" in name or "k_norm" in name else 1.0
                value = centre * (0.3 * noise + 1.0) - (1.0 if gemma else 0.0)  # Gemma multiplies by 1 + weight
            elif name.endswith("bias"):
                value = 0.4 * noise
            elif "embed_tokens" in name:
                value = (0.1 if tied else 1.0) * noise
            elif "lm_head" in name:
                value = 2.5 / p.shape[1] ** 0.5 * noise
            else:
                value = 1.3 / p.shape[1] ** 0.5 * noise
            p.copy_(value)


def make_tokenizer(style, directory, vocab):
    """Writes tokenizer.json, tokenizer_config.json and generation_config.json; returns the first id without a piece."""
    template = None
    if style in ("smollm", "qwen", "qwen-sparse"):
        specials = tt.CHATML_TOKENS
        if style == "qwen-sparse":
            tokenizer = tt.byte_level(specials, 275, "qwen")
            document = json.loads(tokenizer.to_str())
            # The last pieces move up: ids 271 to 276 become holes, 277 to 280 are the pieces that were 271 to 274.
            document["model"]["vocab"] = {p: i if i < 271 else i + 6 for p, i in document["model"]["vocab"].items()}
            (directory / "tokenizer.json").write_text(json.dumps(document, ensure_ascii=False))
            legal = 281
        else:
            tokenizer, legal = tt.byte_level(specials, vocab, style), vocab
            tokenizer.save(str(directory / "tokenizer.json"), pretty=False)
        config = {
            "add_bos_token": False, "bos_token": "<|endoftext|>" if style != "smollm" else "<|im_start|>", "eos_token": "<|im_end|>",
            "pad_token": "<|endoftext|>", "unk_token": None, "clean_up_tokenization_spaces": False, "model_max_length": 256,
            "tokenizer_class": "PreTrainedTokenizerFast", "chat_template": tt.CHATML_TEMPLATE,
        }
        generation = {"bos_token_id": 1 if style == "smollm" else 0, "eos_token_id": [2, 0], "pad_token_id": 0}
    elif style == "sp-llama":
        tt.sentencepiece(tt.LLAMA_TOKENS, vocab, "llama").save(str(directory / "tokenizer.json"), pretty=False)
        def as_object(text):  # special tokens written as objects (FIELD_CASES 92)
            return {"__type": "AddedToken", "content": text, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False}

        config = {
            "add_bos_token": True, "add_eos_token": False, "bos_token": as_object("<s>"), "eos_token": as_object("</s>"),
            "unk_token": as_object("<unk>"), "pad_token": None, "clean_up_tokenization_spaces": False, "legacy": True,
            "model_max_length": 256, "tokenizer_class": "LlamaTokenizer",
        }
        generation, legal = {"bos_token_id": 1, "eos_token_id": 2}, vocab
    elif style == "sp-gemma":
        tt.sentencepiece(tt.GEMMA_TOKENS, vocab, "gemma").save(str(directory / "tokenizer.json"), pretty=False)
        config = {
            "add_bos_token": True, "bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>",
            "clean_up_tokenization_spaces": False, "model_max_length": 256, "tokenizer_class": "GemmaTokenizer",
        }
        template = tt.GEMMA_TEMPLATE  # in its own file, as newer repositories have it (FIELD_CASES 86)
        generation, legal = {"bos_token_id": 2, "eos_token_id": [1, 5], "pad_token_id": 0, "do_sample": False}, vocab
    else:
        raise ValueError(style)
    (directory / "tokenizer_config.json").write_text(golden_io.compact_json(config))
    (directory / "generation_config.json").write_text(golden_io.compact_json(generation))
    if template:
        (directory / "chat_template.jinja").write_text(template)
    return legal


def save_weights(model, directory, dtype, shards):
    tensors = {n: p.detach().to(dtype).contiguous() for n, p in model.named_parameters()}
    if shards == 1:
        save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
        return
    names = sorted(tensors)
    cut = [names[i::shards] for i in range(shards)]  # interleaved: one layer's tensors lie in both files
    weight_map = {}
    for i, part in enumerate(cut, 1):
        file = f"model-{i:05}-of-{shards:05}.safetensors"
        save_file({n: tensors[n] for n in part}, directory / file, metadata={"format": "pt"})
        weight_map |= {n: file for n in part}
    write_index(directory, weight_map, sum(t.numel() * t.element_size() for t in tensors.values()))


def write_index(directory, weight_map, total):
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))}
    (directory / "model.safetensors.index.json").write_text(golden_io.compact_json(index))


def link_from(source, directory, zero_head):
    """Links the source checkpoint's files. With `zero_head` its tied model gets a head of zeros that must not be used
    (FIELD_CASES 103)."""
    for file in sorted((TINY / source).iterdir()):
        if file.name == "config.json":
            continue
        name = file.name
        if zero_head and name == "model.safetensors":
            name = "model-00001-of-00002.safetensors"
        os.symlink(os.path.join("..", source, file.name), directory / name)
    if zero_head:
        config = json.loads((directory / "config.json").read_text())
        head = torch.zeros(config["vocab_size"], config["hidden_size"], dtype=torch.float16)
        save_file({"lm_head.weight": head}, directory / "model-00002-of-00002.safetensors", metadata={"format": "pt"})
        tensors = load_file(directory / "model-00001-of-00002.safetensors")
        weight_map = {n: "model-00001-of-00002.safetensors" for n in tensors} | {"lm_head.weight": "model-00002-of-00002.safetensors"}
        write_index(directory, weight_map, sum(t.nbytes for t in [*tensors.values(), head]))


def first_id_without_piece(directory):
    return max(Tokenizer.from_file(str(directory / "tokenizer.json")).get_vocab().values()) + 1


def prompts_for(directory, legal, long, seed):
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    known = sorted(tokenizer.get_vocab().values())
    plain = [i for i in known if not (tokenizer.id_to_token(i) or "").startswith("<")]
    rng = numpy.random.Generator(numpy.random.PCG64(1000 + seed))
    return [
        {"name": "short", "text": SHORT_TEXT, "ids": tokenizer.encode(SHORT_TEXT).ids},
        {"name": "long", "ids": [int(i) for i in rng.choice(plain, long)]},
    ]


def make(name):
    recipe = MODELS[name]
    directory = TINY / name
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    (directory / "config.json").write_text(golden_io.compact_json(recipe["config"]))
    if "weights" in recipe:
        link_from(recipe["weights"], directory, recipe.get("zero_head", False))
        if "zero_head" in recipe:
            return
        legal = first_id_without_piece(directory)
    else:
        legal = make_tokenizer(recipe["tokenizer"], directory, recipe["config"]["vocab_size"])
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(directory), dtype=torch.float32)
        random_parameters(model, recipe["seed"])
        save_weights(model, directory, recipe.get("dtype", torch.float32), recipe.get("shards", 1))

    prompts = prompts_for(directory, legal, recipe.get("long", LONG), recipe.get("seed", 99))
    entries, arrays = golden_io.reference_of(directory, prompts, legal, recipe.get("hidden", False))
    golden_io.write_reference(name, f"tiny/{name}", entries, arrays)
    for e in entries:
        logits = arrays[e["logits"]]
        print(f"{name:20} {e['name']:6} {len(e['ids']):4} tokens, max |logit| {abs(logits).max():6.2f}, "
              f"smallest greedy margin {e['greedy_margin']:.4f}, {len(set(e['greedy']))} different tokens of {len(e['greedy'])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="models to make (default: all)")
    for name in parser.parse_args().names or MODELS:
        make(name)


if __name__ == "__main__":
    main()
