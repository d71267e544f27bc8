#!/usr/bin/env python3
"""Tactus against llama.cpp on the same files, on this machine, in one run; prints the ratios beside the targets of the design.

The peer runs at its best: every combination of flash attention and weight repacking is tried first (with 16 sequences also one KV
buffer or one for each), and the best for prefill and the best for decode are kept. Then peer and Tactus take turns; medians count. Same
file, threads, prompt, KV in f16. Tactus is measured through `examples_c/bench`, the peer through peer_worker.py.

Run through scripts/bench_peer.sh, which builds the pinned peer. Exit status 1: a floor given on the command line is missed.
"""

import argparse
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys

import make_bench_models
import peer

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRIPTS = pathlib.Path(__file__).resolve().parent
OURS = [ROOT / "target" / "examples_c" / "bench", ROOT / "target" / "release" / "examples_c" / "bench", ROOT / "examples_c" / "bench"]

LOAD_PROMPT = 32  # short, so that loading is what is measured

# Ratios to reach: prefill, decode, decode of 16 sequences, decode at context 4,096 (the table in the design's section on speed).
SHIPPED = {
    "SmolLM2 Q4_1": ("SmolLM2-135M-Instruct.Q4_1.gguf", (3.0, 1.5, 1.5, 1.3)),
    "Gemma 3 270M Q4_K_M": ("gemma-3-270m-q4_k_m.gguf", (1.3, 1.15, None, None)),
}
QUANTIZED = {
    "SmolLM2 Q4_0": ("smollm2:Q4_0", (1.1, 1.05, None, None)),
    "SmolLM2 Q4_K_M": ("smollm2:Q4_K_M", (1.5, 1.1, None, None)),
    "SmolLM2 Q6_K": ("smollm2:Q6_K", (1.3, 1.1, None, None)),
    "SmolLM2 Q8_0": ("smollm2:Q8_0", (1.5, 1.1, None, None)),
    "SmolLM2 BF16": ("smollm2:BF16", (1.1, 1.05, None, None)),
    "SmolLM2 F16": ("smollm2:F16", (1.2, 1.05, None, None)),
    "wide 2,048 Q4_K_M": ("wide:Q4_K_M", (1.5, 1.1, None, None)),
    "wide 2,048 Q6_K": ("wide:Q6_K", (1.3, 1.1, None, None)),
}


class BenchError(Exception):
    """Why the comparison cannot be made."""


class Peer:
    """A worker process with one model loaded, repacked or not."""

    def __init__(self, model, repack):
        command = [sys.executable, str(SCRIPTS / "peer_worker.py")]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ask(op="load", model=str(model), repack=repack)

    def ask(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": f"llama.cpp's process ended with status {self.process.wait()}"}
        if "error" in answer:
            raise BenchError(answer["error"])
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def run_ours(binary, model, prompt, gen, batch, threads):
    command = [str(binary), "--json", "--model", str(model), "--prompt", str(prompt), "--gen", str(gen), "--threads", str(threads)]
    command += ["--batch", str(batch)] if batch > 1 else []
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise BenchError(f"{' '.join(command)}: exit status {done.returncode} (its message is above)")
    try:
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError) as error:
        raise BenchError(f"{' '.join(command)}: printed no JSON on its last line: {done.stdout[-300:]!r}") from error


def compare(name, model, workload, arguments, ours):
    """All measurements of one model under one workload: a dict of metric → {"peer": [...], "ours": [...], "peer_settings"}."""
    batch = workload["batch"]
    settings = [
        {"repack": r, "flash": f, "unified": u}
        for r, f, u in itertools.product((True, False), (False, True), (False, True) if batch > 1 else (False,))
    ]
    peers = {r: Peer(model, r) for r in (True, False)}

    def ask(setting):
        return peers[setting["repack"]].ask(
            op="run", threads=arguments.threads, flash=setting["flash"], unified=setting["unified"], **workload
        )

    try:
        say(f"{name}: trying the peer's settings")
        tried = []
        for setting in settings:
            if workload["prompt"] <= 1024:
                ask(setting)  # warms caches and, on the first call, the processor
            tried.append((setting, [ask(setting) for _ in range(2 if workload["prompt"] <= 1024 else 1)]))
        metrics = ["prefill_tokens_per_s", "decode_tokens_per_s"]
        best = {m: max(tried, key=lambda t: statistics.mean(a[m] for a in t[1]))[0] for m in metrics}  # noqa: B023
        results = {m: {"peer": [], "ours": [], "peer_settings": best[m]} for m in metrics}
        for turn in range(arguments.runs):
            say(f"{name}: run {turn + 1} of {arguments.runs}")
            for setting in ([best[metrics[0]]] if best[metrics[0]] == best[metrics[1]] else [best[m] for m in metrics]):
                answer = ask(setting)
                for m in metrics:
                    if best[m] == setting:
                        results[m]["peer"].append(answer[m])
            if ours:
                answer = run_ours(ours, model, threads=arguments.threads, **workload)
                for m in metrics:
                    results[m]["ours"].append(answer[m])
        return results
    finally:
        for p in peers.values():
            p.close()


def compare_load(name, model, arguments, ours):
    """Milliseconds from nothing to the first token of a short prompt, page cache warm; the peer's best setting."""
    say(f"{name}: load to first token")
    samples = {}
    mine = []
    worker = Peer(model, False)
    try:
        for _ in range(arguments.runs):
            for repack in (True, False):
                answer = worker.ask(
                    op="first_token", model=str(model), repack=repack, prompt=LOAD_PROMPT, threads=arguments.threads, flash=True
                )
                samples.setdefault(repack, []).append(answer["load_to_first_token_ms"])
            if ours:
                answer = run_ours(ours, model, LOAD_PROMPT, 1, 1, arguments.threads)
                mine.append(answer["load_to_first_token_ms"])
    finally:
        worker.close()
    repack = min(samples, key=lambda r: statistics.median(samples[r]))
    return {"peer": samples[repack], "ours": mine, "peer_settings": {"repack": repack, "flash": True}}


def say(text):
    print(text, file=sys.stderr, flush=True)


def spread(samples):
    return f"{statistics.median(samples):,.0f} ({min(samples):,.0f}–{max(samples):,.0f})" if samples else "–"


def ratio_of(row):
    """How many times faster than the peer; above 1 is better, for times too."""
    if not row["ours"]:
        return None
    ours, theirs = statistics.median(row["ours"]), statistics.median(row["peer"])
    return theirs / ours if row["unit"] == "ms" else ours / theirs


def print_table(rows, arguments):
    print(f"llama.cpp of llama-cpp-python {peer.version()}, {peer.system_info()}")
    print(f"{arguments.threads} threads, KV f16, ubatch 512, median (least–most) of {arguments.runs} alternating runs\n")
    print("| model | measured | peer | peer's setting | Tactus | ratio | target |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        ratio = ratio_of(row)
        setting = ", ".join(k for k, on in row["peer_settings"].items() if on) or "plain"
        target = f"≥ {row['target']}" if row["target"] else "–"
        shown = f"{ratio:.2f}" + (" (missed)" if row["target"] and ratio < row["target"] else "") if ratio else "–"
        print(f"| {row['model']} | {row['what']}, {row['unit']} | {spread(row['peer'])} | {setting} | {spread(row['ours'])} | {shown} | {target} |")


def missed_floors(rows, arguments):
    missed = []
    for row in rows:
        floor = {"prefill": arguments.floor_prefill, "decode": arguments.floor_decode}.get(row["kind"])
        if arguments.enforce_targets and row["target"]:
            floor = max(floor or 0, row["target"])
        ratio = ratio_of(row)
        if floor and ratio is not None and ratio < floor:
            missed.append(f"{row['model']}, {row['what']}: {ratio:.2f}, floor {floor}")
    return missed


def workloads(arguments):
    """(kind of row, what it says, workload, metrics to report with the index of their target)"""
    p, g = arguments.prompt, arguments.gen
    yield {"prompt": p, "gen": g, "batch": 1}, [
        ("prefill", f"prefill {p}", "prefill_tokens_per_s", 0), ("decode", f"decode {g}", "decode_tokens_per_s", 1)]
    for batch in arguments.batch:
        yield {"prompt": 128, "gen": g, "batch": batch}, [
            ("decode", f"decode {g}, {batch} sequences", "decode_tokens_per_s", 2 if batch == 16 else None)]
    for context in arguments.context:
        yield {"prompt": context, "gen": 64, "batch": 1}, [
            ("decode", f"decode 64 at {context:,}", "decode_tokens_per_s", 3 if context == 4096 else None)]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", type=pathlib.Path, help=f"the bench program (default: the first of {', '.join(map(str, OURS))})")
    parser.add_argument("--peer-only", action="store_true", help="measure llama.cpp alone")
    parser.add_argument("--models", type=pathlib.Path, default=ROOT / "target" / "models", help="where the model files are")
    parser.add_argument("--only", action="append", help="models whose name contains this (may be repeated)")
    parser.add_argument("--quantized", action="store_true", help="also the requantised SmolLM2 files and the 2,048-wide random model")
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--gen", type=int, default=128)
    parser.add_argument("--batch", type=int, action="append", default=[], help="also decode this many sequences together (16 has a target)")
    parser.add_argument("--context", type=int, action="append", default=[], help="also decode behind this many tokens (4096 has a target)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--floor-prefill", type=float, help="least ratio to the peer in every prefill row")
    parser.add_argument("--floor-decode", type=float, help="least ratio to the peer in every decode row")
    parser.add_argument("--enforce-targets", action="store_true", help="the targets are floors too")
    parser.add_argument("--json", type=pathlib.Path, help="write all samples here")
    return parser.parse_args()


def find_ours(arguments):
    if arguments.peer_only:
        return None
    for path in [arguments.ours] if arguments.ours else OURS:
        if os.access(path, os.X_OK) and path.is_file():
            return path
    raise BenchError(f"no bench program at {arguments.ours or ', '.join(map(str, OURS))}; build it, or give --ours or --peer-only")


def measure(arguments):
    ours = find_ours(arguments)
    models = SHIPPED | (QUANTIZED if arguments.quantized else {})
    rows = []
    for name, (file, targets) in models.items():
        if arguments.only and not any(o.lower() in name.lower() for o in arguments.only):
            continue
        model = make_bench_models.make(file, arguments.models) if ":" in file else arguments.models / file
        if not model.exists():
            raise BenchError(f"{model}: not there; scripts/fetch_models.py brings it")
        for workload, wanted in workloads(arguments):
            results = compare(name, model, workload, arguments, ours)
            for kind, what, metric, target in wanted:
                target = targets[target] if target is not None else None
                rows.append({"model": name, "kind": kind, "what": what, "unit": "tokens/s", "target": target, **results[metric]})
        load = compare_load(name, model, arguments, ours)
        target = 1.0 if name == "SmolLM2 Q4_1" else None
        rows.append({"model": name, "kind": "load", "what": "load to first token", "unit": "ms", "target": target, **load})
    return rows


def main():
    arguments = parse()
    try:
        rows = measure(arguments)
    except (BenchError, peer.PeerError, OSError) as error:
        sys.exit(f"bench_peer: {error}")
    print_table(rows, arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    missed = missed_floors(rows, arguments)
    for line in missed:
        say(f"bench_peer: floor missed: {line}")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
