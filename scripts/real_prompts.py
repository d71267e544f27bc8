"""The prompts of the real-model goldens: varied in task, script and length, one of them longer than Gemma 3's sliding window of 512."""


def ledger(lines):
    """A text that is long, regular and not repetitive: one entry a day, with numbers that follow from the day."""
    ships = ["Anna", "Borealis", "Corvina", "Dagmar", "Esmeralda"]
    goods = ["timber", "salt", "wool", "iron", "grain", "paper"]
    return "\n".join(
        f"Day {d}: the {ships[d * d % 5]} brought {37 * d % 90 + 10} tons of {goods[d % 6]} and left with {23 * d % 60 + 5} tons of "
        f"{goods[(d * 5 + 1) % 6]}."
        for d in range(1, lines + 1)
    )


# For a chat model: through its own template.
CHATS = [
    ("rivers", [{"role": "user", "content": "Name three rivers in France and say where each one ends."}]),
    ("fibonacci", [{"role": "user", "content": "Write a Python function that returns the first n Fibonacci numbers."}]),
    ("arithmetic", [{"role": "user", "content": "A train leaves at 14:35 and arrives at 17:10. How long is the trip? Explain each step."}]),
    ("translation", [{"role": "user", "content": "Translate into French: The weather is nice today, so we are going to the market."}]),
    ("pirate", [
        {"role": "system", "content": "You are a pirate. You answer in the manner of a pirate, in a few sentences."},
        {"role": "user", "content": "How do I make a good cup of tea?"}]),
    ("turns", [
        {"role": "user", "content": "My name is Ingrid and I keep bees."},
        {"role": "assistant", "content": "Nice to meet you, Ingrid! Keeping bees is a wonderful hobby."},
        {"role": "user", "content": "What did I say my name was, and what could I do with the honey?"}]),
    ("unicode", [{"role": "user", "content": "Was bedeutet „Übergröße“? 日本語では何ですか? Antworte kurz. 🙂"}]),
    ("json", [{"role": "user", "content": 'Give me a JSON object with the keys "title", "year" and "authors" for a made-up book.'}]),
    ("story", [{"role": "user", "content": "Begin a short story about a lighthouse keeper who finds a letter in a bottle."}]),
    ("ledger", [{"role": "user", "content": "Here is the ledger of a harbour:\n" + ledger(24) + "\n\nWhich ships came to the harbour?"}]),
]

# For a base model: text to go on with; BOS is added by the tokenizer. Two carry the turn markers of its family as control tokens.
TEXTS = [
    ("rivers", "The three longest rivers of France are"),
    ("fibonacci", "def fibonacci(n):\n    \"\"\"Return the first n Fibonacci numbers.\"\"\"\n"),
    ("arithmetic", "Question: A train leaves at 14:35 and arrives at 17:10. How long is the trip?\nAnswer:"),
    ("translation", "English: The weather is nice today, so we are going to the market.\nFrench:"),
    ("recipe", "Pancakes\n\nIngredients:\n- 200 g flour\n- 2 eggs\n-"),
    ("turns", "<start_of_turn>user\nWhat could I do with honey?<end_of_turn>\n<start_of_turn>model\n"),
    ("unicode", "Übergröße, naïveté, 日本語, русский язык, 🙂 –"),
    ("json", '{"title": "The Lighthouse", "year": 1987, "authors": ["'),
    ("story", "The lighthouse keeper found the letter on a grey morning in March. He"),
    ("ledger", "<start_of_turn>user\nHere is the ledger of a harbour:\n" + ledger(24)
     + "\n\nWhich ships came to the harbour?<end_of_turn>\n<start_of_turn>model\n"),
]
