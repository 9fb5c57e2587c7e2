"""The tables of report.py: each takes the report and gives lines of Markdown; none where nothing was measured."""
from expect import FAR, beside_measured, is_far


def table(head, rows):
    def line(cells):
        return "| " + " | ".join(str(cell) for cell in cells) + " |"
    return [line(head), line(["---"] * len(head))] + [line(row) for row in rows] + [""]


def of_op(report, op):
    return [result for result in report["results"] if result.get("op") == op]


def bandwidth(report):
    """Bytes a second that reading reached in this run, at best; None: not measured."""
    rates = [result["read_GBps"] for result in of_op(report, "bandwidth")]
    return max(rates) * 1e9 if rates else None


def number(value, digits=1):
    return "-" if value is None else f"{value:.{digits}f}"


def spread(result):
    return f"{result['us']:.1f} ({result['us_p5']:.1f}-{result['us_p95']:.1f})"


def share_of(report, rate):
    """Percent of the bandwidth measured in this run."""
    most = bandwidth(report)
    return None if most is None else 100 * rate / most


def fit(points):
    """t0 (s) and slope (bytes/s) of t = t0 + bytes / slope, least squares; None of fewer than four sizes."""
    if len(points) < 4:
        return None
    n = len(points)
    mean_b = sum(b for b, _ in points) / n
    mean_t = sum(t for _, t in points) / n
    spread_b = sum((b - mean_b) ** 2 for b, _ in points)
    per_byte = sum((b - mean_b) * (t - mean_t) for b, t in points) / spread_b
    return (mean_t - per_byte * mean_b, 1 / per_byte) if per_byte > 0 else None


def decode_fits(report):
    """(tier, sequences) -> bits, t0, slope; over the sizes of 16k tokens and more in all, where there are four."""
    fits = {}
    rows = of_op(report, "decode_attention")
    for tier, sequences in dict.fromkeys((row["tier"], row["sequences"]) for row in rows):
        mine = [row for row in rows if row["tier"] == tier and row["sequences"] == sequences]
        long = [row for row in mine if row["n_tokens"] * sequences >= 16384]
        found = fit([(row["bytes"], row["us"] * 1e-6) for row in (long if len(long) >= 4 else mine)])
        if found:
            fits[tier, sequences] = (mine[0]["bits"], *found)
    return fits


def torch_at(report, n_tokens, sequences):
    return next((row for row in of_op(report, "torch_decode") if row["n_tokens"] == n_tokens and row["sequences"] == sequences), None)


def goals(report):
    """What was promised (kernels.md 1.3, 10) beside what was measured."""
    rows = []

    def goal(what, measured, good, says):
        rows.append((what, says if measured else "not measured", ("yes" if good else "**no**") if measured else "-"))
    fits = decode_fits(report)
    for tier in ("fp16", "8 bits", "4 bits", "3 bits", "2 bits"):
        found = fits.get((tier, 1))
        share = share_of(report, found[2]) if found else None
        goal(f"decode attention, {tier}: slope ≥ 80 % of the bandwidth", share is not None, (share or 0) >= 80,
             f"{number(share)} %, t0 {number(found[1] * 1e6 if found else None)} µs")
    decode = of_op(report, "decode_attention")
    for tier, times, least in (("4 bits", 3, 65536), ("2 bits", 5, 131072)):
        row = next((row for row in decode if row["tier"] == tier and row["n_tokens"] == least and row["sequences"] == 1), None)
        goal(f"{tier} beside our fp16 pages at {least // 1024}k: ≥ {times}x", row is not None, row and row["times_fp16"] >= times,
             f"{number(row and row['times_fp16'], 2)}x")
        library = torch_at(report, least, 1)
        ratio = library["us"] / row["us"] if row and library else None
        goal(f"{tier} beside PyTorch's fp16 at {least // 1024}k: ≥ {times}x", ratio is not None, (ratio or 0) >= times,
             f"{number(ratio, 2)}x")
    scored = [row for row in of_op(report, "prefill_attention") if row["scores"] and row["n_tokens"] >= 4096]
    worst = max((row["times_without"] for row in scored), default=None)
    goal("a prompt with scores ≤ 1.6x one without", worst is not None, (worst or 9) <= 1.6, f"{number(worst, 2)}x at worst")
    for row in of_op(report, "matmul"):
        if row["tokens"] == 1 and row["bytes"] >= 16 << 20:
            share = share_of(report, row["bytes"] / row["us"] * 1e6)
            goal(f"one token times {row['type']} {row['n_out']}x{row['n_in']}: ≥ 91 % of the bandwidth", share is not None,
                 (share or 0) >= 91, f"{number(share)} %")
    for row in of_op(report, "model_decode"):
        bytes_read = row["weight_bytes_read"] + row["cache_bytes"]
        most = bandwidth(report)
        if bytes_read >= 3e9:
            times = row["ms"] * 1e-3 * most / bytes_read if most else None
            goal(f"a token of {row['model']} over {row['n_tokens']} ({row['recipe']}): ≤ 1.15x its bytes", times is not None,
                 (times or 9) <= 1.15, f"{number(times, 2)}x")
    checks = of_op(report, "decode_attention_check") + of_op(report, "matmul_check") + of_op(report, "moe_check")
    goal("what was timed is right: distance to the reference", bool(checks), all(row["ok"] for row in checks),
         f"{max((row['distance'] for row in checks), default=0):.1e} at most")
    return ["## Goals", ""] + table(("goal", "measured", "reached"), rows)


def limits(report):
    lines = []
    for row in of_op(report, "bandwidth"):
        lines.append(f"- {row['card']} (sm {row['sm']}, {row['multiprocessors']} multiprocessors, {row['l2_bytes'] >> 20} MiB of "
                     f"second-level cache): reads {row['read_GBps']:.0f} GB/s ({row['read_GBps_p5']:.0f}-{row['read_GBps_p95']:.0f}), "
                     f"copies {row['copy_GBps']:.0f} GB/s (read and written)")
    for row in of_op(report, "torch_product"):
        lines.append(f"- PyTorch's fp16 product of {row['n']}³: {row['tflops']:.0f} TFLOP/s")
    return ["## What the card gives", ""] + lines + [""] if lines else []


def attention(report):
    lines = limits(report)
    fits = decode_fits(report)
    if fits:
        lines += ["## Decode attention: t = t0 + bytes / slope", "",
                  "8 KV heads of 4 queries, head_dim 128; codes, scales and zeros counted. A round of calls is one graph: t0 has what "
                  "preparing a call on the host (queue_us in report.json) and starting its kernels costs.", ""]
        rows = [(tier, sequences, f"{bits:.2f}", number(t0 * 1e6), f"{slope * 1e-9:.0f}", number(share_of(report, slope)))
                for (tier, sequences), (bits, t0, slope) in fits.items()]
        lines += table(("pages", "sequences", "bits", "t0 µs", "slope GB/s", "% of bandwidth"), rows)
    rows = []
    for row in of_op(report, "decode_attention"):
        library = torch_at(report, row["n_tokens"], row["sequences"])
        rate = row["bytes"] / row["us"] * 1e6
        rows.append((row["tier"], row["sequences"], row["n_tokens"], f"{row['bytes'] / 1e6:.1f}", spread(row), f"{rate * 1e-9:.0f}",
                     number(share_of(report, rate)), f"{row['times_fp16']:.2f}",
                     f"{library['us'] / row['us']:.2f} ({library['kernel']} {library['us']:.1f} µs)" if library else "-"))
    if rows:
        lines += table(("pages", "sequences", "tokens each", "MB", "µs (p5-p95)", "GB/s", "%", "x fp16 pages", "x PyTorch"), rows)
    rows = []
    for row in of_op(report, "prefill_attention"):
        library = next((other for other in of_op(report, "torch_prefill") if other["n_tokens"] == row["n_tokens"]), None)
        rows.append((row["n_tokens"], "yes" if row["scores"] else "no", spread(row), number(row.get("tflops")),
                     number(row.get("times_without"), 2), f"{library['tflops']:.0f} ({library['kernel']})" if library else "-"))
    if rows:
        lines += ["## Attention of a prompt", ""]
        lines += table(("tokens", "scores", "µs (p5-p95)", "TFLOP/s", "x without", "PyTorch TFLOP/s"), rows)
    return lines


def operations(report):
    lines, rows = [], []
    for row in of_op(report, "encode"):
        rows.append((f"packing {row['pages']} pages, {row['tier']}", spread(row), row["bytes"]))
    for row in of_op(report, "select"):
        rows.append((f"the largest {row['keep']} of {row['scores']}, {row['lanes']} lanes", spread(row), row["bytes"]))
    for row in of_op(report, "matmul"):
        if row["tokens"] > 16:  # a prompt's: below
            continue
        rows.append((f"{row['tokens']} tokens times {row['type']} {row['n_out']}x{row['n_in']} ({row['times_one']:.2f}x one)",
                     spread(row), row["bytes"]))
    if rows:
        full = []
        for what, time, count in rows:
            rate = count / float(time.split(" ")[0]) * 1e6 if float(time.split(" ")[0]) > 0 else 0
            full.append((what, time, f"{count / 1e6:.1f}", f"{rate * 1e-9:.0f}", number(share_of(report, rate))))
        lines += ["## Cache operations and products", ""]
        lines += table(("operation", "µs (p5-p95)", "MB", "GB/s", "% of bandwidth"), full)
    rows = [(row["tokens"], f"{row['type']} {row['n_out']}x{row['n_in']}", spread(row), f"{row['tflops']:.0f}")
            for row in of_op(report, "matmul") if row["tokens"] > 16]
    if rows:
        lines += ["## Products of prompts", ""] + table(("tokens", "weights", "µs (p5-p95)", "TFLOP/s"), rows)
    rows = [(f"{row['model']} ({row['type']})", row["tokens"], row["way"], spread(row), f"{row['bytes'] / row['us'] / 1e3:.0f}",
             f"{row['tflops']:.1f}", f"{row['times_default']:.3f}") for row in of_op(report, "moe")]
    if rows:
        lines += ["## A layer of experts", "", "Default: the contract's own way, which asks for the router's result. Bytes: of the experts' weights, each once.", ""]
        lines += table(("model", "tokens", "way", "µs (p5-p95)", "GB/s", "TFLOP/s", "x default"), rows)
    return lines


def models(report):
    lines, rows = [], []
    most = bandwidth(report)
    for row in of_op(report, "model_decode"):
        moved = row["weight_bytes_read"] + row["cache_bytes"]
        floor = moved / most * 1e3 if most else None
        rows.append((row["model"], row["recipe"], row["n_tokens"], f"{row['ms']:.2f} ({row['ms_p5']:.2f}-{row['ms_p95']:.2f})",
                     f"{1e3 / row['ms']:.1f}", f"{moved / 1e9:.2f}", number(floor, 2), number(row["ms"] / floor if floor else None, 2)))
    if rows:
        lines += ["## Whole tokens, random Q4_0 weights", "", "Bytes: the weights that a token reads, and the cache, each once; floor: these at the bandwidth above.", ""]
        lines += table(("model", "recipe", "tokens held", "ms (p5-p95)", "tok/s", "GB", "floor ms", "x floor"), rows)
        rows = []
        for row in of_op(report, "model_decode"):
            driver = row.get("driver_bytes")
            rows.append((row["model"], row["recipe"], row["n_tokens"], f"{row['cache_bytes'] / 1e6:.0f}", f"{row['fp16_bytes'] / 1e6:.0f}",
                         f"{row['cache_bytes'] / row['fp16_bytes']:.3f}", f"{row['arena_bytes'] / 1e6:.0f}",
                         f"{row['weight_bytes'] / 1e6:.0f}", f"{driver / 1e6:.0f}" if driver else "-",
                         number(row.get("save_s"), 2), number(row.get("resume_s"), 2)))
        lines += ["## Memory, and chats saved and taken up again", "", "MB; the driver's word is all that is taken of the card.", ""]
        lines += table(("model", "recipe", "tokens", "cache", "in fp16", "share", "arena", "weights", "driver", "save s", "resume s"), rows)
    rows = [(row["model"], row["n_tokens"], f"{row['tokens_per_s']:.0f}") for row in of_op(report, "model_read")]
    if rows:
        lines += ["Reading a prompt:", ""] + table(("model", "tokens", "tok/s"), rows)
    return lines


def predictions(report):
    rows = [(model, recipe, n_tokens, number(ms, 2), number(expected, 2), f"{ratio:.2f}{' **far**' if is_far(ratio) else ''}")
            for model, recipe, n_tokens, ms, expected, ratio in beside_measured(report)]
    if not rows:
        return []
    return ["## Predicted", "", f"By expect.py, which is fitted to an H200. What is off by more than {FAR} is to be explained.", ""] + table(
        ("model", "recipe", "tokens", "ms a token", "predicted", "ratio"), rows)
