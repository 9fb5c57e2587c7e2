#!/usr/bin/env python3
"""What PyTorch's attention needs for the shapes of bench_gpu: a library's figures, for the report.

    python3 tests/gpu/torch_attention.py        a line of JSON for each figure

Decoding: one token over fp16 keys and values, all its backends, the queries of a group once as heads (enable_gqa) and once as
tokens of their KV head, which reads each key once; the fastest counts. Calls are captured as a CUDA graph, so that no launch
from Python is in the figures; buffers take turns, so that none is found in the cache. Prompts: causal. Without PyTorch or a card
it says so and ends with 77.
"""
import json
import sys

KV_HEADS, GROUP, HEAD_DIM = 8, 4, 128
HEADS = KV_HEADS * GROUP


def say(**result):
    print(json.dumps(result), flush=True)


def skip(why):
    say(op="skipped", what="PyTorch", why=why)
    sys.exit(77)


try:
    import torch
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError as error:
    skip(f"PyTorch: {error}")
if not torch.cuda.is_available():
    skip("PyTorch sees no card")

BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION}


def random(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.float16)


def graph_of(calls):
    """All calls captured; fails where one of them can't be."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for call in calls:
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    return graph


def times(replay, n_calls, rounds=15):
    """Microseconds of a call: median, 5th and 95th percentile."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(3):
        replay()
    all_us = []
    for _ in range(rounds):
        begin.record()
        replay()
        end.record()
        end.synchronize()
        all_us.append(begin.elapsed_time(end) * 1e3 / n_calls)
    all_us.sort()
    at = lambda share: all_us[round(share * (len(all_us) - 1))]
    return {"us": at(0.5), "us_p5": at(0.05), "us_p95": at(0.95)}


def fastest(variants, n_calls):
    """The best of the variants (name -> calls) that run at all."""
    best = None
    for name, calls in variants.items():
        try:
            taken = times(graph_of(calls).replay, n_calls)
        except RuntimeError:
            continue
        if best is None or taken["us"] < best["us"]:
            best = dict(taken, kernel=name)
    return best


def with_backend(backend, call):
    def run():
        with sdpa_kernel(backend):
            return call()
    return run


def decode(n_tokens, sequences):
    bytes_of_layer = 2 * sequences * KV_HEADS * n_tokens * HEAD_DIM * 2
    n_layers = max(2, -(-(256 << 20) // bytes_of_layer))
    layers = [(random(sequences, KV_HEADS, n_tokens, HEAD_DIM), random(sequences, KV_HEADS, n_tokens, HEAD_DIM))
              for _ in range(n_layers)]
    q = random(sequences, HEADS, 1, HEAD_DIM)
    as_tokens = q.view(sequences, KV_HEADS, GROUP, HEAD_DIM)
    turns = [layers[i % n_layers] for i in range(max(20, n_layers))]
    variants = {}
    for name, backend in BACKENDS.items():
        variants[f"{name}, heads"] = [with_backend(backend, lambda k=k, v=v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True))
                                      for k, v in turns]
        variants[f"{name}, groups as tokens"] = [with_backend(backend, lambda k=k, v=v: F.scaled_dot_product_attention(as_tokens, k, v))
                                                 for k, v in turns]
    best = fastest(variants, len(turns))
    if best is None:
        say(op="skipped", what=f"PyTorch, decoding over {n_tokens}", why="no backend of it runs this shape")
        return
    say(op="torch_decode", n_tokens=n_tokens, sequences=sequences, bytes=bytes_of_layer, **best)


def prefill(n_tokens):
    q = random(1, HEADS, n_tokens, HEAD_DIM)
    k, v = (random(1, KV_HEADS, n_tokens, HEAD_DIM) for _ in range(2))
    variants = {name: [with_backend(backend, lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True))] * 3
                for name, backend in BACKENDS.items()}
    best = fastest(variants, 3)
    if best is None:
        say(op="skipped", what=f"PyTorch, a prompt of {n_tokens}", why="no backend of it runs this shape")
        return
    say(op="torch_prefill", n_tokens=n_tokens, tflops=HEADS * HEAD_DIM * n_tokens * (n_tokens + 1) / 2 * 4 / best["us"] * 1e-6, **best)


def product():
    """The rate of a large fp16 product: the ceiling of what matrix units do here."""
    n = 8192
    a, b = random(n, n), random(n, n)
    taken = times(graph_of([lambda: torch.mm(a, b)] * 3).replay, 3)
    say(op="torch_product", n=n, tflops=2 * n ** 3 / taken["us"] * 1e-6, **taken)


def main():
    say(op="torch", version=torch.__version__, card=torch.cuda.get_device_name())
    with torch.no_grad():
        product()
        for n in (4096, 16384):
            prefill(n)
        for n in (256, 16384, 32768, 65536, 131072):
            decode(n, 1)
        for n in (2048, 4096, 8192, 16384):
            decode(n, 8)


main()
