// SelfDrafts: what the model says next where it reads only a part of its cache: sinks, the newest
// tokens, and of each lane the pages that had most attention not long ago. Where a step takes its
// time from a long cache, not from weights, such tokens are cheaper than they save (TriForce's
// retrieval draft, without the small model that drafts for it there).
//   draws   with the random numbers with which the answer will be drawn: near distributions give
//           the same token
//   needs   Cache::step_room() for all tokens of the step
//   memory  none beside the arena but the choice: 8 bytes a page and lane
//   source  arXiv:2404.11912
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/model/model.h"
#include "runtime/sampler/draft_pace.h"
#include "runtime/sampler/sampler.h"

namespace satchel::runtime {

// What a step of an answer is drafted from.
struct DraftRequest {
  Model& model;
  kvcache::Cache& cache;
  const Sampler& sampler;              // that will choose what follows the text
  std::span<const std::int32_t> text;  // its newest token is decided, and not in the cache
  std::span<float> logits;             // [n_vocabulary] to work in
  std::size_t n_most = 0;
};

class SelfDrafts {
 public:
  static constexpr std::size_t kRetrySteps = 128;   // chosen: tries take some 2 % of the time
  static constexpr std::size_t kChoiceTokens = 32;  // between two choices of pages; chosen

  // always 0: as many as pay. Else so many, whether they pay or not: for measurements.
  SelfDrafts(std::size_t n_pages, std::size_t always) : n_pages_(n_pages), always_(always) {}
  // Puts tokens that may follow behind ids, whose last one is the newest of the text. None: none
  // would pay, or memory or the model failed, which the step itself then says.
  void draft(const DraftRequest& request, std::vector<std::int32_t>& ids);
  // Before a step of the whole cache. Whether it will take longer, since it chooses pages.
  bool begin_step(kvcache::Cache& cache);
  void took(double ms, const DraftCounts& step) { pace_.took(ms, step); }
  const DraftCounts& counts() const { return pace_.counts(); }

 private:
  // Of a text of less than twice as many pages, drafts read too much.
  bool is_long_enough(const kvcache::Cache& cache) const;

  DraftPace pace_{kRetrySteps};
  std::size_t n_pages_, always_;
  bool tries_ = true;          // whether any were to be tried lately: else no choice is needed
  std::size_t chosen_at_ = 0;  // tokens in the cache when pages were chosen; 0: never
  std::vector<std::int32_t> recent_;
};

}  // namespace satchel::runtime
