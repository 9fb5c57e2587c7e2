#!/usr/bin/env python3
"""A document in a fifth of the memory that its exact cache takes: read, packed, asked about, saved,
opened again and asked once more, and the limit held all the while.

    tests/e2e/tight_budget.py build/release/bin/satchel --model smol

Checks the pool's own peak, and how much more memory the process has resident than one that only
says hello under the same limit. Not one of the normal tests: it needs SmolLM2 and some minutes.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "samples"
TIMES = 5  # the exact cache, in budgets


def document():
    """Some 8,000 tokens: prose between contexts full of names."""
    lines = (SAMPLES / "needles.jsonl").read_text().splitlines()
    contexts = [json.loads(line)["context"] for line in lines[:3]]
    return "\n\n".join([contexts[0], (SAMPLES / "harbour.txt").read_text(), *contexts[1:]])


def chat(args, budget, *more):
    command = [args.satchel, "chat", "--model", args.model, "--budget", str(budget), "--json",
               "--quiet", "--max-tokens", "40", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}{done.stdout}")
    return json.loads(done.stdout)


def resident_peak_of_children():
    return 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("satchel")
    parser.add_argument("--model", default="smol")
    parser.add_argument("--recipe", default="extreme")
    parser.add_argument("--budget", type=float, default=36, help="MB")
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
        chat(args, budget, "--recipe", args.recipe, "-p", "Hello")
        small = resident_peak_of_children()
        began = time.monotonic()
        asked = chat(args, budget, *store, "--recipe", args.recipe, "--document", str(text),
                     "--pack", "-p", "What is the full name of the man called Harvey?")
        seconds = time.monotonic() - began
        check("read, packed, asked: peak of the pool", asked["cache"]["pool_peak_bytes"], budget)
        began = time.monotonic()
        again = chat(args, budget, *store, "-p", "And who came to the door?")
        seconds_again = time.monotonic() - began
        check("opened again, asked: peak of the pool", again["cache"]["pool_peak_bytes"], budget)
        check("resident, beyond a chat that says hello", resident_peak_of_children() - small,
              budget)
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
