"""Writes tests/golden/model/arch_NAME.gguf and arch_NAME.txt: for each architecture a model of random weights,
small enough to lie here, and its logits as transformers and llama.cpp (by llama-cpp-python) compute them.

transformers gets the weights as the GGUF holds them (Q8_0, F16, MXFP4, dequantised by the package gguf) and computes
in float32; keys and values are rounded to fp16, as an exact cache keeps them. llama.cpp gets a copy with the same
values in F32, since it would round activations to 8 bits for Q8_0; it keeps keys and values in fp16 by itself.
What a converter does on the way to a GGUF (names, pairs of rotated rows side by side, gains plus 1, experts
stacked, value heads tile by tile) stands in the table and in tensors_of().

arch_NAME.txt: "tokens N id …", then "full F V" and F times: position, V logits of transformers; then "other F V"
and the same of llama.cpp; for some "tokens N id …" of a second prompt and "greedy N id …" that follow it. The prompt is longer than windows and, where RoPE is scaled, than the original context.
Where llama.cpp passes over a sliding window, only its positions within the window are stored.

    python3 tests/oracle/make_architecture_fixtures.py [NAME …]
needs: pip install gguf numpy torch transformers llama-cpp-python
"""
import dataclasses
import importlib
import pathlib
import sys
import tempfile
from typing import Callable

import gguf
import llama_cpp
import numpy as np
import torch
import transformers

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/model"
WIDTH, FFN, VOCABULARY, CONTEXT, WINDOW, ORIGINAL, EPSILON = 64, 64, 160, 128, 16, 32, 1e-5
N_TOKENS, POSITIONS = 48, (0, 15, 16, 17, 33, 47)
GREEDY = 200
Q8_0, F16, F32, MXFP4 = (gguf.GGMLQuantizationType[name] for name in ("Q8_0", "F16", "F32", "MXFP4"))


@dataclasses.dataclass
class Row:
    model: str  # transformers' class, less ForCausalLM
    arch: str  # "general.architecture"
    config: dict = dataclasses.field(default_factory=dict)
    layers: int = 2
    heads: tuple = (4, 2)  # of queries, of keys and values; 32 values each
    ffn: int = FFN
    base: float = 10_000.0  # of RoPE, in layers that see everything
    permuted: bool = False  # rows of q and k: pairs (i, i + 16) of transformers side by side
    gain: float = 0  # what the file adds to gains
    transposed: bool = False  # experts: transformers holds them [in, out], gate and up side by side
    extra: Callable = lambda out: None  # metadata of its own
    other_until: int = N_TOKENS  # positions that llama.cpp computes alike
    gains: float = 1  # what gains of queries and keys are around
    mamba_groups: int = 1
    ffns: list = None  # the widths in the file, block by block
    greedy_seed: int = 0  # of a prompt that GREEDY tokens go on, none of them nearly another; 0: none


def rope(kind: str, base: float = 10_000.0, **more) -> dict:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": base, **more}}


def experts(out: gguf.GGUFWriter, n: int, used: int, width: int) -> None:
    out.add_expert_count(n)
    out.add_expert_used_count(used)
    out.add_expert_feed_forward_length(width)


def yarn(out: gguf.GGUFWriter) -> None:
    out.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    out.add_rope_scaling_factor(4.0)
    out.add_rope_scaling_orig_ctx_len(ORIGINAL)


def gemma2(out: gguf.GGUFWriter) -> None:
    out.add_attn_logit_softcapping(2.0)
    out.add_final_logit_softcapping(3.0)
    out.add_sliding_window(WINDOW)


def gemma3(out: gguf.GGUFWriter) -> None:
    out.add_sliding_window(WINDOW)
    out.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
    out.add_rope_scaling_factor(8.0)


def gemma4(out: gguf.GGUFWriter) -> None:
    out.add_sliding_window(WINDOW)
    out.add_rope_freq_base_swa(10_000.0)
    out.add_final_logit_softcapping(5.0)
    out.add_key_length_swa(16)
    out.add_value_length_swa(16)
    out.add_rope_dimension_count_swa(16)


def gemma4_e(out: gguf.GGUFWriter) -> None:
    gemma4(out)
    out.add_rope_dimension_count(32)
    out.add_sliding_window_pattern([True, True, False] * 2)
    out.add_shared_kv_layers(3)
    out.add_embedding_length_per_layer_input(32)
    out.add_feed_forward_length([32] * 3 + [64] * 3)


def gemma4_moe(out: gguf.GGUFWriter) -> None:
    gemma4(out)
    out.add_key_length(64)
    out.add_value_length(64)
    out.add_rope_dimension_count(64)
    out.add_sliding_window_pattern([True, True, False])
    out.add_shared_kv_layers(0)
    out.add_embedding_length_per_layer_input(0)
    out.add_head_count_kv([2, 2, 1])
    experts(out, 5, 2, 32)


LFM2_HEADS = [0, 1, 0, 0, 1, 0]  # of keys and values; 0: a convolution
LFM2_KINDS = ("conv", "full_attention")


# Gated DeltaNet: heads of keys, of values, and values of each.
DELTA_KEYS, DELTA_VALUES, DELTA_DIM = 2, 4, 16
DELTA = {"linear_conv_kernel_dim": 4, "linear_key_head_dim": DELTA_DIM, "linear_value_head_dim": DELTA_DIM,
         "linear_num_key_heads": DELTA_KEYS, "linear_num_value_heads": DELTA_VALUES,
         "layer_types": ["linear_attention"] * 2 + ["full_attention"]}


def delta(out: gguf.GGUFWriter) -> None:
    out.add_ssm_conv_kernel(4)
    out.add_ssm_state_size(DELTA_DIM)
    out.add_ssm_group_count(DELTA_KEYS)
    out.add_ssm_time_step_rank(DELTA_VALUES)
    out.add_ssm_inner_size(DELTA_VALUES * DELTA_DIM)
    out.add_uint32(gguf.Keys.LLM.FULL_ATTENTION_INTERVAL.format(arch=out.arch), 3)
    out.add_rope_dimension_count(8)


def qwen35(out: gguf.GGUFWriter) -> None:
    delta(out)
    out.add_rope_dimension_sections([2, 1, 1, 0])


def delta_moe(out: gguf.GGUFWriter) -> None:
    (delta if out.arch == "qwen3next" else qwen35)(out)
    experts(out, 4, 2, 32)
    out.add_expert_shared_feed_forward_length(64)


# Mamba-2: heads, values of each, values of a state for each of those. The convolution sees four tokens.
MAMBA_HEADS, MAMBA_DIM, MAMBA_STATE = 4, 32, 16
GRANITE_HEADS = [0, 1, 0, 0, 1, 0]  # of keys and values; 0: Mamba-2
MIXER_KINDS = ("linear_attention", "full_attention")


def mamba(groups: int) -> dict:
    return {"mamba_n_heads": MAMBA_HEADS, "mamba_d_head": MAMBA_DIM, "mamba_d_state": MAMBA_STATE,
            "mamba_n_groups": groups, "mamba_expand": 2}


def mamba_sizes(out: gguf.GGUFWriter, groups: int) -> None:
    out.add_ssm_conv_kernel(4)
    out.add_ssm_state_size(MAMBA_STATE)
    out.add_ssm_group_count(groups)
    out.add_ssm_inner_size(MAMBA_HEADS * MAMBA_DIM)
    out.add_ssm_time_step_rank(MAMBA_HEADS)


MAMBA_NAMES = {"in_proj": "ssm_in.weight", "conv1d": "ssm_conv1d.weight", "conv1d.bias": "ssm_conv1d.bias",
               "A_log": "ssm_a", "D": "ssm_d", "dt_bias": "ssm_dt.bias", "norm": "ssm_norm.weight",
               "out_proj": "ssm_out.weight"}


def mamba_tensors(row, at: str, rest: str, values: np.ndarray):
    name = MAMBA_NAMES[rest.removesuffix(".weight")]
    if name == "ssm_a":
        values = -np.exp(values)
    if name in ("ssm_a", "ssm_d"):
        values = values[:, None]
    if name == "ssm_norm.weight":
        values = values.reshape(row.mamba_groups, -1)
    if name == "ssm_conv1d.weight":
        values = values.squeeze(1)
    return [(at + name, values)]


NEMOTRON = {"ssm_state_size": MAMBA_STATE, "mamba_num_heads": MAMBA_HEADS, "mamba_head_dim": MAMBA_DIM, "n_groups": 2,
            "layer_norm_epsilon": EPSILON, "pad_token_id": None}
NEMOTRON_BLOCKS = {"M": "linear_attention", "*": "full_attention", "-": "mlp", "E": "moe"}


def nemotron(pattern: str, more: dict, ffn: int, extra: Callable, seed: int) -> "Row":
    """A block of each letter of the pattern."""
    return Row("NemotronH", "nemotron_h_moe" if "E" in pattern else "nemotron_h",
               NEMOTRON | {"layers_block_type": [NEMOTRON_BLOCKS[kind] for kind in pattern]} | more,
               layers=len(pattern), heads=(2, [int(kind == "*") for kind in pattern]), ffn=ffn, mamba_groups=2,
               ffns=[ffn if kind in "-E" else 0 for kind in pattern], extra=extra, greedy_seed=seed)


def nemotron_h(out: gguf.GGUFWriter) -> None:
    mamba_sizes(out, 2)
    out.add_rope_scaling_finetuned(False)
    out.add_layer_norm_eps(EPSILON)


def nemotron_h_moe(out: gguf.GGUFWriter) -> None:
    nemotron_h(out)
    experts(out, 5, 2, 32)
    out.add_expert_shared_feed_forward_length(64)
    out.add_expert_shared_count(1)
    out.add_expert_weights_norm(True)
    out.add_expert_weights_scale(2.5)
    out.add_expert_group_count(1)


def lfm2_moe(out: gguf.GGUFWriter) -> None:
    out.add_shortconv_l_cache(3)
    experts(out, 5, 2, 32)
    out.add_leading_dense_block_count(1)
    out.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)


def tiled(values: np.ndarray, axis: int, dim: int) -> np.ndarray:
    """Value heads, of dim values each, from key head by key head to tile by tile."""
    apart = (DELTA_KEYS, DELTA_VALUES // DELTA_KEYS, dim)
    split = values.reshape(*values.shape[:axis], *apart, *values.shape[axis + 1:])
    return split.swapaxes(axis, axis + 1).reshape(values.shape)


def delta_tensors(row, at: str, rest: str, values: np.ndarray):
    """Those of Gated DeltaNet, of which Qwen3-Next fuses some; its value heads stay key head by key head."""
    if rest == "in_proj_qkvz":  # of each key head: q, k, v and z
        of_head = DELTA_VALUES // DELTA_KEYS * DELTA_DIM
        parts = np.split(values.reshape(DELTA_KEYS, -1, WIDTH), np.cumsum([DELTA_DIM, DELTA_DIM, of_head]), axis=1)
        q, k, v, z = (part.reshape(-1, WIDTH) for part in parts)
        return [(at + "attn_qkv.weight", np.concatenate([q, k, v])), (at + "attn_gate.weight", z)]
    name = {"in_proj_qkv": "attn_qkv.weight", "in_proj_z": "attn_gate.weight", "in_proj_a": "ssm_alpha.weight",
            "in_proj_b": "ssm_beta.weight", "in_proj_ba": "ssm_ba.weight", "conv1d": "ssm_conv1d.weight",
            "A_log": "ssm_a", "dt_bias": "ssm_dt.bias", "norm": "ssm_norm.weight", "out_proj": "ssm_out.weight"}[rest]
    if rest == "A_log":
        values = -np.exp(values)
    if rest == "conv1d":
        values = values.squeeze(1)
    if row.arch == "qwen3next":
        return [(at + name, values)]
    keys = 2 * DELTA_KEYS * DELTA_DIM
    if rest in ("in_proj_qkv", "conv1d"):
        values = np.concatenate([values[:keys], tiled(values[keys:], 0, DELTA_DIM)])
    elif rest == "out_proj":
        values = tiled(values, 1, DELTA_DIM)
    elif rest != "norm":
        values = tiled(values, 0, DELTA_DIM if rest == "in_proj_z" else 1)
    return [(at + name, values)]


def granite(out: gguf.GGUFWriter, embeddings: float = 3.0, residuals: float = 0.4) -> None:
    out.add_attention_scale(0.3)
    out.add_embedding_scale(embeddings)
    out.add_residual_scale(residuals)
    out.add_logit_scale(0.5)


def granite_moe(out: gguf.GGUFWriter) -> None:
    granite(out)
    experts(out, 4, 2, 32)


# What all experts' width is, stands in feed_forward_length.
def granite_hybrid(out: gguf.GGUFWriter) -> None:
    granite(out, embeddings=0.5, residuals=0.7)
    mamba_sizes(out, 1)
    out.add_rope_scaling_finetuned(False)
    out.add_expert_count(4)
    out.add_expert_used_count(2)
    out.add_expert_shared_feed_forward_length(64)


def granite_hybrid_dense(out: gguf.GGUFWriter) -> None:
    granite(out)
    mamba_sizes(out, 2)
    out.add_rope_scaling_finetuned(True)
    out.add_expert_count(0)
    out.add_expert_used_count(0)
    out.add_expert_shared_feed_forward_length(64)


def phi3(out: gguf.GGUFWriter) -> None:
    out.add_rope_dimension_count(24)
    out.add_rope_scaling_orig_ctx_len(ORIGINAL)
    out.add_rope_scaling_attn_factors(float(np.sqrt(1 + np.log(CONTEXT / ORIGINAL) / np.log(ORIGINAL))))
    out.add_sliding_window(WINDOW)


def gpt_oss(out: gguf.GGUFWriter) -> None:
    yarn(out)
    out.add_sliding_window(WINDOW)
    experts(out, 5, 2, FFN)


def mistral3(out: gguf.GGUFWriter) -> None:
    out.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    out.add_rope_scaling_factor(2.0)
    out.add_rope_scaling_orig_ctx_len(64)
    out.add_rope_scaling_yarn_log_mul(1.0)
    out.add_attn_temperature_scale(0.1)


# Latent attention: ranks of the latent and of queries, values of a head that RoPE turns, the others, of a value.
LATENT, QUERIES, TURNED, PLAIN, VALUES = 32, 32, 16, 32, 32
MLA = {"kv_lora_rank": LATENT, "qk_rope_head_dim": TURNED, "qk_nope_head_dim": PLAIN, "v_head_dim": VALUES}
# The factor of its logits is 1.25 (mscale_all_dim 0.9), so that one that is left out is seen.
DEEPSEEK_YARN = rope("yarn", factor=4.0, original_max_position_embeddings=ORIGINAL, mscale=0.9, mscale_all_dim=0.9)


def latent(out: gguf.GGUFWriter) -> None:
    out.add_head_count_kv(1)
    out.add_key_length(LATENT + TURNED)
    out.add_value_length(LATENT)
    out.add_key_length_mla(PLAIN + TURNED)
    out.add_value_length_mla(VALUES)
    out.add_kv_lora_rank(LATENT)
    out.add_rope_dimension_count(TURNED)
    experts(out, 6, 3, 32)
    out.add_expert_shared_count(2)


def deepseek2(out: gguf.GGUFWriter, dense: int = 26) -> None:
    latent(out)
    out.add_leading_dense_block_count(dense)
    yarn(out)
    out.add_rope_scaling_yarn_log_mul(0.1 * 0.9)
    out.add_expert_weights_scale(1.5)
    out.add_expert_weights_norm(False)
    out.add_expert_gating_func(gguf.ExpertGatingFuncType.SOFTMAX)


def deepseek2_q(out: gguf.GGUFWriter) -> None:
    deepseek2(out, dense=1)
    out.add_q_lora_rank(QUERIES)


def glm4_lite(out: gguf.GGUFWriter) -> None:
    latent(out)
    out.add_leading_dense_block_count(1)
    out.add_q_lora_rank(QUERIES)
    out.add_expert_weights_scale(1.8)
    out.add_expert_weights_norm(True)
    out.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)


ONE_LANE = dict(heads=(2, 1))
HYBRID = ONE_LANE | dict(layers=3, ffn=32, base=1_000_000.0, gain=1, gains=0.5)
DELTA_ROPE = rope("default", 1_000_000.0, partial_rotary_factor=0.25)
MROPE = rope("default", 1_000_000.0, partial_rotary_factor=0.25, mrope_section=[2, 1, 1], mrope_interleaved=True)
DELTA_MOE = DELTA | {"num_experts": 4, "num_experts_per_tok": 2, "norm_topk_prob": True, "moe_intermediate_size": 32,
                     "shared_expert_intermediate_size": 64}
DEEPSEEK = MLA | DEEPSEEK_YARN | {"n_routed_experts": 6, "num_experts_per_tok": 3, "n_shared_experts": 2,
                                  "moe_intermediate_size": 32, "first_k_dense_replace": 1, "norm_topk_prob": False,
                                  "routed_scaling_factor": 1.5, "topk_method": "greedy", "n_group": 1,
                                  "topk_group": 1}
GRANITE = dict(attention_multiplier=0.3, embedding_multiplier=3.0, residual_multiplier=0.4, logits_scaling=0.5)
YARN = rope("yarn", factor=4.0, original_max_position_embeddings=ORIGINAL)
MINISTRAL = rope("yarn", factor=2.0, original_max_position_embeddings=64, mscale=1.0, mscale_all_dim=1.0,
                 llama_4_scaling_beta=0.1, beta_fast=32.0, beta_slow=1.0)
LLAMA3 = rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=ORIGINAL)
PHI3_FACTORS = {"long_factor": [1.0 + 0.5 * i for i in range(12)],
                "short_factor": [1.0 + 0.01 * i for i in range(12)]}
LONGROPE = rope("longrope", partial_rotary_factor=0.75, original_max_position_embeddings=ORIGINAL, **PHI3_FACTORS)
LOCAL = {"rope_type": "default", "rope_theta": 10_000.0}
GEMMA3_ROPE = {"sliding_attention": LOCAL,
               "full_attention": {"rope_type": "linear", "rope_theta": 1_000_000.0, "factor": 8.0}}
GEMMA4 = {"sliding_window": WINDOW, "head_dim": 16, "final_logit_softcapping": 5.0,
          "rope_parameters": {"sliding_attention": LOCAL,
                              "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
                                                 "rope_theta": 1_000_000.0}}}
PATTERN = ["sliding_attention", "sliding_attention", "full_attention"]
OLMO3_ROPE = {"sliding_attention": LOCAL, "full_attention": YARN["rope_parameters"]}
# llama.cpp ends the ramp of YaRN at a whole pair, transformers where it falls: with this base at pair 1.9999.
GPT_OSS_BASE = 453_000.0
GPT_OSS = rope("yarn", GPT_OSS_BASE, factor=4.0, original_max_position_embeddings=ORIGINAL, truncate=False)
UNPADDED = {"pad_token_id": None}
SLIDING = {"sliding_window": WINDOW}
TABLE = {
    "llama": Row("Llama", "llama", LLAMA3 | {"attention_bias": True}, permuted=True),
    "mistral": Row("Mistral", "llama", SLIDING, permuted=True, other_until=WINDOW,
                   extra=lambda out: out.add_sliding_window(WINDOW)),
    "mixtral": Row("Mixtral", "llama", {"num_local_experts": 4, "num_experts_per_tok": 2}, **ONE_LANE,
                   ffn=32, permuted=True, extra=lambda out: experts(out, 4, 2, 32)),
    "mistral3": Row("Ministral3", "mistral3", MINISTRAL, **ONE_LANE, permuted=True, extra=mistral3),
    "smollm3": Row("SmolLM3", "smollm3", UNPADDED | {"no_rope_layer_interval": 4}, **ONE_LANE, layers=5, ffn=32,
                   permuted=True),
    "smollm3_yarn": Row("SmolLM3", "smollm3", UNPADDED | YARN | {"no_rope_layer_interval": 4}, **ONE_LANE, layers=5,
                        ffn=32, permuted=True, extra=yarn),
    "qwen2": Row("Qwen2", "qwen2", YARN, **ONE_LANE, extra=yarn),
    "qwen3": Row("Qwen3", "qwen3", rope("default", 1_000_000.0), **ONE_LANE, base=1_000_000.0),
    "qwen3moe": Row("Qwen3Moe", "qwen3moe", {"num_experts": 6, "num_experts_per_tok": 3, "norm_topk_prob": True,
                                             "moe_intermediate_size": 32},
                    **ONE_LANE, extra=lambda out: experts(out, 6, 3, 32)),
    "gemma": Row("Gemma", "gemma", {"hidden_activation": "gelu_pytorch_tanh"}, **ONE_LANE, gain=1),
    "gemma2": Row("Gemma2", "gemma2", SLIDING | {"attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0,
                                                 "query_pre_attn_scalar": 32},
                  **ONE_LANE, gain=1, extra=gemma2),
    "gemma3": Row("Gemma3", "gemma3", SLIDING | {"query_pre_attn_scalar": 32, "rope_parameters": GEMMA3_ROPE},
                  **ONE_LANE, layers=6, ffn=32, base=1_000_000.0, gain=1, extra=gemma3),
    # Layers 3 to 5 read the keys and values of layers 1 (those with a window) and 2.
    "gemma4_e": Row("Gemma4", "gemma4",
                    GEMMA4 | {"global_head_dim": 32, "layer_types": PATTERN * 2, "num_kv_shared_layers": 3,
                              "hidden_size_per_layer_input": 32, "vocab_size_per_layer_input": VOCABULARY,
                              "use_double_wide_mlp": True},
                    layers=6, heads=(4, 1), ffn=32, base=1_000_000.0, gains=0.5, extra=gemma4_e, greedy_seed=8),
    # In layer 2 values are made of what keys are made of.
    "gemma4_moe": Row("Gemma4", "gemma4",
                      GEMMA4 | {"global_head_dim": 64, "layer_types": PATTERN, "num_global_key_value_heads": 1,
                                "attention_k_eq_v": True, "hidden_size_per_layer_input": 0,
                                "enable_moe_block": True, "num_experts": 5, "top_k_experts": 2,
                                "moe_intermediate_size": 32, "tie_word_embeddings": False},
                      layers=3, ffn=32, base=1_000_000.0, gains=0.5, extra=gemma4_moe, greedy_seed=5),
    "phi3": Row("Phi3", "phi3", SLIDING | UNPADDED | LONGROPE | {"original_max_position_embeddings": ORIGINAL},
                **ONE_LANE, extra=phi3, other_until=WINDOW),
    "gpt_oss": Row("GptOss", "gpt-oss", SLIDING | GPT_OSS | {"num_local_experts": 5, "num_experts_per_tok": 2},
                   base=GPT_OSS_BASE, extra=gpt_oss, transposed=True, greedy_seed=52),
    "granite": Row("Granite", "granite", GRANITE, **ONE_LANE, permuted=True, extra=granite),
    "granitemoe": Row("GraniteMoe", "granitemoe", GRANITE | {"num_local_experts": 4, "num_experts_per_tok": 2},
                      **ONE_LANE, ffn=32, permuted=True, extra=granite_moe),
    # Layers 1 and 4 are attention without RoPE, the others Mamba-2.
    "granitehybrid": Row("GraniteMoeHybrid", "granitehybrid",
                         GRANITE | mamba(1) |
                         {"embedding_multiplier": 0.5, "residual_multiplier": 0.7, "num_local_experts": 4,
                          "num_experts_per_tok": 2, "shared_intermediate_size": 64,
                          "layer_types": [MIXER_KINDS[n > 0] for n in GRANITE_HEADS]},
                         layers=len(GRANITE_HEADS), heads=(2, GRANITE_HEADS), ffn=32, permuted=True,
                         extra=granite_hybrid, greedy_seed=16),
    # Layer 1 is attention.
    "granitehybrid_dense": Row("GraniteMoeHybrid", "granitehybrid",
                               GRANITE | mamba(2) |
                               {"num_local_experts": 0, "num_experts_per_tok": 0, "shared_intermediate_size": 64,
                                "position_embedding_type": "rope",
                                "layer_types": [MIXER_KINDS[n > 0] for n in GRANITE_HEADS[:3]]},
                               layers=3, heads=(2, GRANITE_HEADS[:3]), permuted=True, mamba_groups=2,
                               extra=granite_hybrid_dense),
    # Layers 1 and 4 are attention, the others gated short convolutions over three tokens.
    "lfm2": Row("Lfm2", "lfm2",
                {"norm_eps": EPSILON, "block_auto_adjust_ff_dim": False, "conv_L_cache": 3,
                 "layer_types": [LFM2_KINDS[n > 0] for n in LFM2_HEADS]} | rope("default", 1_000_000.0),
                layers=len(LFM2_HEADS), heads=(2, LFM2_HEADS), ffn=32, base=1_000_000.0, gains=0.5,
                extra=lambda out: out.add_shortconv_l_cache(3), greedy_seed=20),
    # Layer 1 is attention, and layer 0 has no experts.
    "lfm2moe": Row("Lfm2Moe", "lfm2moe",
                   {"norm_eps": EPSILON, "conv_L_cache": 3, "num_dense_layers": 1, "num_experts": 5,
                    "num_experts_per_tok": 2, "moe_intermediate_size": 32,
                    "layer_types": [LFM2_KINDS[n > 0] for n in LFM2_HEADS[:4]]} | rope("default", 1_000_000.0),
                   layers=4, heads=(2, LFM2_HEADS[:4]), base=1_000_000.0, gains=0.5, extra=lfm2_moe, greedy_seed=2),
    "nemotron_h": nemotron("M-M*-M", {}, 64, nemotron_h, 6),
    "nemotron_h_moe": nemotron("ME*EM", {"n_routed_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
                                         "moe_shared_expert_intermediate_size": 64, "routed_scaling_factor": 2.5},
                               32, nemotron_h_moe, 2),
    # Layers 2 and 5 are attention, the others Gated DeltaNet.
    "qwen35": Row("Qwen3_5", "qwen35", DELTA | MROPE | {"layer_types": DELTA["layer_types"] * 2},
                  **HYBRID | dict(layers=6), extra=qwen35, greedy_seed=25),
    "qwen35moe": Row("Qwen3_5Moe", "qwen35moe", DELTA_MOE | MROPE, **HYBRID, extra=delta_moe, greedy_seed=11),
    "qwen3next": Row("Qwen3Next", "qwen3next", DELTA_MOE | DELTA_ROPE, **HYBRID, extra=delta_moe),
    # llama.cpp knows models without q_lora_rank by their 27 layers.
    "deepseek2": Row("DeepseekV2", "deepseek2", DEEPSEEK | {"q_lora_rank": None, "first_k_dense_replace": 26},
                     layers=27, heads=(2, 2), ffn=32, extra=deepseek2),
    "deepseek2_q": Row("DeepseekV2", "deepseek2", DEEPSEEK | {"q_lora_rank": QUERIES}, layers=3, heads=(16, 16), ffn=64,
                       extra=deepseek2_q, greedy_seed=1),
    # GLM-4.7-Flash: experts chosen by sigmoids and biases.
    "glm4_lite": Row("Glm4MoeLite", "deepseek2",
                     MLA | {"q_lora_rank": QUERIES, "n_routed_experts": 6, "num_experts_per_tok": 3, "n_shared_experts": 2,
                            "moe_intermediate_size": 32, "norm_topk_prob": True, "routed_scaling_factor": 1.8,
                            "n_group": 1, "topk_group": 1},
                     layers=3, heads=(4, 4), ffn=64, extra=glm4_lite, greedy_seed=3),
    "olmo2": Row("Olmo2", "olmo2", UNPADDED, **ONE_LANE),
    "olmo3": Row("Olmo3", "olmo2", UNPADDED | SLIDING | {"rope_parameters": OLMO3_ROPE}, **ONE_LANE, layers=4,
                 ffn=32, extra=lambda out: (yarn(out), out.add_sliding_window(WINDOW))),
}
NAMES = {  # of a layer: transformers -> GGUF
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "self_attn.o_proj": "attn_output", "self_attn.qkv_proj": "attn_qkv", "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "mlp.gate_up_proj": "ffn_up",
    "mlp.gate": "ffn_gate_inp", "block_sparse_moe.router": "ffn_gate_inp", "mlp.experts.down_proj": "ffn_down_exps",
    "block_sparse_moe.experts.down_proj": "ffn_down_exps", "post_feedforward_layernorm": "post_ffw_norm",
    "pre_feedforward_layernorm": "ffn_norm", "self_attn.sinks": "attn_sinks", "mlp.router": "ffn_gate_inp",
    "router.proj": "ffn_gate_inp", "experts.down_proj": "ffn_down_exps", "experts.gate_up_proj": "ffn_gate_up_exps",
    "post_feedforward_layernorm_1": "post_ffw_norm_1", "post_feedforward_layernorm_2": "post_ffw_norm_2",
    "pre_feedforward_layernorm_2": "pre_ffw_norm_2", "per_layer_input_gate": "inp_gate",
    "per_layer_projection": "proj", "post_per_layer_input_norm": "post_norm", "layer_scalar": "layer_output_scale",
    "operator_norm": "attn_norm", "conv.in_proj": "shortconv.in_proj", "conv.conv": "shortconv.conv",
    "conv.out_proj": "shortconv.out_proj", "self_attn.out_proj": "attn_output",
    "self_attn.q_layernorm": "attn_q_norm", "self_attn.k_layernorm": "attn_k_norm", "feed_forward.w1": "ffn_gate",
    "mlp.shared_expert.gate_proj": "ffn_gate_shexp", "mlp.shared_expert.up_proj": "ffn_up_shexp",
    "mlp.shared_expert.down_proj": "ffn_down_shexp", "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
    "feed_forward.gate": "ffn_gate_inp", "feed_forward.experts.down_proj": "ffn_down_exps",
    "mixer.q_proj": "attn_q", "mixer.k_proj": "attn_k", "mixer.v_proj": "attn_v", "mixer.o_proj": "attn_output",
    "mixer.gate": "ffn_gate_inp", "mixer.experts.up_proj": "ffn_up_exps", "mixer.experts.down_proj": "ffn_down_exps",
    "mixer.shared_experts.up_proj": "ffn_up_shexp", "mixer.shared_experts.down_proj": "ffn_down_shexp",
    "mixer.up_proj": "ffn_up", "mixer.down_proj": "ffn_down", "norm": "attn_norm",
    "self_attn.q_a_proj": "attn_q_a", "self_attn.q_a_layernorm": "attn_q_a_norm", "self_attn.q_b_proj": "attn_q_b",
    "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa", "self_attn.kv_a_layernorm": "attn_kv_a_norm",
    "mlp.shared_experts.gate_proj": "ffn_gate_shexp", "mlp.shared_experts.up_proj": "ffn_up_shexp",
    "mlp.shared_experts.down_proj": "ffn_down_shexp",
    "feed_forward.w2": "ffn_down", "feed_forward.w3": "ffn_up", "ffn_norm": "ffn_norm"}
ENDS = {"model.embedding_norm.weight": "token_embd_norm.weight", "model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
        "model.embeddings.weight": "token_embd.weight", "model.norm_f.weight": "output_norm.weight",
        "lm_head.weight": "output.weight", "model.embed_tokens_per_layer.weight": "per_layer_token_embd.weight",
        "model.per_layer_model_projection.weight": "per_layer_model_proj.weight",
        "model.per_layer_projection_norm.weight": "per_layer_proj_norm.weight"}
SCALES = {"router.scale": "ffn_gate_inp.scale", "router.per_expert_scale": "ffn_down_exps.scale"}


def tiny(row: Row):
    config = getattr(transformers, row.model + ("TextConfig" if row.model in ("Gemma3", "Gemma4", "Qwen3_5", "Qwen3_5Moe") else "Config"))
    given = dict(vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=row.ffn, num_hidden_layers=row.layers,
                 num_attention_heads=row.heads[0], num_key_value_heads=np.max(row.heads[1]).item(), head_dim=32,
                 max_position_embeddings=CONTEXT, rms_norm_eps=EPSILON,
                 tie_word_embeddings=(row.gain == 1 and row.arch != "qwen3next") or row.arch in ("smollm3", "gemma4", "lfm2", "lfm2moe", "granitehybrid")) | rope("default") | row.config
    if row.model in ("Phi3", "Granite", "GraniteMoe", "GraniteMoeHybrid", "DeepseekV2", "Glm4MoeLite"):
        del given["head_dim"]
    made = config(**given)
    made._attn_implementation = "eager"
    return getattr(transformers, row.model + "ForCausalLM")(made).float().eval()


def kept(row: Row, values: np.ndarray, name: str) -> gguf.GGMLQuantizationType:
    """The type that the file keeps a tensor in."""
    if values.ndim == 1 or "ffn_gate_inp" in name or "shortconv.conv" in name or name.endswith(
            (".bias", "ssm_conv1d.weight", "ssm_a", "ssm_d", "ssm_norm.weight")):
        return F32
    if row.arch == "gpt-oss" and "_exps" in name:
        return MXFP4
    if "attn_k_b" in name or "attn_v_b" in name:  # turned, they would be rounded anew
        return F16
    if "ssm_out" in name and "linear_num_key_heads" in row.config:  # its columns move by heads, less than a block
        return F16
    return F16 if "attn_output" in name and row.layers == 2 else Q8_0


def as_stored(values: np.ndarray, kind: gguf.GGMLQuantizationType) -> np.ndarray:
    return gguf.quants.dequantize(gguf.quants.quantize(values, kind), kind).astype(np.float32)


def permute(values: np.ndarray, n_heads: int) -> np.ndarray:
    halves = values.reshape(n_heads, 2, values.shape[0] // n_heads // 2, *values.shape[1:])
    return halves.swapaxes(1, 2).reshape(values.shape)


def tensors_of(row: Row, name: str, values: np.ndarray):
    """The tensors of the file that one parameter of transformers becomes."""
    if name in ENDS:
        return [(ENDS[name], values)]
    _, _, layer, rest = name.split(".", 3)
    if rest in SCALES:
        return [(f"blk.{layer}.{SCALES[rest]}", values)]
    if rest.startswith("linear_attn."):
        rest = rest.removeprefix("linear_attn.").removesuffix(".weight")
        return delta_tensors(row, f"blk.{layer}.", rest, values)
    if rest.endswith(("expert_bias", "e_score_correction_bias")):
        return [(f"blk.{layer}.exp_probs_b.bias", values)]
    part, _, of_part = rest.partition(".")
    if part == "mamba" or (part == "mixer" and of_part.removesuffix(".weight") in MAMBA_NAMES):
        return mamba_tensors(row, f"blk.{layer}.", of_part, values)
    rest, kind = (rest.rsplit(".", 1) if rest.endswith((".weight", ".bias")) else (rest, "weight"))
    at = f"blk.{layer}."
    if rest.endswith("_proj_bias"):
        rest, kind = rest.removesuffix("_bias"), "bias"
    if rest.endswith(("mlp.experts.gate_up_proj", "feed_forward.experts.gate_up_proj",
                      "block_sparse_moe.experts.gate_up_proj")):
        gate, up = (values[:, ::2], values[:, 1::2]) if row.transposed else np.split(values, 2, axis=1)
        return [(f"{at}ffn_gate_exps.{kind}", gate), (f"{at}ffn_up_exps.{kind}", up)]
    if rest == "shared_mlp.input_linear":
        of = "_shexp" if row.config["num_local_experts"] else ""
        gate, up = np.split(values, 2)
        return [(f"{at}ffn_gate{of}.{kind}", gate), (f"{at}ffn_up{of}.{kind}", up)]
    if rest == "shared_mlp.output_linear":
        return [(at + ("ffn_down_shexp" if row.config["num_local_experts"] else "ffn_down") + ".weight", values)]
    if rest == "post_attention_layernorm" and (
            row.arch in ("gemma2", "gemma3", "gemma4", "olmo2", "gpt-oss") or "linear_num_key_heads" in row.config):
        return [(at + "post_attention_norm.weight", values)]
    if rest == "self_attn.kv_b_proj":  # of each head, what makes keys, then what makes values
        k, v = np.split(values.reshape(row.heads[0], PLAIN + VALUES, LATENT), [PLAIN], axis=1)
        return [(at + "attn_k_b.weight", k.swapaxes(1, 2)), (at + "attn_v_b.weight", v)]
    if rest == "conv.conv":
        values = values.squeeze(1)
    if row.permuted and rest in ("self_attn.q_proj", "self_attn.k_proj"):
        values = permute(values, np.max(row.heads[rest == "self_attn.k_proj"]))
    return [(f"{at}{NAMES[rest]}.{kind}", values)]


def fill(model, row: Row) -> list:
    """Random weights, as the file will give them back; returns the file's tensors."""
    rng, out = np.random.default_rng(20261123), []
    scalars = [(name, weight) for name, weight in model.named_buffers()
               if name.endswith(("layer_scalar", "expert_bias", "e_score_correction_bias"))]
    for name, weight in [*model.named_parameters(), *scalars]:
        if "norm" in name or name.endswith("scale") or name.endswith("layer_scalar"):
            around = row.gains if name.endswith(("q_norm.weight", "k_norm.weight")) else 1
            values = (around + 0.3 * rng.standard_normal(weight.shape)).astype(np.float32)
            gain = 0 if name.endswith("linear_attn.norm.weight") else row.gain
            weight.data = torch.from_numpy(values - gain if gain else values.copy())
        elif name.endswith("A_log"):
            values = np.log(rng.uniform(0.05, 2, weight.shape)).astype(np.float32)
            weight.data = torch.from_numpy(values.copy())
        else:
            is_turned = row.transposed and weight.ndim == 3  # the file's order is made first
            shape = weight.mT.shape if is_turned else weight.shape
            size = 2.0 if "sinks" in name else 0.3 if weight.ndim == 1 or "bias" in name else shape[-1] ** -0.5
            values = (rng.standard_normal(shape) * size).astype(np.float32)
            values = as_stored(values, kept(row, values, tensors_of(row, name, values)[0][0]))
            weight.data = torch.from_numpy((values.swapaxes(1, 2) if is_turned else values).copy())
        out += tensors_of(row, name, values)
    return out


def rope_tensors(model, row: Row) -> list:
    """Factors by which RoPE is slowed, as converters write them."""
    if row.arch == "phi3":
        return [(f"rope_factors_{kind}.weight", np.array(PHI3_FACTORS[f"{kind}_factor"], np.float32))
                for kind in ("long", "short")]
    if row.config.get("rope_parameters", {}).get("rope_type") == "llama3":
        plain = 10_000.0 ** (-np.arange(0, 32, 2) / 32)
        return [("rope_freqs.weight", (plain / model.model.rotary_emb.inv_freq.numpy()).astype(np.float32))]
    if row.arch == "gemma4":  # pairs that stand still, in their places
        plain = row.base ** (-np.arange(0, row.config["global_head_dim"], 2) / row.config["global_head_dim"])
        given = model.model.rotary_emb.full_attention_inv_freq.numpy()
        with np.errstate(divide="ignore"):
            return [("rope_freqs.weight", np.where(given == 0, 1e30, plain / given).astype(np.float32))]
    return []


def write(path: pathlib.Path, row: Row, tensors: list, exact: bool) -> None:
    out = gguf.GGUFWriter(path, row.arch)
    out.add_name(f"{row.arch}, random weights")
    out.add_block_count(row.layers)
    out.add_embedding_length(WIDTH)
    # qwen35moe: transformers' configuration has no such width, so the converter writes none.
    if row.arch != "qwen35moe" and (row.arch != "gemma4" or row.layers == 3):
        out.add_feed_forward_length(row.ffns or row.ffn)
    out.add_context_length(4096 if row.arch == "gemma4" else CONTEXT)
    out.add_vocab_size(VOCABULARY)
    out.add_head_count(row.heads[0])
    if row.arch != "deepseek2" and (row.arch != "gemma4" or row.layers == 6):
        out.add_head_count_kv(row.heads[1])
        out.add_key_length(32)
        out.add_value_length(32)
    out.add_layer_norm_rms_eps(EPSILON)
    out.add_rope_freq_base(row.base)
    out.add_tokenizer_model("none")
    row.extra(out)
    for name, values in tensors:
        kind = F32 if exact else kept(row, values, name)
        out.add_tensor(name, gguf.quants.quantize(np.ascontiguousarray(values), kind), raw_dtype=kind)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def round_keys_and_values(model) -> None:
    """Of latent attention what the cache keeps, before it becomes keys and values."""
    latent = [layer.self_attn for layer in model.model.layers if hasattr(getattr(layer, "self_attn", None), "expand_kv")]
    for part in latent:
        part.expand_kv = lambda rows, turned, of=part.expand_kv: of(rows.half().float(), turned.half().float())
    if latent:
        return
    module = importlib.import_module(type(model).__module__)
    plain = module.eager_attention_forward

    def rounded(layer, query, key, value, *rest, **named):
        return plain(layer, query, key.half().float(), value.half().float(), *rest, **named)

    if not getattr(plain, "rounds", False):
        rounded.rounds = True
        module.eager_attention_forward = rounded


def llama_cpp_logits(path: pathlib.Path, ids: list) -> np.ndarray:
    params = llama_cpp.llama_model_default_params()
    params.n_gpu_layers = 0
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), params)
    of = llama_cpp.llama_context_default_params()
    of.n_ctx, of.n_batch, of.n_ubatch, of.n_threads, of.n_threads_batch = CONTEXT, CONTEXT, CONTEXT, 1, 1
    of.flash_attn_type = 0  # off: it would round more than keys and values to fp16
    context = llama_cpp.llama_init_from_model(model, of)
    batch = llama_cpp.llama_batch_init(len(ids), 0, 1)
    batch.n_tokens = len(ids)
    for i, token in enumerate(ids):
        batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = token, i, 1, 0, 1
    assert llama_cpp.llama_decode(context, batch) == 0
    rows = [np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(context, i), (VOCABULARY,)).copy()
            for i in range(len(ids))]
    llama_cpp.llama_free(context)
    llama_cpp.llama_model_free(model)
    return np.array(rows)


def section(name: str, logits: np.ndarray, positions: list) -> list:
    lines = [f"{name} {len(positions)} {VOCABULARY}"]
    return lines + [f"{at} " + " ".join(f"{v:.4f}" for v in logits[at].tolist()) for at in positions]


def greedy(model, seed: int) -> list:
    ids, said, closest = np.random.default_rng(seed).integers(0, VOCABULARY, N_TOKENS // 2).tolist(), [], np.inf
    for _ in range(GREEDY):
        top = torch.topk(model(torch.tensor([ids + said])).logits[0, -1], 2)
        closest = min(closest, float(top.values[0] - top.values[1]))
        said.append(int(top.indices[0]))
    print(f"greedy: {len(set(said))} different tokens; the closest choice by {closest:.4f}")
    return [f"tokens {len(ids)}", " ".join(map(str, ids)), f"greedy {GREEDY}", " ".join(map(str, said))]


@torch.no_grad()
def make(name: str, row: Row) -> None:
    model = tiny(row)
    round_keys_and_values(model)
    tensors = fill(model, row)
    tensors += rope_tensors(model, row)
    path = OUT / f"arch_{name}.gguf"
    write(path, row, tensors, exact=False)
    ids = np.random.default_rng(7).integers(0, VOCABULARY, N_TOKENS).tolist()
    logits = model(torch.tensor([ids])).logits[0].numpy()
    with tempfile.TemporaryDirectory() as folder:
        exact = pathlib.Path(folder) / "exact.gguf"
        write(exact, row, tensors, exact=True)
        other = llama_cpp_logits(exact, ids)
    positions = [at for at in POSITIONS if at < row.other_until]
    apart = [float(np.abs(logits[at] - other[at]).max()) for at in range(N_TOKENS)]
    lines = [f"tokens {len(ids)}", " ".join(map(str, ids))]
    lines += section("full", logits, list(POSITIONS)) + section("other", other, positions)
    if row.greedy_seed:
        lines += greedy(model, row.greedy_seed)
    (OUT / f"arch_{name}.txt").write_text("\n".join(lines) + "\n")
    print(f"{name}: {path.stat().st_size} bytes; largest |logit| {np.abs(logits).max():.2f}; "
          f"implementations apart by {max(apart[:row.other_until]):.5f}, all positions {max(apart):.5f}", flush=True)


if __name__ == "__main__":
    for wanted, of_table in TABLE.items():
        if not sys.argv[1:] or wanted in sys.argv[1:]:
            make(wanted, of_table)
