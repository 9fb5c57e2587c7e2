"""Merged KV heads: what is lossless stays so, the file is an ordinary one with a smaller cache, and a model goes on
learning from it. Needs what chain_test.py needs.

    heads_test.py [SATCHEL]
"""

import json
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import chain_test  # leaves with 77 where a package is missing
from chain_test import ROOT, tool

import gguf
import numpy as np
import torch
from notes import batches, gguf_file, merge_heads, vocabulary, world
from notes.model import Llama, Shape

SATCHEL = None
SHAPE = Shape(width=128, n_layers=2, n_heads=8, n_kv_heads=4, ffn=96, context=512)


def random_model(seed=1):
    torch.manual_seed(seed)
    return Llama(SHAPE).eval()


def like(x, by):
    """The heads of a KV weight [n_kv_heads · head_dim, width], the odd ones made of those before them by `by`."""
    heads = x.detach().view(SHAPE.n_kv_heads, SHAPE.head_dim, -1).clone()
    for i in range(1, SHAPE.n_kv_heads, 2):
        heads[i] = by(heads[i - 1])
    return torch.nn.Parameter(heads.flatten(0, 1))


def model_of_pairs():
    """Heads 1 and 3 say what 0 and 2 say: keys turned and scaled by frequency, values mixed."""
    model, rng = random_model(), torch.Generator().manual_seed(2)
    factor = torch.randn(SHAPE.head_dim // 2, 2, generator=rng)
    mix = torch.randn(SHAPE.head_dim, SHAPE.head_dim, generator=rng) / SHAPE.head_dim**0.5

    def scaled(rows):
        complex_rows = torch.complex(rows[0::2], rows[1::2]) * torch.view_as_complex(factor)[:, None]
        return torch.stack((complex_rows.real, complex_rows.imag), 1).flatten(0, 1)

    for layer in model.blk:
        layer.attn_k.weight = like(layer.attn_k.weight, scaled)
        layer.attn_v.weight = like(layer.attn_v.weight, lambda rows: mix @ rows)
    return model


class MergedHeads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.at = Path(cls.folder.name)
        cls.v = vocabulary.Vocabulary((ROOT / "training/vocabulary.model").read_bytes())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def written(self, model, name):
        file = self.at / f"{name}.gguf"
        gguf_file.write(file, model, self.v, "f16", name)
        return file

    def merged(self, model, n, *more):
        source, out = self.written(model, "whole"), self.at / f"merged-{n}.gguf"
        options = ["--kv-heads", n, "--tokens", 1024, *more]
        done = tool("merge-heads", source, out, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return source, out, [json.loads(line) for line in done.stdout.splitlines()]

    @torch.no_grad()
    def apart(self, a, b):
        """The largest difference of the logits, as a share of their spread."""
        ids = torch.randint(0, SHAPE.n_vocab, (2, 60), generator=torch.Generator().manual_seed(3))
        a, b = (m.logits(m(ids)) for m in map(gguf_file.read, (a, b)))
        return float((a - b).abs().max() / a.std())

    def test_as_many_heads_as_before_give_the_same_logits(self):
        source, out, told = self.merged(random_model(), 4, "--type", "f32")
        self.assertLess(self.apart(source, out), 1e-3)
        self.assertEqual([(of["keys"], of["values"]) for of in told], [(1, 1), (1, 1)])
        v = lambda file: gguf_file.read(file).blk[0].attn_v.weight  # noqa: E731
        self.assertFalse(torch.allclose(v(source), v(out)), "nothing went through the merge")

    def test_heads_that_say_the_same_merge_without_loss(self):
        for text in ((), ("--notes",)):
            source, out, told = self.merged(model_of_pairs(), 2, "--type", "f32", *text)
            self.assertLess(self.apart(source, out), 5e-3)  # alike as far as F16 says so
            for of in told:
                self.assertGreater(min(of["keys"], of["values"]), 0.9999)

    def test_heads_that_differ_lose_something_and_it_is_told(self):
        source, out, told = self.merged(random_model(), 2)
        self.assertGreater(self.apart(source, out), 0.05)
        for of in told:
            self.assertTrue(0.5 < of["keys"] < 0.99 and 0.5 < of["values"] < 0.99, of)

    def test_the_best_is_better_than_one_of_the_heads(self):
        """One group by hand: the keys' SVD loses less of the weighted energy than keeping either head."""
        rng = np.random.default_rng(4)
        q, k = rng.normal(size=(4, 8, 16)), rng.normal(size=(2, 8, 16))
        root = rng.normal(size=(16, 16))
        share = merge_heads.merge_keys(q, k, root @ root.T)[2]
        energy = lambda x: np.einsum("...w,...w", x @ root, x @ root)  # noqa: E731
        reads = (energy(q).reshape(2, 2, 4, 2)).sum((1, 3))
        cost = (energy(k).reshape(2, 4, 2)).sum(2) * reads
        self.assertGreater(share, max(cost[0].sum(), cost[1].sum()) / cost.sum())

    def test_all_else_of_the_file_stays(self):
        source, out, _ = self.merged(random_model(), 2)
        a, b = gguf.GGUFReader(source), gguf.GGUFReader(out)
        same = lambda r: {  # noqa: E731
            n: f.contents() for n, f in r.fields.items() if "head_count_kv" not in n
        }
        self.assertEqual(same(a), same(b))
        self.assertEqual(b.fields["llama.attention.head_count_kv"].contents(), 2)
        for before, after in zip(a.tensors, b.tensors):
            self.assertEqual(before.name, after.name)
            if "attn_norm" in before.name or "attn_" not in before.name:
                self.assertEqual(before.data.tobytes(), after.data.tobytes(), before.name)

    def test_satchel_loads_it_with_the_smaller_cache_and_answers_as_pytorch_does(self):
        if not SATCHEL:
            self.skipTest("no satchel program was named")
        source, out, _ = self.merged(random_model(), 1)

        def estimate(model):
            command = [SATCHEL, "estimate", "--model", model, "--tokens", "500", "--json"]
            return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)

        self.assertEqual(estimate(source)["kv_bytes_fp16"], 4 * estimate(out)["kv_bytes_fp16"])
        self.assertLess(estimate(out)["cache_bytes"], 0.45 * estimate(source)["cache_bytes"])
        made = tool("held-out", ROOT / "training/vocabulary.model", "--only", "names-512")
        talk = json.loads(made.stdout.splitlines()[0])
        talk["notes"], talk["exchanges"] = talk["notes"][:400], talk["exchanges"][:2]
        (self.at / "questions.jsonl").write_text(json.dumps(talk) + "\n")
        done = tool("evaluate", out, self.at / "questions.jsonl", "--satchel", SATCHEL)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("; 2 answers the same", done.stdout)

    def test_training_goes_on_from_it(self):
        _, out, _ = self.merged(random_model(), 2)
        run = self.at / "run"
        options = ["--steps", 12, "--tokens", 512, "--device", "cpu"]
        options += ["--muon-rate", 0.05, "--adam-rate", 0.02]  # twelve steps, all of them warming up
        done = tool("train", run, "--from", out, *options, "--stop-at", 6)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = tool("train", run, "--from", out, *options, "--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = tool("train", run, *options, "--resume")
        self.assertEqual(done.returncode, 2, done.stdout)
        kept = torch.load(run / "checkpoint.pt", map_location="cpu")
        self.assertEqual(kept["shape"]["n_kv_heads"], 2)
        after = Llama(Shape(**kept["shape"])).eval()
        after.load_state_dict(kept["model"])
        ids, learn = batches.batch(random.Random(5), self.v, 2, 256, world.Mix())
        with torch.no_grad():
            knew, knows = (
                float(chain_test.train.loss_of(m, ids, learn, "cpu"))
                for m in (gguf_file.read(out), after)
            )
        self.assertLess(knows, 0.95 * knew)
        self.assertEqual(tool("export", run, self.at, "--name", "on").returncode, 0)

    def test_what_cannot_be_merged_is_said(self):
        source = self.written(random_model(), "whole")
        text = self.at / "text.gguf"
        text.write_text("This is no GGUF file, but it is long enough to be one.")
        biased = self.at / "biased.gguf"
        writer = gguf.GGUFWriter(biased, "qwen2")
        writer.add_block_count(1)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        untied = random_model()
        untied.output = torch.nn.Linear(SHAPE.width, SHAPE.n_vocab, bias=False)
        untied = self.written(untied, "untied")
        out = self.at / "none.gguf"
        for model, n, why in (
            (source, 3, "has 4, which 3 does not divide"),
            (source, 0, "has 4, which 0 does not divide"),
            (text, 1, "is no GGUF file"),
            (biased, 1, "of the kind qwen2; only llama"),
            (untied, 1, "has the tensor output.weight; only Llama models with tied embeddings"),
            (self.at / "nowhere.gguf", 1, "there is no file"),
        ):
            done = tool("merge-heads", model, out, "--kv-heads", n)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(why, re.sub(r"\s+", " ", done.stderr))
            self.assertFalse(out.exists())
        done = tool("merge-heads", source, out, "--kv-heads", 1, "--tokens", 99999)
        self.assertIn("more than 16 rows", re.sub(r"\s+", " ", done.stderr))
        done = tool("train", self.at / "new", "--from", source, "--shape", "tiny")
        self.assertEqual(done.returncode, 2)
        self.assertIn("name no other", done.stderr)


if __name__ == "__main__":
    SATCHEL = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None
    unittest.main()
