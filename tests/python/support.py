"""What the tests of the Python package share."""

import contextlib
import pathlib
import tempfile
import unittest

import satchel

NOTES = (
    "Matteo Thorsen keeps a rabbit. We had tea. Estelle Ibarra keeps a parrot. "
    "Quentin works as a baker. "
)
PET = "Which pet does Matteo Thorsen keep?"
# What PET is answered with in a chat that knows nothing else: 1,148 random tokens, a second's work at the least.
ENDLESS = satchel.Sampling(temperature=2, top_k=satchel.OFF, top_p=1, min_p=-1, allow_loops=True, n_tokens_max=satchel.OFF)


class ModelTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enter(tempfile.TemporaryDirectory()))

    def enter(self, context):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        return stack.enter_context(context)

    def model(self, **options):
        return self.enter(satchel.Model(backend="cpu", n_threads=2, **options))
