"""The vocabulary: a SentencePiece BPE model made from the notes world, and chats as token ids.

ChatML, as the product renders it: `<|im_start|>ROLE\\nTEXT<|im_end|>\\n`, with BOS before the first message.
"""

import functools
import io
import random

import sentencepiece

from notes import world

BOS = 1
MARKS = ("<|im_start|>", "<|im_end|>", "\n")


def train(n_pieces: int, seed: int = 0, n_conversations: int = 4000) -> bytes:
    """Makes a vocabulary; returns the SentencePiece model as bytes.

    Names in its text are all made up: listed names, held out or not, then fall into the same short pieces.
    """
    rng = random.Random(seed)

    def lines():
        for _ in range(n_conversations):
            talk = world.Conversation(rng, share_made_up=1.0)
            for _ in range(24):
                yield talk.sentence(0.25)
            for _ in range(8):
                for turn in talk.exchange():
                    yield turn.text

    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=lines(),
        model_writer=out,
        vocab_size=n_pieces,
        model_type="bpe",
        byte_fallback=True,
        split_digits=True,
        character_coverage=1.0,
        normalization_rule_name="identity",
        user_defined_symbols=list(MARKS),
        add_dummy_prefix=False,
        remove_extra_whitespaces=False,
        num_threads=1,
        minloglevel=1,
    )
    return out.getvalue()


class Vocabulary:
    """Text to token ids and back, for the model file given as bytes."""

    def __init__(self, model: bytes):
        self.model = model
        self.pieces = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.start, self.end, self.line = (self.pieces.piece_to_id(m) for m in MARKS)
        texts = (self.pieces.id_to_piece(i) for i in range(len(self)))
        self.fragments = [
            t for t in texts if t.isalpha() and t.isascii() and t.islower() and 2 <= len(t) <= 5
        ]
        self.word = functools.lru_cache(maxsize=1 << 16)(self.pieces.encode)

    def __len__(self) -> int:
        return self.pieces.get_piece_size()

    def encode(self, text: str) -> list[int]:
        """Pieces never cross a blank or a line end, so words can be remembered one by one."""
        ids = []
        for i, row in enumerate(text.split("\n")):
            if i:
                ids.append(self.line)
            for j, word in enumerate(row.split(" ")):
                ids += self.word(" " + word if j else word)
        return ids

    def decode(self, ids: list[int]) -> str:
        return self.pieces.decode(ids)

    def opening(self, role: str) -> list[int]:
        return [self.start, *self.word(role), self.line]

    def message(self, turn: world.Turn) -> tuple[list[int], list[int]]:
        """The opening of a message, and what follows: its text, the end mark and a line end."""
        return self.opening(turn.role), [*self.encode(turn.text), self.end, self.line]
