"""Writes tests/golden/tokenizer/notes-mini.ids: token ids by sentencepiece, from the vocabulary that the bundled model was
trained with (not from the GGUF, whose pieces are what is tested).

    python3 tests/oracle/make_notes_mini_ids.py VOCABULARY.model        # needs: pip install sentencepiece
"""
import sys

import sentencepiece

from tokenizer_fixture_file import write
from tokenizer_fixture_texts import TEXTS

own = sentencepiece.SentencePieceProcessor(model_file=sys.argv[1])
# Its trainer made <|im_start|> and <|im_end|> user-defined; in the GGUF they are control tokens, as they should be.
write("notes-mini.ids", [(text, own.encode(text)) for text in TEXTS if "<|im_" not in text])
