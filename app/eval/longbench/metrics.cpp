#include "app/eval/longbench/metrics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "app/eval/longbench/text.h"

namespace satchel::eval::longbench {
namespace {

constexpr std::u32string_view kArticles[] = {U"a", U"an", U"the"};

// Articles give way to a blank where a word border stands on either side of them.
std::u32string without_articles(std::u32string_view text) {
  std::u32string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_word_part(text[end])) ++end;
    const std::u32string_view word = text.substr(at, end - at);
    if (std::ranges::find(kArticles, word) != std::end(kArticles))
      out += U' ';
    else
      out += word;
    if (end < text.size()) out += text[end++];
    at = end;
  }
  return out;
}

std::vector<Word> answer_words(std::string_view text) {
  std::u32string plain;
  for (const char32_t c : code_points(text))
    if (!is_ascii_punctuation(c)) plain += to_lower(c);
  return words_of(without_articles(plain));
}

std::vector<Word> chinese_answer_words(std::string_view text) {
  std::vector<Word> words = characters_of(code_points(text));
  for (Word& word : words) {
    std::erase_if(word,
                  [](char32_t c) { return is_ascii_punctuation(c) || is_chinese_punctuation(c); });
    std::ranges::transform(word, word.begin(), to_lower);
  }
  std::erase_if(words, [](const Word& word) { return word.empty(); });
  return words;
}

double f1_of(const std::vector<Word>& said, const std::vector<Word>& truth) {
  std::map<Word, std::size_t> left;
  for (const Word& word : truth) ++left[word];
  double n_same = 0;
  for (const Word& word : said) {
    const auto found = left.find(word);
    if (found == left.end() || found->second == 0) continue;
    --found->second;
    ++n_same;
  }
  if (n_same == 0) return 0;
  const double precision = n_same / static_cast<double>(said.size());
  const double recall = n_same / static_cast<double>(truth.size());
  return 2 * precision * recall / (precision + recall);
}

// Characters with blanks between them, for a metric that looks for blanks.
std::u32string spread(std::string_view text) {
  std::u32string out;
  for (const Word& word : characters_of(code_points(text))) out += word + U' ';
  return out;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Runs of digits, as they are written.
std::vector<std::string_view> numbers_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// The number right after the first `name` that has one.
std::string_view number_after(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const std::string_view rest = text.substr(at + name.size());
    if (!rest.empty() && is_digit(rest[0])) return numbers_of(rest)[0];
  }
  return {};
}

double share_of_numbers(std::string_view said, std::string_view right) {
  const std::vector<std::string_view> numbers = numbers_of(said);
  if (numbers.empty()) return 0;
  const auto n_right = std::ranges::count(numbers, right);
  return static_cast<double>(n_right) / static_cast<double>(numbers.size());
}

std::string_view first_code_line(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
  while (true) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (is_code(line)) return line;
    if (line.size() == text.size()) return {};
    text.remove_prefix(line.size() + 1);
  }
}

}  // namespace

double f1(std::string_view said, std::string_view truth) {
  return f1_of(answer_words(said), answer_words(truth));
}

double f1_chinese(std::string_view said, std::string_view truth) {
  return f1_of(chinese_answer_words(said), chinese_answer_words(truth));
}

double rouge_l(std::string_view said, std::string_view truth) {
  return rouge_l_f(sentences_of(code_points(said)), sentences_of(code_points(truth)));
}

double rouge_l_chinese(std::string_view said, std::string_view truth) {
  return rouge_l_f(sentences_of(spread(said)), sentences_of(spread(truth)));
}

double classification(std::string_view said, std::string_view truth,
                      std::span<const std::string> classes) {
  std::vector<std::string_view> named;
  for (const std::string& name : classes)
    if (said.find(name) != said.npos) named.push_back(name);
  // What moves up into a place that was just emptied is not looked at: so does the published code.
  for (std::size_t i = 0; i < named.size(); ++i) {
    const std::string_view name = named[i];
    if (name != truth && truth.find(name) != truth.npos)
      named.erase(std::ranges::find(named, name));
  }
  const bool right = std::ranges::find(named, truth) != named.end();
  return right ? 1 / static_cast<double>(named.size()) : 0;
}

double count(std::string_view said, std::string_view truth) {
  return share_of_numbers(said, truth);
}

double retrieval(std::string_view said, std::string_view truth) {
  const std::string_view right = number_after(truth, "Paragraph ");
  return right.empty() ? 0 : share_of_numbers(said, right);
}

double retrieval_chinese(std::string_view said, std::string_view truth) {
  const std::string_view right = number_after(truth, "段落");
  return right.empty() ? 0 : share_of_numbers(said, right);
}

bool is_code(std::string_view line) {
  return line.find_first_of("`#") == line.npos && line.find("//") == line.npos;
}

double code_similarity(std::string_view said, std::string_view truth) {
  const std::u32string line = code_points(first_code_line(said)), right = code_points(truth);
  if (line == right) return 1;
  if (line.empty() || right.empty()) return 0;
  // Halves go to the even hundredth, as Python rounds.
  return std::nearbyint(100 * matching_ratio(line, right)) / 100;
}

}  // namespace satchel::eval::longbench
