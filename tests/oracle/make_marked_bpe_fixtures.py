"""Writes tests/golden/tokenizer/marked-bpe.txt: a small vocabulary of Gemma 4's kind (merges over characters, spaces as
U+2581, bytes for what has no piece) and the ids that the Python package `tokenizers` gives texts with it, set up as in
Gemma's tokenizer.json. The vocabulary is learned from the texts themselves.

    piece TYPE TEXT, merge LEFT RIGHT, in order; then pairs of lines: text TEXT, ids ID …

    python3 tests/oracle/make_marked_bpe_fixtures.py    # needs: pip install tokenizers
"""
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, trainers

from tokenizer_fixture_file import OUT, escaped
from tokenizer_fixture_texts import TEXTS

MARKS = ["<pad>", "<eos>", "<bos>", "<unk>"]
FIXED = ["\n\n", "\u2581\u2581", "<table>"]
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6


def learned():
    """Pieces and merges, from half of the texts: the others have characters without a piece."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    trainer = trainers.BpeTrainer(vocab_size=500, min_frequency=1, show_progress=False, max_token_length=12)
    tokenizer.train_from_iterator(TEXTS[::2], trainer)
    import json
    model = json.loads(tokenizer.to_str())["model"]
    return sorted(model["vocab"], key=model["vocab"].get), [tuple(merge) for merge in model["merges"]]


def main():
    pieces, merges = learned()
    kinds = [(text, UNKNOWN if text == "<unk>" else CONTROL) for text in MARKS]
    kinds += [(f"<0x{byte:02X}>", BYTE) for byte in range(256)]
    kinds += [(text, USER_DEFINED) for text in FIXED]
    kinds += [(piece, NORMAL) for piece in pieces if piece not in FIXED]
    vocab = {text: i for i, (text, _) in enumerate(kinds)}
    tokenizer = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.add_tokens([AddedToken(text, normalized=True) for text in FIXED])
    lines = [f"piece {kind} {escaped(text)}" for text, kind in kinds]
    lines += [f"merge {escaped(left)} {escaped(right)}" for left, right in merges]
    for text in TEXTS:
        if not any(mark in text for mark in MARKS):
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            lines += [f"text {escaped(text)}", "ids " + " ".join(map(str, ids))]
    (OUT / "marked-bpe.txt").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
