#!/usr/bin/env python3
"""GGUF files of the shapes people have, with random weights: for measuring speed without downloading models.

    pip install gguf
    python3 tests/bench/make_model.py llama-3.2-1b q4_k_m OUT.gguf [--layers 4] [--narrow]

Shapes and the choice of types per tensor are those of real files (llama.cpp's quantiser, mixes Q4_0, Q4_K_M, Q8_0; experts of
gpt-oss are MXFP4 in each mix). Codes are random, scales such that activations stay near 1. The vocabulary has the real size and made-up pieces; both Satchel and
llama.cpp accept it. --layers N keeps N layers and the same share of the vocabulary, so that head and layers weigh as in the
whole model: speeds are then those of the whole times its layers / N. --narrow keeps the shape of the cache only (layers, KV
heads, head_dim): a small width, one query head for each KV head, few words. For what is measured of a cache, such as
`satchel bench resume`, where the prefill of a whole model of 8B would take an hour.
"""
import argparse
import dataclasses

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

CONTEXT = 32768
WORDS_LEAST = 2048


@dataclasses.dataclass
class Shape:
    arch: str
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocabulary: int
    tied: bool
    rope_base: float
    norms: tuple = ()  # gains of each layer beside the two that every layer has: (name, is of a head)
    window: int = 0
    few: int = 1  # layers that make up the pattern: as few can stand for all


QK_NORMS = (("attn_q_norm", True), ("attn_k_norm", True))
GEMMA_NORMS = QK_NORMS + (("post_attention_norm", False), ("post_ffw_norm", False))
SHAPES = {
    "llama-3.2-1b": Shape("llama", 16, 2048, 32, 8, 64, 8192, 128256, True, 5e5),
    "llama-3.1-8b": Shape("llama", 32, 4096, 32, 8, 128, 14336, 128256, False, 5e5),
    "qwen3-0.6b": Shape("qwen3", 28, 1024, 16, 8, 128, 3072, 151936, True, 1e6, QK_NORMS),
    "gemma-3-1b": Shape("gemma3", 26, 1152, 4, 1, 256, 6912, 262144, True, 1e6, GEMMA_NORMS, 512),
    "gemma-4-12b": Shape("gemma4", 48, 3840, 16, 8, 256, 15360, 262144, True, 1e6, GEMMA_NORMS, 1024, few=6),
    "gpt-oss-20b": Shape("gpt-oss", 24, 2880, 64, 8, 64, 2880, 201088, False, 15e4, window=128, few=2),
    "deepseek-v2-lite": Shape("deepseek2", 27, 2048, 16, 1, 576, 10944, 102400, False, 1e4, few=3),
    "qwen3.5-4b": Shape("qwen35", 32, 2560, 16, 4, 256, 9216, 248320, True, 1e7, few=4),
}
EXPERTS, EXPERTS_USED = 32, 4  # of gpt-oss 20B
GLOBAL_HEAD_DIM = 512  # of Gemma 4: its one KV head of layers without a window, whose values are its keys
MLA_RANK, MLA_ROTATED, MLA_PLAIN, MLA_VALUE = 512, 64, 128, 128  # of DeepSeek-V2-Lite
MLA_EXPERTS, MLA_EXPERTS_USED, MLA_EXPERT, MLA_SHARED = 64, 6, 1408, 2
DELTA_KEYS, DELTA_VALUES, DELTA_DIM, DELTA_TAPS = 16, 32, 128, 4  # of Qwen 3.5 4B


def more_bits(layer, n):
    """Layers whose attn_v and ffn_down get Q6_K in Q4_K_M."""
    return layer < n // 8 or layer >= 7 * n // 8 or (layer - n // 8) % 3 == 2


def type_of(mix, name, n_in, layer, n_layers, shape):
    """As llama.cpp's quantiser chooses."""
    tied = shape.tied
    if name.endswith("_exps") and shape.arch == "gpt-oss":
        return Type.MXFP4
    is_output = name == "output" or (name == "token_embd" and tied)
    if mix == "q8_0":
        return Type.Q8_0
    if is_output:
        wanted = Type.Q6_K
    elif mix == "q4_0":
        return Type.Q4_0
    else:
        finer = name in ("attn_v", "ffn_down", "ffn_down_exps", "ffn_down_shexp") and more_bits(layer, n_layers)
        wanted = Type.Q6_K if finer else Type.Q4_K
    if n_in % 256 == 0:
        return wanted
    return Type.Q8_0 if wanted == Type.Q6_K else Type.Q5_0


class Weights:
    """Quantised bytes of random values with standard deviation 1 / sqrt(n_in)."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.pool = self.random.integers(0, 256, 1 << 25, dtype=np.uint8)

    def some_bytes(self, n):
        start = int(self.random.integers(0, self.pool.size))
        return np.resize(np.roll(self.pool, -start) if n >= self.pool.size else np.concatenate(
            [self.pool[start:], self.pool[:start]])[:n], n)

    def halves(self, n, deviation):
        """fp16 of this size with either sign, as bytes [n, 2]."""
        signs = self.random.integers(0, 2, n) * 2 - 1
        return (signs * deviation).astype(np.float16).view(np.uint8).reshape(n, 2)

    def matrix(self, type_, n_out, n_in):
        block, size = gguf.GGML_QUANT_SIZES[type_]
        n = n_out * n_in // block
        out = self.some_bytes(n * size).reshape(n, size)
        deviation = n_in ** -0.5
        if type_ in (Type.Q4_0, Type.Q5_0, Type.Q8_0):
            spread = {Type.Q4_0: 4.61, Type.Q5_0: 9.23, Type.Q8_0: 73.9}[type_]  # of uniform codes
            out[:, 0:2] = self.halves(n, deviation / spread)
        elif type_ == Type.Q4_K:  # scales and minima alike, so that means are about 0
            d = self.halves(n, deviation / (4.61 * 36.4))
            out[:, 0:2] = d
            out[:, 2:4] = (d.view(np.float16) * np.float16(7.5)).view(np.uint8)
            out[:, 8:12] = out[:, 4:8]
            out[:, 12:16] = (out[:, 12:16] & 15) * 17
        elif type_ == Type.MXFP4:  # codes as they come have a deviation of 2.9
            out[:, 0] = 127 + round(np.log2(deviation / 2.9))
        else:  # Q6_K: 16 signed scales before the fp16 one
            out[:, 208:210] = self.halves(n, deviation / (18.5 * 73.9))
        return out.reshape(n_out, n_in // block * size)


def attention(shape, head_dim, kv_heads, outputs=1, has_values=True):
    """Matrices (name, outputs, inputs) of a layer of attention."""
    q, kv = shape.heads * head_dim, kv_heads * head_dim
    values = (("attn_v", kv, shape.width),) if has_values else ()
    return (("attn_q", outputs * q, shape.width), ("attn_k", kv, shape.width), *values, ("attn_output", shape.width, q))


def feed_forward(shape, of="{}"):
    return ((of.format("ffn_gate"), shape.ffn, shape.width), (of.format("ffn_up"), shape.ffn, shape.width),
            (of.format("ffn_down"), shape.width, shape.ffn))


def plain_layer(shape, _):
    """The matrices of layer i, and its small tensors (name, values) beside the norm before attention."""
    norms = [(f"{name}.weight", np.ones(shape.head_dim if of_head else shape.width)) for name, of_head in shape.norms]
    return (*attention(shape, shape.head_dim, shape.kv_heads), *feed_forward(shape)), [
        ("ffn_norm.weight", np.ones(shape.width)), *norms]


def gemma4_layer(shape, i):
    is_global = i % 6 == 5
    head_dim, kv_heads = (GLOBAL_HEAD_DIM, 1) if is_global else (shape.head_dim, shape.kv_heads)
    small = plain_layer(dataclasses.replace(shape, head_dim=head_dim), i)[1]
    return (*attention(shape, head_dim, kv_heads, has_values=not is_global), *feed_forward(shape)), small


def gpt_oss_layer(shape, i):
    matrices = attention(shape, shape.head_dim, shape.kv_heads)
    biases = [(f"{name}.bias", np.zeros(n_out)) for name, n_out, _ in matrices]
    biases += [(f"{name}.bias", np.zeros((EXPERTS, n_out))) for name, n_out, _ in feed_forward(shape, "{}_exps")]
    router = np.random.default_rng(i).standard_normal((EXPERTS, shape.width)) * shape.width ** -0.5
    return (*matrices, *feed_forward(shape, "{}_exps")), [
        ("post_attention_norm.weight", np.ones(shape.width)), ("attn_sinks.weight", np.zeros(shape.heads)),
        ("ffn_gate_inp.weight", router), ("ffn_gate_inp.bias", np.zeros(EXPERTS)), *biases]


def qwen35_layer(shape, i):
    small = [("post_attention_norm.weight", np.ones(shape.width))]
    if i % 4 == 3:
        small += [(f"{name}.weight", np.ones(shape.head_dim)) for name, _ in QK_NORMS]
        return (*attention(shape, shape.head_dim, shape.kv_heads, outputs=2), *feed_forward(shape)), small
    values = DELTA_VALUES * DELTA_DIM
    channels = 2 * DELTA_KEYS * DELTA_DIM + values
    taps = np.random.default_rng(i).standard_normal((channels, DELTA_TAPS)) * DELTA_TAPS ** -0.5
    small += [("ssm_conv1d.weight", taps), ("ssm_a", np.full(DELTA_VALUES, -0.5)), ("ssm_dt.bias", np.zeros(DELTA_VALUES)),
              ("ssm_norm.weight", np.ones(DELTA_DIM))]
    return (("attn_qkv", channels, shape.width), ("attn_gate", values, shape.width), ("ssm_alpha", DELTA_VALUES, shape.width),
            ("ssm_beta", DELTA_VALUES, shape.width), ("ssm_out", shape.width, values), *feed_forward(shape)), small


def deepseek2_layer(shape, i):
    """The first layer has no experts."""
    rows = shape.heads * (MLA_PLAIN + MLA_ROTATED)
    latent = (("attn_q", rows, shape.width), ("attn_kv_a_mqa", MLA_RANK + MLA_ROTATED, shape.width),
              ("attn_k_b", MLA_RANK, MLA_PLAIN), ("attn_v_b", MLA_VALUE, MLA_RANK),
              ("attn_output", shape.width, shape.heads * MLA_VALUE))
    small = [("ffn_norm.weight", np.ones(shape.width)), ("attn_kv_a_norm.weight", np.ones(MLA_RANK))]
    if i == 0:
        return (*latent, *feed_forward(shape)), small
    router = np.random.default_rng(i).standard_normal((MLA_EXPERTS, shape.width)) * shape.width ** -0.5
    expert, shared = (dataclasses.replace(shape, ffn=n * MLA_EXPERT) for n in (1, MLA_SHARED))
    return (*latent, *feed_forward(expert, "{}_exps"), *feed_forward(shared, "{}_shexp")), [
        *small, ("ffn_gate_inp.weight", router)]


LAYERS = {"deepseek2": deepseek2_layer, "gemma4": gemma4_layer, "gpt-oss": gpt_oss_layer, "qwen35": qwen35_layer}


def write_tokenizer(writer, n):
    pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)]
    types = [gguf.TokenType.UNKNOWN] + [gguf.TokenType.CONTROL] * 2 + [gguf.TokenType.BYTE] * 256
    pieces += [f"\u2581w{i}" for i in range(n - len(pieces))]
    types += [gguf.TokenType.NORMAL] * (n - len(types))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(pieces)
    writer.add_token_scores([-float(i) for i in range(n)])
    writer.add_token_types(types)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)


def write_metadata(writer, shape, name, n_layers, n_vocabulary):
    writer.add_name(name)
    writer.add_block_count(n_layers)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(shape.width)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    if shape.arch != "gemma4":
        writer.add_head_count_kv(shape.kv_heads)
        writer.add_key_length(shape.head_dim)
        writer.add_value_length(MLA_RANK if shape.arch == "deepseek2" else shape.head_dim)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(shape.rope_base)
    if shape.arch == "llama":
        writer.add_rope_dimension_count(shape.head_dim)
        writer.add_vocab_size(n_vocabulary)
    if shape.window:
        writer.add_sliding_window(shape.window)
    if shape.arch in MORE_METADATA:
        MORE_METADATA[shape.arch](writer, shape, n_layers)


def gemma4_metadata(writer, shape, n_layers):
    is_global = [i % 6 == 5 for i in range(n_layers)]
    writer.add_head_count_kv([1 if each else shape.kv_heads for each in is_global])
    writer.add_sliding_window_pattern([not each for each in is_global])
    writer.add_key_length(GLOBAL_HEAD_DIM)
    writer.add_value_length(GLOBAL_HEAD_DIM)
    writer.add_rope_dimension_count(GLOBAL_HEAD_DIM)
    writer.add_key_length_swa(shape.head_dim)
    writer.add_value_length_swa(shape.head_dim)
    writer.add_rope_dimension_count_swa(shape.head_dim)
    writer.add_rope_freq_base_swa(1e4)
    writer.add_final_logit_softcapping(30.0)
    writer.add_shared_kv_layers(0)
    writer.add_embedding_length_per_layer_input(0)


def gpt_oss_metadata(writer, shape, _):
    writer.add_expert_count(EXPERTS)
    writer.add_expert_used_count(EXPERTS_USED)
    writer.add_expert_feed_forward_length(shape.ffn)
    writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    writer.add_rope_scaling_factor(32.0)
    writer.add_rope_scaling_orig_ctx_len(4096)


def qwen35_metadata(writer, shape, _):
    writer.add_ssm_conv_kernel(DELTA_TAPS)
    writer.add_ssm_state_size(DELTA_DIM)
    writer.add_ssm_group_count(DELTA_KEYS)
    writer.add_ssm_time_step_rank(DELTA_VALUES)
    writer.add_ssm_inner_size(DELTA_VALUES * DELTA_DIM)
    writer.add_uint32(gguf.Keys.LLM.FULL_ATTENTION_INTERVAL.format(arch=shape.arch), 4)
    writer.add_rope_dimension_count(shape.head_dim // 4)
    writer.add_rope_dimension_sections([11, 11, 10, 0])


def deepseek2_metadata(writer, shape, _):
    writer.add_key_length_mla(MLA_PLAIN + MLA_ROTATED)
    writer.add_value_length_mla(MLA_VALUE)
    writer.add_kv_lora_rank(MLA_RANK)
    writer.add_rope_dimension_count(MLA_ROTATED)
    writer.add_leading_dense_block_count(1)
    writer.add_expert_count(MLA_EXPERTS)
    writer.add_expert_used_count(MLA_EXPERTS_USED)
    writer.add_expert_shared_count(MLA_SHARED)
    writer.add_expert_feed_forward_length(MLA_EXPERT)
    writer.add_expert_weights_scale(1.0)
    writer.add_expert_weights_norm(False)
    writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SOFTMAX)
    writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    writer.add_rope_scaling_factor(40.0)
    writer.add_rope_scaling_orig_ctx_len(4096)
    writer.add_rope_scaling_yarn_log_mul(0.0707)


MORE_METADATA = {"deepseek2": deepseek2_metadata, "gemma4": gemma4_metadata, "gpt-oss": gpt_oss_metadata, "qwen35": qwen35_metadata}


def n_matrices(shape, part):
    """In one tensor."""
    if part.endswith("_exps"):
        return MLA_EXPERTS if shape.arch == "deepseek2" else EXPERTS
    return shape.heads if part in ("attn_k_b", "attn_v_b") else 1


def write(path, shape, mix, n_layers, name):
    weights = Weights(1)
    n_vocabulary = max(shape.vocabulary * n_layers // shape.layers // 64 * 64, WORDS_LEAST)
    writer = gguf.GGUFWriter(path, shape.arch)
    write_metadata(writer, shape, name, n_layers, n_vocabulary)
    write_tokenizer(writer, n_vocabulary)

    def matrix(tensor, n_out, n_in, type_, n=1):
        values = weights.matrix(type_, n * n_out, n_in)
        if n > 1:
            values = values.reshape(n, n_out, -1)
        writer.add_tensor(f"{tensor}.weight", values, raw_dtype=type_)

    def small(tensor, values):
        writer.add_tensor(tensor, values.astype(np.float32))

    for end in ("token_embd",) if shape.tied else ("token_embd", "output"):
        matrix(end, n_vocabulary, shape.width, type_of(mix, end, shape.width, 0, n_layers, shape))
    small("output_norm.weight", np.ones(shape.width))
    if shape.arch == "gemma4":  # RoPE turns a quarter of the pairs, and the others by nothing
        small("rope_freqs.weight", np.repeat([1.0, 1e30], [GLOBAL_HEAD_DIM // 8, GLOBAL_HEAD_DIM * 3 // 8]))
    for i in range(n_layers):
        small(f"blk.{i}.attn_norm.weight", np.ones(shape.width))
        matrices, others = LAYERS.get(shape.arch, plain_layer)(shape, i)
        for name, values in others:
            small(f"blk.{i}.{name}", values)
        for part, n_out, n_in in matrices:
            matrix(f"blk.{i}.{part}", n_out, n_in, type_of(mix, part, n_in, i, n_layers, shape),
                   n_matrices(shape, part))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def narrow(shape):
    """What the cache has stays: layers, KV heads and head_dim."""
    return dataclasses.replace(shape, width=512, ffn=512, heads=shape.kv_heads, vocabulary=WORDS_LEAST)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("mix", choices=["q4_0", "q4_k_m", "q8_0"])
    parser.add_argument("out")
    parser.add_argument("--layers", type=int, default=0, help="default: all")
    parser.add_argument("--narrow", action="store_true", help="only the cache has the shape (llama)")
    options = parser.parse_args()
    shape = SHAPES[options.shape]
    if options.narrow and shape.arch != "llama":
        raise SystemExit("--narrow: only for the shapes of Llama")
    if options.narrow:
        shape = narrow(shape)
    n_layers = options.layers or shape.layers
    if n_layers % shape.few:
        raise SystemExit(f"--layers: {options.shape} has a pattern of {shape.few} layers, so take a multiple of it")
    write(options.out, shape, options.mix, n_layers,
          f"random {options.shape} {options.mix}, {n_layers} of {shape.layers} layers" + (", narrow" if options.narrow else ""))


if __name__ == "__main__":
    main()
