#!/usr/bin/env python3
"""What a decode step should take on a card, from the bytes that it reads and what it takes besides; as fitted to an H200.

    expect.py               tokens a second that are predicted for cards that nobody has measured
    expect.py REPORT.json   what tests/gpu/run.sh measured, beside what is predicted for that card

A step's time is, over the layers: the kernels that move few bytes (STEP_US, and more with the length of the text), weights,
and what the cache holds; the bytes at a share of the card's bandwidth, or as fast as its multiprocessors issue instructions,
whichever takes longer. All constants are fitted to the rows of docs/gpu.md of one card, so that it knows nothing of what other
cards do differently: a row that is off by more than FAR is to be explained.
"""
import dataclasses
import json
import math
import sys

FAR = 1.3


@dataclasses.dataclass(frozen=True)
class Card:
    name: str
    bandwidth: float  # bytes a second that a plain read reaches
    multiprocessors: int
    clock: float  # Hz
    memory: float  # bytes


READ_SHARE = 0.93  # of a data sheet's bandwidth: 4.45 to 4.55 of an H200's 4.8 TB/s
H200 = Card("H200", 4.5e12, 132, 1.98e9, 141e9)
CARDS = [Card("H100", READ_SHARE * 3.35e12, 132, 1.98e9, 80e9), Card("RTX 4090", READ_SHARE * 1.008e12, 128, 2.52e9, 24e9),
         Card("RTX 4070 laptop", READ_SHARE * 0.256e12, 36, 2.2e9, 8e9)]
SPARE_BYTES = 1.5e9  # what driver, workspace and scratch take


@dataclasses.dataclass(frozen=True)
class Model:
    layers: int
    weight_bytes: float  # that a token reads, Q4_0 or Q4_K
    lanes: int
    head_dim: int


def q4_bytes(values):
    return values * 18 / 32


MODELS = {"1b": Model(16, q4_bytes(16 * 60.8e6 + 128256 * 2048), 8, 64), "8b": Model(32, q4_bytes(32 * 218.1e6 + 128256 * 4096), 8, 128)}

STEP_US = 44.0  # a layer's twelve kernels at 1k tokens
LONGER_US = 6.0  # more for each fourfold of them: splits, and their sums
BASIS_US = 7.0  # queries into the bases of keys and back, and LONGER_US once more
WEIGHT_RATE = 2.93e12 / 132  # bytes a second of one multiprocessor, at H200's clock
WEIGHT_SHARE, CACHE_SHARE = 0.9, 0.86  # of the bandwidth, where the multiprocessors could do more
PAGE_ISSUES = 8000.0  # instructions of a lane's packed page of 128 tokens
ISSUES_A_CLOCK = 4


@dataclasses.dataclass(frozen=True)
class Recipe:
    bits: float  # of a number in a page, its scales counted
    kept: float = 1.0  # of the tokens
    has_basis: bool = False


RECIPES = {"full": Recipe(16), "balanced": Recipe(4.28, has_basis=True), "compact": Recipe(4.28, 0.5, True),
           "ladder-4": Recipe(4.28, has_basis=True), "ladder-2": Recipe(2.28, has_basis=True), "kivi-4": Recipe(5), "kivi-2": Recipe(3)}


def cache_bytes(model, recipe, n_tokens):
    return model.layers * model.lanes * 2 * model.head_dim * n_tokens * recipe.kept * recipe.bits / 8


def attention_seconds(card, model, recipe, n_tokens):
    """Of all layers, without what a short text takes as well."""
    by_bytes = cache_bytes(model, recipe, n_tokens) / (CACHE_SHARE * card.bandwidth)
    if recipe.bits == 16:
        return by_bytes
    pages = model.layers * model.lanes * n_tokens * recipe.kept / 128
    return max(by_bytes, pages * PAGE_ISSUES / (card.multiprocessors * card.clock * ISSUES_A_CLOCK))


def step_seconds(card, model, recipe, n_tokens):
    fourfolds = max(0.0, math.log(n_tokens * recipe.kept / 1024, 4)) if n_tokens else 0.0
    fixed = STEP_US + LONGER_US * fourfolds
    if recipe.has_basis:
        fixed += BASIS_US + LONGER_US * fourfolds
    rate = min(WEIGHT_SHARE * card.bandwidth, WEIGHT_RATE * card.multiprocessors * card.clock / H200.clock)
    return model.layers * fixed * 1e-6 + model.weight_bytes / rate + attention_seconds(card, model, recipe, n_tokens)


def fits(card, model, recipe, n_tokens):
    return model.weight_bytes + cache_bytes(model, recipe, n_tokens) + SPARE_BYTES <= card.memory


def predicted_table():
    lines = ["| model | card | recipe | short | 16k | 64k |", "| --- | --- | --- | --- | --- | --- |"]
    for model_name, model in MODELS.items():
        for card in CARDS:
            for name in ("full", "balanced", "compact"):
                recipe = RECIPES[name]
                cells = [f"{1 / step_seconds(card, model, recipe, n):.0f}" if fits(card, model, recipe, n) else "does not fit"
                         for n in (0, 16384, 65536)]
                lines.append(f"| {model_name.upper()} | {card.name} | {name.capitalize()} | {' | '.join(cells)} |")
    return lines


def card_of(report):
    rows = [row for row in report["results"] if row.get("op") == "bandwidth"]
    if not rows:
        return None
    best = max(rows, key=lambda row: row["read_GBps"])
    known = next((card for card in [H200, *CARDS] if card.name.split()[-1] in best["card"]), H200)
    return Card(best["card"], best["read_GBps"] * 1e9, best["multiprocessors"], known.clock, known.memory)


def beside_measured(report):
    """Rows (model, recipe, tokens, measured ms, predicted ms, ratio) of the decode steps of a report."""
    card = card_of(report)
    rows = []
    for row in report["results"]:
        if card and row.get("op") == "model_decode" and row["model"] in MODELS and row["recipe"] in RECIPES:
            expected = step_seconds(card, MODELS[row["model"]], RECIPES[row["recipe"]], row["n_tokens"]) * 1e3
            rows.append((row["model"], row["recipe"], row["n_tokens"], row["ms"], expected, row["ms"] / expected))
    return rows


def is_far(ratio):
    return not 1 / FAR <= ratio <= FAR


def main():
    if len(sys.argv) == 1:
        print("\n".join(predicted_table()))
        return
    with open(sys.argv[1], encoding="utf-8") as file:
        for model, recipe, n_tokens, ms, expected, ratio in beside_measured(json.load(file)):
            print(f"{model} {recipe} {n_tokens}: {ms:.2f} ms, predicted {expected:.2f}{' (far)' if is_far(ratio) else ''}")


if __name__ == "__main__":
    main()
