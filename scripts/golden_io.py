"""Reference results: how they are computed with transformers and how they are written.

A model's references are two files, described in tests/data/README.md: `<name>.json` (prompts, token ids, greedy continuations,
margins) and `<name>.safetensors` (the f32 arrays it names).
"""

import json
import pathlib

import numpy
import torch
import transformers
from safetensors.numpy import save_file
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
GREEDY_TOKENS = 24

torch.use_deterministic_algorithms(True)
torch.set_num_threads(1)  # sums in one order, so that the files come out the same again


def made_with():
    return {"transformers": transformers.__version__, "torch": torch.__version__, "attention": "eager", "dtype": "float32"}


def load_reference_model(directory):
    """The checkpoint as transformers runs it in float32 with plain attention, whatever type it is stored in."""
    model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32, attn_implementation="eager")
    return model.eval()


def pin_dynamic_rope(model, length):
    """Fixes a dynamic-NTK model's frequencies as they are for a sequence of `length` tokens.

    transformers computes them again at every growth, so a token's logits would depend on how the prompt was cut into calls.
    Tactus fixes them when a sequence is admitted, from its prompt and its longest continuation; the reference does the same.
    Returns whether the model has such a variant.
    """
    rope = getattr(model.model, "rotary_emb", None)
    parameters = getattr(model.config, "rope_parameters", None) or {}
    if rope is None or parameters.get("rope_type") != "dynamic":
        return False
    rope.inv_freq, rope.attention_scaling = ROPE_INIT_FUNCTIONS["dynamic"](model.config, "cpu", seq_len=length)
    rope.rope_type = "default"
    return True


@torch.no_grad()
def forward(model, ids, hidden=False):
    """Logits `[tokens, vocabulary]` of one pass over `ids`, and with `hidden` the states `[layers + 1, tokens, width]`:
    first the input embeddings, then each layer's output, the last after the final norm."""
    out = model(torch.tensor([ids]), output_hidden_states=hidden, use_cache=False)
    logits = out.logits[0].numpy()
    if not hidden:
        return logits, None
    return logits, numpy.stack([h[0].numpy() for h in out.hidden_states])


def greedy_continuation(model, ids, tokens, legal):
    """`tokens` greedy tokens after `ids`, chosen among the ids below `legal`, with the smallest distance between first and second
    choice. Each token is a fresh pass over the whole sequence: slow, and nothing to get wrong."""
    ids, chosen, margin = list(ids), [], float("inf")
    for _ in range(tokens):
        row = forward(model, ids)[0][-1][:legal]
        second, first = numpy.sort(row)[-2:]
        margin = min(margin, float(first - second))
        chosen.append(int(row.argmax()))
        ids.append(chosen[-1])
    return chosen, margin


def reference_of(directory, prompts, legal=None, hidden=False, greedy=GREEDY_TOKENS, load=load_reference_model):
    """References of the model in `directory` for `prompts`, a list of `{"name", "ids", "text" or none}`.

    `legal`: ids from here on have no piece in the tokenizer and are never chosen (default: the whole vocabulary).
    """
    legal = legal or AutoConfig.from_pretrained(directory).vocab_size
    entries, arrays = [], {}
    for prompt in prompts:
        model = load(directory)
        ids, name = prompt["ids"], prompt["name"]
        entry = dict(prompt)
        length = len(ids) + greedy
        if pin_dynamic_rope(model, length):
            entry["rope_length"] = length
        logits, states = forward(model, ids, hidden)
        entry["logits"] = f"{name}.logits"
        arrays[entry["logits"]] = logits
        if hidden:
            entry["hidden"] = f"{name}.hidden"
            arrays[entry["hidden"]] = states
        if greedy:
            entry["greedy"], entry["greedy_margin"] = greedy_continuation(model, ids, greedy, legal)
        entries.append(entry)
    return entries, arrays


def write_reference(name, model, entries, arrays, **more):
    """Writes tests/data/reference/<name>.json and .safetensors; `model` is the checkpoint's path below tests/data."""
    folder = DATA / "reference"
    folder.mkdir(parents=True, exist_ok=True)
    document = {"model": model, "made_with": made_with(), **more, "prompts": entries}
    (folder / f"{name}.json").write_text(compact_json(document))
    save_arrays(arrays, folder / f"{name}.safetensors")


def save_arrays(arrays, path):
    save_file({k: numpy.ascontiguousarray(v) for k, v in arrays.items()}, path)
    path.chmod(0o644)  # the writer leaves 0600


def compact_json(document):
    """Indented JSON with each list of numbers on one line, so that a diff shows what changed."""
    def render(value, depth):
        pad = "  " * (depth + 1)
        if isinstance(value, dict) and value:
            rows = [f"{pad}{json.dumps(k)}: {render(v, depth + 1)}" for k, v in value.items()]
            return "{\n" + ",\n".join(rows) + "\n" + "  " * depth + "}"
        if isinstance(value, list) and any(isinstance(v, (dict, list)) for v in value):
            rows = [pad + render(v, depth + 1) for v in value]
            return "[\n" + ",\n".join(rows) + "\n" + "  " * depth + "]"
        return json.dumps(value, ensure_ascii=False)

    return render(document, 0) + "\n"
