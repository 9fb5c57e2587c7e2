"""Models as GGUF files: what the trainer writes and any Llama runtime reads, and what an independent judge reads back.

Tensor names, keys and the order of rotary pairs follow the Llama convention of the GGUF specification.
"""

import pathlib

import gguf
import numpy as np
import torch

from notes import files
from notes.model import Llama, Shape
from notes.vocabulary import BOS, Vocabulary

TYPES = {
    "f16": gguf.GGMLQuantizationType.F16,
    "q8_0": gguf.GGMLQuantizationType.Q8_0,
    "q4_0": gguf.GGMLQuantizationType.Q4_0,
}
FILE_TYPES = {
    "f16": gguf.LlamaFileType.MOSTLY_F16,
    "q8_0": gguf.LlamaFileType.MOSTLY_Q8_0,
    "q4_0": gguf.LlamaFileType.MOSTLY_Q4_0,
}
PLAIN = {
    "f32": gguf.GGMLQuantizationType.F32,
    "f16": gguf.GGMLQuantizationType.F16,
    "q8_0": gguf.GGMLQuantizationType.Q8_0,
}  # that nearly keep a weight's value
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def piece_types(v: Vocabulary) -> list[int]:
    kinds, p = gguf.TokenType, v.pieces

    def kind(i):
        if p.is_unknown(i):
            return kinds.UNKNOWN
        if p.is_control(i) or i in (v.start, v.end):
            return kinds.CONTROL
        if p.is_byte(i):
            return kinds.BYTE
        return kinds.USER_DEFINED if i == v.line else kinds.NORMAL

    return [int(kind(i)) for i in range(len(v))]


def add_header(out: gguf.GGUFWriter, s: Shape, v: Vocabulary, name: str, kind: str) -> None:
    out.add_name(name)
    out.add_license("Apache-2.0")
    out.add_file_type(FILE_TYPES[kind])
    if kind != "f16":
        out.add_quantization_version(gguf.GGML_QUANT_VERSION)
    out.add_block_count(s.n_layers)
    out.add_context_length(s.context)
    out.add_embedding_length(s.width)
    out.add_feed_forward_length(s.ffn)
    out.add_head_count(s.n_heads)
    out.add_head_count_kv(s.n_kv_heads)
    out.add_key_length(s.head_dim)
    out.add_value_length(s.head_dim)
    out.add_rope_dimension_count(s.head_dim)
    out.add_rope_freq_base(s.rope_base)
    out.add_layer_norm_rms_eps(s.epsilon)
    out.add_vocab_size(s.n_vocab)
    out.add_tokenizer_model("llama")
    out.add_tokenizer_pre("default")
    out.add_token_list([v.pieces.id_to_piece(i) for i in range(len(v))])
    out.add_token_scores([v.pieces.get_score(i) for i in range(len(v))])
    out.add_token_types(piece_types(v))
    out.add_bos_token_id(BOS)
    out.add_eos_token_id(v.end)
    out.add_unk_token_id(v.pieces.unk_id())
    out.add_add_bos_token(True)
    out.add_add_eos_token(False)
    out.add_add_space_prefix(False)
    out.add_chat_template(CHAT_TEMPLATE)


def write(to: pathlib.Path, model: Llama, v: Vocabulary, kind: str, name: str) -> None:
    """Writes the model; matrices as `kind`, gains as F32. The file appears whole or not at all."""
    with files.whole(to) as new:
        out = gguf.GGUFWriter(new, "llama")
        add_header(out, model.shape, v, name, kind)
        for key, tensor in model.state_dict().items():
            data = tensor.detach().float().cpu().numpy()
            if data.ndim == 1:
                out.add_tensor(key, data)
            else:
                out.add_tensor(key, gguf.quants.quantize(data, TYPES[kind]), raw_dtype=TYPES[kind])
        out.write_header_to_file()
        out.write_kv_data_to_file()
        out.write_tensors_to_file()
        out.close()


class Foreign(Exception):
    """A model that `Llama` is not; says why."""


def read_shape(reader: gguf.GGUFReader) -> Shape:
    key = lambda name: reader.fields["llama." + name].contents()  # noqa: E731
    width, n_heads = key("embedding_length"), key("attention.head_count")
    n_kv_heads = key("attention.head_count_kv")
    if isinstance(n_kv_heads, list) or isinstance(n_heads, list):
        raise Foreign("the layers of this model have different numbers of heads")
    own_length = "llama.attention.key_length" in reader.fields
    return Shape(
        n_vocab=len(reader.fields["tokenizer.ggml.tokens"].contents()),
        width=width,
        n_layers=key("block_count"),
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        head_dim=key("attention.key_length") if own_length else width // n_heads,
        ffn=key("feed_forward_length"),
        context=key("context_length"),
        rope_base=key("rope.freq_base"),
        epsilon=key("attention.layer_norm_rms_epsilon"),
    )


def open_reader(path: pathlib.Path) -> gguf.GGUFReader:
    try:
        return gguf.GGUFReader(path)
    except ValueError as why:
        raise Foreign(f"{path} is no GGUF file: {why}") from why


def read(path: pathlib.Path) -> Llama:
    """The model in a GGUF file, in float32. Raises Foreign where it is another than a plain Llama."""
    reader = open_reader(path)
    kind = reader.fields["general.architecture"].contents()
    if kind != "llama":
        raise Foreign(f"{path} is a model of the kind {kind}; only llama is supported")
    model = Llama(read_shape(reader))
    names, needed = {t.name for t in reader.tensors}, set(model.state_dict())
    for name in sorted(names ^ needed):
        raise Foreign(
            f"{path} {'has' if name in names else 'lacks'} the tensor {name}; only Llama models with tied embeddings "
            "are supported, without biases and without scaled rotary positions"
        )
    model.load_state_dict(
        {
            t.name: torch.from_numpy(
                np.array(gguf.quants.dequantize(t.data, t.tensor_type), dtype=np.float32)
            )
            for t in reader.tensors
        }
    )
    return model.eval()


def first_token(path: pathlib.Path) -> int:
    field = open_reader(path).fields.get("tokenizer.ggml.bos_token_id")
    return 0 if field is None else field.contents()


def rewrite(
    source: pathlib.Path,
    to: pathlib.Path,
    numbers: dict[str, int],
    tensors: dict[str, np.ndarray],
    kind: str,
) -> None:
    """A Llama file with other numbers and tensors, these as `kind`; all else byte for byte. It appears whole."""
    reader = open_reader(source)
    with files.whole(to) as new:
        out = gguf.GGUFWriter(new, "llama")
        for name, field in reader.fields.items():
            if name.startswith("GGUF.") or name == "general.architecture":
                continue
            sub_type = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            value = numbers.get(name.removeprefix("llama."), field.contents())
            out.add_key_value(name, value, field.types[0], sub_type)
        for t in reader.tensors:
            if t.name in tensors:
                out.add_tensor(
                    t.name,
                    gguf.quants.quantize(tensors[t.name], PLAIN[kind]),
                    raw_dtype=PLAIN[kind],
                )
            else:
                out.add_tensor(t.name, t.data, raw_dtype=t.tensor_type)
        out.write_header_to_file()
        out.write_kv_data_to_file()
        out.write_tensors_to_file()
        out.close()


def read_vocabulary(path: pathlib.Path) -> Vocabulary:
    """The SentencePiece model that a GGUF file holds the pieces of."""
    from sentencepiece import sentencepiece_model_pb2 as proto

    fields = gguf.GGUFReader(path).fields
    get = lambda name: fields["tokenizer.ggml." + name].contents()  # noqa: E731
    model = proto.ModelProto()
    for piece, score, kind in zip(get("tokens"), get("scores"), get("token_type")):
        text_mark = kind == gguf.TokenType.CONTROL and piece.startswith(
            "<|"
        )  # SentencePiece matches only user-defined marks
        model.pieces.add(
            piece=piece, score=score, type=int(gguf.TokenType.USER_DEFINED) if text_mark else kind
        )
    model.trainer_spec.model_type = 2
    model.trainer_spec.byte_fallback = True
    model.normalizer_spec.name = "identity"
    model.normalizer_spec.add_dummy_prefix = False
    model.normalizer_spec.remove_extra_whitespaces = False
    model.normalizer_spec.escape_whitespaces = True
    return Vocabulary(model.SerializeToString())
