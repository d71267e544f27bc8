#!/usr/bin/env python3
"""A conversation: chat.py MODEL [LIBRARY]. A line is a turn; end of input ends it. Control-C ends an answer."""

import sys

import tactus


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    if len(sys.argv) == 3:
        tactus.load(sys.argv[2])
    messages = []
    with tactus.Coordinator(sys.argv[1], max_batch=1, context_cache_config={"enabled": True, "max_records": 8}) as coordinator:
        for line in sys.stdin:
            messages.append({"role": "user", "content": line.strip()})
            answer = ""
            with coordinator.stream(messages, max_tokens=200) as stream:
                try:
                    for chunk in stream:
                        answer += chunk.text
                        print(chunk.text, end="", flush=True)
                except KeyboardInterrupt:
                    pass
            print()
            messages.append({"role": "assistant", "content": answer})


if __name__ == "__main__":
    try:
        main()
    except tactus.Error as error:
        sys.exit(str(error))
