#!/usr/bin/env python3
"""What every codec costs, in one table: `satchel eval agreement` with a recipe for each.

    tests/bench/codec_table.py SATCHEL OUT --text FILE... [--model smol] [--tokens 8192]
                               [--prompt-tokens 1028] [--at-once 128] [--only NAME;...]

Recipe files, a log to go on from and the tables (codecs.md, codecs.json) are written into the folder OUT.
Recipes keep every token, 4 sinks and a tail of 128 exact, so that lines differ by the codec alone.
docs/benchmarks/2026-11-codecs.md has the results.
"""
import argparse
import json
import pathlib
import subprocess


def codec(name, **params):
    return {"use": name, **params}


# In the order of the table: name, codec of K, of V (None: the same).
CODECS = [
    ("klt 8", codec("klt", bits=8), None),
    ("int_token 8", codec("int_token", bits=8), None),
    ("block32 8", codec("block32", bits=8), None),
    ("fp8", codec("fp8"), None),
    ("think", codec("think"), "exact"),
    ("matryoshka", codec("matryoshka"), "exact"),
    ("shadowkv", codec("shadowkv"), "exact"),
    ("cskv, half", codec("cskv", rank=0.5), None),
    ("cskv", codec("cskv"), None),
    ("cskv, half at 4", codec("cskv", rank=0.5, bits=4), None),
    ("a2ats", codec("a2ats"), "exact"),
    ("gear 4", codec("gear", bits=4), None),
    ("hadamard_affine 4", codec("hadamard_affine", bits=4), None),
    ("kivi 4", codec("kivi", bits=4), None),
    ("kvquant 4", codec("kvquant", bits=4), None),
    ("kvarn 4", codec("kvarn", bits=4), None),
    ("block32 4", codec("block32", bits=4), None),
    ("rotatekv 4", codec("rotatekv", bits=4), None),
    ("zipcache 4", codec("zipcache", bits=4), None),
    ("qhitter", codec("qhitter"), None),
    ("int_token 4", codec("int_token", bits=4), None),
    ("bfp 4", codec("bfp", bits=4), None),
    ("klt 4", codec("klt", bits=4), None),
    ("turboquant 4", codec("turboquant", bits=4), None),
    ("minikv2 2", codec("minikv2", bits=2), None),
    ("kvquant 3", codec("kvquant", bits=3), None),
    ("kvarn 3", codec("kvarn", bits=3, clip=True), None),
    ("kvarn 4, 2", codec("kvarn", bits=4), codec("kvarn", bits=2, clip=True)),
    ("klt 4, 2", codec("klt", bits=4), codec("klt", bits=2)),
    ("rotatekv 3", codec("rotatekv", bits=3), None),
    ("klt 3", codec("klt", bits=3), None),
    ("turboquant 3", codec("turboquant", bits=3), None),
    ("gear 2", codec("gear", bits=2), None),
    ("kivi 2", codec("kivi", bits=2), None),
    ("kvquant 2", codec("kvquant", bits=2), None),
    ("kvarn 2", codec("kvarn", bits=2, clip=True), None),
    ("kitty", codec("kitty"), None),
    ("oscar", codec("oscar"), None),
    ("zipcache 2", codec("zipcache", bits=2), None),
    ("rotatekv 2", codec("rotatekv", bits=2), None),
    ("klt 2", codec("klt", bits=2), None),
    ("turboquant 2", codec("turboquant", bits=2), None),
]


def write_recipes(folder, names):
    """Paths of the recipe files, by the name in the table."""
    out = {}
    for name, k, v in CODECS:
        if names and name not in names:
            continue
        path = folder / f"{name.replace(', ', '-').replace(' ', '-')}.json"
        path.write_text(json.dumps({
            "recipe": 1, "name": path.stem, "source": "tests/bench/codec_table.py",
            "differs": "the codec alone: every token stays", "keep": 1, "trigger": {"use": "never"},
            "codec": {"k": k, "v": k if v is None else v}, "reader": {"use": "all"}}))
        out[name] = str(path)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("satchel")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--text", nargs="+", required=True)
    parser.add_argument("--model", default="smol")
    parser.add_argument("--tokens", type=int, default=8192)
    parser.add_argument("--prompt-tokens", type=int, default=1028)
    parser.add_argument("--at-once", type=int, default=128)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--only", type=lambda s: s.split(";"), default=[])
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    recipes = write_recipes(args.out, args.only)
    command = [args.satchel, "eval", "agreement", "--json", "--log", str(args.out / "log"),
               "--tokens", str(args.tokens), "--prompt-tokens", str(args.prompt_tokens),
               "--at-once", str(args.at_once), "--recipes", ",".join(recipes.values())]
    for text in args.text:
        command += ["--text", text]
    if args.threads:
        command += ["--threads", str(args.threads)]
    if args.model:
        command += ["--model", args.model]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    (args.out / "codecs.json").write_text(done.stdout)
    print(done.stdout[:2000])


if __name__ == "__main__":
    main()
