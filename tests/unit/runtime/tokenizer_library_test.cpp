// Our joining of SentencePiece vocabularies against the library's, over texts made of a model's own
// pieces in any order, runs of spaces and characters that no piece has.
#include <gtest/gtest.h>

#include <random>

#include "runtime/tokenizer/text_encoder.h"
#include "support/value_of.h"
#include "unit/runtime/library_sentencepiece.h"
#include "unit/runtime/tokenizer_cases.h"

namespace satchel::runtime {
namespace {

using tokenizer_tests::LibrarySentencePiece;

std::string with_spaces(std::string_view piece) {
  std::string out(piece);
  constexpr std::string_view kSpace = "\u2581";
  for (std::size_t at = 0; (at = out.find(kSpace, at)) != std::string::npos; ++at)
    out.replace(at, kSpace.size(), " ");
  return out;
}

std::string random_text(const Vocabulary& vocabulary, std::mt19937& random) {
  constexpr std::string_view kOdd[] = {" ",    "   ",    "\n",      "é", "語",
                                       "🙂", "\u00a0", "a\u0301", "<", "\t"};
  std::uniform_int_distribution<std::size_t> piece(0, vocabulary.pieces.size() - 1), odd(0, 39);
  std::string text;
  for (int i = 0; i < 60; ++i) {
    const std::size_t which = odd(random);
    if (which < std::size(kOdd)) text += kOdd[which];
    const std::size_t p = piece(random);
    if (vocabulary.types[p] == PieceType::normal || vocabulary.types[p] == PieceType::user_defined)
      text += with_spaces(vocabulary.pieces[p]);
  }
  return text;
}

void expect_the_librarys_ids(const std::string& name, int n_texts) {
  const std::filesystem::path path = tokenizer_tests::vocabulary_file(name);
  if (path.empty()) GTEST_SKIP() << name << " is not on this machine";
  const GgufFile file = value_of(GgufFile::open(path));
  Vocabulary vocabulary = value_of(Vocabulary::from(file));
  ASSERT_TRUE(vocabulary.check_and_mend().ok());
  const auto ours = make_sentencepiece_encoder(vocabulary);
  const LibrarySentencePiece library(vocabulary);
  std::mt19937 random(7);
  for (int i = 0; i < n_texts; ++i) {
    const std::string text = random_text(vocabulary, random);
    std::vector<TokenId> ids;
    ASSERT_TRUE(ours->encode(text, ids).ok());
    ASSERT_EQ(ids, library.encode(text)) << text;
  }
}

TEST(SentencePieceLibrary, gives_the_ids_that_ours_gives_for_the_bundled_model) {
  expect_the_librarys_ids("notes-mini", 300);
}

TEST(SentencePieceLibrary, gives_the_ids_that_ours_gives_for_gemma) {
  expect_the_librarys_ids("gemma-3", 100);
}

}  // namespace
}  // namespace satchel::runtime
