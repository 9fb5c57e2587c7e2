"""Writes tests/golden/selection/kvpress_METHOD.txt: what NVIDIA's kvpress 0.5.5 scores the tokens of a prompt by keys, values
and closed forms, with the bundled model as transformers 5.2 computes it in float32; keys and values rounded to fp16 as the exact
cache keeps them.

Only kvpress's own functions score; where a set differs from a press as it comes, the reason stands at its function below. Scores
are moved as ours are: so that none is negative (keydiff, l2norm), or not at all. The first tokens, which a press pads
with its largest score because they are always kept, get the largest of their lane.

Format, line by line:
    tokens N
    id …                        the prompt
    scores LANES {…}            for each set: the stage as a recipe writes it, then LANES lines of N scores

    python3 tests/oracle/make_kvpress_fixtures.py [METHOD …]     # needs: pip install kvpress==0.5.5 transformers==5.2.0 gguf
                                                                 #                    protobuf sentencepiece
"""
import json
import math
import sys

import torch
from kvpress import CURPress, ExpectedAttentionPress, KeyDiffPress, KnormPress, LagKVPress
from kvpress.presses.leverage_press import LeverageScorePress
from kvpress.presses.non_causal_attention_press import NonCausalAttnPress
from kvpress.utils import get_prerope_key_states, get_prerope_query_states
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

from bundled import MODEL, ROOT
from llama_torch import Llama
from make_model_fixtures import prompt

N_TOKENS, N_SINKS = 220, 4


class ExactCache(DynamicCache):
    def update(self, keys, values, *rest, **named):
        return super().update(keys.half().float(), values.half().float(), *rest, **named)


def transformers_model(of: Llama) -> LlamaForCausalLM:
    """GGUF turns pairs (2i, 2i + 1), transformers turns (i, i + d/2): the rows of q and k are put in that order."""
    tokens = of.w["token_embd.weight"]
    config = LlamaConfig(
        vocab_size=tokens.shape[0], hidden_size=of.width, num_hidden_layers=of.layers, num_attention_heads=of.heads,
        num_key_value_heads=of.kv_heads, head_dim=of.head_dim, intermediate_size=of.w["blk.0.ffn_up.weight"].shape[0],
        rms_norm_eps=of.epsilon, rope_parameters={"rope_type": "default", "rope_theta": of.base},
        tie_word_embeddings="output.weight" not in of.w, attn_implementation="eager")
    halves = lambda w: w.unflatten(0, (-1, of.head_dim // 2, 2)).transpose(1, 2).reshape(w.shape)
    state = {"model.embed_tokens.weight": tokens, "model.norm.weight": of.w["output_norm.weight"],
             "lm_head.weight": of.w.get("output.weight", tokens)}
    for i in range(of.layers):
        to, at = f"model.layers.{i}.", f"blk.{i}."
        state |= {to + "self_attn.q_proj.weight": halves(of.w[at + "attn_q.weight"]),
                  to + "self_attn.k_proj.weight": halves(of.w[at + "attn_k.weight"]),
                  to + "self_attn.v_proj.weight": of.w[at + "attn_v.weight"],
                  to + "self_attn.o_proj.weight": of.w[at + "attn_output.weight"],
                  to + "mlp.gate_proj.weight": of.w[at + "ffn_gate.weight"],
                  to + "mlp.up_proj.weight": of.w[at + "ffn_up.weight"],
                  to + "mlp.down_proj.weight": of.w[at + "ffn_down.weight"],
                  to + "input_layernorm.weight": of.w[at + "attn_norm.weight"],
                  to + "post_attention_layernorm.weight": of.w[at + "ffn_norm.weight"]}
    model = LlamaForCausalLM(config).float().eval()
    model.load_state_dict(state, strict=True)
    return model


class Texts:
    """The prompt, read once with each press: the scores of all lanes [lanes, tokens]."""

    def __init__(self):
        torch.manual_seed(0)
        plain = Llama(str(MODEL))
        self.model, self.ids = transformers_model(plain), prompt()[:N_TOKENS]
        with torch.no_grad():
            logits = self.model(torch.tensor([self.ids]), past_key_values=ExactCache()).logits[0]
        assert (logits - plain.logits(self.ids)).abs().max() < 0.05, "not the same model"

    @torch.no_grad()
    def scores(self, press):
        lanes, score = [], press.score

        def kept(module, hidden, keys, values, attentions, kwargs):
            lanes.append(score(module, hidden, keys, values, attentions, kwargs)[0].double())
            return lanes[-1][None]

        press.score = kept
        press.compression_ratio = 0.5
        compress = press.compress
        # Scored, not compressed: the next layer must see all.
        press.compress = lambda *args: (compress(*args), args[2:4])[1]
        with press(self.model):
            self.model(torch.tensor([self.ids]), past_key_values=ExactCache())
        return torch.cat(lanes)


def first_are_largest(scores):
    scores = scores.clone()
    scores[:, :N_SINKS] = scores[:, N_SINKS:].amax(1, keepdim=True)
    return scores


def keydiff(texts):
    yield {"use": "keydiff"}, 1 + texts.scores(KeyDiffPress())


def l2norm(texts):
    yield {"use": "l2norm"}, 1 / (1 - texts.scores(KnormPress()))


def expected_attention(texts):
    press = lambda **options: first_are_largest(texts.scores(ExpectedAttentionPress(**options)))
    use = {"use": "expected_attention"}
    yield use, press()
    yield {**use, "epsilon": 0.01}, press(epsilon=0.01)
    yield {**use, "covariance": False, "values": False, "future": 64}, press(
        use_covariance=False, use_vnorm=False, n_future_positions=64)


def lagkv(texts):
    """`ranked` is kvpress's cross_scoring turned round. Scores differ by 1e-6 of their range, so that neighbours may change ranks."""
    use = {"use": "lagkv", "lag": 64}
    yield {**use, "ranked": False}, texts.scores(LagKVPress(lag_size=64, cross_scoring=True))
    yield use, texts.scores(LagKVPress(lag_size=64))


def cur(texts):
    yield {"use": "cur"}, first_are_largest(texts.scores(CURPress()))
    yield {"use": "cur", "window": 0}, first_are_largest(texts.scores(CURPress(use_local_approximation=False)))


class Rng:
    """xoshiro256** (Blackman, Vigna), seeded by splitmix64: kernels/base/rng.h again."""

    def __init__(self, seed):
        self.s = []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) % 2**64
            z = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
            z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
            self.s.append(z ^ z >> 31)

    def uniform(self):
        turn = lambda x, n: (x << n | x >> 64 - n) % 2**64
        s = self.s
        out, t = turn(s[1] * 5 % 2**64, 7) * 9 % 2**64, s[1] << 17 & 2**64 - 1
        s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3]; s[2] ^= t; s[3] = turn(s[3], 45)
        return (out >> 11) * 2.0**-53


def our_normal(*size, **_):  # [1, heads, head_dim, columns]: by Box and Muller, a generator for each head
    heads = []
    for head in range(size[1]):
        rng = Rng(head + 1)
        heads.append([math.sqrt(-2 * math.log(1 - rng.uniform())) * math.cos(2 * math.pi * rng.uniform())
                      for _ in range(size[2] * size[3])])
    rows = torch.tensor(heads, dtype=torch.float32).view(size)
    return torch.cat((rows[:, :, 0::2], rows[:, :, 1::2]), 2)  # transformers' order of channels


def raw_leverage(keys, sketch):
    """kvpress's leverage with the sketch that every run of ours has, where it draws a new one; sketch 0: the unit matrix."""
    normal = torch.randn
    d = keys.shape[-1]
    torch.randn = our_normal if sketch else lambda *size, **_: torch.eye(d).expand(size) * math.sqrt(d)
    try:
        return LeverageScorePress.compute_leverage_scores(keys, sketch or d)
    finally:
        torch.randn = normal


class Leverage(LeverageScorePress):
    """Before it is normalised over the heads of a layer, which inside a lane ranks the same."""
    def score(self, module, hidden, keys, values, attentions, kwargs):
        return raw_leverage(get_prerope_key_states(module, hidden), self.sketch_dimension)


def leverage(texts):
    yield {"use": "leverage"}, texts.scores(Leverage())
    yield {"use": "leverage", "sketch": 0}, texts.scores(Leverage(sketch_dimension=0))


class Compactor(KeyDiffPress):
    """kvpress's parts put together as its CompactorPress does, but for what it does otherwise: attention is scaled where wanted,
    the last block is not padded (padding takes part there: it is masked by -1e-9), and each head is normalised by itself."""
    first, last, chunk, sketch, blend, scaled = 8, 4, 64, 48, 0.5, True

    def score(self, module, hidden, keys, values, attentions, kwargs):
        inside = slice(self.first, keys.shape[2] - self.last)
        lever = raw_leverage(get_prerope_key_states(module, hidden[:, inside]), self.sketch)
        queries = get_prerope_query_states(module, hidden[:, inside])
        cos, sin = (x[:, inside].unsqueeze(1) for x in kwargs["position_embeddings"])
        a, b = queries.chunk(2, -1)
        queries = queries * cos + torch.cat((-b, a), -1) * sin
        if self.scaled:
            queries = queries * module.head_dim ** -0.5
        own = keys[:, :, inside].repeat_interleave(queries.shape[1] // keys.shape[1], 1)
        blocks = [NonCausalAttnPress.non_causal_chunked_attn(q, k, q.shape[2])
                  for q, k in zip(queries.split(self.chunk, 2), own.split(self.chunk, 2))]
        looked = torch.cat(blocks, 2).unflatten(1, (keys.shape[1], -1)).mean(2) * values[:, :, inside].norm(dim=-1)
        looked = torch.nn.functional.avg_pool1d(looked, 3, 1, 1)
        z = lambda x: (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)
        scores = self.blend * z(lever) + z(looked)
        most = scores.amax(-1, keepdim=True)
        return torch.cat((most.expand(-1, -1, self.first), scores, most.expand(-1, -1, self.last)), -1)


def compactor(texts):
    press = Compactor()
    use = {"use": "compactor", "block": 64}
    yield use, texts.scores(press)
    press = Compactor()
    press.scaled, press.blend = False, 0.25
    yield {**use, "scaled": False, "blend": 0.25}, texts.scores(press)


METHODS = {f.__name__: f for f in (keydiff, l2norm, expected_attention, lagkv, leverage, compactor, cur)}


def main() -> None:
    texts = Texts()
    for name in sys.argv[1:] or METHODS:
        out = [f"tokens {len(texts.ids)}", " ".join(map(str, texts.ids))]
        for stage, scores in METHODS[name](texts):
            assert scores.shape == (texts.model.config.num_hidden_layers * texts.model.config.num_key_value_heads, N_TOKENS)
            out.append(f"scores {len(scores)} {json.dumps(stage)}")
            out.extend(" ".join(f"{score:.5g}" for score in lane) for lane in scores.tolist())
        to = ROOT / f"tests/golden/selection/kvpress_{name}.txt"
        to.write_text("\n".join(out) + "\n")
        print(to, to.stat().st_size, "bytes;", len(texts.ids), "tokens")


if __name__ == "__main__":
    main()
