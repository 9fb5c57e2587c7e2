"""Writes tests/golden/model/NAME.txt and NAME_llama_cpp.txt: a real model as others compute it. NAME: smollm2, gemma3_270m.

NAME.txt            transformers in float32 on the dequantised weights. Three times: "tokens N id …" (the prompt),
                    "greedy N id …" (200 greedy tokens, the end of turn treated as any other), then
                    "rows R K" and R times: position, K times "id logit"; position p counts prompt and greedy tokens
                    as one text and means the logits after token p.
NAME_llama_cpp.txt  the argmax of llama-cpp-python on the text of the first prompt and its greedy tokens:
                    "rows R 2", then R times: position, first id and logit, second id and logit

    python3 tests/oracle/make_real_model_fixtures.py NAME FILE.gguf
        # needs: pip install accelerate gguf llama-cpp-python torch transformers
"""
import pathlib
import sys

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "tests/golden/model"
N_GREEDY, N_TOP, STEP = 200, 8, 8
HARBOUR = (ROOT / "docs/samples/harbour.txt").read_text()


def smollm2_prompts() -> list[str]:
    questions = ["What is the capital of France, and what is it known for?",
                 "Write a short story about a lighthouse keeper who finds a letter in a bottle.",
                 "Here is the beginning of a report. Summarise it in three sentences.\n\n" + HARBOUR[:2400]]
    return ["<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
            f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n" for question in questions]


def gemma3_270m_prompts() -> list[str]:
    """Text to go on with; the last one is longer than the window of 512."""
    return ["<bos>The lighthouse keeper found a letter in a bottle. It said:",
            "<bos>def mean(values):\n    \"\"\"The arithmetic mean of a list.\"\"\"\n", "<bos>" + HARBOUR[:4200]]


PROMPTS = {"smollm2": smollm2_prompts, "gemma3_270m": gemma3_270m_prompts}


def greedy(model, ids: list[int]) -> tuple[list[int], torch.Tensor]:
    """-> the new tokens, and the logits of every position from one pass over the whole text."""
    out = list(ids)
    with torch.no_grad():
        state = model(torch.tensor([ids]), use_cache=True)
        for _ in range(N_GREEDY):
            out.append(int(state.logits[0, -1].argmax()))
            state = model(torch.tensor([out[-1:]]), past_key_values=state.past_key_values, use_cache=True)
        return out[len(ids):], model(torch.tensor([out])).logits[0]


def rows(positions, logits: torch.Tensor, n_top: int) -> list[str]:
    lines = [f"rows {len(positions)} {n_top}"]
    for at in positions:
        top = torch.topk(logits[at], n_top)
        lines.append(f"{at} " + " ".join(f"{i} {v:.4f}" for v, i in zip(top.values.tolist(), top.indices.tolist())))
    return lines


def main() -> None:
    name, file = sys.argv[1], pathlib.Path(sys.argv[2])
    model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    lines, first = [], None
    for text in PROMPTS[name]():
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        new, logits = greedy(model, ids)
        first = first or ids + new
        lines += [f"tokens {len(ids)} " + " ".join(map(str, ids)), f"greedy {len(new)} " + " ".join(map(str, new))]
        lines += rows(range(STEP - 1, len(ids) + len(new), STEP), logits, N_TOP)
        margins = logits.topk(2).values
        print(len(ids), "prompt tokens; least margin of a greedy token",
              float((margins[:, 0] - margins[:, 1])[len(ids) - 1:-1].min()))
        print(tokenizer.decode(new)[:200])
    (OUT / f"{name}.txt").write_text("\n".join(lines) + "\n")

    import llama_cpp
    other = llama_cpp.Llama(str(file), n_ctx=1024, logits_all=True, verbose=False)
    other.eval(first)
    logits = torch.from_numpy(np.array(other.scores[:len(first)]))
    (OUT / f"{name}_llama_cpp.txt").write_text("\n".join(rows(range(len(first)), logits, 2)) + "\n")


if __name__ == "__main__":
    main()
