// Sampler: chooses the next token. A seed gives the same tokens on every machine.
//   order    repetition penalty -> temperature -> top-k -> top-p -> min-p -> draw; temperature 0 is
//            greedy (argmax after the penalty; ties to the lower id)
//   errors   invalid, PARAM: names the field, its value and its range
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/result.h"
#include "kernels/base/rng.h"
#include "runtime/sampler/token_filter.h"

namespace satchel::runtime {

class Grammar;

// How an answer is sampled, and when it ends. All programs share these defaults.
struct Sampling {
  double temperature = 0;  // 0 … 2; 0 = greedy
  std::size_t top_k = 40;  // 0 = all
  double top_p = 0.95;     // (0, 1]; 1 = off
  double min_p = 0.05;     // [0, 1); 0 = off
  // [1, 2]; 1 = off; over the last repetition_window tokens (Keskar et al., arXiv:1909.05858).
  // Small models loop if they always take the likeliest token. Without a penalty SmolLM2-135M
  // filled its context with one sentence; with 1.1 it ended (tried on one document). The bundled
  // model gave 79 of 80 right answers about held-out notes with it, 78 without.
  double repetition_penalty = 1.1;
  std::size_t repetition_window = 64;
  std::uint64_t seed = 0;
  // 0: until the end of the turn or of the context. Chosen: about 700 words.
  std::size_t n_tokens_max = 1024;
  bool drafts = true;  // tries several tokens in a step (LookupDrafts); the answer is the same
  // Likewise where the text gives none: what the model says from so many pages of each lane
  // (SelfDrafts); 0: none. Pays only where steps take their time from the cache, not the weights.
  std::size_t self_draft_pages = 0;
  bool ends_loops = true;  // stops an answer that repeats itself (RepetitionDetector)
  // The answer ends before the first of these texts, its thoughts not counted: they are not shown
  // and not part of it.
  std::vector<std::string> stops = {};
  // What the answer must be, its thoughts not counted, and where it ends; none: any text.
  std::shared_ptr<const Grammar> grammar = nullptr;

  // Greedy, without any penalty: for measurements.
  static Sampling plain_greedy(std::size_t n_tokens_max) {
    return {.repetition_penalty = 1, .n_tokens_max = n_tokens_max, .ends_loops = false};
  }
};
Result<void> check(const Sampling& sampling);

class Sampler {
 public:
  explicit Sampler(const Sampling& sampling) : sampling_(sampling), rng_(sampling.seed) {}
  // logits [n_vocabulary], in main memory, modified in place; recent: the last tokens, newest last.
  std::int32_t choose(std::span<float> logits, std::span<const std::int32_t> recent);
  // Of those that the filter allows; none: it allows none. The same as if all others had never been
  // there: drawing, it masks first, so that shares, top-k and top-p are of what is allowed. Greedy,
  // it asks about the likeliest alone, and masks if that is refused.
  std::optional<std::int32_t> choose(std::span<float> logits, std::span<const std::int32_t> recent,
                                     TokenFilter& filter);
  // Of the last tokens, those that count.
  std::size_t n_recent() const { return sampling_.repetition_window; }

 private:
  struct Candidate {
    std::int32_t id;
    float logit;
  };
  void penalise(std::span<float> logits, std::span<const std::int32_t> recent) const;
  std::int32_t draw_from(std::span<const float> logits);
  void rank(std::span<const float> logits);
  void cut_tail();
  std::int32_t draw();
  Sampling sampling_;
  Rng rng_;
  std::vector<Candidate> candidates_;
  std::vector<double> weights_;  // of the first candidates, those that may be drawn
};

}  // namespace satchel::runtime
