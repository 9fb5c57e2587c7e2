"""Writes tests/golden/tokenizer/: texts with the token ids, words and chat renderings of the models' own tokenizers.

    <vocabulary>.ids   token ids, by the Python package `tokenizers` from a BPE object made of the GGUF's pieces and merges,
                       or by llama.cpp where there are no merges
    <name>.words       how the pre-tokeniser of that name cuts a text, by `tokenizers` with the published patterns
    chats.txt          chats as transformers renders them (Jinja) with the published templates

Lines of .ids and .words: as tokenizer_fixture_file.py writes them; the numbers of .words are the bytes of each word.
The bundled model has a script of its own: make_notes_mini_ids.py.

    python3 tests/oracle/make_tokenizer_fixtures.py SHARED_MODELS SMOLLM2_GGUF
    # needs: pip install gguf tokenizers transformers jinja2 llama-cpp-python
"""
import pathlib
import sys

import gguf
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers.utils.chat_template_utils import render_jinja_template

from tokenizer_fixture_file import OUT, escaped, write
from tokenizer_fixture_texts import CHATS, TEMPLATES, TEXTS

CASELESS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


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
    "deepseek-coder": pre_tokenizers.Sequence([split(r"[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"),
                                              split("[一-龥ࠀ-一가-퟿]+"),
                                              pre_tokenizers.Digits(individual_digits=True)]),
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


def main():
    shared, smollm2 = pathlib.Path(sys.argv[1]), sys.argv[2]
    OUT.mkdir(parents=True, exist_ok=True)
    for name, pre in PRE.items():
        if name in ("starcoder", "refact"):  # as smollm
            continue
        write(name + ".words", [(text, word_bytes(pre, text)) for text in TEXTS if text])

    paths = {n: shared / f"ggml-vocab/ggml-vocab-{n}.gguf" for n in ("gpt-2", "starcoder", "refact")}
    for name, path in [("smollm2", smollm2), *paths.items()]:
        bpe = bpe_of(path, PRE["smollm" if name == "smollm2" else name])
        write(name + ".ids", [(text, bpe.encode(text).ids) for text in TEXTS])
    for name in ("llama-spm", "phi-3", "deepseek-coder"):
        ids = llama_cpp_ids(shared / f"ggml-vocab/ggml-vocab-{name}.gguf")
        write(name + ".ids", [(text, ids(text) if text else []) for text in TEXTS])

    lines = []
    for template in TEMPLATES:
        lines += [f"template {template['name']}", f"jinja {escaped(template['jinja'])}",
                  f"default_system {escaped(template.get('default_system', ''))}"]
        for chat in CHATS:
            if len(chat) > template.get("turns_max", 99):
                continue
            if chat[0][0] == "system" and not template.get("system", True):
                continue
            messages = [{"role": role, "content": text} for role, text in chat]
            rendered = render_jinja_template([messages], chat_template=template["jinja"], add_generation_prompt=True,
                                             bos_token="<s>", eos_token="</s>")[0][0]
            lines += ["chat"] + [f"{role} {escaped(text)}" for role, text in chat] + [f"rendered {escaped(rendered)}"]
    (OUT / "chats.txt").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
