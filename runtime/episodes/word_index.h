// WordIndex: ranks the episodes of a chat by the words of a question.
//   source   BM25: Robertson & Zaragoza, The Probabilistic Relevance Framework (2009), with the k1
//            and b of Lucene and of SQLite's FTS5; idf as in Lucene, which is never negative
//   terms    the words (runtime/tokenizer/words.h: any case, numbers are words, no stemming), and
//            each pair of neighbours: where names recur, a full name is told from its halves
//   differs  a term that stands twice in the question counts once. No list of stop words: what
//            stands in every episode has next to no weight. Of a few episodes their own statistics
//            say little; with a tokenizer each word's weight is also that of texts at large.
//   cost     add: linear in the text; rank: the occurrences of the question's words, and one number
//            per episode; truncate: the number of different words
//   threads  const calls from any thread
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace satchel::runtime {

class Tokenizer;

struct Ranked {
  std::size_t episode = 0;
  double score = 0;  // more than 0; comparable within one ranking only
};

// How clearly the first is ahead of the second: (s1 - s2) / s1, from 0 (level) to 1 (nothing else
// has a word of the question). 0 if nothing was found.
double confidence(std::span<const Ranked> best_first);

class WordIndex {
 public:
  // The text of the next episode.
  void add(std::string_view text);
  // Forgets all but the first n episodes.
  void truncate(std::size_t n_episodes);
  std::size_t size() const { return n_words_.size(); }

  // The episodes that share a word with the question, the best first; of equal ones the later
  // first.
  std::vector<Ranked> rank(std::string_view question) const;
  // Each word's weight times ln(1 + 1/x): x is how often an episode of the mean length would have
  // it, were it a text like any other (word_frequency.h).
  std::vector<Ranked> rank(std::string_view question, const Tokenizer& tokenizer) const;

 private:
  using WeightFn = std::function<double(std::string_view word)>;
  struct Posting {
    std::uint32_t episode = 0, count = 0;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const {
      return std::hash<std::string_view>()(word);
    }
  };

  void add_term(std::string_view term);
  double n_words_mean() const;
  std::vector<Ranked> rank_weighted(std::string_view question, const WeightFn& weight) const;
  // Adds what one word says, times `weight`, to the score of each episode it stands in.
  void add_scores(std::span<const Posting> postings, double weight, std::span<double> scores) const;

  // Of each term the episodes it stands in, in order.
  std::unordered_map<std::string, std::vector<Posting>, Hash, std::equal_to<>> postings_;
  std::vector<std::uint32_t> n_words_;  // terms [episodes]
  std::uint64_t n_words_sum_ = 0;
};

}  // namespace satchel::runtime
