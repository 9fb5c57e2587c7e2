"""Writes tests/golden/selection/echo_notes_mini.txt: what the scorers `echo` (whole and band) and `reconstruction` (KVzip's
second pass) give the tokens of a prompt, from their formulas, with the bundled model as plain PyTorch computes it in float32,
keys and values rounded to fp16 as the exact cache keeps them.

All by whole matrices and in the words of the formulas; queries are turned by giving them their later position before RoPE, not
by turning them again.

    echo    z'[t, j] = scale · rope(q[t] at t + m) · k[j], m = tokens of the block; keys: the first 4 tokens and all of the block
            score[j] = max over heads and t of exp(z' - log(sum over the keys of exp z' + exp L[t])), j in the block,
            L[t] = log of the sum of exp over all that t sees when it is read
    band    the same, but t sees only t and t + 1 of its block, and no first tokens
    kvzip   the text is followed by an instruction and a piece of itself again; for each token of the piece in the text the most
            that any token behind the text gives it, where what they see is the first 4 tokens, the piece, the newest
            tokens of the text, which lie exact in its tail, and what has been said behind it so far (arXiv:2505.23416 section 3,
            where they see all); of this short text the tail is all but the first 4

A text of n tokens is cut into as few blocks as `most` tokens in each allow, all alike but for the last.

Format, words apart by blanks or line ends:
    tokens N  id …                                 the prompt
    scores WHAT SIZE LANES  then LANES times N     echo, band: `most`; kvzip: tokens of a piece

    python3 tests/oracle/make_echo_fixtures.py        # needs: pip install gguf numpy protobuf torch sentencepiece
"""
import torch

from bundled import MODEL, ROOT
from llama_torch import Llama
from make_model_fixtures import prompt, tokenizer

N_TOKENS, N_FIRST, N_HOOK, N_NEWEST = 160, 4, 8, 156
WHOLE = 2048


class Reading:
    """Of one layer: logits [heads, queries, keys] of queries told to stand elsewhere."""

    def __init__(self, model: Llama, queries, keys):
        self.model, self.queries = model, queries
        self.keys = keys.repeat_interleave(model.heads // model.kv_heads, 0).double()

    def logits(self, begin: int, end: int, further: int = 0):
        q = self.model.rope(self.queries[begin:end], begin + further).transpose(0, 1).double()
        return q @ self.keys.transpose(1, 2) / self.model.head_dim ** 0.5

    def lse(self):
        n = len(self.queries)
        future = torch.ones(n, n, dtype=torch.bool).triu(1)
        return torch.logsumexp(self.logits(0, n).masked_fill(future, float("-inf")), -1)  # [heads, n]


def read(model: Llama, ids, hidden=None) -> list[Reading]:
    layers = []
    model.logits(ids, lambda _, queries, keys: layers.append(Reading(model, queries, keys)), hidden)
    return layers


def of_lanes(model: Llama, by_head):  # [heads, …] -> [kv_heads, …], the largest of the group
    return by_head.unflatten(0, (model.kv_heads, -1)).amax(1)


def cut(n: int, most: int):
    blocks = -(-n // most)
    size = -(-n // blocks)
    return [(begin, min(begin + size, n)) for begin in range(0, n, size)]


def echo(model: Llama, layers: list[Reading], n: int, most: int, band: bool):
    lanes = []
    for layer in layers:
        own_past = layer.lse()
        scores = torch.zeros(model.heads, n, dtype=torch.float64)
        for begin, end in cut(n, most):
            z = layer.logits(begin, end, end - begin)
            t, j = torch.arange(begin, end)[:, None], torch.arange(n)[None]
            inside = (j >= begin) & (j < end)
            seen = inside & ((j == t) | (j == t + 1)) if band else inside | (j < N_FIRST)
            z = z.masked_fill(~seen, float("-inf"))
            total = torch.logaddexp(torch.logsumexp(z, -1), own_past[:, begin:end])
            scores[:, begin:end] = (z - total[..., None]).exp().amax(1)[:, begin:end]
        lanes.append(of_lanes(model, scores))
    return torch.cat(lanes)


def kvzip(model: Llama, ids: list[int], piece: int):
    words = tokenizer().encode
    n, lanes = len(ids), []
    for begin in range(0, n, piece):
        again = ids[begin:begin + piece]
        if begin == 0:
            said = words("\n\nRepeat the previous context exactly.\n\n")
        else:
            said = [*words("\n\nRepeat the part of the previous context exactly, starting with"), *ids[begin - N_HOOK:begin],
                    *words("\n\n")]
        text = [*ids, *said, *again]
        j = torch.arange(len(text))
        stretch = (j >= begin) & (j < begin + len(again))
        newest = (j >= n - N_NEWEST) & (j < n)
        own = (j[None] <= torch.arange(n, len(text))[:, None]) & (j >= n)
        unseen = ~((j < N_FIRST) | stretch | newest | own)  # by the tokens behind the text
        hidden = torch.zeros(len(text), len(text), dtype=torch.bool)
        hidden[n:] = unseen
        scores = []
        for layer in read(model, text, hidden):
            z = layer.logits(n, len(text)).masked_fill(unseen, float("-inf"))
            scores.append(of_lanes(model, torch.softmax(z, -1).amax(1)[:, stretch]))
        lanes.append(torch.cat(scores))
    return torch.cat(lanes, 1)


def main() -> None:
    model, ids = Llama(str(MODEL)), prompt()[:N_TOKENS]
    layers = read(model, ids)
    out = [f"tokens {len(ids)}", " ".join(map(str, ids))]

    def add(what: str, size: int, scores) -> None:
        assert scores.shape == (model.layers * model.kv_heads, len(ids)) and bool((scores > 0).all())
        out.append(f"scores {what} {size} {len(scores)}")
        out.extend(" ".join(f"{score:.4e}" for score in lane) for lane in scores.tolist())

    add("echo", WHOLE, echo(model, layers, len(ids), WHOLE, band=False))
    add("echo", 64, echo(model, layers, len(ids), 64, band=False))
    add("band", WHOLE, echo(model, layers, len(ids), WHOLE, band=True))
    add("band", 64, echo(model, layers, len(ids), 64, band=True))
    add("kvzip", 512, kvzip(model, ids, 512))
    add("kvzip", 64, kvzip(model, ids, 64))
    to = ROOT / "tests/golden/selection/echo_notes_mini.txt"
    to.write_text("\n".join(out) + "\n")
    print(to, to.stat().st_size, "bytes;", len(ids), "tokens")


if __name__ == "__main__":
    main()
