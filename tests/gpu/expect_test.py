#!/usr/bin/env python3
"""expect.py against what was measured on an H200 (docs/gpu.md): milliseconds a token at 1k, 16k and 64k."""
import unittest

import expect

# Of the first day; packed caches at 16k and 64k of the second, whose short chats had lost time that they got back.
MEASURED = {("8b", "full"): (2.85, 3.82, 5.64), ("1b", "full"): (0.93, 1.24, 1.84), ("8b", "ladder-4"): (3.08, 4.13, 5.21),
            ("8b", "ladder-2"): (3.07, 4.05, 4.87), ("8b", "kivi-4"): (2.98, 4.08, 5.35)}
REPORT = {"results": [{"op": "bandwidth", "card": "NVIDIA H200", "read_GBps": 4500.0, "multiprocessors": 132}] + [
    {"op": "model_decode", "model": model, "recipe": recipe, "n_tokens": n_tokens, "ms": ms}
    for (model, recipe), row in MEASURED.items() for n_tokens, ms in zip((1024, 16384, 65536), row)]}


class Expect(unittest.TestCase):
    def test_every_row_of_the_card_that_it_is_fitted_to_is_near(self):
        rows = expect.beside_measured(REPORT)
        self.assertEqual(len(rows), 15)
        for model, recipe, n_tokens, _, _, ratio in rows:
            with self.subTest(model=model, recipe=recipe, n_tokens=n_tokens):
                self.assertLess(abs(ratio - 1), 0.25)  # kivi-4 misses by .21: see docs/gpu.md

    def test_a_row_that_is_half_as_fast_is_far(self):
        slow = dict(REPORT["results"][1], ms=2 * MEASURED["8b", "full"][0])
        (row,) = expect.beside_measured({"results": [REPORT["results"][0], slow]})
        self.assertTrue(expect.is_far(row[-1]))

    def test_a_report_without_a_bandwidth_predicts_nothing(self):
        self.assertEqual(expect.beside_measured({"results": REPORT["results"][1:]}), [])

    def test_more_bandwidth_and_fewer_bytes_never_take_longer(self):
        model, slow = expect.MODELS["8b"], expect.CARDS[1]
        for n_tokens in (0, 16384, 65536, 131072):
            times = [expect.step_seconds(card, model, expect.RECIPES["full"], n_tokens) for card in (slow, expect.CARDS[0], expect.H200)]
            self.assertEqual(times, sorted(times, reverse=True))
            balanced, compact = (expect.step_seconds(slow, model, expect.RECIPES[name], n_tokens) for name in ("balanced", "compact"))
            self.assertLessEqual(compact, balanced)

    def test_what_does_not_fit_is_not_predicted(self):
        laptop = [line for line in expect.predicted_table() if "4070" in line and "8B" in line and "Full" in line]
        self.assertIn("does not fit", laptop[0])


if __name__ == "__main__":
    unittest.main()
