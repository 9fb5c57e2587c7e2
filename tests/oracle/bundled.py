"""The bundled model and what comes with it: the one place where the scripts name its files."""
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "models/notes-mini-q8_0.gguf"
HELD_OUT = ROOT / "models/notes-heldout.jsonl"
LONG_SET = "names-1024"  # of HELD_OUT: notes of several pages, as in tests/support/bundled_model.h


def conversations(of_set: str | None = None) -> list[dict]:
    all_of_them = [json.loads(line) for line in HELD_OUT.read_text().splitlines()]
    return [each for each in all_of_them if of_set is None or each["set"] == of_set]
