#!/usr/bin/env python3
"""Makes tests/data/text: what the Python libraries make of small tokenizers and templates.

Run with the packages of requirements-goldens.txt. Nothing here is computed by Tactus. See tests/data/text/README.md for the files.
"""

import argparse
import datetime
import json
import pathlib
import random

import text_chat_templates
import text_corpus
import text_expressions

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "tests" / "data" / "text"

TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
# 2026-03-01 12:00:00 UTC; the same date in every time zone from -11 to +11.
NOW = 1_772_366_400


class PinnedClock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.datetime.fromtimestamp(NOW, tz)


def write(name, value):
    path = OUT / name
    path.parent.mkdir(parents=True, exist_ok=True)


    def dumps(value):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    # One entry of a list a line, so that changes can be read.
    fields = [f"{dumps(k)}:" + ("[\n" + ",\n".join(map(dumps, v)) + "\n]" if isinstance(v, list) else dumps(v)) for k, v in value.items()]
    path.write_text("{\n" + ",\n".join(fields) + "\n}\n", encoding="utf-8")
    print(path.relative_to(ROOT), path.stat().st_size)


def rendered(template, **variables):
    """What transformers renders, or the message it fails with."""
    import jinja2
    import transformers.utils.chat_template_utils as chat_templates

    chat_templates.datetime = PinnedClock
    try:
        return {"text": chat_templates._compile_jinja_template(template).render(**TOKENS, **variables)}
    except jinja2.exceptions.TemplateSyntaxError as e:
        return {"error": str(e), "line": e.lineno}
    except Exception as e:
        return {"error": str(e)}


def expressions():
    def one(template):
        common = {"messages": [], "tools": None, "documents": None, "add_generation_prompt": False, "enable_thinking": False}
        return {"template": template, **rendered(template, **common, **text_expressions.VARIABLES)}

    cases = [one(t) for t in text_expressions.EXPRESSIONS]
    broken = [case for case in cases if "text" not in case]
    assert not broken, broken
    errors = [one(t) for t in text_expressions.ERRORS]
    assert all("error" in case for case in errors), [case for case in errors if "text" in case]
    write("expressions.json", {"variables": text_expressions.VARIABLES, "cases": cases, "errors": errors})


def chats():
    import transformers.utils.chat_template_utils as chat_templates

    cases = []
    for template, source in text_chat_templates.TEMPLATES.items():
        for chat, given in text_chat_templates.CHATS.items():
            conversation = chat_templates._alias_reasoning_fields(chat_templates._normalize_chat_messages(given["messages"]))
            variables = {
                "messages": conversation,
                "tools": given.get("tools"),
                "documents": None,
                "add_generation_prompt": given["add_generation_prompt"],
                "enable_thinking": given.get("enable_thinking", False),
                **given.get("variables", {}),
            }
            cases.append({"template": template, "chat": chat, **rendered(source, **variables)})
    write(
        "chats.json",
        {"now": NOW, "tokens": TOKENS, "templates": text_chat_templates.TEMPLATES, "chats": text_chat_templates.CHATS, "cases": cases},
    )


def tokenizer_files():
    """(name, tokenizer.json as a dict, tokenizer_config.json as a dict). Trained on the corpus, a few hundred tokens each."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    import tiny_tokenizers

    def special(text, **more):
        return AddedToken(text, special=True, normalized=False, **more)

    def trained(tokenizer, trainer, lines=tiny_tokenizers.CORPUS + text_corpus.LINES):
        tokenizer.train_from_iterator(lines, trainer)
        return tokenizer

    def byte_level(split, size=400):
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = split
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        return trained(tokenizer, trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False))

    # ChatML tokens, tokens that are added but not special, tokens that eat spaces or want a word of their own.
    gpt2 = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))
    gpt2.add_special_tokens([special("<|endoftext|>"), special("<|im_start|>"), special("<|im_end|>")])
    gpt2.add_tokens([AddedToken("<tool_call>", normalized=False), AddedToken("</think>", normalized=False)])
    gpt2.add_special_tokens([special("<mask>", lstrip=True), special("<eat>", rstrip=True, lstrip=True)])
    gpt2.add_tokens([AddedToken("Solo", single_word=True), AddedToken("<|im_start|>x", normalized=False)])
    yield "byte-level", gpt2, {"bos_token": "<|endoftext|>", "eos_token": "<|im_end|>"}

    pattern = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    split = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
    llama3 = byte_level(pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
    ignoring = json.loads(llama3.to_str())
    ignoring["model"]["ignore_merges"] = True
    llama3 = Tokenizer.from_str(json.dumps(ignoring))
    llama3.add_special_tokens([special(t) for t in ("<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>")])
    bos = llama3.token_to_id("<|begin_of_text|>")
    llama3.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(
                single="<|begin_of_text|> $A",
                pair="<|begin_of_text|> $A <|begin_of_text|> $B",
                special_tokens=[("<|begin_of_text|>", bos)],
            ),
        ]
    )
    yield "llama3", llama3, {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"}

    legacy = tiny_tokenizers.sentencepiece(tiny_tokenizers.LLAMA_TOKENS, 420, "llama")
    legacy.add_special_tokens([special("<|end_of_turn|>")])
    yield "sentencepiece", legacy, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "add_bos_token": True}

    # The same pieces, with the mark put before the first word of a text only (legacy=False).
    first = Tokenizer.from_str(legacy.to_str())
    first.normalizer = normalizers.Sequence([])
    first.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first", split=False)
    yield "sentencepiece-first", first, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}

    gemma = tiny_tokenizers.sentencepiece(tiny_tokenizers.GEMMA_TOKENS, 420, "gemma")
    gemma.add_tokens([AddedToken("\n\n", normalized=False), AddedToken("▁▁", normalized=False)])
    yield "gemma", gemma, {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>", "pad_token": "<pad>"}

    # Characters the vocabulary lacks become the unknown token.
    unknown = json.loads(first.to_str())
    pieces = [t for t in unknown["model"]["vocab"] if not t.startswith("<0x")]
    unknown["model"].update(vocab={t: i for i, t in enumerate(pieces)}, byte_fallback=False)
    for token in unknown["added_tokens"]:
        token["id"] = pieces.index(token["content"]) if token["content"] in pieces else len(pieces)
    unknown["post_processor"] = None
    yield "no-bytes", Tokenizer.from_str(json.dumps(unknown)), {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}

    unigram = Tokenizer(models.Unigram())
    unigram.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    unigram.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    unigram.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    wanted = ["<unk>", "<s>", "</s>"]
    trainer = trainers.UnigramTrainer(vocab_size=200, special_tokens=wanted, unk_token="<unk>", show_progress=False)
    trained(unigram, trainer, tiny_tokenizers.CORPUS)
    unigram.add_special_tokens([AddedToken("<Norm>", special=True, normalized=True)])
    unigram.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", unigram.token_to_id("</s>"))])
    yield "unigram", unigram, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}

    wordpiece = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    wordpiece.normalizer = normalizers.BertNormalizer(lowercase=True)
    wordpiece.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    wordpiece.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=200, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False)
    trained(wordpiece, trainer, tiny_tokenizers.CORPUS)
    wordpiece.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    yield "wordpiece", wordpiece, {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"}


def kept_characters(tokens):
    """Byte fallback as Tactus decodes it: whole characters of a run stay, each stray byte becomes U+FFFD."""
    out, run = [], b""
    for token in [*tokens, None]:
        if token is not None and len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
            run += bytes([int(token[3:5], 16)])
            continue
        while run:
            for n in range(1, 5):
                try:
                    out.append(run[:n].decode())
                    run = run[n:]
                    break
                except UnicodeDecodeError:
                    pass
            else:
                out.append("\ufffd")
                run = run[1:]
        if token is not None:
            out.append(token)
    return out


def token_lists(tokenizer):
    """Lists of ids to decode: random ones, and ones with characters split over byte tokens."""
    draw = random.Random(7)
    known = sorted(tokenizer.get_vocab().values())
    lists = [[draw.choice(known) for _ in range(draw.randint(1, 16))] for _ in range(100)]
    by_text = tokenizer.get_vocab()
    for _ in range(40):
        ids = []
        for _ in range(draw.randint(1, 5)):
            character = draw.choice("😸你é好🎉a")
            pieces = [by_text.get(f"<0x{b:02X}>") for b in character.encode()]
            ids += [p for p in pieces if p is not None] if draw.random() < 0.8 else [draw.choice(known)]
        lists.append(ids)
    return [ids for ids in lists if ids]


def tokenizers_part():
    from transformers import AutoTokenizer

    for name, tokenizer, config in tokenizer_files():
        directory = OUT / "tokenizers" / name
        directory.mkdir(parents=True, exist_ok=True)
        file = json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":"))
        (directory / "tokenizer.json").write_text(file, encoding="utf-8")
        (directory / "tokenizer_config.json").write_text(
            json.dumps({**config, "tokenizer_class": "PreTrainedTokenizerFast"}, ensure_ascii=False, indent=1), encoding="utf-8"
        )
        reference = AutoTokenizer.from_pretrained(directory)
        backend = reference._tokenizer
        special = [t.content for t in backend.get_added_tokens_decoder().values() if t.special]
        added = [t.content for t in backend.get_added_tokens_decoder().values() if not t.special and not t.content.isspace()]
        cases = []
        for line in text_corpus.lines(special + added):
            parsed = reference(line, add_special_tokens=False)["input_ids"]
            case = {"text": line, "parsed": parsed}
            with_special = reference(line, add_special_tokens=True)["input_ids"]
            at = next(i for i in range(len(with_special) + 1) if with_special[i : i + len(parsed)] == parsed)
            case["around"] = [with_special[:at], with_special[at + len(parsed) :]]
            plain = reference(line, add_special_tokens=False, split_special_tokens=True)["input_ids"]
            if plain != parsed:
                case["plain"] = plain
            cases.append(case)
        backend.encode_special_tokens = False
        decodes, mixed = [], 0
        for ids in token_lists(backend):
            for skip in (False, True):
                text = backend.decode(ids, skip_special_tokens=skip)
                tokens = [backend.id_to_token(i) for i in ids]
                tokens = [t for t in tokens if not (skip and t in special)]
                if backend.decoder is not None and "ByteFallback" in str(backend.decoder) and tokens:
                    from tokenizers import decoders

                    rest = decoders.Sequence([d for d in [backend.decoder]])
                    if rest.decode(kept_characters(tokens)) != text:
                        mixed += 1
                        continue
                decodes.append({"ids": ids, "skip": skip, "text": text})
        print(f"{name}: {len(cases)} lines, {len(decodes)} decodes, {mixed} left out")
        write(f"tokenizers/{name}/golden.json", {"cases": cases, "decodes": decodes})


PARTS = {"expressions": expressions, "chats": chats, "tokenizers": tokenizers_part}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=f"of {', '.join(PARTS)}")
    for part in parser.parse_args().parts:
        PARTS[part]()


if __name__ == "__main__":
    main()
