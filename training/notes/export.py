"""Writes a trained model as GGUF files: OUT/NAME-f16.gguf, -q8_0 and -q4_0, and their SHA-256.

training/export RUN OUT --name notes-mini
"""

import argparse
import hashlib
import pathlib

import torch

from notes import gguf_file
from notes.model import Llama, Shape
from notes.vocabulary import Vocabulary


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("run", type=pathlib.Path, help="the folder that training wrote")
    ap.add_argument("out", type=pathlib.Path)
    ap.add_argument("--name", default="notes-mini")
    ap.add_argument("--types", default="f16,q8_0,q4_0")
    a = ap.parse_args()
    kinds = a.types.split(",")
    for kind in kinds:
        if kind not in gguf_file.TYPES:
            ap.error(f"--types: {kind} is none of {', '.join(gguf_file.TYPES)}")
    for needed in ("checkpoint.pt", "vocabulary.model"):
        if not (a.run / needed).is_file():
            ap.error(f"{a.run} is no folder that training wrote: it has no {needed}")
    kept = torch.load(a.run / "checkpoint.pt", map_location="cpu")
    model = Llama(Shape(**kept["shape"]))
    model.load_state_dict(kept["model"])
    v = Vocabulary((a.run / "vocabulary.model").read_bytes())
    a.out.mkdir(parents=True, exist_ok=True)
    for kind in kinds:
        to = a.out / f"{a.name}-{kind}.gguf"
        gguf_file.write(to, model, v, kind, a.name)
        data = to.read_bytes()
        print(
            f"{hashlib.sha256(data).hexdigest()}  {to.name}  {len(data):,} bytes, after {kept['step']:,} steps"
        )


if __name__ == "__main__":
    main()
