"""Writes tests/golden/selection/locret.txt: what Locret's retaining heads (arXiv:2410.01805) give the tokens of a prompt, with the
bundled model and the weights that come with it as plain PyTorch computes them, values rounded to fp16 as the exact cache keeps them:

    s = fc2(silu(fc1([q k v])))    q, k before RoPE, all heads of the layer; one output a KV head

Format, words apart by blanks or line ends:
    tokens N  id …       the prompt
    scores LANES  then LANES times N

    python3 tests/oracle/make_locret_fixtures.py    # needs: pip install torch gguf protobuf sentencepiece
"""
import json

import numpy as np
import torch

from bundled import MODEL, ROOT
from llama_torch import Llama
from make_model_fixtures import prompt

N_TOKENS = 160
WEIGHTS = ROOT / "runtime/profile/tables/notes-mini-q8_0.safetensors"


def weights() -> dict[str, torch.Tensor]:
    file = WEIGHTS.read_bytes()
    n = int.from_bytes(file[:8], "little")
    tensors = json.loads(file[8:8 + n])
    assert tensors.pop("__metadata__")["method"] == "locret"
    half = lambda begin, end: np.frombuffer(file[8 + n:][begin:end], np.float16).astype(np.float32)
    return {name: torch.from_numpy(half(*of["data_offsets"])).view(of["shape"]) for name, of in tensors.items()}


class Watched(Llama):
    """Keeps what each layer's projections are given."""

    def __init__(self, path: str):
        super().__init__(path)
        self.inputs = []

    def norm(self, x, gain):
        out = super().norm(x, gain)
        if any(gain is self.w[f"blk.{i}.attn_norm.weight"] for i in range(self.layers)):
            self.inputs.append(out)
        return out


@torch.no_grad()
def main() -> None:
    model, taught, ids = Watched(str(MODEL)), weights(), prompt()[:N_TOKENS]
    model.logits(ids)
    lanes = []
    for i, y in enumerate(model.inputs):
        q, k, v = (y @ model.w[f"blk.{i}.attn_{x}.weight"].T for x in "qkv")
        x = torch.cat((q, k, v.half().float()), 1)
        fc1, fc2 = (taught[f"layers.{i}.{name}.weight"] for name in ("fc1", "fc2"))
        lanes += (torch.nn.functional.silu(x @ fc1.T) @ fc2.T).T.tolist()
    out = [f"tokens {len(ids)}", " ".join(map(str, ids)), f"scores {len(lanes)}"]
    out += [" ".join(f"{s:.6g}" for s in lane) for lane in lanes]
    (ROOT / "tests/golden/selection/locret.txt").write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
