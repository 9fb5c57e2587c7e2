// Where documents are cut, and that nothing is lost there.
#include "runtime/episodes/document_parts.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "kernels/base/rng.h"
#include "runtime/episodes/text_borders.h"
#include "tokenizer_cases.h"

namespace satchel::runtime {
namespace {

using namespace tokenizer_tests;
using testing::ElementsAre;
using testing::IsEmpty;

// One token per byte: what a part holds can be counted by hand.
const Tokenizer& bytes() {
  static const auto tokenizer = make_tokenizer(byte_vocabulary({}));
  return *tokenizer;
}

struct Part {
  std::string text;
  std::size_t n_tokens = 0;
};

// Parts of the text, checked: they cover it, and none is empty or too long.
std::vector<Part> parts_of(std::string_view text, const Tokenizer& tokenizer,
                           std::size_t n_tokens_max) {
  const auto parts = split_document(text, tokenizer, n_tokens_max);
  if (!parts.ok()) {
    ADD_FAILURE() << parts.error().message;
    return {};
  }
  std::vector<Part> copies;
  const char* at = text.data();
  for (const DocumentPart& part : *parts) {
    EXPECT_EQ(part.text.data(), at);
    EXPECT_FALSE(part.text.empty());
    EXPECT_EQ(part.n_tokens, ids(tokenizer, part.text).size());
    EXPECT_LE(part.n_tokens, n_tokens_max);
    at += part.text.size();
    copies.push_back({std::string(part.text), part.n_tokens});
  }
  EXPECT_EQ(at, text.data() + text.size());
  return copies;
}

std::vector<std::string> texts_of(const std::vector<Part>& parts) {
  std::vector<std::string> texts;
  for (const Part& part : parts) texts.push_back(part.text);
  return texts;
}

std::size_t least_of(const std::vector<Part>& parts) {
  std::size_t least = parts.empty() ? 0 : parts[0].n_tokens;
  for (const Part& part : parts) least = std::min(least, part.n_tokens);
  return least;
}

std::string repeated(std::string_view text, std::size_t n) {
  std::string out;
  while (n-- > 0) out += text;
  return out;
}

// The best border before each byte, as a digit: 0 a paragraph … 4 a character, - none.
std::string borders(std::string_view text) {
  std::string found;
  for (std::size_t at = 1; at < text.size(); ++at) {
    int best = 5;
    for (int kind = 4; kind >= 0; --kind)
      if (is_border(text, at, static_cast<Border>(kind))) best = kind;
    found += best == 5 ? '-' : static_cast<char>('0' + best);
  }
  return found;
}

TEST(DocumentParts, of_a_long_text_are_none_once_it_is_stopped) {
  std::stop_source stop;
  stop.request_stop();
  const std::string text(kKeptBytes + 1000, 'a');
  const auto parts = split_document(text, bytes(), 4096, stop.get_token());
  ASSERT_FALSE(parts.ok());
  EXPECT_EQ(parts.error().code, "STOPPED");
  EXPECT_TRUE(split_document(text.substr(1000), bytes(), 4096, stop.get_token()).ok());
}

TEST(TextBorders, each_kind_is_recognised) {
  EXPECT_EQ(borders("ab cd"), "4344");
  EXPECT_EQ(borders("a. b"), "424");
  EXPECT_EQ(borders("3.5 a.m"), "443444");
  EXPECT_EQ(borders("a.\") b"), "44424");
  EXPECT_EQ(borders("a\nb"), "31");
  EXPECT_EQ(borders("a\n\nb"), "310");
  EXPECT_EQ(borders("a\n \t\n\n\nb"), "3133110");
}

TEST(TextBorders, a_cr_lf_is_one_line_end) {
  EXPECT_EQ(borders("a\r\nb"), "3-1");
  EXPECT_EQ(borders("a\r\n\r\nb"), "3-1-0");
  EXPECT_EQ(borders("a\rb"), "31");
  EXPECT_EQ(borders("a\r\rb"), "310");
}

TEST(TextBorders, a_character_is_never_cut) {
  EXPECT_EQ(borders("ä€😀x"), "-4--4---4");
  EXPECT_EQ(borders("高い。」は"), "--4--4--4--2--");
}

TEST(TextBorders, bytes_that_are_no_character_can_be_cut_apart) {
  EXPECT_EQ(borders("\x80\x80\x80\x80\x80"), "4444");
  EXPECT_EQ(borders("\xF0\x80\x80\x80"), "444");
  EXPECT_EQ(borders("\xF0\x80\xE2\x82\x80\xE2\x82"), "44--4-");
}

TEST(DocumentParts, an_empty_text_has_none_and_a_text_that_fits_is_one) {
  EXPECT_THAT(parts_of("", bytes(), 8), IsEmpty());
  EXPECT_THAT(texts_of(parts_of("a", bytes(), 8)), ElementsAre("a"));
  EXPECT_THAT(texts_of(parts_of("a\n\nb c. d", bytes(), 9)), ElementsAre("a\n\nb c. d"));
  EXPECT_EQ(parts_of("a\n\nb c. de", bytes(), 9).size(), 2u);
}

TEST(DocumentParts, the_best_border_near_the_middle_is_taken) {
  const auto first = [](std::string_view text) {
    const auto parts = parts_of(text, bytes(), 24);
    return parts.size() == 2 ? parts[0].text : "not two parts";
  };
  EXPECT_EQ(first("aaaaaaaaaa\n\nbb bb. bb bb\nbbbbbb"), "aaaaaaaaaa\n\n");
  EXPECT_EQ(first("aaaaaaaaaa\nbbb bb. bb bbbbbbbb"), "aaaaaaaaaa\n");
  EXPECT_EQ(first("aaaaaaaaaaaa. bb bb bb bbbbbb"), "aaaaaaaaaaaa.");
  EXPECT_EQ(first("aaaaaaaaaaaaaaa bbb bbbbbbbbb"), "aaaaaaaaaaaaaaa");
  EXPECT_EQ(first("aaaaaaaaaaaaaaaaaaaaaaaaaaaa"), "aaaaaaaaaaaaaa");
}

TEST(DocumentParts, a_paragraph_far_from_the_middle_does_not_unbalance) {
  const std::string text = "a\n\n" + std::string(60, 'b');
  const auto parts = parts_of(text, bytes(), 40);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_GE(least_of(parts), 20u);
}

TEST(DocumentParts, there_is_no_small_last_part) {
  for (const std::size_t size : {101u, 112u, 199u, 201u, 350u, 1001u}) {
    const std::string text = repeated("word ", size / 5) + std::string(size % 5, 'x');
    EXPECT_GE(least_of(parts_of(text, bytes(), 100)), 33u) << size;
  }
}

TEST(DocumentParts, line_ends_of_windows_stay_whole) {
  const auto parts = parts_of(repeated("some words here\r\n\r\n", 400), bytes(), 200);
  ASSERT_GT(parts.size(), 30u);
  for (const Part& part : parts) EXPECT_TRUE(part.text.ends_with("\r\n\r\n"));
  for (const Part& part : parts_of(repeated("\r\n", 500), bytes(), 9))
    EXPECT_TRUE(part.text.starts_with('\r') && part.text.ends_with('\n'));
}

TEST(DocumentParts, text_without_spaces_is_cut_behind_sentences_and_between_characters) {
  for (const Part& part : parts_of(repeated("東京は高い。", 300), bytes(), 200))
    EXPECT_TRUE(part.text.ends_with("。")) << part.text;
  const auto parts = parts_of(repeated("高", 1000), bytes(), 100);
  EXPECT_GE(parts.size(), 31u);  // 33 characters of three bytes
  for (const Part& part : parts) EXPECT_TRUE(is_utf8(part.text));
}

TEST(DocumentParts, one_huge_word_is_cut_evenly) {
  const auto parts = parts_of(std::string(100'000, 'x'), bytes(), 1000);
  EXPECT_LE(parts.size(), 101u);
  EXPECT_GE(least_of(parts), 900u);
}

TEST(DocumentParts, a_thousand_parts_are_alike) {
  const std::string text = repeated("The potter swept the yard. ", 4000);
  const auto parts = parts_of(text, bytes(), 108);
  EXPECT_GE(parts.size(), 1000u);
  EXPECT_GE(least_of(parts), 54u);
}

// As dense as no estimate expects: few bytes a token, then many.
TEST(DocumentParts, parts_fit_where_the_tokens_lie_unevenly) {
  std::vector<std::string> pieces = {std::string("\u2581")};
  for (std::string run = "x"; run.size() <= 512; run += run) pieces.push_back(run);
  const auto tokenizer = make_tokenizer(sentencepiece_vocabulary(pieces));
  ASSERT_TRUE(tokenizer);
  std::string text;
  for (int i = 0; i < 20; ++i) text += std::string(1000, 'x') + repeated("ä", 300);
  for (const std::size_t n_tokens_max : {kPartTokensLeast, std::size_t{37}, std::size_t{500}})
    EXPECT_GT(parts_of(text, *tokenizer, n_tokens_max).size(), 20u);
  EXPECT_EQ(parts_of(std::string(4096, 'x'), *tokenizer, 9).size(), 1u);  // long pieces: it fits
}

TEST(DocumentParts, any_bytes_are_covered_at_the_smallest_size) {
  Rng rng(7);
  constexpr std::string_view kSome[] = {"a",      " ",          "\n",   "\r",   ".",
                                        "\xF0",   "\x80",       "\xC3", "\xED", "\xA0",
                                        "\u00e4", "\U0001F600", "\r\n"};
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (int i = 0; i < 60; ++i)
      text += kSome[static_cast<std::size_t>(rng.uniform() * std::size(kSome))];
    EXPECT_GT(parts_of(text, bytes(), kPartTokensLeast).size(), 5u);
  }
}

TEST(DocumentParts, parts_of_the_bundled_models_tokens_are_near_one_size) {
  const auto tokenizer = open_tokenizer(test::kBundledModel);
  ASSERT_TRUE(tokenizer);
  std::string text;
  for (int i = 0; i < 600; ++i) {
    text += "Igor Sandoval came back with ink, apples and " + std::to_string(i) + " nails. ";
    if (i % 7 == 6) text += "\n\n";
  }
  const auto parts = parts_of(text, *tokenizer, 500);
  ASSERT_GT(parts.size(), 10u);
  EXPECT_GE(least_of(parts), 250u);
  for (std::size_t i = 0; i + 1 < parts.size(); ++i)
    EXPECT_TRUE(parts[i].text.ends_with("\n\n")) << i;
}

}  // namespace
}  // namespace satchel::runtime
