// EpiCache: a chat as a few caches, one for each of its topics, to compare ours with.
//   source   arXiv:2509.17396
//   way      turns are grouped by topic (k-means); each group is read behind the system prompt with
//            its medoid turn once more at the end, whose queries choose what is kept (a recipe that
//            scores by the last tokens: snapkv). A question is answered with the cache of the
//            nearest topic alone.
//   differs  turns and questions are compared by their words (TF-IDF), not by a sentence encoder; a
//            turn is a segment; a group is read in one piece and then compressed, not block by
//            block; one that exceeds the context is parted again; every layer keeps the same share;
//            the medoid's copy stays, as far as the recipe's tail holds it
//   errors   MEMORY, CONTEXT_FULL (one turn does), cancelled/STOPPED, those of tokenizer and model
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "app/eval/chat_world/chat.h"
#include "app/eval/measure/packed_text.h"
#include "app/eval/measure/spoken.h"

namespace satchel::eval {

inline constexpr std::size_t kTopics = 4;  // as in the paper

// A text's words, each with its weight; of length 1, or empty.
using WordVector = std::unordered_map<std::string, double>;
// Vectors of texts: a word's count, times ln((1 + texts) / (1 + texts that have it)) + 1.
class WordVectors {
 public:
  explicit WordVectors(std::span<const std::string> texts);
  WordVector of(std::string_view text) const;

 private:
  std::unordered_map<std::string, std::size_t> n_texts_with_;
  std::size_t n_texts_;
};
// Texts that belong together, and what stands for them.
struct Topic {
  std::vector<std::size_t> members;  // rising, at least one
  std::size_t medoid = 0;            // of members: the one nearest to the centre
  WordVector centre;
};
// At most n of them, by k-means on the sphere; the same vectors give the same topics.
std::vector<Topic> topics_of(std::span<const WordVector> vectors, std::size_t n);

class EpiCache {
 public:
  // n_after: tokens of a question and its answer at most.
  static Result<EpiCache> read(runtime::Engine& engine, const kvcache::Recipe& recipe,
                               std::span<const ChatMessage> messages, std::size_t n_after,
                               std::stop_token stop);
  Result<Spoken> answer(const std::string& question, std::size_t n_tokens_max);
  kvcache::CacheStats stats() const;  // sums

 private:
  struct Episode {
    WordVector centre;
    PackedText text;
  };
  EpiCache(runtime::Engine& engine, WordVectors words)
      : engine_(&engine), words_(std::move(words)) {}

  runtime::Engine* engine_;
  WordVectors words_;
  std::vector<Episode> episodes_;
};

}  // namespace satchel::eval
