"""A plain PyTorch Llama in float32, keys and values rounded to fp16, that reads its weights from a GGUF file: the independent side of tests/golden/model.

It shares nothing with Satchel: weights are unpacked by the Python package `gguf`, and attention is one full matrix.
"""
import gguf
import numpy as np
import torch


class Llama:
    def __init__(self, path: str):
        reader = gguf.GGUFReader(path)
        key = lambda name, default=None: reader.fields[name].contents() if name in reader.fields else default
        self.layers = key("llama.block_count")
        self.heads = key("llama.attention.head_count")
        self.kv_heads = key("llama.attention.head_count_kv", self.heads)
        self.width = key("llama.embedding_length")
        self.head_dim = key("llama.attention.key_length", self.width // self.heads)
        self.base = key("llama.rope.freq_base", 10000.0)
        self.epsilon = key("llama.attention.layer_norm_rms_epsilon")
        self.w = {t.name: torch.from_numpy(np.array(gguf.quants.dequantize(t.data, t.tensor_type), dtype=np.float32))
                  for t in reader.tensors}

    def norm(self, x, gain):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon) * gain

    def rope(self, x, further=0):  # [tokens, heads, head_dim], pairs (2i, 2i + 1); row 0 stands at position `further`
        turn = self.base ** (-torch.arange(0, self.head_dim, 2, dtype=torch.float64) / self.head_dim)
        phase = (further + torch.arange(x.shape[0], dtype=torch.float64))[:, None] * turn
        cos, sin = phase.cos().float()[:, None], phase.sin().float()[:, None]
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)

    @torch.no_grad()
    def logits(self, ids, see=None, hidden=None) -> torch.Tensor:  # [tokens, vocabulary]
        """hidden [tokens, tokens]: true where a query, by row, does not see a key before it.

        see(layer, queries before RoPE [tokens, heads, head_dim], keys as kept [kv_heads, tokens, head_dim])"""
        n, w = len(ids), self.w
        x = w["token_embd.weight"][torch.tensor(ids)]
        mask = torch.full((n, n), float("-inf")).triu(1)
        if hidden is not None:
            mask = mask.masked_fill(hidden, float("-inf"))
        for i in range(self.layers):
            at = f"blk.{i}."
            y = self.norm(x, w[at + "attn_norm.weight"])
            unturned = (y @ w[at + "attn_q.weight"].T).view(n, self.heads, self.head_dim)
            q = self.rope(unturned).transpose(0, 1)
            k = self.rope((y @ w[at + "attn_k.weight"].T).view(n, self.kv_heads, self.head_dim)).transpose(0, 1)
            v = (y @ w[at + "attn_v.weight"].T).view(n, self.kv_heads, self.head_dim).transpose(0, 1)
            k, v = k.half().float(), v.half().float()  # as an exact cache keeps them
            if see is not None:
                see(i, unturned, k)
            group = self.heads // self.kv_heads
            k, v = k.repeat_interleave(group, 0), v.repeat_interleave(group, 0)
            p = torch.softmax(q @ k.transpose(1, 2) / self.head_dim ** 0.5 + mask, -1)
            x = x + (p @ v).transpose(0, 1).reshape(n, -1) @ w[at + "attn_output.weight"].T
            y = self.norm(x, w[at + "ffn_norm.weight"])
            gate = y @ w[at + "ffn_gate.weight"].T
            x = x + (torch.nn.functional.silu(gate) * (y @ w[at + "ffn_up.weight"].T)) @ w[at + "ffn_down.weight"].T
        output = w.get("output.weight", w["token_embd.weight"])
        return self.norm(x, w["output_norm.weight"]) @ output.T
