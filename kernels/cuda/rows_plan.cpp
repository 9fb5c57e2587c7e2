#include "kernels/cuda/rows_plan.h"

#include <algorithm>

#include "kernels/base/assert.h"
#include "kernels/cuda/counts.h"
#include "kernels/cuda/places.h"

namespace satchel::kernels::cuda {
namespace {

// Chosen, not measured: blocks that a lane's rows should be, and the least that a slice is worth.
constexpr std::size_t kBlocksOfLane = 32;
constexpr std::size_t kSliceTokens = 512;

}  // namespace

void RowsPlan::clear() {
  items_.clear();
  tiles_.clear();
  shape_ = {};
}

void RowsPlan::add(RowsItem item, const LaneSources& lanes, std::size_t first_source) {
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
  const std::size_t n_most = blocks_of(item.n_tiles, kSliceTokens / n_keys);
  const std::size_t n_slices =
      std::clamp<std::size_t>(kBlocksOfLane / n_blocks, 1, std::max<std::size_t>(n_most, 1));
  item.tiles_of_slice = blocks_of(item.n_tiles, n_slices);
  item.n_slices = static_cast<unsigned>(n_slices);
  shape_.head_dim = d;
  shape_.n_items = items_.size() + 1;
  shape_.n_rows_max = std::max(shape_.n_rows_max, item.n_rows());
  shape_.n_slices_max = std::max(shape_.n_slices_max, n_slices);
  items_.push_back(item);
}

// Gives the items room for the parts of slices; the bytes that they take.
std::size_t RowsPlan::place(std::byte* at) {
  Places places(at);
  for (RowsItem& item : items_) {
    if (item.n_slices == 1) continue;
    const std::size_t n = item.n_slices * item.n_rows();
    item.sums = places.take<RowSum>(n);
    if (item.out != nullptr) item.parts = places.take<float>(n * item.rows.head_dim);
  }
  return places.n_bytes();
}

Result<void> RowsPlan::run(const Workplace& at, LaneSources& lanes) {
  if (items_.empty()) return {};
  SATCHEL_TRY(lanes.decode(at, shape_.has_values));
  SATCHEL_TRY_ASSIGN(float* const rotations,
                     take_room(at, lanes, [&](std::byte* to) { return place(to); }));
  SATCHEL_TRY_ASSIGN(
      const auto there,
      at.arguments.put(std::span<const RowsItem>(items_), std::span<const KeyTile>(tiles_),
                       lanes.sources(), lanes.plans(), lanes.shifts()));
  const auto [items, tiles, sources, plans, shifts] = there;
  SATCHEL_TRY(make_rotations(at, lanes, shifts, rotations));
  const RowsCall call{
      .items = items, .tiles = tiles, .sources = sources, .plans = plans, .rotations = rotations};
  return at.check(attend_many(at.queue(), call, shape_));
}

}  // namespace satchel::kernels::cuda
