#!/usr/bin/env python3
"""Prefill and decode speed of `satchel bench` beside llama-cpp-python: same machine, same file, same threads, turn by turn.

    pip install llama-cpp-python
    python3 tests/bench/compare_llama_cpp.py PROGRAM MODEL [--depths 512,2048] [--rounds 3] [--threads 2]

Each round measures both, one after the other; the medians and their ratio are printed. llama.cpp computes logits for the
last prompt token only, as Satchel does; its cache is fp16, flash attention on.
"""
import argparse
import json
import statistics
import subprocess
import time


def satchel(program, model, depth, n_decode, threads, recipe):
    out = subprocess.run([program, "bench", "--json", "--quiet", "--model", model, "--depths", str(depth), "--decode", str(n_decode),
                          "--threads", str(threads), "--recipes", recipe], check=True, capture_output=True, text=True).stdout
    row = json.loads(out.strip().splitlines()[-1])["rows"][0]
    return row["prefill_tokens_per_s"], row["decode_tokens_per_s"]


def llama(model, depth, n_decode, threads):
    import llama_cpp
    llm = llama_cpp.Llama(model, n_ctx=depth + n_decode + 8, n_batch=512, n_threads=threads, n_threads_batch=threads,
                          flash_attn=True, verbose=False)
    ids = [1000 + (i * 7919) % 20000 for i in range(depth)]
    llm.eval(ids[:32])
    llm.reset()
    start = time.perf_counter()
    llm.eval(ids)
    prefill = depth / (time.perf_counter() - start)
    start = time.perf_counter()
    for i in range(n_decode):
        llm.eval([2000 + i])
    return prefill, n_decode / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--depths", default="512,2048")
    parser.add_argument("--decode", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    for depth in [int(d) for d in options.depths.split(",")]:
        runs = {"llama.cpp": [], "full": [], "compact": []}
        for _ in range(options.rounds):
            runs["llama.cpp"].append(llama(options.model, depth, options.decode, options.threads))
            for recipe in ("full", "compact"):
                runs[recipe].append(satchel(options.program, options.model, depth, options.decode, options.threads, recipe))
        base = [statistics.median(r[i] for r in runs["llama.cpp"]) for i in (0, 1)]
        for name, rows in runs.items():
            got = [statistics.median(r[i] for r in rows) for i in (0, 1)]
            print(f"depth {depth:5}  {name:10} prefill {got[0]:8.1f} tok/s ({got[0] / base[0]:.2f}x)   "
                  f"decode {got[1]:7.1f} tok/s ({got[1] / base[1]:.2f}x)", flush=True)


main()
