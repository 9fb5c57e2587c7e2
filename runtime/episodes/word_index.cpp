#include "runtime/episodes/word_index.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "runtime/episodes/word_frequency.h"
#include "runtime/tokenizer/words.h"

namespace satchel::runtime {
namespace {

// The defaults of Lucene's BM25Similarity and of SQLite's FTS5.
constexpr double kK1 = 1.2, kB = 0.75;

// How much it says that a text has a word which n_having of n_all texts have.
double inverse_frequency(std::size_t n_having, std::size_t n_all) {
  const double having = static_cast<double>(n_having), all = static_cast<double>(n_all);
  return std::log1p((all - having + 0.5) / (having + 0.5));
}

// The words, and each with the one before it. A person has a first and a last name, and others
// have one of them; a blank stands in no word.
using TermFn = std::function<void(std::string_view term)>;
void for_each_term(std::string_view text, const TermFn& each) {
  std::string before, pair;
  for_each_word(text, [&](std::string_view word) {
    each(word);
    if (!before.empty()) each(pair.assign(before).append(1, ' ').append(word));
    before = word;
  });
}

// In the order of the text, so that sums have one order.
std::vector<std::string> different_terms(std::string_view text) {
  std::unordered_set<std::string> seen;
  std::vector<std::string> terms;
  for_each_term(text, [&](std::string_view term) {
    if (seen.emplace(term).second) terms.emplace_back(term);
  });
  return terms;
}

}  // namespace

double confidence(std::span<const Ranked> best_first) {
  if (best_first.empty()) return 0;
  if (best_first.size() == 1) return 1;
  return (best_first[0].score - best_first[1].score) / best_first[0].score;
}

void WordIndex::add(std::string_view text) {
  n_words_.push_back(0);  // first: no posting names an episode that is not there
  for_each_term(text, [this](std::string_view term) { add_term(term); });
}

void WordIndex::add_term(std::string_view term) {
  auto found = postings_.find(term);
  if (found == postings_.end()) found = postings_.try_emplace(std::string(term)).first;
  std::vector<Posting>& postings = found->second;
  const auto episode = static_cast<std::uint32_t>(size() - 1);
  if (postings.empty() || postings.back().episode != episode) postings.push_back({episode, 0});
  ++postings.back().count;
  ++n_words_.back();
  ++n_words_sum_;
}

void WordIndex::truncate(std::size_t n_episodes) {
  if (n_episodes >= size()) return;
  for (auto& [word, postings] : postings_)
    while (!postings.empty() && postings.back().episode >= n_episodes) postings.pop_back();
  std::erase_if(postings_, [](const auto& word) { return word.second.empty(); });
  n_words_.resize(n_episodes);
  n_words_sum_ = std::accumulate(n_words_.begin(), n_words_.end(), std::uint64_t{0});
}

double WordIndex::n_words_mean() const {
  return static_cast<double>(n_words_sum_) / static_cast<double>(std::max<std::size_t>(1, size()));
}

void WordIndex::add_scores(std::span<const Posting> postings, double weight,
                           std::span<double> scores) const {
  weight *= inverse_frequency(postings.size(), size());
  const double mean = n_words_mean();
  for (const Posting& posting : postings) {
    const double count = posting.count, n_words = n_words_[posting.episode];
    const double length = 1 - kB + kB * n_words / mean;
    scores[posting.episode] += weight * count * (kK1 + 1) / (count + kK1 * length);
  }
}

std::vector<Ranked> WordIndex::rank(std::string_view question) const {
  return rank_weighted(question, [](std::string_view) { return 1.0; });
}

std::vector<Ranked> WordIndex::rank(std::string_view question, const Tokenizer& tokenizer) const {
  const double mean = n_words_mean();
  const auto of_word = [&](std::string_view word) {
    return std::log1p(1 / (mean * word_frequency(word, tokenizer)));
  };
  return rank_weighted(question, [&](std::string_view term) {
    const std::size_t blank = term.find(' ');
    if (blank == std::string_view::npos) return of_word(term);
    return of_word(term.substr(0, blank)) + of_word(term.substr(blank + 1));
  });
}

std::vector<Ranked> WordIndex::rank_weighted(std::string_view question,
                                             const WeightFn& weight) const {
  std::vector<double> scores(size(), 0.0);
  for (const std::string& term : different_terms(question))
    if (const auto found = postings_.find(term); found != postings_.end())
      add_scores(found->second, weight(term), scores);

  std::vector<Ranked> ranked;
  for (std::size_t episode = 0; episode < scores.size(); ++episode)
    if (scores[episode] > 0) ranked.push_back({episode, scores[episode]});
  std::sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return a.score != b.score ? a.score > b.score : a.episode > b.episode;
  });
  return ranked;
}

}  // namespace satchel::runtime
