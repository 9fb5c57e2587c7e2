"""The whole chain in about a minute: train, stop, go on, export, read back, ask. Needs torch, sentencepiece, gguf.

    chain_test.py [SATCHEL]      with the program's path, Satchel answers as well and is compared with PyTorch
Leaves with 77, which ctest calls skipped, where a package is missing.
"""

import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "training"), str(ROOT / "tests/oracle")]
try:
    import gguf  # noqa: F401
    import torch
    from sentencepiece import sentencepiece_model_pb2  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}; pip install -r training/requirements.txt")
    sys.exit(77)
import bundled  # noqa: E402
from notes import batches, gguf_file, train, vocabulary, world  # noqa: E402
from notes.model import SHAPES, Llama  # noqa: E402
from notes.optimiser import Adam, Muon  # noqa: E402

SATCHEL = None
STEPS, TOKENS = 120, 512
MUON, ADAM = 0.02, 0.004  # faster than the defaults, which are for hours


def tool(name, *arguments):
    command = [sys.executable, str(ROOT / "training" / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def run_training(out, *more):
    options = ["--shape", "tiny", "--steps", STEPS, "--tokens", TOKENS, "--save-every", 40]
    options += ["--muon-rate", MUON, "--adam-rate", ADAM, "--device", "cpu"]
    done = tool("train", out, *options, *more)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Chain(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.at = Path(cls.folder.name)
        cls.straight = cls.at / "straight"
        run_training(cls.straight)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def checkpoint(self, run):
        return torch.load(run / "checkpoint.pt", map_location="cpu")

    def test_learns(self):
        """It does not recall yet, but has learnt how answers look: far better than knowing nothing."""
        v = vocabulary.Vocabulary((self.straight / "vocabulary.model").read_bytes())
        ids, learn = batches.batch(random.Random(99), v, 8, 128, world.Mix())
        before, after = Llama(SHAPES["tiny"]), Llama(SHAPES["tiny"])
        after.load_state_dict(self.checkpoint(self.straight)["model"])
        with torch.no_grad():
            knew, knows = (float(train.loss_of(m, ids, learn, "cpu")) for m in (before, after))
        self.assertLess(knows, 0.7 * knew, f"{knew} nats before, {knows} after")

    def test_notes_leave_room_for_a_few_questions(self):
        rng = random.Random(1)
        for n_tokens, longest in ((128, 0.6), (512, 0.6), (1024, 0.71), (2048, 0.86)):
            most = max(batches.draw(rng, n_tokens).notes for _ in range(500))
            self.assertTrue(longest - 0.02 < most < longest, (n_tokens, most))

    def test_the_vocabulary_kept_here_is_the_bundled_models(self):
        ours = vocabulary.Vocabulary((ROOT / "training/vocabulary.model").read_bytes())
        theirs = gguf_file.read_vocabulary(bundled.MODEL)
        pieces = [[v.pieces.id_to_piece(i) for i in range(len(v))] for v in (ours, theirs)]
        self.assertEqual(*pieces)

    def with_vocabulary(self):
        return ["--vocabulary", self.straight / "vocabulary.model"]

    def assert_same_weights(self, a, b):
        a, b = self.checkpoint(a), self.checkpoint(b)
        self.assertEqual(a["step"], b["step"])
        for name, weight in a["model"].items():
            self.assertTrue(torch.equal(weight, b["model"][name]), name)

    def test_stopped_and_gone_on_with_is_as_if_never_stopped(self):
        run = self.at / "stopped"
        run_training(run, "--stop-at", 40, *self.with_vocabulary())
        self.assertEqual(self.checkpoint(run)["step"], 40)
        run_training(run, "--resume")
        self.assert_same_weights(self.straight, run)

    def test_two_processes_stopped_and_gone_on_with_too(self):
        straight, stopped = self.at / "two", self.at / "two_stopped"
        two = ["--processes", 2, *self.with_vocabulary()]
        run_training(straight, "--stop-at", 20, *two)
        run_training(stopped, "--stop-at", 10, *two)
        run_training(stopped, "--stop-at", 20, "--processes", 2, "--resume")
        self.assert_same_weights(straight, stopped)
        refused = tool("train", stopped, "--shape", "tiny", "--device", "cpu", "--resume")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("has 2 processes", refused.stderr)

    def test_two_processes_take_the_step_of_both_gradients(self):
        run = self.at / "one_step"
        run_training(run, "--processes", 2, "--stop-at", 1, *self.with_vocabulary())
        plan = train.Plan(run, SHAPES["tiny"], STEPS, 2, TOKENS, MUON, ADAM, 1, 40, 1, "cpu")
        v = vocabulary.Vocabulary((run / "vocabulary.model").read_bytes())
        torch.manual_seed(plan.seed)
        model = Llama(plan.shape)
        shared, grads = train.Shared(plan, model), []
        for rank in range(2):
            model.zero_grad(set_to_none=True)
            ids, learn = train.Worker(plan, rank, model, v, shared).rows(0)
            train.loss_of(model, ids, learn, "cpu").backward()
            grads.append([p.grad for p in model.parameters()])
        mean = [(a + b) / 2 for a, b in zip(*grads)]
        named = list(model.named_parameters())
        matrix = [p.dim() == 2 and "token_embd" not in n for n, p in named]
        pick = lambda values, want: [v for v, m in zip(values, matrix) if m is want]  # noqa: E731
        params = [p.data for _, p in named]
        rest = pick(mean, False)
        clip = min(1.0, 1 / (sum(float(g.pow(2).sum()) for g in rest) ** 0.5 + 1e-6))
        rate = train.schedule.rate_at(0, STEPS)
        Muon(pick(params, True)).step(pick(mean, True), plan.muon_rate * rate)
        Adam(pick(params, False)).step([g * clip for g in rest], plan.adam_rate * rate)
        for name, weight in self.checkpoint(run)["model"].items():
            apart = float((weight - model.state_dict()[name]).abs().max())
            self.assertLess(apart, 1e-5, name)

    def exported(self):
        out = self.at / "models"
        if not out.exists():
            done = tool("export", self.straight, out, "--name", "smoke")
            self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def test_export_keeps_the_weights(self):
        kept = self.checkpoint(self.straight)
        bounds = {
            "f16": 2e-3,
            "q8_0": 2e-2,
            "q4_0": 0.25,
        }  # largest error, as a share of the largest weight
        for kind, bound in bounds.items():
            model = gguf_file.read(self.exported() / f"smoke-{kind}.gguf")
            for name, weight in model.state_dict().items():
                apart = (weight - kept["model"][name]).abs().max() / kept["model"][name].abs().max()
                self.assertLess(apart, bound, f"{kind} {name}")

    def test_vocabulary_in_the_file_is_the_one_trained_with(self):
        ours = vocabulary.Vocabulary((self.straight / "vocabulary.model").read_bytes())
        read = gguf_file.read_vocabulary(self.exported() / "smoke-q8_0.gguf")
        rng = random.Random(3)
        for _ in range(20):
            talk = world.Conversation(rng, world.Held(names=True, wordings=True, kinds=True))
            for turn in batches.conversation(talk, batches.Plan(512), ours.encode):
                self.assertEqual(ours.encode(turn.text), read.encode(turn.text))
                self.assertEqual(ours.encode(turn.text), ours.pieces.encode(turn.text))
                self.assertEqual(ours.decode(ours.encode(turn.text)), turn.text)

    def test_keys_and_values_carry_over(self):
        torch.manual_seed(0)
        model, ids = Llama(SHAPES["tiny"]).eval(), torch.randint(0, 1024, (1, 40))
        with torch.no_grad():
            whole, past = model.logits(model(ids)), []
            parts = [
                model.logits(model(part, past=past))
                for part in (ids[:, :17], ids[:, 17:18], ids[:, 18:])
            ]
        self.assertLess((whole - torch.cat(parts, 1)).abs().max(), 1e-4)

    def test_satchel_answers_as_pytorch_does(self):
        if not SATCHEL:
            self.skipTest("no satchel program was named")
        made = tool("held-out", self.straight / "vocabulary.model", "--only", "names-512")
        self.assertEqual(made.returncode, 0, made.stderr)
        questions = self.at / "questions.jsonl"
        questions.write_text("\n".join(made.stdout.splitlines()[:8]) + "\n")
        done = tool("evaluate", self.exported() / "smoke-f16.gguf", questions, "--satchel", SATCHEL)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        counted = re.search(r"right of (\d+): .*; (\d+) answers the same", done.stdout)
        n, same = map(int, counted.groups())
        # Word for word: greedy answers only part where two pieces are nearly as likely.
        self.assertGreaterEqual(same, 0.9 * n, done.stdout)

    def test_a_wrong_path_is_said(self):
        for arguments in (
            ("evaluate", self.at / "none.gguf", self.at),
            ("export", self.at, self.at / "out"),
            ("held-out", self.at / "none.model"),
            ("train", self.at / "nothing", "--resume"),
        ):
            done = tool(*arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
            self.assertIn("error: ", done.stderr)


if __name__ == "__main__":
    SATCHEL = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None
    unittest.main()
