#!/usr/bin/env python3
"""Makes tests/data/text/gguf_*.json: what llama.cpp makes of GGUF vocabularies.

Run with the packages of requirements-goldens.txt (llama-cpp-python, gguf, tokenizers). Parts:

- `pre`: one small byte-level vocabulary, trained across word boundaries so that every boundary shows in the ids, under each
  pre-tokenizer name.
- `sentencepiece`: one small SentencePiece vocabulary, with and without a space put before the text.
- `real`: the two fetched models (`make models` first).
"""

import argparse
import ctypes
import json
import pathlib
import tempfile

import gguf
import llama_cpp
import numpy
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import text_corpus
import tiny_tokenizers

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "tests" / "data" / "text"
SILENT = llama_cpp.llama_log_callback(lambda level, text, data: None)

PRE_NAMES = [
    "default", "gpt-2", "mpt", "olmo", "smollm", "starcoder", "command-r", "exaone", "llama-bpe", "dbrx", "chatglm-bpe", "glm4", "qwen2",
    "deepseek-r1-qwen", "stablelm2", "qwen35", "gpt-4o", "llama4", "minimax-m2", "tekken", "deepseek-v3", "deepseek-llm", "deepseek-coder",
    "falcon", "bloom", "viking", "bailingmoe", "seed-coder", "hunyuan", "hunyuan-dense", "grok-2", "superbpe", "youtu", "exaone-moe",
]


class Vocabulary:
    """A file's vocabulary as llama.cpp loads it."""

    def __init__(self, path):
        parameters = llama_cpp.llama_model_default_params()
        parameters.vocab_only = True
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), parameters)
        assert self.model, path
        self.vocab = llama_cpp.llama_model_get_vocab(self.model)

    def ids(self, text, add_special=False, parse_special=True):
        raw = text.encode()
        room = len(raw) + 16
        ids = (llama_cpp.llama_token * room)()
        count = llama_cpp.llama_tokenize(self.vocab, raw, len(raw), ids, room, add_special, parse_special)
        assert count >= 0, (count, text)
        return list(ids[:count])

    def case(self, text):
        case = {"text": text, "parsed": self.ids(text)}
        plain = self.ids(text, parse_special=False)
        if plain != case["parsed"]:
            case["plain"] = plain
        return case

    def close(self):
        llama_cpp.llama_model_free(self.model)


def written(name, add):
    """A vocabulary-only GGUF file as llama.cpp loads it."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "vocabulary.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_name(name)
        writer.add_block_count(1)
        writer.add_context_length(64)
        writer.add_embedding_length(32)
        writer.add_feed_forward_length(32)
        writer.add_head_count(1)
        writer.add_layer_norm_rms_eps(1e-5)
        add(writer)
        writer.add_tensor("token_embd.weight", numpy.zeros((1, 32), numpy.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return Vocabulary(path)


def dumps(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def write(name, value):
    """One entry of each list or object a line."""
    fields = []
    for key, entries in value.items():
        if isinstance(entries, dict):
            body = "{\n" + ",\n".join(f"{dumps(k)}:{dumps(v)}" for k, v in entries.items()) + "\n}"
        elif entries and isinstance(entries[0], dict):
            body = "[\n" + ",\n".join(map(dumps, entries)) + "\n]"
        else:
            body = dumps(entries)
        fields.append(f"{dumps(key)}:{body}")
    path = OUT / name
    path.write_text("{\n" + ",\n".join(fields) + "\n}\n", encoding="utf-8")
    print(path.relative_to(ROOT), path.stat().st_size)


def pre():
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    trainer = trainers.BpeTrainer(vocab_size=900, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    learner.train_from_iterator(tiny_tokenizers.CORPUS + text_corpus.LINES * 2, trainer)
    model = json.loads(learner.to_str())["model"]
    tokens = [t for t, _ in sorted(model["vocab"].items(), key=lambda item: item[1])]
    merges = [" ".join(m) for m in model["merges"]]
    lines = [line for line in text_corpus.LINES if line]
    expected = {}
    for name in PRE_NAMES:
        def add(writer):
            writer.add_tokenizer_model("gpt2")
            writer.add_tokenizer_pre(name)
            writer.add_token_list(tokens)
            writer.add_token_types([gguf.TokenType.NORMAL] * len(tokens))
            writer.add_token_merges(merges)
            writer.add_bos_token_id(0)
            writer.add_eos_token_id(0)
            writer.add_add_bos_token(False)

        vocabulary = written(name, add)
        expected[name] = [" ".join(map(str, vocabulary.ids(line, parse_special=False))) for line in lines]
        vocabulary.close()
    write("gguf_pre.json", {"tokens": tokens, "merges": merges, "lines": lines, "expected": expected})


def sentencepiece():
    source = tiny_tokenizers.sentencepiece(tiny_tokenizers.LLAMA_TOKENS, 420, "llama")
    model = json.loads(source.to_str())["model"]
    tokens = [t for t, _ in sorted(model["vocab"].items(), key=lambda item: item[1])] + ["<|end_of_turn|>", "<tool>", "▁▁"]
    kinds = {"<unk>": 2, "<s>": 3, "</s>": 3, "<|end_of_turn|>": 3, "<tool>": 4, "▁▁": 4}
    types = [kinds.get(t, 6 if t.startswith("<0x") else 1) for t in tokens]
    scores = [0.0 if kind != 1 else -float(at) for at, (t, kind) in enumerate(zip(tokens, types))]
    cases = {}
    for prefix in (True, False):
        def add(writer):
            writer.add_tokenizer_model("llama")
            writer.add_token_list(tokens)
            writer.add_token_scores(scores)
            writer.add_token_types(types)
            writer.add_bos_token_id(1)
            writer.add_eos_token_id(2)
            writer.add_unk_token_id(0)
            writer.add_add_space_prefix(prefix)

        vocabulary = written("sentencepiece", add)
        lines = text_corpus.lines(["<s>", "</s>", "<|end_of_turn|>", "<tool>"])
        cases[prefix] = [vocabulary.case(line) for line in lines]
        vocabulary.close()
    write(
        "gguf_sentencepiece.json",
        {"tokens": tokens, "scores": scores, "types": types, "with_prefix": cases[True], "without_prefix": cases[False]},
    )


def real():
    for name, file, specials in [
        ("smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<repo_name>"]),
        ("gemma3", "gemma-3-270m-q4_k_m.gguf", ["<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<unused5>", "[multimodal]"]),
    ]:
        vocabulary = Vocabulary(ROOT / "target" / "models" / file)
        cases = [vocabulary.case(line) for line in text_corpus.lines(specials)]
        vocabulary.close()
        write(f"gguf_{name}.json", {"file": [file], "cases": cases})


PARTS = {"pre": pre, "sentencepiece": sentencepiece, "real": real}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=f"of {', '.join(PARTS)}")
    llama_cpp.llama_log_set(SILENT, ctypes.c_void_p(0))
    for part in parser.parse_args().parts:
        PARTS[part]()


if __name__ == "__main__":
    main()
