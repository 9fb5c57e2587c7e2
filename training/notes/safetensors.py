"""Tensors as a safetensors file: u64 length of the header, the header as JSON, the values one after the other."""

import json
import pathlib
import struct

import torch

from notes import files

ALIGNED = 8  # bytes; blanks fill the header up


def write(to: pathlib.Path, tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
    """Writes the tensors as F16. The file appears whole or not at all."""
    header, values = {"__metadata__": metadata}, b""
    for name, tensor in tensors.items():
        data = tensor.detach().half().cpu().contiguous().numpy().tobytes()
        header[name] = {
            "dtype": "F16",
            "shape": list(tensor.shape),
            "data_offsets": [len(values), len(values) + len(data)],
        }
        values += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % ALIGNED)
    with files.whole(to) as new:
        new.write_bytes(struct.pack("<Q", len(text)) + text + values)


def read(path: pathlib.Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """The F16 tensors of a file, as float32, and its metadata."""
    data = path.read_bytes()
    (n,) = struct.unpack("<Q", data[:8])
    header, values = json.loads(data[8 : 8 + n]), data[8 + n :]
    metadata = header.pop("__metadata__")
    out = {}
    for name, of in header.items():
        begin, end = of["data_offsets"]
        half = torch.frombuffer(bytearray(values[begin:end]), dtype=torch.float16)
        out[name] = half.view(of["shape"]).float()
    return out, metadata
