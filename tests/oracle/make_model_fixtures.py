"""Writes tests/golden/model/notes_mini.txt: logits of the bundled model as plain PyTorch computes them in float32, keys and
values rounded to fp16 as the exact cache keeps them.

Format, words apart by blanks or line ends:
    tokens N  id …              the prompt
    rows R K                    then R times: position, then K times "id logit", largest logit first
    full F V                    then F times: position, then V logits, one for each id

    python3 tests/oracle/make_model_fixtures.py        # needs: pip install gguf numpy protobuf torch sentencepiece
"""
import gguf
import sentencepiece
import torch

from bundled import LONG_SET, MODEL, ROOT, conversations
from llama_torch import Llama

N_TOP, STEP = 16, 8


def tokenizer() -> sentencepiece.SentencePieceProcessor:
    """The vocabulary in the GGUF as a SentencePiece BPE model of its own."""
    from sentencepiece import sentencepiece_model_pb2 as pb
    reader = gguf.GGUFReader(MODEL)
    model = pb.ModelProto()
    pieces = reader.fields["tokenizer.ggml.tokens"].contents()
    scores = reader.fields["tokenizer.ggml.scores"].contents()
    types = reader.fields["tokenizer.ggml.token_type"].contents()
    for piece, score, kind in zip(pieces, scores, types):
        model.pieces.add(piece=piece, score=score, type=kind)
    model.trainer_spec.model_type = 2
    model.trainer_spec.byte_fallback = True
    model.normalizer_spec.add_dummy_prefix = False
    model.normalizer_spec.remove_extra_whitespaces = False
    model.normalizer_spec.escape_whitespaces = True
    out = sentencepiece.SentencePieceProcessor()
    out.LoadFromSerializedProto(model.SerializeToString())
    return out


def prompt() -> list[int]:
    sp = tokenizer()
    start, end, line = (sp.piece_to_id(p) for p in ("<|im_start|>", "<|im_end|>", "\n"))
    conversation = conversations(LONG_SET)[0]
    turn = lambda role, text: [start, *sp.encode(role), line, *sp.encode(text), end, line]
    return [1, *turn("user", conversation["notes"]), *turn("assistant", "Noted."),
            start, *sp.encode("user"), line]


def main() -> None:
    ids = prompt()[:480]
    logits = Llama(str(MODEL)).logits(ids)
    out = [f"tokens {len(ids)}", " ".join(map(str, ids))]
    positions = range(STEP - 1, len(ids), STEP)
    out.append(f"rows {len(positions)} {N_TOP}")
    for at in positions:
        top = torch.topk(logits[at], N_TOP)
        out.append(f"{at} " + " ".join(f"{i} {v:.5f}" for v, i in zip(top.values.tolist(), top.indices.tolist())))
    full = [0, 127, 128, len(ids) - 1]
    out.append(f"full {len(full)} {logits.shape[1]}")
    for at in full:
        out.append(f"{at} " + " ".join(f"{v:.5f}" for v in logits[at].tolist()))
    to = ROOT / "tests/golden/model/notes_mini.txt"
    to.write_text("\n".join(out) + "\n")
    print(to, to.stat().st_size, "bytes;", len(ids), "tokens; largest |logit|", float(logits.abs().max()))


if __name__ == "__main__":
    main()
