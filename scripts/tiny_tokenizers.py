"""Tiny but real tokenizers for the tiny checkpoints: byte-level BPE, and SentencePiece-style BPE with byte fallback.

Each is complete (every string encodes and decodes back) and small: a few special tokens, the 256 bytes, a few dozen merges
learnt from the text below.
"""

import json

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CORPUS = [
    "The old harbour lies quiet in the morning. A few boats come in with the tide, and the men on the quay take the lines.",
    "She counted the boats: one, two, three, and then the fourth, which had been away since the autumn of 1987.",
    "There is no hurry in the town. The baker opens at seven, the post at nine, and the sea does as it likes.",
    "for (int i = 0; i < 10; i++) { total += price[i] * 2; }\n",
    "In the evening the wind turns and the children run home along the wall, and the lamps are lit one after the other.",
]

PLAIN_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,!?ĠĊ"

CHATML_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
GEMMA_TOKENS = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>"]
LLAMA_TOKENS = ["<unk>", "<s>", "</s>"]

# The published pre-tokeniser pattern of the Qwen 2 and 3 tokenizers.
QWEN_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

CHATML_TEMPLATE = (
    "{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou answer briefly.<|im_end|>\n' }}{% endif %}"
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

GEMMA_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{% set role = 'model' if message['role'] == 'assistant' else message['role'] %}"
    "{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
)


def control(tokens):
    return [AddedToken(t, special=True, normalized=False) for t in tokens]


def byte_level(specials, size, style, alphabet="bytes"):
    """Byte-level BPE with the special tokens first. `style`: "smollm" (digits apart, then the GPT-2 pattern) or "qwen".

    `alphabet`: all 256 "bytes", or "corpus" for only the letters, digits and signs of plain English, where size matters most.
    """
    tokenizer = Tokenizer(models.BPE())
    byte_step = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=style == "smollm")
    if style == "smollm":
        steps = [pre_tokenizers.Digits(individual_digits=True), byte_step]
    else:
        tokenizer.normalizer = normalizers.NFC()
        steps = [pre_tokenizers.Split(Regex(QWEN_PATTERN), behavior="isolated"), byte_step]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet() if alphabet == "bytes" else list(PLAIN_LETTERS)
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=control(specials), initial_alphabet=letters, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    assert tokenizer.get_vocab_size() == size, tokenizer.get_vocab_size()
    return tokenizer


def sentencepiece(specials, size, style):
    """SentencePiece-style BPE: special tokens, the 256 byte pieces, then characters and merges, `▁` for a space.

    `style`: "llama" (a `▁` is put before the text, `<s>` added) or "gemma" (no prefix, `<bos>` added).
    Piece order is that of a SentencePiece model: specials, bytes, merged pieces by rank, single characters.
    """
    byte_pieces = [f"<0x{b:02X}>" for b in range(256)]
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=True)
    characters = sorted(set("".join(CORPUS).replace(" ", "▁")) - {"\n"}) + ["\n"]
    merges_wanted = size - len(specials) - 256 - len(characters)
    trainer = trainers.BpeTrainer(vocab_size=len(characters) + merges_wanted, initial_alphabet=characters, show_progress=False)
    learner.train_from_iterator(CORPUS, trainer)
    merged = ["".join(m) for m in json.loads(learner.to_str())["model"]["merges"]]
    pieces = list(specials) + byte_pieces + merged + characters
    # SentencePiece joins any two neighbours whose union is a piece, best piece first: each way to split a piece is a merge.
    known = set(merged + characters)
    merges = [(p[:i], p[i:]) for p in merged for i in range(1, len(p)) if p[:i] in known and p[i:] in known]
    assert len(pieces) == len(set(pieces)) == size, (len(pieces), len(set(pieces)), size)

    tokenizer = Tokenizer(
        models.BPE(
            vocab={p: i for i, p in enumerate(pieces)}, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True
        )
    )
    tokenizer.add_special_tokens(control(specials))
    spaces = normalizers.Replace(" ", "▁")
    back = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    if style == "llama":
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), spaces])
        tokenizer.decoder = decoders.Sequence(back + [decoders.Strip(content=" ", left=1)])
        bos = "<s>"
    else:
        tokenizer.normalizer = spaces
        tokenizer.decoder = decoders.Sequence(back)
        bos = "<bos>"
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A", pair=f"{bos} $A {bos} $B", special_tokens=[(bos, tokenizer.token_to_id(bos))]
    )
    return tokenizer
