#!/usr/bin/env python3
"""Reading and answering beside llama-cpp-python: same machine, same files, same threads, turn by turn.

    pip install llama-cpp-python
    python3 tests/bench/make_model.py llama-3.2-1b q4_0 1b.gguf --layers 2
    python3 tests/bench/compare_llama_cpp.py SATCHEL 1b.gguf [MORE.gguf …] [--depths 0,4096,16384] [--threads 1,2]
        [--llama-path FOLDER] [--cpu-level avx2] [--activations 8] [--json OUT.json]

A chat holds DEPTH tokens, which were read untimed; then the reading of the next 512 tokens is timed, then 32 tokens of
answer. Rounds go on in the same chats (at depth 0 each begins a new one); in a round each program has one turn, and the other
sleeps meanwhile. A ratio is the median of its rounds' ratios, and is above 1 where Satchel is faster.

llama.cpp runs with flash attention on and off (--fast: on only), with caches of fp16 and q8_0; each recipe is held against
the faster of its settings with that cache. It computes logits of the last prompt token only, as Satchel does. With one thread
the ratios are those of processor time, which other programs on the machine hardly touch; with more, of wall time.

llama.cpp built for another processor level: --llama-path names the folder given to `pip install --target`. Caches at a depth
are kept in --states, so that llama.cpp fills them once per file, type and build of llama.cpp.
"""
import argparse
import ctypes
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time

PROMPT, ANSWER = 512, 32
GGML_TYPES = {"f16": 1, "q8_0": 8}


class Llama:
    """One llama.cpp context at a depth."""

    def __init__(self, lib, model, options, depth, kind, flash):
        self.lib, self.depth, self.at, self.name = lib, depth, 0, f"llama.cpp {kind}" + ("" if flash else " no flash")
        params = lib.llama_context_default_params()
        params.n_ctx = depth + (options.rounds + 1) * (PROMPT + ANSWER) if depth else PROMPT + ANSWER + 64
        params.n_batch = params.n_ubatch = 512
        params.n_threads = params.n_threads_batch = options.threads_now
        params.type_k = params.type_v = GGML_TYPES[kind]
        params.flash_attn_type = 1 if flash else 0
        self.context = lib.llama_init_from_model(model, params)
        if not self.context:
            raise SystemExit(f"llama.cpp refused a context: {self.name}")
        self.memory = lib.llama_get_memory(self.context)
        self.n_vocabulary = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model))
        self.batch = lib.llama_batch_init(512, 0, 1)
        self.fill(options, kind + ("" if flash else ".transposed"))  # V lies otherwise without flash attention

    def fill(self, options, kind):
        if self.depth == 0:
            return
        file = os.stat(options.model_now)
        of = f"{file.st_size} {file.st_mtime_ns} {self.lib.__file__} {self.lib.__version__}"
        made_by = hashlib.sha256(of.encode()).hexdigest()[:12]
        name = f"{os.path.basename(options.model_now)}.{made_by}.{self.depth}.{kind}"
        state = os.path.join(options.states, name)
        if not os.path.exists(state):
            self.lib.llama_set_n_threads(self.context, os.cpu_count(), os.cpu_count())
            self.eval(self.depth)
            self.lib.llama_set_n_threads(self.context, options.threads_now, options.threads_now)
            tokens = (ctypes.c_int32 * 1)(1)
            self.lib.llama_state_seq_save_file(self.context, state.encode(), 0, tokens, 1)
        else:
            tokens, n = (ctypes.c_int32 * 8)(), ctypes.c_size_t()
            if not self.lib.llama_state_seq_load_file(self.context, state.encode(), 0, tokens, 8, ctypes.byref(n)):
                raise SystemExit(f"{state}: not read; delete it")
            self.at = self.depth

    def eval(self, n):
        """n tokens at once, in batches; logits of the last."""
        batch = self.batch
        done = 0
        while done < n:
            now = min(512, n - done)
            batch.n_tokens = now
            for i in range(now):
                batch.token[i] = (self.at * 7919 + 17) % self.n_vocabulary
                batch.pos[i] = self.at
                batch.n_seq_id[i] = 1
                batch.seq_id[i][0] = 0
                batch.logits[i] = done + i == n - 1
                self.at += 1
            if self.lib.llama_decode(self.context, batch) != 0:
                raise SystemExit("llama_decode failed")
            done += now
        return self.lib.llama_get_logits_ith(self.context, -1)[0]

    def turn(self):
        if self.depth == 0:
            self.lib.llama_memory_clear(self.memory, True)
            self.at = 0
        marks = [(time.perf_counter(), time.process_time())]
        self.eval(PROMPT)
        marks.append((time.perf_counter(), time.process_time()))
        for _ in range(ANSWER):
            self.eval(1)
        marks.append((time.perf_counter(), time.process_time()))
        (a, a_cpu), (b, b_cpu), (c, c_cpu) = marks
        return {"read": PROMPT / (b - a), "answer": ANSWER / (c - b), "read_cpu": PROMPT / (b_cpu - a_cpu),
                "answer_cpu": ANSWER / (c_cpu - b_cpu)}

    def close(self):
        self.lib.llama_batch_free(self.batch)
        self.lib.llama_free(self.context)


class Satchel:
    """One `satchel bench --paced` at a depth; its recipes take turns."""

    def __init__(self, options, depth, recipes):
        command = [options.satchel, "bench", "--paced", "--json", "--quiet", "--template", "chatml", "--model", options.model_now,
                   "--before", str(depth), "--depths", str(PROMPT), "--decode", str(ANSWER), "--rounds", str(options.rounds),
                   "--threads", str(options.threads_now), "--recipes", ",".join(recipes)]
        if options.cpu_level:
            command += ["--cpu-level", options.cpu_level]
        if options.activations != 16:
            command += ["--activations", str(options.activations)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit("satchel bench did not get ready")

    def turn(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        row = json.loads(self.process.stdout.readline())
        return {"read": row["prefill_tokens_per_s"], "answer": row["decode_tokens_per_s"],
                "read_cpu": PROMPT * 1000 / max(row["prefill_cpu_ms"], 1e-3),
                "answer_cpu": ANSWER * 1000 / max(row["decode_cpu_ms"], 1e-3), "kv_bytes": row["kv_bytes"]}

    def close(self):
        self.process.communicate()


def measure(lib, model, options, depth):
    """Rounds of {name: figures}."""
    packed = depth >= options.packed_from
    recipes = ["full"] + (options.packed.split(",") if packed else [])
    satchel = Satchel(options, depth, recipes)
    kinds = ["f16", "q8_0"] if packed else ["f16"]
    others = [Llama(lib, model, options, depth, kind, flash) for kind in kinds for flash in (True, False)
              if flash or (kind == "f16" and not options.fast)]  # a quantised V needs flash attention
    rounds = []
    for number in range(options.rounds):
        turns = [(recipe, satchel) for recipe in recipes]
        turns += [(other.name, other) for other in others]
        if number == 0 and depth == 0:
            for other in others:  # weights come from disk at the first turn
                other.turn()
        rounds.append({name: who.turn() for name, who in turns})
    satchel.close()
    for other in others:
        other.close()
    return recipes, rounds


def compare(recipes, rounds, options):
    """A row for each recipe: its speeds and ratios."""
    suffix = "_cpu" if options.threads_now == 1 else ""
    rows = []
    for recipe in recipes:
        row = {"recipe": recipe}
        for what in ("read", "answer"):
            key = what + suffix
            row[what] = statistics.median(r[recipe][key] for r in rounds)
            for kind in ("f16", "q8_0"):
                names = [n for n in rounds[0] if n.startswith("llama.cpp " + kind)]
                if not names:
                    continue
                best = max(names, key=lambda name: statistics.median(r[name][key] for r in rounds))
                row[f"{what}_llama_{kind}"] = statistics.median(r[best][key] for r in rounds)
                row[f"{what}_ratio_{kind}"] = statistics.median(r[recipe][key] / r[best][key] for r in rounds)
        row["kv_bytes"] = statistics.median(r[recipe]["kv_bytes"] for r in rounds)
        rows.append(row)
    return rows


HEAD = ("| file | threads | depth | recipe | reading, tok/s | llama.cpp | ratio | answering, tok/s | llama.cpp | ratio |"
        " beside q8_0: reading | answering |\n|---|---|---|---|---|---|---|---|---|---|---|---|")


def markdown(row):
    def ratio(key):
        return f"{row[key]:.2f}" if key in row else ""
    return (f"| {row['file']} | {row['threads']} | {row['depth']} | {row['recipe']} | {row['read']:.0f} |"
            f" {row['read_llama_f16']:.0f} | {row['read_ratio_f16']:.2f} | {row['answer']:.1f} | {row['answer_llama_f16']:.1f} |"
            f" {row['answer_ratio_f16']:.2f} | {ratio('read_ratio_q8_0')} | {ratio('answer_ratio_q8_0')} |")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("satchel")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--depths", default="0,4096,16384")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--packed", default="balanced,compact", help="recipes beside full")
    parser.add_argument("--packed-from", type=int, default=16384, help="the least depth they are measured at")
    parser.add_argument("--fast", action="store_true", help="llama.cpp with flash attention only")
    parser.add_argument("--cpu-level", default="", help="of Satchel: avx2 …")
    parser.add_argument("--activations", type=int, default=16, help="of Satchel, in bits: 16 or 8; llama.cpp's are of 8")
    parser.add_argument("--llama-path", default="", help="folder of another llama-cpp-python")
    parser.add_argument("--states", default="/tmp", help="folder for llama.cpp's filled caches")
    parser.add_argument("--json", default="")
    return parser.parse_args()


def main():
    options = parse()
    if options.llama_path:
        sys.path.insert(0, options.llama_path)
    import llama_cpp as lib
    lib.llama_backend_init()
    quiet = lib.llama_log_callback(lambda *_: None)
    lib.llama_log_set(quiet, None)
    print(lib.llama_print_system_info().decode(), "\n")
    print(HEAD, flush=True)
    rows = []
    for path in options.models:
        options.model_now = path
        params = lib.llama_model_default_params()
        params.n_gpu_layers = 0
        model = lib.llama_model_load_from_file(path.encode(), params)
        for depth in map(int, options.depths.split(",")):
            for threads in map(int, options.threads.split(",")):
                options.threads_now = threads
                recipes, rounds = measure(lib, model, options, depth)
                for row in compare(recipes, rounds, options):
                    rows.append({"file": os.path.basename(path), "threads": threads, "depth": depth, **row, "rounds": rounds})
                    print(markdown(rows[-1]), flush=True)
        lib.llama_model_free(model)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({"schema": 1, "llama_cpp": lib.__version__, "system": lib.llama_print_system_info().decode(),
                       "cpu_level": options.cpu_level, "activations": options.activations, "rows": rows}, out, indent=1)


main()
