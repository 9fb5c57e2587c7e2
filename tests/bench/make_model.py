#!/usr/bin/env python3
"""GGUF files of the shapes people have, with random weights: for measuring speed without downloading models.

    pip install gguf
    python3 tests/bench/make_model.py llama-3.2-1b q4_k_m OUT.gguf [--layers 4]

Shapes and the choice of types per tensor are those of real files (llama.cpp's quantiser, mixes Q4_0, Q4_K_M, Q8_0). Codes are
random, scales such that activations stay near 1. The vocabulary has the real size and made-up pieces; both Satchel and
llama.cpp accept it. --layers N keeps N layers and the same share of the vocabulary, so that head and layers weigh as in the
whole model: speeds are then those of the whole times its layers / N.
"""
import argparse
import dataclasses

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

CONTEXT = 32768


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


QK_NORMS = (("attn_q_norm", True), ("attn_k_norm", True))
SHAPES = {
    "llama-3.2-1b": Shape("llama", 16, 2048, 32, 8, 64, 8192, 128256, True, 5e5),
    "llama-3.1-8b": Shape("llama", 32, 4096, 32, 8, 128, 14336, 128256, False, 5e5),
    "qwen3-0.6b": Shape("qwen3", 28, 1024, 16, 8, 128, 3072, 151936, True, 1e6, QK_NORMS),
    "gemma-3-1b": Shape("gemma3", 26, 1152, 4, 1, 256, 6912, 262144, True, 1e6,
                        QK_NORMS + (("post_attention_norm", False), ("post_ffw_norm", False)), 512),
}


def more_bits(layer, n):
    """Layers whose attn_v and ffn_down get Q6_K in Q4_K_M."""
    return layer < n // 8 or layer >= 7 * n // 8 or (layer - n // 8) % 3 == 2


def type_of(mix, name, n_in, layer, n_layers, tied):
    """As llama.cpp's quantiser chooses."""
    is_output = name == "output" or (name == "token_embd" and tied)
    if mix == "q8_0":
        return Type.Q8_0
    if is_output:
        wanted = Type.Q6_K
    elif mix == "q4_0":
        return Type.Q4_0
    else:
        finer = name in ("attn_v", "ffn_down") and more_bits(layer, n_layers)
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
        else:  # Q6_K: 16 signed scales before the fp16 one
            out[:, 208:210] = self.halves(n, deviation / (18.5 * 73.9))
        return out.reshape(n_out, n_in // block * size)


def matrices(shape):
    q, kv = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    return (("attn_q", q, shape.width), ("attn_k", kv, shape.width), ("attn_v", kv, shape.width),
            ("attn_output", shape.width, q), ("ffn_gate", shape.ffn, shape.width), ("ffn_up", shape.ffn, shape.width),
            ("ffn_down", shape.width, shape.ffn))


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
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(shape.rope_base)
    if shape.arch == "llama":
        writer.add_rope_dimension_count(shape.head_dim)
        writer.add_vocab_size(n_vocabulary)
    if shape.window:
        writer.add_sliding_window(shape.window)


def write(path, shape, mix, n_layers, name):
    weights = Weights(1)
    n_vocabulary = shape.vocabulary * n_layers // shape.layers // 64 * 64
    writer = gguf.GGUFWriter(path, shape.arch)
    write_metadata(writer, shape, name, n_layers, n_vocabulary)
    write_tokenizer(writer, n_vocabulary)

    def matrix(tensor, n_out, n_in, type_):
        writer.add_tensor(f"{tensor}.weight", weights.matrix(type_, n_out, n_in), raw_dtype=type_)

    def gain(tensor, n):
        writer.add_tensor(f"{tensor}.weight", np.ones(n, np.float32))

    for end in ("token_embd",) if shape.tied else ("token_embd", "output"):
        matrix(end, n_vocabulary, shape.width, type_of(mix, end, shape.width, 0, n_layers, shape.tied))
    gain("output_norm", shape.width)
    for i in range(n_layers):
        gain(f"blk.{i}.attn_norm", shape.width)
        gain(f"blk.{i}.ffn_norm", shape.width)
        for norm, of_head in shape.norms:
            gain(f"blk.{i}.{norm}", shape.head_dim if of_head else shape.width)
        for part, n_out, n_in in matrices(shape):
            matrix(f"blk.{i}.{part}", n_out, n_in, type_of(mix, part, n_in, i, n_layers, shape.tied))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("mix", choices=["q4_0", "q4_k_m", "q8_0"])
    parser.add_argument("out")
    parser.add_argument("--layers", type=int, default=0, help="default: all")
    options = parser.parse_args()
    shape = SHAPES[options.shape]
    n_layers = options.layers or shape.layers
    write(options.out, shape, options.mix, n_layers,
          f"random {options.shape} {options.mix}, {n_layers} of {shape.layers} layers")


if __name__ == "__main__":
    main()
