"""Lines of text that are hard on tokenizers, the same at every run. `{S}` stands for a special token of the tokenizer at hand."""

import random

LINES = [
    "",
    " ",
    "  ",
    "   ",
    "\n",
    "\n\n",
    "\n\n\n",
    " \n ",
    "\t",
    "\r\n",
    "a",
    " a",
    "a ",
    "  a  b   c    d",
    "Hello world",
    "Hello, world! How are you? I'm fine; it's 12:30.",
    "The old harbour lies quiet in the morning.",
    "She counted the boats: one, two, three.",
    "I'LL WE'VE you're they'd he's can't DON'T 'tis rock'n'roll O'Brien's",
    "camelCase PascalCase snake_case SCREAMING_CASE kebab-case dotted.name x2y3z",
    "0 1 12 123 1234 12345 1234567890 3.14159 1,000,000 0x1F 1e-5 ½ ² Ⅳ ٣٤٥",
    "2024-01-31T23:59:59Z +49 (0)30 123-456 §12 #42 @home 100% $5.00 €3",
    "for (int i = 0; i < 10; i++) { total += price[i] * 2; }\n",
    "def f(x):\n    return {'a': [x, *y], **z}\n\n\nclass A:\n\tpass\n",
    "<html><body class=\"x\">&amp; <!-- c --></body></html>",
    "https://example.org/a/b?c=d&e=%20#frag  user@host.tld",
    "{\"k\": [1, 2.5, null, true], \"s\": \"q\\\"uote\"}",
    "!!! ??? ... --- *** ### ~~~ ``` ''' \"\"\" === /// \\\\\\ ||| <<< >>>",
    "(a)[b]{c}<d>«e»„f“‘g’…–—·•†‡",
    "Grüße aus Köln, façade naïve Ångström œuvre Łódź İstanbul ß",
    "cafe\u0301 nai\u0308ve e\u0301\u0323 A\u030a \u0301alone Z\u0351\u0348\u0357a",
    "Привет, мир! Это тест. Ёлка",
    "Γειά σου Κόσμε ἀρχή",
    "你好，世界！今天天气很好。第３章",
    "こんにちは世界。カタカナ ｶﾀｶﾅ ひらがな ー",
    "안녕하세요 세계 한국어 ㄱㄴㄷ",
    "مرحبا بالعالم ١٢٣ السَّلَامُ",
    "שָׁלוֹם עולם",
    "नमस्ते दुनिया हिन्दी में १२३",
    "สวัสดีชาวโลก ไทย",
    "Xin chào thế giới đường",
    "😀😸🎉 👩‍👩‍👧‍👦 🇩🇪 👍🏽 ❤️ ☃ ✔︎ 1️⃣",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙𝟚𝟛 ℕ ∑ ∫ √ ≤ ≠ ∞ α→β",
    "zero\u200bwidth non\u00a0breaking thin\u2009space ideographic\u3000space \u2028 \u2029 \u0085 \ufeff bom",
    "control \x00 \x01 \x1b[0m \x7f end",
    "\ufffd \ufdd0 \U0010ffff \ue000 private",
    "ﬁ ﬂ ㎏ ① Ａｂｃ １２３ ＂ ｋ",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "abababababababababababababababab",
    "                                                                x",
    "\n\n\n\n\n\n\n\n\n\nx\n\n\n\n",
    "a\nb\r\nc\rd\n\re",
    "trailing spaces   \n   leading spaces\n\t\ttabs\t \n",
    "▁ ▁▁ ▁a a▁b Ġ Ċ ĠĠ literal marks",
    "<0x41> <0xE6> [UNK] <unk> <pad> ## ##ing </w>",
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "mixed你好mixed привет123мир a1b2你3",
    "word.word,word;word:word!word?word'word\"word(word)word",
    " !a .b ,c ;d 'e \"f (g [h {i -j _k /l",
    "e.g. i.e. U.S.A. Ph.D. etc... 3rd 21st",
    "\\n \\t \\\\ %s %d {} ${x} $(y) `z`",
    "yes\u0301no 가\u0301 \u1100\u1161\u11a8 ｶﾞ",
    "Ελληνικά, русский, 日本語, العربية in one line.",
    "A B C D E F G H I J K",
    "ALLCAPS lowercase MiXeD ÀÉÎ àéî ǅungla",
    "'s 't 're 've 'm 'll 'd 'S 'LL it 's",
    "#include <stdio.h>\nint main(void) { return 0; }\n",
    "SELECT * FROM t WHERE a='b' AND c<>5;",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "1. one\n2. two\n   - sub\n   - sub2\n\n> quote\n",
]

SPECIAL_LINES = [
    "{S}",
    "{S}{S}",
    "{S} {S}",
    "{S}a",
    "a{S}",
    "a{S}b",
    "a {S} b",
    "a{S} b",
    "a {S}b",
    "a  {S}  b",
    "Hi{S} world",
    "Hi{S}  world",
    " {S}",
    "{S} ",
    "{S}\n",
    "\n{S}",
    "\n{S}\n",
    "a\n{S}\nb",
    "a\n\n{S}\n\nb",
    "a\t{S}\tb",
    "{S}G",
    "{S} G",
    "{S}  G",
    "{S}\nG",
    "{S}user\nhi{S}\n{S}assistant\n",
    "{S}你好{S}😸{S}",
    "x{S}.{S},{S}!",
    "1{S}2{S}3",
    "{S}'s it's{S}'ll",
    "▁{S}▁",
    "e\u0301{S}\u0301e",
    "{S}é{S}ﬁ{S}Ａ",
    "({S})[{S}]",
    "<{S}>",
    "{S}{S}\n{S} {S}  {S}",
]

PIECES = [
    "a", " ", "  ", "\n", "\n\n", "the", " the", "The", " boat", "s", "1", "23", "456", ".", ",", "!", "'s", "é", "e\u0301", "你", "好", "😸", "ß",
    "\t", "_", "-", "(", ")", "ing", "Ж", "م", "한", "\u00a0", "▁", "Ġ", "{S}", "{S}", "<", ">", "|",
]


def lines(specials, mixed=120):
    """Every line with each special token in its place, and `mixed` lines put together at random."""
    draw = random.Random(20261201)
    out = list(LINES)
    for line in SPECIAL_LINES:
        out.append(filled(line, specials, draw))
    for _ in range(mixed):
        out.append(filled("".join(draw.choice(PIECES) for _ in range(draw.randint(2, 14))), specials, draw))
    return list(dict.fromkeys(out))


def filled(line, specials, draw):
    parts = line.split("{S}")
    if not specials:
        return "".join(parts)
    return "".join(part + (draw.choice(specials) if at + 1 < len(parts) else "") for at, part in enumerate(parts))
