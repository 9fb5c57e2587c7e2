"""The whole chain in about a minute: train, stop, go on, export, read back, ask. Needs torch, sentencepiece, gguf.

    chain_test.py [SATCHEL]      with the program's path, Satchel answers as well and is compared with PyTorch
Leaves with 77, which ctest calls skipped, where a package is missing.
"""

import json
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "training"))
try:
    import gguf  # noqa: F401
    import numpy as np
    import sentencepiece  # noqa: F401
    import torch
except ImportError as missing:
    print(f"skipped: {missing}; pip install -r training/requirements.txt")
    sys.exit(77)
from notes import batches, gguf_file, vocabulary, world  # noqa: E402
from notes.model import SHAPES, Llama  # noqa: E402

SATCHEL = None
STEPS = 120


def train(out, *more):
    done = subprocess.run(
        [
            sys.executable,
            str(ROOT / "training/train"),
            str(out),
            "--shape",
            "tiny",
            "--steps",
            str(STEPS),
            "--tokens",
            "512",
            "--save-every",
            "40",
            *more,
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class Chain(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.at = Path(cls.folder.name)
        cls.straight = cls.at / "straight"
        train(cls.straight)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def checkpoint(self, run):
        return torch.load(run / "checkpoint.pt", map_location="cpu")

    def test_learns(self):
        """After a minute it does not recall yet, but it has learnt how answers look: far better than knowing nothing."""
        log = [json.loads(line) for line in (self.straight / "log.jsonl").read_text().splitlines()]
        self.assertLess(log[-1]["loss"], 0.75 * np.log(SHAPES["tiny"].n_vocab))

    def test_stopped_and_gone_on_with_is_as_if_never_stopped(self):
        run = self.at / "stopped"
        train(run, "--stop-at", "40")
        self.assertEqual(self.checkpoint(run)["step"], 40)
        train(run, "--resume")
        a, b = self.checkpoint(self.straight), self.checkpoint(run)
        self.assertEqual(b["step"], STEPS)
        for name, weight in a["model"].items():
            self.assertTrue(torch.equal(weight, b["model"][name]), name)

    def test_two_processes_learn_alike(self):
        run = self.at / "two"
        train(run, "--processes", "2", "--stop-at", "20", "--save-every", "20")
        self.assertEqual(self.checkpoint(run)["step"], 20)
        for name, weight in self.checkpoint(run)["model"].items():
            self.assertTrue(torch.isfinite(weight).all(), name)

    def exported(self):
        out = self.at / "models"
        if not out.exists():
            subprocess.run(
                [sys.executable, str(ROOT / "training/export"), str(self.straight), str(out), "--name", "smoke"],
                check=True,
                stdout=subprocess.DEVNULL,
            )
        return out

    def test_export_keeps_the_weights(self):
        kept = self.checkpoint(self.straight)
        for kind, bound in (
            ("f16", 2e-3),
            ("q8_0", 2e-2),
            ("q4_0", 0.25),
        ):  # largest error as a share of the largest weight
            model = gguf_file.read(self.exported() / f"smoke-{kind}.gguf")
            for name, weight in model.state_dict().items():
                apart = (weight - kept["model"][name]).abs().max() / kept["model"][name].abs().max()
                self.assertLess(apart, bound, f"{kind} {name}")

    def test_vocabulary_in_the_file_is_the_one_trained_with(self):
        ours = vocabulary.Vocabulary((self.straight / "vocabulary.model").read_bytes())
        read = gguf_file.read_vocabulary(self.exported() / "smoke-q8_0.gguf")
        rng = random.Random(3)
        for _ in range(20):
            for turn in batches.conversation(
                rng, 512, ours.encode, 0.5, 0.3, world.Held(names=True, wordings=True, kinds=True)
            ):
                self.assertEqual(ours.encode(turn.text), read.encode(turn.text))
                self.assertEqual(ours.encode(turn.text), ours.pieces.encode(turn.text))
                self.assertEqual(ours.decode(ours.encode(turn.text)), turn.text)

    def test_keys_and_values_carry_over(self):
        torch.manual_seed(0)
        model, ids = Llama(SHAPES["tiny"]).eval(), torch.randint(0, 1024, (1, 40))
        with torch.no_grad():
            whole, past = model.logits(model(ids)), []
            parts = [model.logits(model(part, past=past)) for part in (ids[:, :17], ids[:, 17:18], ids[:, 18:])]
        self.assertLess((whole - torch.cat(parts, 1)).abs().max(), 1e-4)

    def test_satchel_answers_as_pytorch_does(self):
        if not SATCHEL:
            self.skipTest("no satchel program was named")
        made = subprocess.run(
            [
                sys.executable,
                str(ROOT / "training/held-out"),
                str(self.straight / "vocabulary.model"),
                "--only",
                "names-512",
            ],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        questions = self.at / "questions.jsonl"
        questions.write_text("\n".join(made.splitlines()[:8]) + "\n")
        done = subprocess.run(
            [
                sys.executable,
                str(ROOT / "training/evaluate"),
                str(self.exported() / "smoke-f16.gguf"),
                str(questions),
                "--satchel",
                SATCHEL,
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        n, same = map(int, re.search(r"right of (\d+): .*; (\d+) answers the same", done.stdout).groups())
        self.assertGreaterEqual(
            same, 0.9 * n, done.stdout
        )  # word for word: greedy answers only part where two pieces are as likely


if __name__ == "__main__":
    SATCHEL = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None
    unittest.main()
