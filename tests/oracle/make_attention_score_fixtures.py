"""Writes two files of tests/golden/selection. attention_notes_mini.txt: what scorers by attention give the tokens of a prompt, from
their formulas, with the bundled model as plain PyTorch computes it, keys rounded to fp16 as the exact cache keeps them: by whole
matrices, in float64. pyramidkv_budgets.txt: budgets of layers by kvpress 0.5.5.

    sum      column sums; with a half-life query i of n counts 2^(-(n - 1 - i) / half_life)      arXiv:2306.14048, arXiv:2407.20485
    mean     column sums by how many queries see the key: kvpress's ObservedAttentionPress on the same matrices
    misses   of the last 64 queries, how many give less than 1 / t where they see t keys          arXiv:2305.17118
    warm     column sums of softmax(logits / 1.5)                                                arXiv:2403.09054
    window   sums of the last 8 queries                                                          arXiv:2406.02069
    share    sums of the last fifth and one more, counting 1 to 1.2, mean over a layer's heads   arXiv:2405.12532

All but the last are means over the query heads of a lane.

Format of attention_notes_mini.txt, words apart by blanks or line ends:
    tokens N  id …                       the prompt
    scores WHAT LANES  then LANES times N
Of pyramidkv_budgets.txt, a line each: layers, tokens, tokens kept on average, beta : the layers' budgets (kvpress has the window
inside the slope and rounds each layer by itself).

    python3 tests/oracle/make_attention_score_fixtures.py    # needs: pip install kvpress==0.5.5 gguf protobuf sentencepiece
"""
from types import SimpleNamespace

import torch
from kvpress import ObservedAttentionPress, PyramidKVPress

from bundled import MODEL, ROOT
from llama_torch import Llama
from make_echo_fixtures import Reading, read
from make_model_fixtures import prompt

N_TOKENS, N_MISSES, HALF_LIFE, WARM = 160, 64, 24, 1.5
OUT = ROOT / "tests/golden/selection"


def sets(model: Llama, layer: Reading):
    n = N_TOKENS
    z = layer.logits(0, n).masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), float("-inf"))
    p = torch.softmax(z, -1)  # [heads, queries, keys]
    lanes = lambda by_head: by_head.unflatten(0, (model.kv_heads, -1)).mean(1)
    age = torch.arange(n - 1, -1, -1, dtype=torch.float64)
    yield "sum", lanes(p.sum(1))
    yield "fading", lanes((p * torch.exp2(-age / HALF_LIFE)[:, None]).sum(1))
    keys = torch.empty(1, model.kv_heads, n, model.head_dim)
    yield "mean", ObservedAttentionPress().score(None, None, keys, None, p[None], {})[0]
    n_seen = torch.arange(1, n + 1, dtype=torch.float64)[:, None]
    seen = torch.ones(n, n, dtype=torch.bool).tril()
    yield "misses", lanes(((p < 1 / n_seen) & seen)[:, -N_MISSES:].double().sum(1))
    yield "warm", lanes(torch.softmax(z / WARM, -1).sum(1))
    yield "window", lanes(p[:, -8:].sum(1))
    rows = n // 5 + 1
    share = (p[:, -rows:] * torch.linspace(1, 1.2, rows, dtype=torch.float64)[:, None]).sum(1)
    yield "share", share.mean(0, keepdim=True).expand(model.kv_heads, -1)


def budgets(layers: int, n: int, kept: int, beta: int):
    press = PyramidKVPress(compression_ratio=1 - kept / n, window_size=8, beta=beta)
    config = SimpleNamespace(num_hidden_layers=layers)
    return [press.get_layer_budget(SimpleNamespace(config=config, layer_idx=i), n) for i in range(layers)]


@torch.no_grad()
def main() -> None:
    model, ids = Llama(str(MODEL)), prompt()[:N_TOKENS]
    scores: dict[str, list] = {}
    for layer in read(model, ids):
        for what, lanes in sets(model, layer):
            scores.setdefault(what, []).extend(lanes.tolist())
    out = [f"tokens {len(ids)}", " ".join(map(str, ids))]
    for what, lanes in scores.items():
        out.append(f"scores {what} {len(lanes)}")
        out.extend(" ".join(f"{score:.6g}" for score in lane) for lane in lanes)
    (OUT / "attention_notes_mini.txt").write_text("\n".join(out) + "\n")
    cases = [(4, 1000, 108, 5), (6, 2000, 500, 8), (12, 4000, 1000, 9), (30, 8000, 800, 10)]
    (OUT / "pyramidkv_budgets.txt").write_text(
        "".join(" ".join(map(str, case)) + " : " + " ".join(map(str, budgets(*case))) + "\n" for case in cases))


if __name__ == "__main__":
    main()
