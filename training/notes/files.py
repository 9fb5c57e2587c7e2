"""Files that appear whole or not at all."""

import contextlib
import os
import pathlib
from collections.abc import Iterator


@contextlib.contextmanager
def whole(to: pathlib.Path) -> Iterator[pathlib.Path]:
    """A path to write to; what was written becomes `to` when the block ends without an error."""
    new = to.with_suffix(".new")
    yield new
    os.replace(new, to)
