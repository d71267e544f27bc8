"""Times llama.cpp in a process of its own, one JSON command a line on stdin, one JSON answer a line on stdout.

A worker holds one loaded model and idles between commands, so that the other side of a comparison has the processor to itself.
Only `llama_decode` is timed; tokens are random and known beforehand, so no sampling is charged to the peer.

  {"op": "load", "model": path, "repack": bool}                         → {"load_ms"}
  {"op": "run", "prompt", "gen", "batch", "threads", "flash", "unified"} → {"prefill_tokens_per_s", "decode_tokens_per_s", "ttft_ms"}
  {"op": "first_token", "model", "repack", "prompt", "threads", "flash"} → {"load_to_first_token_ms"}
"""

import json
import sys
import time

import numpy

import peer

UBATCH = 512


class Worker:
    def __init__(self):
        self.model = None
        self.contexts = {}

    def load(self, model, repack):
        started = time.perf_counter()
        self.model = peer.Model(model, repack=repack)
        return {"load_ms": 1e3 * (time.perf_counter() - started)}

    def context(self, per_sequence, batch, threads, flash, unified):
        key = (per_sequence, batch, threads, flash, unified)
        if key not in self.contexts:
            for old in self.contexts.values():
                old.close()
            self.contexts = {key: new_context(self.model, *key)}
        return self.contexts[key]

    def run(self, prompt, gen, batch, threads, flash, unified):
        context = self.context(prompt + gen, batch, threads, flash, unified)
        tokens = numpy.random.Generator(numpy.random.PCG64(1)).integers(100, self.model.n_vocab - 100, (batch, prompt + gen)).tolist()
        context.clear()
        prefill_s = 0.0
        first_s = None
        for s in range(batch):
            prefill_s += timed_prefill(context, tokens[s][:prompt], s)
            first_s = first_s or prefill_s
        decode_s = 0.0
        for p in range(prompt, prompt + gen):
            context.fill([(tokens[s][p], p, s, True) for s in range(batch)])
            started = time.perf_counter()
            context.run()
            peer.lib.llama_synchronize(context.handle)
            decode_s += time.perf_counter() - started
        return {
            "prefill_tokens_per_s": batch * prompt / prefill_s,
            "decode_tokens_per_s": batch * gen / decode_s if gen else None,
            "ttft_ms": 1e3 * first_s,
        }

    def first_token(self, model, repack, prompt, threads, flash):
        started = time.perf_counter()
        with peer.Model(model, repack=repack) as loaded, new_context(loaded, prompt + 1, 1, threads, flash, False) as context:
            timed_prefill(context, list(range(100, 100 + prompt)), 0)
            context.row(prompt - 1).argmax()
            return {"load_to_first_token_ms": 1e3 * (time.perf_counter() - started)}


def new_context(model, per_sequence, batch, threads, flash, unified):
    per_sequence = -(-per_sequence // 256) * 256
    return model.context(
        per_sequence * batch, threads=threads, flash=flash, kv=peer.F16, ubatch=UBATCH, batch=per_sequence, sequences=batch,
        unified=unified,
    )


def timed_prefill(context, tokens, sequence):
    """Seconds of one `llama_decode` over the prompt, logits of its last token only."""
    last = len(tokens) - 1
    context.fill([(t, i, sequence, i == last) for i, t in enumerate(tokens)])
    started = time.perf_counter()
    context.run()
    peer.lib.llama_synchronize(context.handle)
    return time.perf_counter() - started


def main():
    worker = Worker()
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = getattr(worker, command.pop("op"))(**command)
        except peer.PeerError as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
