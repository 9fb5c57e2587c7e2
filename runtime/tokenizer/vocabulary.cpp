#include "runtime/tokenizer/vocabulary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "runtime/gguf/reader.h"
#include "runtime/tokenizer/piece_index.h"
#include "runtime/tokenizer/pretokenizer.h"
#include "runtime/tokenizer/utf8.h"

namespace satchel::runtime {
namespace {

constexpr std::string_view kModel = "tokenizer.ggml.model", kTokens = "tokenizer.ggml.tokens";

Error corrupt(const std::string& what) {
  return {ErrorKind::corrupt, "MODEL_TOKENIZER",
          what + ". Nothing was loaded. Get the model file again."};
}

std::string piece_text(const Vocabulary& vocabulary, std::size_t i) {
  return "piece " + std::to_string(i) + " " + quoted(vocabulary.pieces[i], 32);
}

// Kinds that are known by name only: what people call them.
std::string_view called(std::string_view model) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"bert", " (WordPiece)"},
      {"t5", " (Unigram)"},
      {"rwkv", " (RWKV)"},
      {"plamo2", " (PLaMo)"},
      {"no_vocab", " (none at all)"}};
  for (const auto& [name, people_say] : kNames)
    if (name == model) return people_say;
  return {};
}

Result<VocabularyKind> kind_of(const GgufFile& file) {
  if (!file.has(kModel) || !file.has(kTokens))
    return Error{ErrorKind::unsupported, "MODEL_TOKENIZER",
                 "The file has weights but no tokenizer (" +
                     std::string(file.has(kModel) ? kTokens : kModel) +
                     " is missing). Nothing was loaded. Choose a file that includes one."};
  SATCHEL_TRY_ASSIGN(const std::string_view model, file.get_string(kModel));
  if (model == "llama") return VocabularyKind::sentencepiece;
  if (model == "gpt2") return VocabularyKind::byte_bpe;
  if (model == "gemma4") return VocabularyKind::marked_bpe;
  return Error{ErrorKind::unsupported, "MODEL_TOKENIZER",
               "The tokenizer type " + quoted(model) + std::string(called(model)) +
                   " is not supported. Supported: \"llama\" (SentencePiece), \"gpt2\" "
                   "(byte-level BPE) and \"gemma4\" (BPE of Gemma 4). Nothing was loaded."};
}

Result<std::optional<TokenId>> token_at(const GgufFile& file, std::string_view key) {
  if (!file.has(key)) return std::optional<TokenId>{};
  SATCHEL_TRY_ASSIGN(const std::uint32_t id, file.get_u32(key));
  if (id >= Vocabulary::kPiecesMax)
    return corrupt("\"" + std::string(key) + "\" is " + std::to_string(id) +
                   ", beyond any valid vocabulary");
  return std::optional<TokenId>(static_cast<TokenId>(id));
}

Result<std::vector<PieceType>> types_of(const GgufFile& file) {
  constexpr std::string_view kKey = "tokenizer.ggml.token_type";
  std::vector<PieceType> types;
  if (!file.has(kKey)) return types;
  SATCHEL_TRY_ASSIGN(const std::vector<std::int32_t> numbers, file.get_i32_array(kKey));
  types.reserve(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0 || numbers[i] > 6)
      return corrupt("\"" + std::string(kKey) + "\" of piece " + std::to_string(i) + " is " +
                     std::to_string(numbers[i]) + ", but must be from 0 to 6");
    // 0 is "undefined".
    types.push_back(numbers[i] == 0 ? PieceType::normal : static_cast<PieceType>(numbers[i]));
  }
  return types;
}

Result<PieceList> strings_of(const GgufFile& file, std::string_view key) {
  SATCHEL_TRY_ASSIGN(const GgufStrings strings, file.get_strings(key));
  if (strings.bytes() > PieceList::kBytesMax)
    return corrupt("\"" + std::string(key) + "\" takes " + std::to_string(strings.bytes()) +
                   " bytes, more than any valid vocabulary");
  PieceList out;
  out.reserve(strings.size(), strings.bytes());
  strings.for_each([&](std::string_view text) { out.push_back(text); });
  return out;
}

// <0x00> … <0xFF>, as sentencepiece spells them.
bool spells_byte(std::string_view piece) {
  const auto hexadecimal = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
  return piece.size() == 6 && piece.starts_with("<0x") && piece[5] == '>' &&
         hexadecimal(piece[3]) && hexadecimal(piece[4]);
}

// Files list these as user-defined or normal now and then; then text from people would become them.
bool is_marker(std::string_view piece) {
  constexpr std::array<std::string_view, 6> kMarkers = {
      "<start_of_turn>", "<end_of_turn>", "<EOT>", "<bos>", "<eos>", "<pad>"};
  return (piece.starts_with("<|") && piece.ends_with("|>") && piece.size() > 4) ||
         (piece.starts_with("<｜") && piece.ends_with("｜>")) ||
         std::find(kMarkers.begin(), kMarkers.end(), piece) != kMarkers.end();
}

// Gemma 4's come in pairs, <|turn> and <turn|>. Files list those as user-defined that people may
// want to see.
bool is_half_marker(std::string_view piece) {
  return piece.size() > 3 && piece.starts_with('<') && piece.ends_with('>') &&
         (piece[1] == '|' || piece[piece.size() - 2] == '|');
}

Result<void> check_counts(Vocabulary& v) {
  const std::size_t n = v.pieces.size();
  if (n == 0) return corrupt("The vocabulary lists no pieces");
  if (n > Vocabulary::kPiecesMax)
    return corrupt("The vocabulary lists " + std::to_string(n) + " pieces, more than " +
                   std::to_string(Vocabulary::kPiecesMax));
  if (v.types.empty()) v.types.assign(n, PieceType::normal);
  if (v.types.size() != n)
    return corrupt("The vocabulary lists " + std::to_string(n) + " pieces but " +
                   std::to_string(v.types.size()) + " types");
  if (v.kind != VocabularyKind::sentencepiece) return {};
  if (v.scores.size() != n)
    return corrupt("The vocabulary lists " + std::to_string(n) + " pieces but " +
                   std::to_string(v.scores.size()) + " scores");
  if (std::any_of(v.scores.begin(), v.scores.end(), [](float s) { return std::isnan(s); }))
    return corrupt("A score of the vocabulary is NaN");
  return {};
}

Result<void> check_pieces(Vocabulary& v) {
  PieceIndex seen(v.pieces.size());
  for (std::size_t i = 0; i < v.pieces.size(); ++i) {
    const std::string_view piece = v.pieces[i];
    if (piece.size() > Vocabulary::kPieceBytesMax)
      return corrupt("The vocabulary's piece " + std::to_string(i) + " has " +
                     std::to_string(piece.size()) + " bytes, more than " +
                     std::to_string(Vocabulary::kPieceBytesMax));
    if (!is_utf8(piece)) return corrupt("The vocabulary's " + piece_text(v, i) + " is not UTF-8");
    if (piece.empty() && v.kind == VocabularyKind::byte_bpe) {
      v.types[i] = PieceType::unused;
      continue;
    }
    // sentencepiece's own programs keep pieces as C strings: none has a zero in it.
    if (piece.empty() ||
        (v.kind == VocabularyKind::sentencepiece && piece.find('\0') != std::string_view::npos))
      return corrupt("The vocabulary's " + piece_text(v, i) + " is empty or contains a zero byte");
    if (const auto first = seen.add(v.pieces, static_cast<TokenId>(i)))
      return corrupt("The vocabulary lists " + piece_text(v, i) + " twice, first as piece " +
                     std::to_string(*first));
  }
  return {};
}

Result<void> check_ids(const Vocabulary& v) {
  const std::pair<const char*, std::optional<TokenId>> ids[] = {
      {"unknown", v.unknown}, {"bos", v.bos}, {"eos", v.eos}, {"eot", v.eot}};
  for (const auto& [name, id] : ids)
    if (id && (*id < 0 || static_cast<std::size_t>(*id) >= v.pieces.size()))
      return corrupt(std::string("The vocabulary's ") + name + " token is " + std::to_string(*id) +
                     ", but it has " + std::to_string(v.pieces.size()) + " pieces");
  return {};
}

void mend_control(Vocabulary& v) {
  // Where texts begin with another token these two are tags of HTML (Gemma).
  const bool are_tags = v.bos && v.pieces[static_cast<std::size_t>(*v.bos)] != "<s>";
  for (std::size_t i = 0; i < v.pieces.size(); ++i) {
    PieceType& type = v.types[i];
    const std::string_view piece = v.pieces[i];
    const auto id = static_cast<TokenId>(i);
    const bool is_text = type == PieceType::normal || type == PieceType::user_defined;
    const bool is_named = id == v.bos || id == v.eos || id == v.eot;
    const bool is_bare = !are_tags && (piece == "<s>" || piece == "</s>");
    const bool is_half = v.kind == VocabularyKind::marked_bpe && is_half_marker(piece);
    if (is_text && (is_named || is_bare || is_half || is_marker(piece))) type = PieceType::control;
    if (v.kind == VocabularyKind::byte_bpe && type == PieceType::unknown) type = PieceType::control;
    if (v.kind == VocabularyKind::byte_bpe && type == PieceType::byte) type = PieceType::normal;
  }
}

// Converters spell user-defined runs of spaces as people do; the encoder looks for U+2581.
void mend_spaces(Vocabulary& v) {
  const auto is_spelt_so = [&](std::size_t i) {
    return v.types[i] == PieceType::user_defined && v.pieces[i].find(' ') != std::string_view::npos;
  };
  std::size_t first = 0;
  while (first < v.pieces.size() && !is_spelt_so(first)) ++first;
  if (first == v.pieces.size()) return;

  PieceIndex listed(v.pieces.size());
  for (std::size_t i = 0; i < v.pieces.size(); ++i)
    (void)listed.add(v.pieces, static_cast<TokenId>(i));
  PieceList mended;
  for (std::size_t i = 0; i < v.pieces.size(); ++i) {
    const std::string_view piece = v.pieces[i];
    const std::string marked = is_spelt_so(i) ? with_space_marks(piece) : std::string(piece);
    mended.push_back(listed.find(v.pieces, marked) ? piece : std::string_view(marked));
  }
  v.pieces = std::move(mended);
}

Result<void> mend_unknown(Vocabulary& v) {
  for (std::size_t i = 0; !v.unknown && i < v.pieces.size(); ++i)
    if (v.types[i] == PieceType::unknown || v.pieces[i] == "<unk>")
      v.unknown = static_cast<TokenId>(i);
  if (!v.unknown) return corrupt("The vocabulary has no unknown piece");
  // Fillers of a vocabulary are often called unknown too (Phi-3: 53 of them).
  std::replace(v.types.begin(), v.types.end(), PieceType::unknown, PieceType::unused);
  v.types[static_cast<std::size_t>(*v.unknown)] = PieceType::unknown;
  return {};
}

Result<void> mend_bytes(Vocabulary& v) {
  std::vector<std::size_t> bytes;
  bool any_typed = false;
  for (std::size_t i = 0; i < v.pieces.size(); ++i) {
    const bool spelled = spells_byte(v.pieces[i]);
    if (v.types[i] == PieceType::byte && !spelled)
      return corrupt("The vocabulary's " + piece_text(v, i) +
                     " is marked as a byte, but is not one");
    any_typed = any_typed || v.types[i] == PieceType::byte;
    if (spelled && (v.types[i] == PieceType::byte || v.types[i] == PieceType::normal))
      bytes.push_back(i);
  }
  if (bytes.size() == 256) {  // no piece is listed twice, so these are all
    for (const std::size_t i : bytes) v.types[i] = PieceType::byte;
  } else if (any_typed) {
    return corrupt("The vocabulary has only " + std::to_string(bytes.size()) +
                   " of the 256 byte pieces");
  }
  return {};
}

}  // namespace

std::string with_space_marks(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == ' ' ? kSpaceMark : std::string_view(&c, 1);
  return out;
}

bool goes_on_over_a_space(std::string_view piece) {
  while (piece.starts_with(kSpaceMark)) piece.remove_prefix(kSpaceMark.size());
  return piece.find(kSpaceMark) != piece.npos;
}

Result<Vocabulary> Vocabulary::from(const GgufFile& file) {
  Vocabulary v;
  SATCHEL_TRY_ASSIGN(v.kind, kind_of(file));
  SATCHEL_TRY_ASSIGN(v.pieces, strings_of(file, kTokens));
  SATCHEL_TRY_ASSIGN(v.types, types_of(file));
  SATCHEL_TRY_ASSIGN(v.unknown, token_at(file, "tokenizer.ggml.unknown_token_id"));
  SATCHEL_TRY_ASSIGN(v.bos, token_at(file, "tokenizer.ggml.bos_token_id"));
  SATCHEL_TRY_ASSIGN(v.eos, token_at(file, "tokenizer.ggml.eos_token_id"));
  SATCHEL_TRY_ASSIGN(v.eot, token_at(file, "tokenizer.ggml.eot_token_id"));
  if (v.kind == VocabularyKind::sentencepiece) {
    if (!file.has("tokenizer.ggml.scores"))
      return corrupt("The vocabulary has no scores (tokenizer.ggml.scores)");
    SATCHEL_TRY_ASSIGN(v.scores, file.get_f32_array("tokenizer.ggml.scores"));
    SATCHEL_TRY_ASSIGN(v.adds_space_prefix, file.get_bool("tokenizer.ggml.add_space_prefix", true));
  } else {
    if (!file.has("tokenizer.ggml.merges"))
      return corrupt("The vocabulary has no merges (tokenizer.ggml.merges)");
    SATCHEL_TRY_ASSIGN(v.merges, strings_of(file, "tokenizer.ggml.merges"));
    v.adds_space_prefix = false;
    if (file.has("tokenizer.ggml.pre")) {
      SATCHEL_TRY_ASSIGN(v.pre, file.get_string("tokenizer.ggml.pre"));
    }
  }
  // Files from before the key was written mean what their kind's first models did.
  const bool adds_bos_if_absent =
      v.kind == VocabularyKind::sentencepiece || Pretokenizer::adds_bos_by_default(v.pre);
  SATCHEL_TRY_ASSIGN(v.adds_bos, file.get_bool("tokenizer.ggml.add_bos_token", adds_bos_if_absent));
  // Some files say no, but the model needs it.
  if (v.kind == VocabularyKind::marked_bpe) v.adds_bos = true;
  return v;
}

Result<void> Vocabulary::check_and_mend() {
  SATCHEL_TRY(check_counts(*this));
  SATCHEL_TRY(check_pieces(*this));
  SATCHEL_TRY(check_ids(*this));
  mend_control(*this);
  if (kind == VocabularyKind::byte_bpe) return {};
  mend_spaces(*this);
  SATCHEL_TRY(mend_unknown(*this));
  return mend_bytes(*this);
}

}  // namespace satchel::runtime
