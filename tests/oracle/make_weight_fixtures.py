"""Writes tests/golden/weights/<type>.bin: blocks of random bytes and their values as the Python package `gguf` reads them.

Layout, little-endian: u32 GGUF type id, u32 number of values, the packed bytes, the values as fp32.
Codes, sub-scales and minima are random bytes; fp16 and bf16 fields are drawn so that every value is finite, and include
subnormal, negative and zero scales.

    python3 tests/oracle/make_weight_fixtures.py        # needs: pip install gguf numpy
"""
import pathlib
import struct

import gguf
import numpy as np

# Where the fp16 fields lie in one block.
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q6_K": [208],
          "Q2_K": [80, 82], "Q3_K": [108], "Q5_K": [0, 2], "IQ1_S": [0], "IQ2_S": [0], "IQ2_XS": [0], "IQ2_XXS": [0],
          "IQ3_S": [0], "IQ3_XXS": [0], "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64]}
# New names at the end: the generator's state runs on from type to type.
NAMES = ["F32", "F16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q6_K", "BF16",
         "Q2_K", "Q3_K", "Q5_K", "IQ1_S", "IQ1_M", "IQ2_S", "IQ2_XS", "IQ2_XXS", "IQ3_S", "IQ3_XXS", "IQ4_NL", "IQ4_XS",
         "MXFP4", "TQ1_0", "TQ2_0"]
EDGES = np.array([0.0, -0.0, 6e-8, -6e-8, 1.0, -1.0, 0.0312, -3.14], dtype=np.float16)


def packed_rows(name: str, block_values: int, block_bytes: int, rng: np.random.Generator) -> np.ndarray:
    if name == "F32":
        return rng.standard_normal(96).astype(np.float32).view(np.uint8)
    if name == "F16":
        return np.concatenate([EDGES, rng.standard_normal(88).astype(np.float16)]).view(np.uint8)
    if name == "BF16":
        return (rng.standard_normal(96).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
    n_blocks = max(len(EDGES) + 2, 512 // block_values)
    blocks = rng.integers(0, 256, (n_blocks, block_bytes), dtype=np.uint8)
    if name == "MXFP4":  # a power of two: both subnormal ones, small, large, none that overflows
        blocks[:, 0] = np.concatenate([[0, 1, 2, 3, 250], rng.integers(100, 140, n_blocks - 5)])
    if name == "IQ1_M":  # the fp16 scale lies in the top nibbles of the last four words
        halves = np.concatenate([EDGES, (rng.standard_normal(n_blocks - len(EDGES)) * 0.05).astype(np.float16)])
        for i in range(4):
            nibble = (halves.view(np.uint16) >> (4 * i)) & 15
            blocks[:, 49 + 2 * i] = (blocks[:, 49 + 2 * i] & 15) | (nibble << 4).astype(np.uint8)
    for at in HALVES.get(name, []):
        halves = (rng.standard_normal(n_blocks) * 0.05).astype(np.float16)
        halves[: len(EDGES)] = np.roll(EDGES, at)
        blocks[:, at : at + 2] = halves.view(np.uint8).reshape(n_blocks, 2)
    return blocks.reshape(-1)


def main() -> None:
    folder = pathlib.Path(__file__).resolve().parent.parent / "golden" / "weights"
    rng = np.random.default_rng(20240611)
    for name in NAMES:
        kind = gguf.GGMLQuantizationType[name]
        block_values, block_bytes = gguf.GGML_QUANT_SIZES[kind]
        packed = packed_rows(name, block_values, block_bytes, rng)
        values = gguf.quants.dequantize(packed, kind).astype(np.float32).reshape(-1)
        assert np.isfinite(values).all() and values.size == packed.size // block_bytes * block_values
        path = folder / f"{name.lower()}.bin"
        path.write_bytes(struct.pack("<II", int(kind), values.size) + packed.tobytes() + values.tobytes())
        print(path.name, values.size, "values,", path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
