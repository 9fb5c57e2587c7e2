"""Writes tests/golden/model/gemma3_tiny.gguf and gemma3_tiny.txt: a Gemma 3 of random weights, small enough to lie here, and its logits as transformers computes them.

Five layers see a window of 16 tokens with RoPE of base 10,000, the sixth sees everything with base 1,000,000 slowed by 8.
transformers gets the weights as the GGUF holds them (Q8_0, dequantised by the package gguf; gains without the 1 that GGUF
files add) and computes in float32; keys and values are rounded to fp16, as an exact cache keeps them.

gemma3_tiny.txt: "tokens N id …", then "full F V" and F times: position, V logits. The prompt is six windows long.

    python3 tests/oracle/make_gemma3_fixtures.py        # needs: pip install gguf numpy torch transformers
"""
import pathlib

import gguf
import numpy as np
import torch
from transformers import Gemma3ForCausalLM, Gemma3TextConfig
from transformers.models.gemma3 import modeling_gemma3

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/model"
WIDTH, FFN, LAYERS, HEADS, KV_HEADS, HEAD_DIM = 64, 64, 6, 4, 2, 32
VOCABULARY, WINDOW, CONTEXT, SLOWER, EPSILON = 160, 16, 512, 8.0, 1e-6
N_TOKENS, POSITIONS = 100, (0, 1, 14, 15, 16, 17, 31, 32, 47, 63, 64, 65, 80, 98, 99)
NAMES = {  # of a layer: transformers -> GGUF
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_proj": "attn_k", "self_attn.k_norm": "attn_k_norm", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "post_feedforward_layernorm": "post_ffw_norm"}


def gguf_name(name: str) -> str:
    fixed = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}
    if name in fixed:
        return fixed[name]
    _, _, layer, rest = name.split(".", 3)
    return f"blk.{layer}.{NAMES[rest.removesuffix('.weight')]}.weight"


def tiny() -> Gemma3ForCausalLM:
    config = Gemma3TextConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=FFN, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=KV_HEADS, head_dim=HEAD_DIM, query_pre_attn_scalar=HEAD_DIM,
        sliding_window=WINDOW, max_position_embeddings=CONTEXT, rms_norm_eps=EPSILON, tie_word_embeddings=True,
        rope_parameters={"sliding_attention": {"rope_type": "default", "rope_theta": 10_000.0},
                         "full_attention": {"rope_type": "linear", "rope_theta": 1_000_000.0, "factor": SLOWER}})
    config._attn_implementation = "eager"
    assert config.layer_types == ["sliding_attention"] * 5 + ["full_attention"]
    return Gemma3ForCausalLM(config).float().eval()


def fill(model: Gemma3ForCausalLM, to: gguf.GGUFWriter) -> None:
    """Random weights, to the file and, as the file will give them back, to the model."""
    rng = np.random.default_rng(20261121)
    for name, weight in model.named_parameters():
        if weight.ndim == 1:  # the file holds 1 + what the model calls its weight
            stored = (1 + 0.3 * rng.standard_normal(weight.shape)).astype(np.float32)
            to.add_tensor(gguf_name(name), stored)
            weight.data = torch.from_numpy(stored - 1)
            continue
        values = (rng.standard_normal(weight.shape) * weight.shape[1] ** -0.5).astype(np.float32)
        packed = gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q8_0)
        to.add_tensor(gguf_name(name), packed, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
        weight.data = torch.from_numpy(gguf.quants.dequantize(packed, gguf.GGMLQuantizationType.Q8_0))


def writer(path: pathlib.Path) -> gguf.GGUFWriter:
    out = gguf.GGUFWriter(path, "gemma3")
    out.add_name("gemma3-tiny, random weights")
    out.add_block_count(LAYERS)
    out.add_embedding_length(WIDTH)
    out.add_feed_forward_length(FFN)
    out.add_context_length(CONTEXT)
    out.add_head_count(HEADS)
    out.add_head_count_kv(KV_HEADS)
    out.add_key_length(HEAD_DIM)
    out.add_value_length(HEAD_DIM)
    out.add_layer_norm_rms_eps(EPSILON)
    out.add_rope_freq_base(1_000_000.0)
    out.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
    out.add_rope_scaling_factor(SLOWER)
    out.add_sliding_window(WINDOW)
    return out


def round_keys_and_values() -> None:
    plain = modeling_gemma3.eager_attention_forward

    def rounded(module, query, key, value, *rest, **named):
        return plain(module, query, key.half().float(), value.half().float(), *rest, **named)

    modeling_gemma3.eager_attention_forward = rounded


@torch.no_grad()
def main() -> None:
    round_keys_and_values()
    model, path = tiny(), OUT / "gemma3_tiny.gguf"
    to = writer(path)
    fill(model, to)
    to.write_header_to_file()
    to.write_kv_data_to_file()
    to.write_tensors_to_file()
    to.close()
    ids = np.random.default_rng(7).integers(0, VOCABULARY, N_TOKENS).tolist()
    logits = model(torch.tensor([ids])).logits[0]
    lines = [f"tokens {len(ids)}", " ".join(map(str, ids)), f"full {len(POSITIONS)} {VOCABULARY}"]
    lines += [f"{at} " + " ".join(f"{v:.5f}" for v in logits[at].tolist()) for at in POSITIONS]
    (OUT / "gemma3_tiny.txt").write_text("\n".join(lines) + "\n")
    print(path.stat().st_size, "bytes; largest |logit|", float(logits.abs().max()), "spread", float(logits.std()))


if __name__ == "__main__":
    main()
