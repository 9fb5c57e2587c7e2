"""Writes tests/golden/model/rope_scaling.txt: frequencies and amplitude of scaled RoPE as transformers' ROPE_INIT_FUNCTIONS give them,
at the sizes of published models and with the options that they leave alone.

One line a case: name, amplitude, number of pairs, their frequencies (float32).

    python3 tests/oracle/make_rope_fixtures.py     # needs: pip install torch transformers
"""
import pathlib

from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/model/rope_scaling.txt"
FACTORS = {"long_factor": [1 + 0.25 * i for i in range(48)], "short_factor": [1 + 0.125 * i for i in range(48)]}
CASES = {  # name: head_dim, context, seq_len, RoPE
    "linear": (64, 16384, None, dict(rope_type="linear", rope_theta=10_000.0, factor=4.0)),
    "yarn": (128, 131072, None, dict(rope_type="yarn", rope_theta=1_000_000.0, factor=4.0, original_max_position_embeddings=32768)),
    "yarn_options": (128, 131072, None, dict(
        rope_type="yarn", rope_theta=500_000.0, factor=8.0, original_max_position_embeddings=8192, beta_fast=16.0, beta_slow=2.0,
        attention_factor=1.5)),
    "yarn_between_pairs": (64, 131072, None, dict(  # of gpt-oss
        rope_type="yarn", rope_theta=150_000.0, factor=32.0, original_max_position_embeddings=4096, beta_fast=32.0, beta_slow=1.0,
        truncate=False)),
    "yarn_mscale": (64, 65536, None, dict(
        rope_type="yarn", rope_theta=10_000.0, factor=16.0, original_max_position_embeddings=4096, mscale=1.0, mscale_all_dim=0.5)),
    "longrope_long": (96, 131072, 131072, dict(
        rope_type="longrope", rope_theta=10_000.0, original_max_position_embeddings=4096, **FACTORS)),
    "longrope_short": (96, 4096, 4096, dict(
        rope_type="longrope", rope_theta=10_000.0, original_max_position_embeddings=4096, **FACTORS)),
}


def main() -> None:
    lines = []
    for name, (head_dim, context, seq_len, rope) in CASES.items():
        config = LlamaConfig(hidden_size=2 * head_dim, num_attention_heads=2, head_dim=head_dim, max_position_embeddings=context,
                             rope_parameters=rope)
        frequencies, amplitude = ROPE_INIT_FUNCTIONS[rope["rope_type"]](config, "cpu", seq_len=seq_len)
        lines.append(f"{name} {amplitude:.9g} {len(frequencies)} " + " ".join(f"{f:.9g}" for f in frequencies.tolist()))
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
