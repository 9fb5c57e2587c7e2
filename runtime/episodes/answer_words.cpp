#include "runtime/episodes/answer_words.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "runtime/episodes/word_frequency.h"
#include "runtime/tokenizer/words.h"

namespace satchel::runtime {
namespace {

using Words = std::set<std::string, std::less<>>;

// Chosen: of the bundled model's 2,048 pieces it is about the 800th. Names, colours and animals
// come later; "which", "keeps" and "notes" before.
constexpr double kTellingFrequency = 1.5e-4;

constexpr std::string_view kDenials[] = {"not say",     "n't say",  "not mention", "n't mention",
                                         "no mention",  "not know", "n't know",    "no information",
                                         "not provide", "not spec", "n't provide", "n't spec"};

bool is_telling(std::string_view word, const Tokenizer& tokenizer) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (std::ranges::any_of(word, is_digit)) return true;
  std::string begins_sentence(word);  // a small vocabulary may have "Which" and no "which"
  if (word.front() >= 'a' && word.front() <= 'z')
    begins_sentence.front() = static_cast<char>(word.front() - 'a' + 'A');
  return word_frequency(word, tokenizer) < kTellingFrequency &&
         word_frequency(begins_sentence, tokenizer) < kTellingFrequency;
}

Words words_of(std::string_view text) {
  Words words;
  for_each_word(text, [&](std::string_view word) { words.emplace(word); });
  return words;
}

Words telling_of(std::string_view text, const Tokenizer& tokenizer) {
  Words words = words_of(text);
  std::erase_if(words, [&](const std::string& word) { return !is_telling(word, tokenizer); });
  return words;
}

std::size_t n_common(const Words& some, const Words& others) {
  return static_cast<std::size_t>(
      std::ranges::count_if(some, [&](const std::string& word) { return others.contains(word); }));
}

// Of the words looked for, those that a text has.
struct Held {
  Words words;
  std::vector<Words> sentences;  // that have some
};

Held held_in(std::string_view text, const Words& looked_for) {
  Held held;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(".!?\n"), text.size() - 1) + 1;
    Words sentence;
    for_each_word(text.substr(0, end), [&](std::string_view word) {
      if (looked_for.contains(word)) sentence.emplace(word);
    });
    text.remove_prefix(end);
    if (sentence.empty()) continue;
    held.words.insert(sentence.begin(), sentence.end());
    held.sentences.push_back(std::move(sentence));
  }
  return held;
}

// The most words of the topic in a sentence with an own one.
std::size_t n_beside(const Held& held, const Words& own, const Words& topic) {
  std::size_t n = 0;
  for (const Words& sentence : held.sentences)
    if (n_common(own, sentence) > 0) n = std::max(n, n_common(topic, sentence));
  return n;
}

}  // namespace

std::vector<std::string> telling_words(std::string_view text, const Tokenizer& tokenizer) {
  const Words words = telling_of(text, tokenizer);
  return {words.begin(), words.end()};
}

bool denies(std::string_view answer) {
  std::string lowered;
  std::ranges::transform(answer, std::back_inserter(lowered), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (words_of(lowered).empty()) return true;
  return std::ranges::any_of(
      kDenials, [&](std::string_view denial) { return lowered.find(denial) != lowered.npos; });
}

std::vector<std::size_t> texts_quoted(const Answered& answered, std::span<const std::string> texts,
                                      const Tokenizer& tokenizer) {
  Words own = telling_of(answered.answer, tokenizer);
  const Words asked = words_of(answered.question), topic = telling_of(answered.question, tokenizer);
  std::erase_if(own, [&](const std::string& word) { return asked.contains(word); });
  if (own.empty()) return {};
  Words looked_for = own;
  looked_for.insert(topic.begin(), topic.end());
  std::vector<Held> held;
  for (const std::string& text : texts) held.push_back(held_in(text, looked_for));
  std::vector<std::size_t> quoted;
  for (std::size_t n_least = (own.size() + 2) / 3; !own.empty();) {
    std::pair<std::size_t, std::size_t> best;  // own words, the question's
    std::vector<std::size_t> equal;
    for (std::size_t i = 0; i < held.size(); ++i) {
      const std::pair found{n_common(own, held[i].words), n_beside(held[i], own, topic)};
      if (found > best) equal.clear();
      best = std::max(best, found);
      if (found == best) equal.push_back(i);
    }
    if (best.first < n_least) break;
    for (const std::size_t i : equal)
      std::erase_if(own, [&](const std::string& word) { return held[i].words.contains(word); });
    quoted.insert(quoted.end(), equal.begin(), equal.end());
    n_least = std::max(n_least, (best.first + 1) / 2);
  }
  std::ranges::sort(quoted);
  return quoted;
}

}  // namespace satchel::runtime
