// Fixtures of tests/golden/tokenizer and small vocabularies for the tokenizer's tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/gguf/reader.h"
#include "runtime/tokenizer/byte_alphabet.h"
#include "runtime/tokenizer/tokenizer.h"
#include "runtime/tokenizer/utf8.h"
#include "support/bundled_model.h"
#include "support/source_dir.h"

namespace satchel::runtime::tokenizer_tests {

inline const std::filesystem::path kGolden =
    std::filesystem::path(test::source_dir()) / "tests/golden/tokenizer";
inline const std::filesystem::path kVectors =
    std::filesystem::path(test::shared_dir()) / "models/ggml-vocab";

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

inline std::string unescaped(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      out += line[i];
      continue;
    }
    const char c = line[++i];
    if (c == 'u') {  // \u{hex}
      const std::size_t end = line.find('}', i);
      append_code(static_cast<char32_t>(
                      std::stoul(std::string(line.substr(i + 2, end - i - 2)), nullptr, 16)),
                  out);
      i = end;
    } else {
      out += c == 'n' ? '\n' : c == 'r' ? '\r' : c;
    }
  }
  return out;
}

struct Case {
  std::string text;
  std::vector<TokenId> numbers;
};

inline std::vector<Case> cases(const std::string& name) {
  std::vector<Case> read;
  std::istringstream in(file_text(kGolden / name));
  for (std::string text, numbers; std::getline(in, text) && std::getline(in, numbers);) {
    read.push_back({unescaped(text), {}});
    std::istringstream each(numbers);
    for (TokenId number = 0; each >> number;) read.back().numbers.push_back(number);
  }
  return read;
}

// Where the vocabulary of that name lies; an empty path if it is not on this machine.
inline std::filesystem::path vocabulary_file(const std::string& name) {
  std::filesystem::path path = kVectors / ("ggml-vocab-" + name + ".gguf");
  if (name == "notes-mini") path = test::kBundledModel;
  if (name == "smollm2" || name == "gemma-3") {
    const char* data = std::getenv("XDG_DATA_HOME");
    const char* home = std::getenv("HOME");
    const std::filesystem::path folder =
        (data != nullptr && *data != '\0')
            ? std::filesystem::path(data)
            : std::filesystem::path(home == nullptr ? "" : home) / ".local/share";
    path = folder / "satchel/models" /
           (name == "smollm2" ? "SmolLM2-135M-Instruct.Q4_1.gguf" : "gemma-3-270m-q4_k_m.gguf");
  }
  return std::filesystem::exists(path) ? path : std::filesystem::path();
}

inline std::unique_ptr<Tokenizer> open_tokenizer(const std::filesystem::path& path) {
  const auto file = GgufFile::open(path);
  if (!file.ok()) {
    ADD_FAILURE() << file.error().message;
    return nullptr;
  }
  auto tokenizer = Tokenizer::open(*file);
  if (!tokenizer.ok()) {
    ADD_FAILURE() << tokenizer.error().message;
    return nullptr;
  }
  return std::move(tokenizer).value();
}

inline std::string test_name(const testing::TestParamInfo<std::string>& param) {
  std::string name = param.param;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}

inline std::vector<std::string> texts_of(const PieceList& list) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < list.size(); ++i) texts.emplace_back(list[i]);
  return texts;
}

inline void respell(PieceList& list, std::size_t i, std::string_view spelling) {
  std::vector<std::string> texts = texts_of(list);
  texts[i] = spelling;
  list = {};
  for (const std::string& text : texts) list.push_back(text);
}

// All bytes, then the given control tokens: byte-level BPE without merges.
inline Vocabulary byte_vocabulary(const std::vector<std::string>& control) {
  Vocabulary v;
  v.kind = VocabularyKind::byte_bpe;
  v.pre = "gpt-2";
  v.adds_space_prefix = false;
  for (const char32_t code : byte_alphabet()) {
    std::string spelling;
    append_code(code, spelling);
    v.pieces.push_back(spelling);
  }
  v.types.assign(256, PieceType::normal);
  for (const std::string& piece : control) {
    v.pieces.push_back(piece);
    v.types.push_back(PieceType::control);
  }
  return v;
}

// Unknown, bos, eos, all bytes, then the given pieces by falling score.
inline Vocabulary sentencepiece_vocabulary(const std::vector<std::string>& pieces) {
  Vocabulary v;
  v.pieces = {"<unk>", "<s>", "</s>"};
  v.types = {PieceType::unknown, PieceType::control, PieceType::control};
  v.unknown = 0;
  v.bos = 1;
  v.eos = 2;
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    v.pieces.push_back(std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">");
    v.types.push_back(PieceType::byte);
  }
  for (const std::string& piece : pieces) v.pieces.push_back(piece);
  v.types.resize(v.pieces.size(), PieceType::normal);
  for (std::size_t i = 0; i < v.pieces.size(); ++i) v.scores.push_back(-static_cast<float>(i));
  return v;
}

inline std::unique_ptr<Tokenizer> make_tokenizer(Vocabulary vocabulary) {
  auto made = Tokenizer::make(std::move(vocabulary));
  if (made.ok()) return std::move(made).value();
  ADD_FAILURE() << made.error().message;
  return nullptr;
}

inline std::vector<TokenId> ids(const Tokenizer& tokenizer, std::string_view text,
                                SpecialText special = SpecialText::as_text) {
  const auto encoded = tokenizer.encode(text, special);
  if (encoded.ok()) return *encoded;
  ADD_FAILURE() << encoded.error().message;
  return {};
}

}  // namespace satchel::runtime::tokenizer_tests
