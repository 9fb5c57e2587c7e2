// Backend::score and log_sum: what is queued, in which order, and where it works. Kept from call to
// call, so that a call like one before takes nothing from the heap.
#pragma once

#include <span>
#include <vector>

#include "kernels/cuda/lane_sources.h"
#include "kernels/cuda/rows_plan.h"
#include "kernels/cuda/score.h"
#include "kernels/cuda/workplace.h"

namespace satchel::kernels::cuda {

class Scoring {
 public:
  Result<void> score(const Workplace& at, std::span<const ScoreArgs> items);
  Result<void> log_sum(const Workplace& at, std::span<const LogSumArgs> items);
  std::size_t bytes() const { return lanes_.bytes(); }

 private:
  void clear();
  void add(const ScoreArgs& args, std::size_t head_dim);
  void add_tiles(std::size_t first_source, unsigned item, unsigned n_keys);
  std::size_t place(std::byte* at);

  LaneSources lanes_;
  std::vector<ScoreItem> scores_;
  std::vector<KeyTile> halves_, pages_;  // tiles of fp16 rows, and of what is decoded
  RowsPlan rows_;
};

}  // namespace satchel::kernels::cuda
