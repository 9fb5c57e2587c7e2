// Which episodes an answer sees: by the question's words, or as they were named.
#include "runtime/session/past.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/episodes/answer_words.h"

namespace satchel::runtime {
namespace {

// An episode must match the words so well, compared with the best.
constexpr double kWordShare = 0.5;

// A long episode is seen in so many rows at most, side by side with itself.
constexpr std::size_t kRowsMost = 2;

}  // namespace

Result<void> Past::choose(std::span<const TokenId> question, const RepeatScript& script,
                          const std::stop_token& stop) {
  if (!goes_on() || parts_.cache->reach().is_all()) return {};
  const std::vector<IndexRange> all = episodes();
  const std::size_t n_zone = zone(question.size());
  std::vector<std::size_t> chosen;
  const std::size_t n_most = named_.empty() ? kEpisodesSeen : named_.size();
  std::vector<std::size_t> order = std::exchange(named_, {});
  std::erase_if(order, [&](std::size_t i) { return i >= all.size(); });  // named before
  index_words();
  is_chosen_by_words_ = std::ranges::any_of(
      question_words(question), [this](const auto& word) { return !words_.rank(word).empty(); });
  were_named_ = !order.empty();
  missing_.clear();
  if (order.empty()) order = is_chosen_by_words_ ? ranked(question) : newest();
  for (const std::size_t i : order)
    if (chosen.size() < n_most && all[i].size() <= kRowsMost * n_zone) chosen.push_back(i);
  std::ranges::sort(chosen);
  std::vector<IndexRange> seen;
  for (const std::size_t i : chosen) seen.push_back(all[i]);
  for (const IndexRange& episode : seen) seen_at_[episode.begin] = parts_.cache.n_tokens();
  const std::size_t near = parts_.cache->reach().near_first;
  const auto at_rest = [this](const IndexRange& episode) { return rests(episode); };
  if (std::ranges::any_of(seen, at_rest)) {
    SATCHEL_TRY(show_near());  // the others may rest
    for (const IndexRange& episode : seen) SATCHEL_TRY(bring_back(episode, script, stop));
    std::ranges::copy_if(chosen, std::back_inserter(missing_),
                         [&](std::size_t i) { return at_rest(all[i]); });
    std::erase_if(seen, at_rest);
  }
  return parts_.cache->edit().set_reach(reach_of(near, seen, n_zone));
}

Result<void> Past::name(std::vector<std::size_t> numbers) {
  const std::size_t n_all = episodes().size();
  for (const std::size_t number : numbers)
    if (number >= n_all)
      return Error{ErrorKind::invalid, "PARAM",
                   "There is no part " + std::to_string(number + 1) + ": this chat has " +
                       std::to_string(n_all) + " older parts."};
  std::ranges::sort(numbers);
  const auto again = std::ranges::unique(numbers);
  numbers.erase(again.begin(), again.end());
  named_ = std::move(numbers);
  return {};
}

// Without those that the template puts around it.
std::vector<std::string> Past::question_words(std::span<const TokenId> question) const {
  const Tokenizer& tokenizer = *parts_.engine.tokenizer;
  const auto frame = parts_.engine.chat_template->user_turn(tokenizer, "");
  const std::vector<std::string> around =
      telling_words(frame.ok() ? tokenizer.text(*frame) : "", tokenizer);
  std::vector<std::string> words = telling_words(tokenizer.text(question), tokenizer);
  std::erase_if(words, [&](const auto& word) { return std::ranges::binary_search(around, word); });
  return words;
}

void Past::index_words() {
  const std::vector<IndexRange> all = episodes();
  const auto same = std::ranges::mismatch(indexed_, all, [](const auto& a, const auto& b) {
    return a.begin == b.begin && a.end == b.end;
  });
  const auto n_same = static_cast<std::size_t>(same.in1 - indexed_.begin());
  indexed_.resize(n_same);
  words_.truncate(n_same);
  for (std::size_t i = n_same; i < all.size(); ++i) {
    words_.add(text_of(all[i]));
    indexed_.push_back(all[i]);
  }
}

// Those whose words match, the best first, as far as they match nearly as well as the best.
std::vector<std::size_t> Past::ranked(std::span<const TokenId> question) const {
  const Tokenizer& tokenizer = *parts_.engine.tokenizer;
  std::vector<std::size_t> order;
  const std::vector<Ranked> found = words_.rank(tokenizer.text(question), tokenizer);
  double best = 0;  // a question asked before matches its own words best, but may not be the answer
  for (const Ranked& one : found)
    if (indexed_[one.episode].size() >= kEpisodeTokens / 2) best = std::max(best, one.score);
  if (best == 0 && !found.empty()) best = found.front().score;
  for (const Ranked& one : found)
    if (one.score >= kWordShare * best) order.push_back(one.episode);
  return order;
}

// Nobody waits for text to be read that may have nothing to do with the question.
std::vector<std::size_t> Past::newest() const {
  std::vector<std::size_t> order;
  for (std::size_t i = indexed_.size(); i > 0; --i)
    if (!is_unread(indexed_[i - 1])) order.push_back(i - 1);
  return order;
}

}  // namespace satchel::runtime
