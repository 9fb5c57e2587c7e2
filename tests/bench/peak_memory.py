#!/usr/bin/env python3
"""How much memory is resident at the peak of loading a model and answering, beside what we allow ourselves: the file, a tenth of
it, and the memory limit.

    tests/bench/peak_memory.py build/release/bin/satchel MODEL.gguf … [--budget 60] [--beside OTHER_SATCHEL] [--json]

The peak is the kernel's own (what /usr/bin/time -v calls maximum resident set size): code and libraries count with it. `--beside`
takes another build in turns, so that what loading takes can be compared on a machine that others use too: processor seconds of
the whole run, the least of the rounds. Exits with 1 where a model of 200 MB or more takes more than it may: below, the program
itself and its tables are more than a tenth of the file.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROMPT = "Hello, who are you? Tell me a short story."
HELD_FROM = 200e6  # bytes of a file


def run(command):
    """Bytes resident at the peak, processor seconds."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    error = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{error}")
    return 1024 * usage.ru_maxrss, usage.ru_utime + usage.ru_stime


def chat(satchel, model, budget, tokens):
    with tempfile.TemporaryDirectory() as store:
        return run([satchel, "chat", "--model", str(model), "--budget", f"{budget:g}MB", "-p", PROMPT, "--max-tokens", str(tokens),
                    "--store", store, "--quiet"])


def measure(builds, model, args):
    """The builds in turns: of each the highest peak, the fewest seconds."""
    rounds = [[chat(build, model, args.budget, args.tokens) for build in builds] for _ in range(args.rounds)]
    return [(max(peak for peak, _ in of), min(seconds for _, seconds in of)) for of in zip(*rounds)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("satchel")
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--budget", type=float, default=60, help="MB")
    parser.add_argument("--beside", metavar="SATCHEL", help="another build")
    parser.add_argument("--tokens", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    rows, over = [], []
    for model in args.models:
        size = model.stat().st_size
        (peak, seconds), *beside = measure([args.satchel] + ([args.beside] if args.beside else []), model, args)
        row = {"model": model.name, "file_bytes": size, "allowed_bytes": round(1.1 * size + 1e6 * args.budget), "peak_bytes": peak,
               "cpu_seconds": seconds}
        if beside:
            row["beside_peak_bytes"], row["beside_cpu_seconds"] = beside[0]
        rows.append(row)
        if size >= HELD_FROM and row["peak_bytes"] > row["allowed_bytes"]:
            over.append(model.name)
    if args.json:
        print(json.dumps({"budget_bytes": 1e6 * args.budget, "models": rows}, indent=1))
    else:
        print(f"limit {args.budget:g} MB; all in MB")
        print(f"{'model':<40} {'file':>7} {'peak':>7} {'allowed':>8} {'CPU s':>6}" + (f" {'beside':>7} {'CPU s':>6}" if args.beside else ""))
        for row in rows:
            line = (f"{row['model'][:40]:<40} {row['file_bytes'] / 1e6:7.1f} {row['peak_bytes'] / 1e6:7.1f} "
                    f"{row['allowed_bytes'] / 1e6:8.1f} {row['cpu_seconds']:6.2f}")
            if args.beside:
                line += f" {row['beside_peak_bytes'] / 1e6:7.1f} {row['beside_cpu_seconds']:6.2f}"
            print(line)
    if over:
        sys.exit("more than allowed: " + ", ".join(over))


if __name__ == "__main__":
    main()
