"""Trainers of selectors: what a text that is held whole, gated or mixed says to the answers behind it, and that the
program reads the files. Needs what chain_test.py needs.

    selectors_test.py [SATCHEL]
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import chain_test  # leaves with 77 where a package is missing
from chain_test import ROOT, tool

import torch
import torch.nn.functional as F
from notes import attention_gate, gguf_file, lococo, selector

SATCHEL = None
MODEL = ROOT / "models/notes-mini-q8_0.gguf"


class Selectors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(1)
        cls.model = gguf_file.read(MODEL)
        cls.model.requires_grad_(False)
        cls.text = selector.texts(cls.model, gguf_file.read_vocabulary(MODEL), 1, "a test")[0]

    def whole(self):
        return [selector.Held(k, v) for k, v in zip(self.text.k, self.text.v)]

    def test_a_text_that_is_held_whole_is_what_the_model_reads(self):
        text, past = self.text, [[k[None], v[None]] for k, v in zip(self.text.k, self.text.v)]
        states = self.model(text.ids[None], past=past)[0, text.said]
        expected = F.cross_entropy(self.model.logits(states), text.ids[text.said + 1])
        loss = selector.answer_loss(self.model, text, self.whole())
        self.assertAlmostEqual(float(loss), float(expected), places=4)
        self.assertGreaterEqual(text.n_context, selector.LEAST)

    def test_attention_sums_are_all_that_the_queries_give(self):
        for attended in self.text.attended:
            total = attended.sum(1)
            torch.testing.assert_close(total, torch.full_like(total, self.text.n_context))

    def test_open_gates_hide_nothing_and_closed_ones_all_but_both_ends(self):
        gates = torch.nn.ModuleList(attention_gate.Gate(self.model.shape, 8) for _ in self.text.k)
        for gate in gates:
            torch.nn.init.constant_(gate.out.bias, 50.0)
        loss, share = attention_gate.losses(self.model, gates, self.text)
        whole = selector.answer_loss(self.model, self.text, self.whole())
        self.assertAlmostEqual(float(loss), float(whole), places=4)
        self.assertEqual(float(share), 1)
        for gate in gates:
            torch.nn.init.constant_(gate.out.bias, -2.0)
        loss, share = attention_gate.losses(self.model, gates, self.text)
        ends = (selector.SINKS + selector.TAIL) / self.text.n_context
        self.assertAlmostEqual(float(share), ends, places=4)
        self.assertGreater(float(loss), float(whole) + 0.5)
        loss.backward()  # straight through: closed gates learn, too
        self.assertTrue(all(gate.q.weight.grad.abs().sum() > 0 for gate in gates))

    def test_slots_without_a_blend_are_heavy_hitters(self):
        torch.manual_seed(2)
        layer = lococo.Mixing(self.model.shape, 16, 9)
        n, d = self.text.n_context, 2 * self.model.shape.head_dim
        kv, scores = torch.randn(n, d), torch.rand(n)
        mixed = layer.compress(kv, scores, 0.25)
        self.assertEqual(mixed.shape, (n // 4, d))
        layer.normalizer.data.zero_()
        plain = layer.compress(kv, scores, 0.25)
        best = scores[selector.SINKS : n - selector.TAIL].topk(n // 4 - selector.SINKS - selector.TAIL)
        kept = torch.cat(
            (
                torch.arange(selector.SINKS),
                best.indices.sort().values + selector.SINKS,
                torch.arange(n - selector.TAIL, n),
            )
        )
        torch.testing.assert_close(plain, kv[kept])
        changed = (mixed != plain).any(1)
        self.assertLessEqual(int(changed.sum()), n // 8)
        self.assertGreaterEqual(int(changed.sum()), n // 8 - 1)

    def test_slots_of_tokens_that_are_all_alike_are_these(self):
        layer = lococo.Mixing(self.model.shape, 16, 9)
        kv = torch.randn(1, 2 * self.model.shape.head_dim).expand(400, -1)
        mixed = layer.compress(kv, torch.rand(400), 0.5)
        torch.testing.assert_close(mixed, kv[:200], atol=1e-4, rtol=1e-4)

    def test_the_program_reads_what_is_written(self):
        if SATCHEL is None:
            self.skipTest("no program was named")
        with tempfile.TemporaryDirectory() as at:
            env = os.environ | {"XDG_DATA_HOME": at, "XDG_CACHE_HOME": at}
            info = lambda: json.loads(  # noqa: E731
                subprocess.run(
                    [SATCHEL, "info", MODEL, "--json"], capture_output=True, text=True, env=env
                ).stdout
            )
            folder = Path(at) / "satchel/lane-tables"
            folder.mkdir(parents=True)
            for method in ("attention-gate", "lococo"):
                self.assertEqual(info()["selectors"][method]["from"], "shipped")
                out = folder / f"{info()['fingerprint']}.{method}.safetensors"
                few = ("--conversations", 2, "--steps", 2)
                done = tool(method, MODEL, out, "--satchel", SATCHEL, *few)
                self.assertEqual(done.returncode, 0, done.stderr)
                read = info()["selectors"][method]
                self.assertEqual(read["from"], "folder", read)
                self.assertIn("2 conversations", read["source"])


if __name__ == "__main__":
    SATCHEL = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None
    unittest.main()
