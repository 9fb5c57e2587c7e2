#!/usr/bin/env python3
"""A document in a tenth of the memory that its exact cache takes: read, packed, asked about, saved,
opened again and asked once more, and the limit held all the while.

    tests/e2e/tight_budget.py build/release/bin/satchel --model smol

Checks the arena's own peak, of all it ever gave out, and every few milliseconds how much more memory
of its own the process has resident than one that only says hello under the same limit. Not one of the normal tests: it needs SmolLM2 and some minutes.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "samples"
POLL_SECONDS = 0.005
TIMES = 10  # the exact cache, in budgets


def document():
    """Some 8,000 tokens: prose between contexts full of names."""
    lines = (SAMPLES / "needles.jsonl").read_text().splitlines()
    contexts = [json.loads(line)["context"] for line in lines[:3]]
    return "\n\n".join([contexts[0], (SAMPLES / "harbour.txt").read_text(), *contexts[1:]])


def chat(args, budget, *more):
    command = [args.satchel, "chat", "--model", args.model, "--budget", str(budget), "--json",
               "--quiet", "--max-tokens", "40", *more]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen(command, stdout=out, stderr=err, text=True)
        peak = 0
        while child.poll() is None:
            peak = max(peak, resident(child.pid))
            time.sleep(POLL_SECONDS)
        out.seek(0)
        err.seek(0)
        if child.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{err.read()}{out.read()}")
        return json.loads(out.read()), peak


def resident(pid):
    """Bytes of the process's own memory; the mapped weights are the file's."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"RssAnon:\s+(\d+) kB", status)
    return 1024 * int(found[1]) if found else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("satchel")
    parser.add_argument("--model", default="smol")
    parser.add_argument("--recipe", default="extreme")
    parser.add_argument("--budget", type=float, default=18.5, help="MB")
    args = parser.parse_args()
    failed = []

    def check(what, value, limit):
        print(f"{what:<58} {value / 1e6:9.1f} of {limit / 1e6:.1f} MB")
        if value > limit:
            failed.append(what)

    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder) / "document.txt"
        text.write_text(document())
        budget = int(args.budget * 1e6)
        store = ["--store", folder, "--chat", "tight"]
        _, small = chat(args, budget, "--recipe", args.recipe, "-p", "Hello")
        began = time.monotonic()
        asked, peak = chat(args, budget, *store, "--recipe", args.recipe, "--document", str(text),
                     "--pack", "-p", "What is the full name of the man called Harvey?")
        seconds = time.monotonic() - began
        check("read, packed, asked: peak of the arena", asked["cache"]["pool_peak_bytes"], budget)
        began = time.monotonic()
        again, peak_again = chat(args, budget, *store, "-p", "And who came to the door?")
        seconds_again = time.monotonic() - began
        check("opened again, asked: peak of the arena", again["cache"]["pool_peak_bytes"], budget)
        check("resident, beyond a chat that says hello", max(peak, peak_again) - small, budget)
        exact = asked["cache"]["kv_bytes_fp16"]
        print(f"exact: {asked['cache']['tokens']} tokens, {exact / 1e6:.1f} MB, "
              f"{exact / budget:.2f} limits")
        if exact < TIMES * budget:
            failed.append(f"the exact cache is less than {TIMES} limits")
        print(f"opened again and asked in {seconds_again:.1f} s, read and asked in {seconds:.1f} s")
        print(f"cache at the end {again['cache']['kv_bytes'] / 1e6:.1f} MB, "
              f"{100 * again['cache']['kv_bytes'] / again['cache']['kv_bytes_fp16']:.1f} % of fp16")
        for answer in (asked, again):
            print("> " + " ".join(answer["answer"].split()))
    if failed:
        sys.exit("failed: " + "; ".join(failed))


if __name__ == "__main__":
    main()
