"""Between Hugging Face checkpoints and GGUF files, both ways, for the families Tactus knows: tensor names, the row order of q and k,
norm offsets, configuration keys. Needs numpy and the `gguf` package only.

GGUF conventions (the llama.cpp converters are their definition): arch `llama` stores the rows of q and k so that RoPE turns neighbouring
pairs, Hugging Face so that it turns row i with row i + head_dim/2; `gemma3` stores 1 + the norm weight; llama3 RoPE scaling is a tensor of
divisors, `rope_freqs.weight`; a tied head has no `output.weight`.
"""

import math

import gguf
import numpy
from gguf import GGMLQuantizationType as Type
from gguf import GGUFReader, GGUFWriter

TOP = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
LAYER = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}
GEMMA_LAYER = LAYER | {
    "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
ARCHITECTURES = {"llama": "llama", "mistral": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "gemma3_text": "gemma3"}


def gguf_name(name, arch):
    """`model.layers.3.mlp.up_proj.weight` → `blk.3.ffn_up.weight`."""
    stem, suffix = name.rsplit(".", 1)
    if stem in TOP:
        return f"{TOP[stem]}.{suffix}"
    _, _, layer, part = stem.split(".", 3)
    return f"blk.{layer}.{(GEMMA_LAYER if arch == 'gemma3' else LAYER)[part]}.{suffix}"


def hf_name(name, arch):
    """The inverse of `gguf_name`; None for tensors Hugging Face has no place for (`rope_freqs.weight`)."""
    stem, suffix = name.rsplit(".", 1)
    for hf, ours in TOP.items():
        if ours == stem:
            return f"{hf}.{suffix}"
    if not stem.startswith("blk."):
        return None
    _, layer, part = stem.split(".", 2)
    back = {v: k for k, v in (GEMMA_LAYER if arch == "gemma3" else LAYER).items()}
    return f"model.layers.{layer}.{back[part]}.{suffix}"


def pair_rows(array, heads):
    """Rows of `heads` heads, from halves (i, i + d/2) to neighbours (2i, 2i + 1)."""
    half = array.shape[0] // heads // 2
    return array.reshape(heads, 2, half, -1).swapaxes(1, 2).reshape(array.shape)


def unpair_rows(array, heads):
    """The inverse of `pair_rows`."""
    half = array.shape[0] // heads // 2
    return array.reshape(heads, half, 2, -1).swapaxes(1, 2).reshape(array.shape)


def to_gguf_tensors(config, state):
    """GGUF name → f32 array, from a Hugging Face state dict of f32 arrays."""
    arch = ARCHITECTURES[config["model_type"]]
    tensors = {}
    for name, array in state.items():
        if name == "lm_head.weight" and config.get("tie_word_embeddings", arch == "gemma3"):
            continue
        if arch == "llama" and (".q_proj." in name or ".k_proj." in name):
            array = pair_rows(array, config["num_attention_heads" if ".q_proj." in name else "num_key_value_heads"])
        if arch == "gemma3" and name.endswith("norm.weight"):
            array = array + numpy.float32(1)
        tensors[gguf_name(name, arch)] = array
    scaling = config.get("rope_scaling") or {}
    if scaling.get("rope_type") == "llama3":
        tensors["rope_freqs.weight"] = llama3_divisors(config["rope_theta"], config["head_dim"], scaling)
    return tensors


def llama3_divisors(theta, head_dim, scaling):
    """What each RoPE frequency is divided by under llama3 scaling, `[head_dim / 2]` (Llama 3.1's published rule)."""
    original = scaling["original_max_position_embeddings"]
    low, high, factor = scaling["low_freq_factor"], scaling["high_freq_factor"], scaling["factor"]
    divisors = []
    for i in range(head_dim // 2):
        wavelength = 2 * math.pi * theta ** (2 * i / head_dim)
        if wavelength < original / high:
            divisors.append(1.0)
        elif wavelength > original / low:
            divisors.append(factor)
        else:
            smooth = (original / wavelength - low) / (high - low)
            divisors.append(1.0 / ((1 - smooth) / factor + smooth))
    return numpy.array(divisors, numpy.float32)


def write_configuration(writer, config):
    """The architecture's keys of a GGUF file, from a Hugging Face configuration."""
    arch = ARCHITECTURES[config["model_type"]]
    heads = config["num_attention_heads"]
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    if config.get("head_dim"):
        writer.add_key_length(head_dim)
        writer.add_value_length(head_dim)
    if arch == "llama":
        writer.add_vocab_size(config["vocab_size"])
        writer.add_rope_dimension_count(head_dim)
    if arch == "gemma3":
        writer.add_sliding_window(config["sliding_window"])
        if config["sliding_window_pattern"] != 6:
            writer.add_sliding_window_pattern(config["sliding_window_pattern"])
    scaling = config.get("rope_scaling") or {}
    kind = scaling.get("rope_type")
    if kind == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(scaling["factor"])
    elif kind == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(scaling["factor"])
        writer.add_rope_scaling_orig_ctx_len(scaling["original_max_position_embeddings"])
    elif kind not in (None, "llama3"):
        raise ValueError(f"no GGUF spelling known for rope_scaling {scaling}")


def write_tensor(writer, name, array, stored):
    """Adds `array` (f32) in the type `stored`; vectors stay F32, as llama.cpp keeps them."""
    if array.ndim == 1 or stored == Type.F32:
        writer.add_tensor(name, numpy.ascontiguousarray(array, numpy.float32))
    elif stored == Type.F16:
        writer.add_tensor(name, array.astype(numpy.float16))
    else:
        writer.add_tensor(name, gguf.quants.quantize(numpy.ascontiguousarray(array, numpy.float32), stored), raw_dtype=stored)


def read_metadata(reader):
    """All keys of a file as plain Python values."""
    return {key: field.contents() for key, field in reader.fields.items() if not key.startswith("GGUF.")}


def dequantised(tensor):
    """A tensor's values in f32, rows first, by the `gguf` package's own decoders."""
    return gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32, copy=False).reshape(
        [int(n) for n in reversed(tensor.shape)]
    )


def to_hf(paths):
    """A GGUF model (the parts of a split one in order) as `(configuration, state dict of f32 arrays)` of its Hugging Face model."""
    readers = [GGUFReader(path) for path in paths]
    metadata = read_metadata(readers[0])
    arch = metadata["general.architecture"]
    tensors = {t.name: t for reader in readers for t in reader.tensors}
    config = hf_configuration(metadata, tensors)
    state = {}
    for name, tensor in tensors.items():
        target = hf_name(name, arch)
        if target is None:
            continue
        array = dequantised(tensor)
        if arch == "llama" and (".q_proj." in target or ".k_proj." in target):
            array = unpair_rows(array, config["num_attention_heads" if ".q_proj." in target else "num_key_value_heads"])
        if arch == "gemma3" and target.endswith("norm.weight"):
            array = array - numpy.float32(1)
        state[target] = array
    return config, state


def hf_configuration(metadata, tensors):
    """The Hugging Face configuration that a GGUF file's keys stand for."""
    arch = metadata["general.architecture"]
    get = lambda key, default=None: metadata.get(f"{arch}.{key}", default)  # noqa: E731
    heads = get("attention.head_count")
    head_dim = get("attention.key_length", get("embedding_length") // heads)
    eps = get("attention.layer_norm_rms_epsilon")
    vocabulary = int(tensors["token_embd.weight"].shape[1])
    config = {
        "architectures": [{"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM",
                           "gemma3": "Gemma3ForCausalLM"}[arch]],
        "model_type": {"gemma3": "gemma3_text"}.get(arch, arch),
        "vocab_size": vocabulary,
        "hidden_size": get("embedding_length"),
        "intermediate_size": get("feed_forward_length"),
        "num_hidden_layers": get("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": get("attention.head_count_kv", heads),
        "head_dim": head_dim,
        "hidden_act": "silu",
        "rms_norm_eps": float(f"{eps:.6g}"),  # the file holds 1e-5 as the nearest f32
        "rope_theta": float(get("rope.freq_base", 10000.0)),
        "max_position_embeddings": get("context_length"),
        "tie_word_embeddings": "output.weight" not in tensors,
        "bos_token_id": metadata.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": metadata.get("tokenizer.ggml.eos_token_id"),
    }
    if arch == "gemma3":
        period = get("attention.sliding_window_pattern", 6)
        config |= {
            "hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": head_dim, "rope_local_base_freq": 10000.0,
            "sliding_window": get("attention.sliding_window"),
            "layer_types": ["full_attention" if (i + 1) % period == 0 else "sliding_attention" for i in range(get("block_count"))],
        }
        del config["hidden_act"]
    kind = get("rope.scaling.type")
    if kind in ("linear", "yarn"):
        config["rope_scaling"] = {"rope_type": kind, "factor": get("rope.scaling.factor")}
        if kind == "yarn":
            config["rope_scaling"]["original_max_position_embeddings"] = get("rope.scaling.original_context_length")
    return config


def new_writer(path, arch, name, **options):
    writer = GGUFWriter(str(path), arch, **options)
    writer.add_type("model")
    writer.add_name(name)
    return writer


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
