"""Writes kernels/reference/weight_grids*.cpp: the code books of the IQ types as the Python package `gguf` holds them.

A code book is part of a format, like its block size. An entry is one 16-bit word: eight 2-bit indices (IQ1, IQ2) or
four 3-bit ones in nibbles (IQ3), the first in the lowest bits.

    python3 tests/oracle/make_weight_grids.py           # needs: pip install gguf numpy; then clang-format the files
"""
import pathlib

import gguf
import numpy as np

FILES = {
    "weight_grids.cpp": {"IQ2_XXS": "kGridIq2Xxs", "IQ2_XS": "kGridIq2Xs", "IQ2_S": "kGridIq2S",
                         "IQ3_XXS": "kGridIq3Xxs", "IQ3_S": "kGridIq3S"},
    "weight_grid_iq1.cpp": {"IQ1_S": "kGridIq1"},
}


def words(name: str) -> np.ndarray:
    entry = getattr(gguf.quants, name)
    entry.init_grid()
    values = entry.grid.reshape(entry.grid_shape).astype(np.int64)
    index = np.searchsorted(np.array(entry.grid_map), values)  # the maps rise
    bits = 16 // entry.grid_shape[1]
    return (index << (bits * np.arange(entry.grid_shape[1]))).sum(axis=1)


def main() -> None:
    folder = pathlib.Path(__file__).resolve().parents[2] / "kernels" / "reference"
    for file, tables in FILES.items():
        text = "// Made by tests/oracle/make_weight_grids.py; not to be edited.\n"
        text += '#include "kernels/reference/weight_grids.h"\n\nnamespace satchel::kernels {\n'
        for name, variable in tables.items():
            entries = words(name)
            body = "".join(f"{word:#06x}, " for word in entries)
            text += f"\nconst std::uint16_t {variable}[{len(entries)}] = {{{body.rstrip(', ')}}};\n"
        (folder / file).write_text(text + "\n}  // namespace satchel::kernels\n")


if __name__ == "__main__":
    main()
