"""Writes tests/golden/tokenizer/sentencepiece-small.txt: what sentencepiece itself makes of texts with small vocabularies of all
kinds: unused pieces, user-defined ones that overlap, equal scores, with and without byte pieces and the space in front.

    python3 tests/oracle/make_sentencepiece_fixtures.py        # needs: pip install sentencepiece protobuf
"""
import random

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from tokenizer_fixture_file import OUT, escaped

LETTERS = ["a", "b", "c", "\u2581", "\u00e9", "\u6f22"]
STRANGERS = ["d", "\u00e8", "\U0001f642", "\n"]  # of which no vocabulary has a piece
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
VOCABULARIES, TEXTS = 12, 24


def pieces_of(random_, has_bytes):
    """(piece, score, type): scores are few, so that many are equal."""
    rows = [("<unk>", 0, UNKNOWN), ("<s>", 0, CONTROL)]
    rows += [(f"<0x{byte:02X}>", 0, BYTE) for byte in range(256 if has_bytes else 0)]
    known = random_.sample(LETTERS, random_.randint(3, len(LETTERS)))
    spellings = list(known)
    for _ in range(40):  # joined of two that are there, mostly; the others are never reached
        spelling = random_.choice(spellings[:14]) + random_.choice(spellings[:14] + LETTERS)
        if len(spelling) <= 6 and spelling not in spellings:
            spellings.append(spelling)
    for spelling in spellings:
        # Of unused single characters 0.1.97 gives out the piece, 0.2.3 the unknown one.
        kind = random_.choices([NORMAL, UNUSED, USER_DEFINED], [8, 3, 1])[0] if len(spelling) > 1 else NORMAL
        rows.append((spelling, random_.randint(-6, 0), kind))
    return rows


def encoder(rows, has_bytes, has_prefix):
    proto = sentencepiece_model_pb2.ModelProto()
    for piece, score, kind in rows:
        proto.pieces.add(piece=piece, score=score, type=kind)
    proto.trainer_spec.model_type = proto.trainer_spec.BPE
    proto.trainer_spec.byte_fallback = has_bytes
    proto.normalizer_spec.name = "identity"
    proto.normalizer_spec.add_dummy_prefix = has_prefix
    proto.normalizer_spec.remove_extra_whitespaces = False
    return sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString()).encode


def main():
    random_ = random.Random(12)
    lines = []
    for i in range(VOCABULARIES):
        has_bytes, has_prefix = i % 2 == 0, i % 4 < 2
        rows = pieces_of(random_, has_bytes)
        encode = encoder(rows, has_bytes, has_prefix)
        lines.append(f"vocabulary {int(has_bytes)} {int(has_prefix)}")
        lines += [f"piece {kind} {score} {escaped(piece)}" for piece, score, kind in rows if kind in (NORMAL, USER_DEFINED, UNUSED)]
        for _ in range(TEXTS):
            parts = [piece for piece, _, kind in rows if kind in (NORMAL, USER_DEFINED, UNUSED)]
            text = "".join(random_.choices(parts + [" "] + STRANGERS, [3] * len(parts) + [9, 2, 2, 2, 2], k=random_.randint(1, 10)))
            lines += [f"text {escaped(text)}", " ".join(map(str, encode(text)))]
    (OUT / "sentencepiece-small.txt").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
