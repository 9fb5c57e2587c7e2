"""Writes tests/golden/tokenizer/: texts with the token ids, words and chat renderings of the models' own tokenizers.

    <vocabulary>.ids   token ids, by the Python package `tokenizers` from a BPE object made of the GGUF's pieces and merges,
                       or by llama.cpp where there are no merges
    <name>.words       how the pre-tokeniser of that name cuts a text, by `tokenizers` with the published patterns
    chats.txt          chats as transformers renders them (Jinja) with the published templates

Lines of .ids and .words: as tokenizer_fixture_file.py writes them; the numbers of .words are the bytes of each word.
The bundled model has a script of its own: make_notes_mini_ids.py; so has Gemma 4: make_marked_bpe_fixtures.py.

    python3 tests/oracle/make_tokenizer_fixtures.py SHARED_MODELS SMOLLM2_GGUF GEMMA_3_GGUF
    # needs: pip install gguf tokenizers transformers jinja2 llama-cpp-python
"""
import pathlib
import sys

import gguf
import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers.utils.chat_template_utils import render_jinja_template

from tokenizer_fixture_file import OUT, escaped, write
from tokenizer_fixture_templates import TEMPLATES
from tokenizer_fixture_texts import CHATS, DEEPSEEK_LETTERS, TEXTS

CASELESS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES
UPPER, LOWER, BEFORE = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", r"[^\r\n\p{L}\p{N}]?"
SUFFIX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
REST_WITH_SLASH = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + SPACES


def split(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def gpt2():
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)


def digits_then_gpt2():
    return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), gpt2()])


PRE = {  # as in the models' tokenizer.json
    "gpt-2": gpt2(),
    "smollm": digits_then_gpt2(),
    "starcoder": digits_then_gpt2(),
    "refact": digits_then_gpt2(),
    "llama-bpe": split(CASELESS + r"\p{N}{1,3}" + REST),
    "qwen2": split(CASELESS + r"\p{N}" + REST),
    "qwen35": split(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + SPACES),
    "deepseek-coder": pre_tokenizers.Sequence([split(r"[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"),
                                              split("[一-龥ࠀ-一가-퟿]+"),
                                              pre_tokenizers.Digits(individual_digits=True)]),
    "seed-coder": split(CASELESS + r"\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|" + SPACES),
    "tekken": split(f"{BEFORE}{UPPER}*{LOWER}+|{BEFORE}{UPPER}+{LOWER}*|" + r"\p{N}" + REST_WITH_SLASH),
    "gpt-4o": split(f"{BEFORE}{UPPER}*{LOWER}+{SUFFIX}|{BEFORE}{UPPER}+{LOWER}*{SUFFIX}|" + r"\p{N}{1,3}" + REST_WITH_SLASH),
    "deepseek-llm": pre_tokenizers.Sequence([split(r"[\r\n]"), split(DEEPSEEK_LETTERS), split(r"\s?[!-/:-~！-／：-～‘-‟　-。]+"),
                                            split(r"\s+$"), split("[一-龥ࠀ-一가-퟿]+"),
                                            pre_tokenizers.Digits(individual_digits=True)]),
    "deepseek-v3": pre_tokenizers.Sequence([
        split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"),
        split(r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"
              + SPACES)]),
}


def word_bytes(pre, text):
    return [len(text[a:b].encode()) for _, (a, b) in pre.pre_tokenize_str(text)]


def bpe_of(path, pre):
    fields = gguf.GGUFReader(path).fields
    read = lambda key: fields["tokenizer.ggml." + key].contents()
    pieces, types = read("tokens"), read("token_type")
    vocab = {piece: i for i, (piece, kind) in enumerate(zip(pieces, types)) if kind == 1}
    merges = [tuple(merge.split(" ")) for merge in read("merges")]
    tokenizer = Tokenizer(models.BPE(vocab, merges))
    # Byte-level spelling after the cut, unless the cut's own ByteLevel does it.
    tokenizer.pre_tokenizer = pre if "ByteLevel" in str(pre) else pre_tokenizers.Sequence(
        [pre, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    return tokenizer


def llama_cpp_ids(path):
    import llama_cpp
    model = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
    return lambda text: model.tokenize(text.encode(), add_bos=False, special=False)


def sentencepiece_ids(path):
    """By sentencepiece itself. Of Gemma llama.cpp takes the tag </s> for the end of a text."""
    fields = gguf.GGUFReader(path).fields
    read = lambda key: fields["tokenizer.ggml." + key].contents()
    proto = sentencepiece_model_pb2.ModelProto()
    for piece, score, kind in zip(read("tokens"), read("scores"), read("token_type")):
        # Converters spell what the model's own file spells with U+2581 with spaces.
        proto.pieces.add(piece=piece.replace(" ", "\u2581"), score=score, type=kind)
    proto.trainer_spec.model_type = proto.trainer_spec.BPE
    proto.trainer_spec.byte_fallback = True
    proto.normalizer_spec.name = "identity"
    proto.normalizer_spec.add_dummy_prefix = read("add_space_prefix")
    proto.normalizer_spec.remove_extra_whitespaces = False
    return sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString()).encode


def chat_lines():
    lines = []
    for template in TEMPLATES:
        lines += [f"template {template['name']}", f"jinja {escaped(template['jinja'])}",
                  f"default_system {escaped(template.get('default_system', ''))}"]
        for thinking in template.get("thinking", [None]):
            for chat in CHATS:
                has_system = chat[0][0] == "system"
                if len(chat) > template.get("turns_max", 99) or not template.get("system" if has_system else "no_system", True):
                    continue
                messages = [{"role": role, "content": text} for role, text in chat]
                options = {} if thinking is None else {"enable_thinking": thinking}
                rendered = render_jinja_template([messages], chat_template=template["jinja"], add_generation_prompt=True,
                                                 bos_token="<s>", eos_token="</s>", **options)[0][0]
                says = {False: ["thinking off"], True: ["thinking on"] if template.get("if_asked") else []}
                lines += ["chat"] + says.get(thinking, [])
                lines += [f"{role} {escaped(text)}" for role, text in chat] + [f"rendered {escaped(rendered)}"]
    return lines


def main():
    shared, smollm2, gemma = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    OUT.mkdir(parents=True, exist_ok=True)
    for name, pre in PRE.items():
        if name in ("starcoder", "refact"):  # as smollm
            continue
        write(name + ".words", [(text, word_bytes(pre, text)) for text in TEXTS if text])

    paths = {n: shared / f"ggml-vocab/ggml-vocab-{n}.gguf" for n in ("gpt-2", "starcoder", "refact")}
    for name, path in [("smollm2", smollm2), *paths.items()]:
        bpe = bpe_of(path, PRE["smollm" if name == "smollm2" else name])
        write(name + ".ids", [(text, bpe.encode(text).ids) for text in TEXTS])
    spm = {n: shared / f"ggml-vocab/ggml-vocab-{n}.gguf" for n in ("llama-spm", "phi-3", "deepseek-coder")}
    for name, path in [*spm.items(), ("gemma-3", gemma)]:
        ids = sentencepiece_ids(path) if name == "gemma-3" else llama_cpp_ids(path)
        write(name + ".ids", [(text, ids(text) if text else []) for text in TEXTS])

    (OUT / "chats.txt").write_text("\n".join(chat_lines()) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
