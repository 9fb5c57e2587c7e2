// Backend::score and logsumexp: what to queue, in which order, and its workspace. Reused between
// calls, so that a repeated call does not allocate.
#pragma once

#include <span>
#include <vector>

#include "kernels/cuda/attention/prefill_plan.h"
#include "kernels/cuda/device/op_context.h"
#include "kernels/cuda/lanes/lane_sources.h"
#include "kernels/cuda/scoring/score_prompt.h"

namespace satchel::kernels::cuda {

class Scoring {
 public:
  Result<void> score(const OpContext& at, std::span<const ScoreArgs> items);
  Result<void> logsumexp(const OpContext& at, std::span<const LogSumExpArgs> items);
  std::size_t bytes() const { return lanes_.bytes(); }

 private:
  void clear();
  void add(const ScoreArgs& args, std::size_t head_dim);
  void add_prompt(const ScoreItem& item, std::size_t first_source);
  void add_tiles(std::size_t first_source, unsigned item, unsigned n_keys);
  std::size_t place(std::byte* at);

  LaneSources lanes_;
  std::vector<ScoreItem> scores_;
  std::vector<PromptScoreItem> prompts_;
  // Tiles of fp16 rows, of what is decoded, and of prompts.
  std::vector<KeyTile> halves_, pages_, of_prompts_;
  PromptScoreShape prompt_shape_;
  PrefillPlan rows_;
};

}  // namespace satchel::kernels::cuda
