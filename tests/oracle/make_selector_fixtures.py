"""Writes tests/golden/selection/locret.txt and attention_gate.txt: what Locret's retaining heads (arXiv:2410.01805) and
Attention-Gate's gates (arXiv:2410.12876) give the tokens of a prompt, with the bundled model and the weights that come with it as plain
PyTorch computes them, values rounded to fp16 as the exact cache keeps them; x = [q k v], q and k before RoPE, all heads of the layer:

    locret          s = fc2(silu(fc1(x)))                                     one output a KV head
    attention_gate  s = sigmoid(out(attention(q(x), k(x), v(x))))             a head of it, over all tokens, and an output a KV head

Format, words apart by blanks or line ends:
    tokens N  id …       the prompt
    scores LANES  then LANES times N

    python3 tests/oracle/make_selector_fixtures.py    # needs: pip install torch gguf protobuf sentencepiece
"""
import json

import numpy as np
import torch

from bundled import MODEL, ROOT
from llama_torch import Llama
from make_model_fixtures import prompt

N_TOKENS = 160


def weights(method: str, ending: str) -> dict[str, torch.Tensor]:
    file = (ROOT / f"runtime/profile/tables/notes-mini-q8_0{ending}.safetensors").read_bytes()
    n = int.from_bytes(file[:8], "little")
    tensors = json.loads(file[8:8 + n])
    assert tensors.pop("__metadata__")["method"] == method
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


def locret(x: torch.Tensor, taught: dict[str, torch.Tensor]) -> torch.Tensor:
    return torch.nn.functional.silu(x @ taught["fc1.weight"].T) @ taught["fc2.weight"].T


def attention_gate(x: torch.Tensor, taught: dict[str, torch.Tensor]) -> torch.Tensor:
    dim = taught["q.weight"].shape[0] // taught["out.weight"].shape[0]
    attended = []
    for q, k, v in zip(*((x @ taught[f"{name}.weight"].T).split(dim, 1) for name in "qkv")):
        attended.append(torch.softmax(q @ k.T / dim**0.5, 1) @ v)
    return torch.sigmoid(torch.cat(attended, 1) @ taught["out.weight"].T + taught["out.bias"])


@torch.no_grad()
def main() -> None:
    model, ids = Watched(str(MODEL)), prompt()[:N_TOKENS]
    model.logits(ids)
    for name, score, ending in (("locret", locret, ""), ("attention_gate", attention_gate, ".attention-gate")):
        taught, lanes = weights(name.replace("_", "-"), ending), []
        for i, y in enumerate(model.inputs):
            q, k, v = (y @ model.w[f"blk.{i}.attn_{each}.weight"].T for each in "qkv")
            x = torch.cat((q, k, v.half().float()), 1)
            head = f"layers.{i}."
            lanes += score(x, {key[len(head):]: of for key, of in taught.items() if key.startswith(head)}).T.tolist()
        out = [f"tokens {len(ids)}", " ".join(map(str, ids)), f"scores {len(lanes)}"]
        out += [" ".join(f"{s:.6g}" for s in lane) for lane in lanes]
        (ROOT / f"tests/golden/selection/{name}.txt").write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
