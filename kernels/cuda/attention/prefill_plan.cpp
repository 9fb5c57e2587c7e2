#include "kernels/cuda/attention/prefill_plan.h"

#include <algorithm>

#include "kernels/base/assert.h"
#include "kernels/cuda/device/workspace_layout.h"
#include "kernels/cuda/primitives/ceil_div.h"

namespace satchel::kernels::cuda {
namespace {

// Chosen, not measured: blocks that a lane's rows should be, and the least that a split is worth.
constexpr std::size_t kBlocksOfLane = 32;
constexpr std::size_t kSplitTokens = 512;

}  // namespace

void PrefillPlan::clear() {
  items_.clear();
  tiles_.clear();
  shape_ = {};
}

void PrefillPlan::add(RowsItem item, const LaneSources& lanes, std::size_t first_source) {
  const std::size_t d = item.rows.head_dim;
  SATCHEL_ASSERT(shape_.head_dim == 0 || shape_.head_dim == d);
  const unsigned n_keys = tile_keys_of_rows(d);
  item.first_tile = static_cast<unsigned>(tiles_.size());
  shape_.has_values = item.out != nullptr;
  for (std::size_t s = first_source; s < lanes.sources().size(); ++s) {
    const TokenSource& source = lanes.sources()[s];
    shape_.has_pages |=
        source.k_form != RowForm::halves || (shape_.has_values && source.v_form != RowForm::halves);
    for (unsigned first = 0; first < source.n_tokens; first += n_keys)
      tiles_.push_back({.source = static_cast<unsigned>(s), .first = first});
  }
  item.n_tiles = static_cast<unsigned>(tiles_.size()) - item.first_tile;
  const std::size_t n_blocks = blocks_of(item.n_rows(), kRowsOfBlock);
  const std::size_t n_most = blocks_of(item.n_tiles, kSplitTokens / n_keys);
  const std::size_t n_splits =
      std::clamp<std::size_t>(kBlocksOfLane / n_blocks, 1, std::max<std::size_t>(n_most, 1));
  item.tiles_of_split = blocks_of(item.n_tiles, n_splits);
  item.n_splits = static_cast<unsigned>(n_splits);
  shape_.head_dim = d;
  shape_.n_items = items_.size() + 1;
  shape_.n_rows_max = std::max(shape_.n_rows_max, item.n_rows());
  shape_.n_splits_max = std::max(shape_.n_splits_max, n_splits);
  items_.push_back(item);
}

// Gives the items places for the partial results of their splits; the bytes that these take.
std::size_t PrefillPlan::place(std::byte* at) {
  WorkspaceLayout places(at);
  for (RowsItem& item : items_) {
    if (item.n_splits == 1) continue;
    const std::size_t n = item.n_splits * item.n_rows();
    item.sums = places.take<RowSum>(n);
    if (item.out != nullptr) item.parts = places.take<float>(n * item.rows.head_dim);
  }
  return places.n_bytes();
}

Result<void> PrefillPlan::run(const OpContext& at, LaneSources& lanes,
                              std::span<const float> sink_logits) {
  if (items_.empty()) return {};
  shape_.shared_bytes = at.device.shared_bytes_max();
  SATCHEL_TRY(lanes.decode(at, shape_.has_values));
  SATCHEL_TRY_ASSIGN(float* const rotations,
                     take_workspace(at, lanes, [&](std::byte* to) { return place(to); }));
  SATCHEL_TRY_ASSIGN(
      const auto there,
      at.arguments.put(std::span<const RowsItem>(items_), std::span<const KeyTile>(tiles_),
                       lanes.sources(), lanes.plans(), lanes.shifts(), lanes.frequencies(),
                       sink_logits));
  const auto [items, tiles, sources, plans, shifts, frequencies, sinks] = there;
  SATCHEL_TRY(make_rotations(at, lanes, shifts, frequencies, rotations));
  const RowsCall call{
      {.items = items, .tiles = tiles, .sources = sources, .plans = plans, .rotations = rotations},
      sink_logits.empty() ? nullptr : sinks};
  return at.check(attend_prefill(at.queue(), call, shape_));
}

}  // namespace satchel::kernels::cuda
