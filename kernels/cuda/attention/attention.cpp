#include "kernels/cuda/attention/attention.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "kernels/base/assert.h"
#include "kernels/contract/transform.h"
#include "kernels/cuda/attention/operand_places.h"
#include "kernels/cuda/attention/prefill.h"
#include "kernels/cuda/primitives/ceil_div.h"

namespace satchel::kernels::cuda {
namespace {

// The number of blocks for one sequence's rows of a layer: what a large card holds at a time (132
// multiprocessors, four blocks each). Constant, so that lanes are split alike on every card.
constexpr std::size_t kSplitsOfLayer = 512;

unsigned run_units(const CudaLaneTable& table, std::size_t lane) {
  unsigned n = 0;
  for (const DeviceRun& run : table.runs(lane)) n += blocks_of(run.n_tokens, kUnitTokens);
  return n;
}

bool has_packed(const CudaLaneTable& table, std::size_t lane) {
  return std::ranges::any_of(table.pages(lane), [&](const DevicePage& page) {
    return table.plans()[page.plan].packed_kind != 0;
  });
}

// Cuts a lane into some n_most splits. Where warps take pages, they wait for no run, and all have
// as many pages.
void cut(AttendItem& item, unsigned n_runs, unsigned n_pages, std::size_t n_most, bool has_packed) {
  item.n_units = n_runs + n_pages;
  item.n_single = has_packed && 4 * n_runs <= n_most ? n_runs : 0;
  const unsigned n = item.n_units - item.n_single;
  const std::size_t n_splits = n_most > item.n_single + 1 ? n_most - item.n_single : 1;
  item.units_of_split = std::max(1u, blocks_of(n, n_splits));
  if (has_packed && item.units_of_split > kAttendWarps)
    item.units_of_split =
        static_cast<unsigned>((n / n_splits + kAttendWarps / 2) / kAttendWarps) * kAttendWarps;
  item.n_splits = std::max(1u, item.n_single + blocks_of(n, item.units_of_split));
}

std::size_t decoded_floats(unsigned head_dim) {
  return 2 * kPageTokens * head_dim;
}

// Raises key_bytes and value_bytes to the largest slices of a table's runs and pages.
void note_parts(const CudaLaneTable& table, AttendCall& call) {
  const unsigned d = call.head_dim;
  std::size_t most = std::size_t{call.run_slice_tokens} * row_stride(Form::halves, d);
  call.key_bytes = std::max(call.key_bytes, kPlacesBytes + most);
  call.value_bytes = std::max(call.value_bytes, most);
  for (const LanePlan& plan : table.plans()) {
    if (plan.page.head_dim != d) continue;  // of another layer
    call.has_packed = call.has_packed || plan.packed_kind != 0;
    most = part_bytes_of(plan, true);
    call.key_bytes = std::max(call.key_bytes, kPlacesBytes + (most + 15) / 16 * 16);
    call.value_bytes = std::max<std::size_t>(call.value_bytes, part_bytes_of(plan, false));
  }
}

// Beside packed pages, runs are a tail: they take no more shared memory than codes do, so that a
// multiprocessor has room for another block.
unsigned run_slice_tokens(std::span<const Sequence> sequences, unsigned head_dim) {
  const unsigned most = slice_tokens(Form::halves, head_dim);
  const auto has_codes_at = [&](const LanePlan& plan) {
    return plan.page.head_dim == head_dim && (has_codes(plan.k.form) || has_codes(plan.v.form));
  };
  for (const Sequence& sequence : sequences)
    if (std::ranges::any_of(CudaLaneTable::of(*sequence.lanes).plans(), has_codes_at))
      return std::max(16u, most / 2);
  return most;
}

}  // namespace

// Decode attention takes sequences whose rows fit one tile, or all if the card has too little
// shared memory for prefill. The choice depends on the sequence and the card, never on the rest of
// the call.
Result<void> Attention::attend(const AttendArgs& args, const Decode& decode) {
  SATCHEL_ASSERT(args.sink_logits.empty() || args.sink_logits.size() == args.n_heads);
  const std::size_t n_group = args.n_heads / args.n_kv_heads;
  const bool prefill_fits = prefill_shared_bytes(args.head_dim) <= device_->shared_bytes_max();
  decode_.clear();
  prefill_.clear();
  for (const Sequence& sequence : args.sequences)
    if (sequence.n_tokens > 0)
      (!prefill_fits || sequence.n_tokens * n_group <= kTileRowsMost ? decode_ : prefill_)
          .push_back(sequence);
  AttendArgs part = args;
  part.sequences = decode_;
  if (!decode_.empty()) SATCHEL_TRY(attend_decode(part, decode));
  part.sequences = prefill_;
  return prefill_.empty() ? Result<void>() : attend_prefill(part, decode);
}

Result<void> Attention::attend_prefill(const AttendArgs& args, const Decode& decode) {
  return prefill_rows_.attend({*device_, *arguments_, prefill_workspace_, decode}, args);
}

Result<void> Attention::attend_decode(const AttendArgs& args, const Decode& decode) {
  SATCHEL_ASSERT(args.n_kv_heads > 0 && args.n_heads % args.n_kv_heads == 0);
  SATCHEL_ASSERT(args.head_dim % 8 == 0 && args.head_dim <= kCudaHeadDimMax);
  const std::size_t block = hadamard_block(args.head_dim);
  AttendCall call{.q = args.q,
                  .positions = args.batch.positions,
                  .out = args.out,
                  .lse = args.lse,
                  .n_heads = static_cast<unsigned>(args.n_heads),
                  .n_group = static_cast<unsigned>(args.n_heads / args.n_kv_heads),
                  .head_dim = static_cast<unsigned>(args.head_dim),
                  .window = static_cast<unsigned>(std::min<std::size_t>(args.window, INT32_MAX)),
                  .scale = args.scale,
                  .soft_cap = args.soft_cap,
                  .pairs_are_adjacent = args.rope.pairs == RopePairs::adjacent,
                  .transform_norm = static_cast<float>(1 / std::sqrt(static_cast<double>(block))),
                  .hadamard_block = static_cast<unsigned>(block)};
  std::size_t n_rows_most = 0;
  bool has_shifts = false;
  call.run_slice_tokens = run_slice_tokens(args.sequences, call.head_dim);
  for (const Sequence& sequence : args.sequences) {
    const CudaLaneTable& table = CudaLaneTable::of(*sequence.lanes);
    note_parts(table, call);
    has_shifts = has_shifts || table.has_shifts();
    n_rows_most = std::max(n_rows_most, sequence.n_tokens * call.n_group);
  }
  // Results do not depend on the height of tiles: the call's rows and shared memory decide it.
  // Where warps take pages alone they do so in every tile.
  unsigned n_sets = n_rows_most <= kRowsOfSet ? 1 : n_rows_most <= 2 * kRowsOfSet ? 2 : 4;
  if (call.has_packed) n_sets = std::min(n_sets, kPackedSetsMost);
  const std::size_t shared_most = attend_shared_most(device_->shared_bytes_max());
  while (n_sets > 1 && attend_shared_bytes(call, n_sets) > shared_most) n_sets /= 2;

  items_.clear();
  tables_.clear();
  for (const Sequence& sequence : args.sequences) SATCHEL_TRY(add_sequence(args, sequence, n_sets));
  call.n_items = static_cast<unsigned>(items_.size());
  rotations_.clear();
  if (has_shifts)
    for (const double frequency : args.rope.inverse_frequency)
      rotations_.push_back(frequency / (2 * std::numbers::pi));
  call.n_pairs = static_cast<unsigned>(rotations_.size());
  return run_rounds(call, args.sink_logits, n_sets, decode);
}

// Adds the tiles of a sequence, lane by lane, and the splits of each lane.
Result<void> Attention::add_sequence(const AttendArgs& args, const Sequence& sequence,
                                     unsigned n_sets) {
  CudaLaneTable& table = CudaLaneTable::of(*sequence.lanes);
  SATCHEL_TRY_ASSIGN(const DeviceLanes lanes, table.send());
  const std::size_t n_rows = sequence.n_tokens * (args.n_heads / args.n_kv_heads);
  const std::size_t n_tiles = blocks_of(n_rows, kTileRowsMost);
  const std::size_t n_splits_max =
      std::max<std::size_t>(1, kSplitsOfLayer / (args.n_kv_heads * n_tiles));
  const unsigned n_rows_of_tile = n_sets * kRowsOfSet;
  for (std::size_t head = 0; head < args.n_kv_heads; ++head) {
    const std::size_t lane = sequence.first_lane + head;
    AttendItem item;
    item.lanes = lanes;
    item.lane = static_cast<unsigned>(lane);
    item.kv_head = static_cast<unsigned>(head);
    item.first_token = static_cast<unsigned>(sequence.first_token);
    const unsigned n_pages = static_cast<unsigned>(table.pages(lane).size());
    cut(item, run_units(table, lane), n_pages, n_splits_max, has_packed(table, lane));
    for (std::size_t row = 0; row < n_rows; row += n_rows_of_tile) {
      item.first_row = static_cast<unsigned>(row);
      item.n_rows = static_cast<unsigned>(std::min<std::size_t>(n_rows_of_tile, n_rows - row));
      items_.push_back(item);
      tables_.push_back(&table);
    }
  }
  return {};
}

// A place for each page of a table that has keys in a basis, whether it is one of them or not.
Result<void> Attention::place_basis_queries(AttendCall& call, unsigned n_sets) {
  n_basis_pages_most_ = 0;
  std::size_t n_places = 0;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (!tables_[i]->has_bases()) continue;
    const std::size_t n_pages = tables_[i]->pages(items_[i].lane).size();
    items_[i].first_basis_place = static_cast<unsigned>(n_places);
    n_places += n_pages;
    n_basis_pages_most_ = std::max(n_basis_pages_most_, static_cast<unsigned>(n_pages));
  }
  const std::size_t of_place = std::size_t{n_sets} * kRowsOfSet * call.head_dim * sizeof(float);
  SATCHEL_TRY(reserve(basis_queries_, n_places * of_place));
  SATCHEL_TRY(reserve(basis_places_, n_places * sizeof(unsigned)));
  call.basis_queries = reinterpret_cast<float*>(basis_queries_.data());
  call.basis_places = reinterpret_cast<unsigned*>(basis_places_.data());
  return {};
}

// Runs the splits in one launch, or in several if there is no room for all pages to be decoded.
Result<void> Attention::run_rounds(AttendCall call, std::span<const float> sink_logits,
                                   unsigned n_sets, const Decode& decode) {
  std::size_t n_partials = 0;
  unsigned n_splits = 0;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    AttendItem& item = items_[i];
    item.first_partial = static_cast<unsigned>(n_partials);
    n_partials += item.n_splits;
    n_splits = std::max(n_splits, item.n_splits);
  }
  const unsigned n_rows = n_sets * kRowsOfSet;
  SATCHEL_TRY(reserve(partials_, n_partials * partial_floats(n_rows, call.head_dim) * 4));
  SATCHEL_TRY(reserve(counters_, items_.size() * sizeof(unsigned)));
  SATCHEL_TRY(place_basis_queries(call, n_sets));
  call.partials = reinterpret_cast<float*>(partials_.data());
  call.counters = reinterpret_cast<unsigned*>(counters_.data());

  // A power of two, so that the grid rarely changes while a lane grows. Surplus blocks end at once.
  call.n_splits = std::bit_ceil(n_splits);
  const std::size_t page_bytes = decoded_floats(call.head_dim) * sizeof(float);
  count_decoded();
  while (call.n_splits > 1 && decoded_most(call.n_splits) * page_bytes > decoded_bytes_most_)
    call.n_splits /= 2;
  Result<void> done;
  for (; done.ok() && call.first_split < n_splits; call.first_split += call.n_splits)
    done = run_round(call, sink_logits, n_sets, decode);
  if (!done.ok()) counters_ = {};  // the counts of an earlier round must not be used again
  return done;
}

Result<void> Attention::run_round(AttendCall call, std::span<const float> sink_logits,
                                  unsigned n_sets, const Decode& decode) {
  SATCHEL_TRY(decode_round(call, decode));
  SATCHEL_TRY_ASSIGN(
      const auto there,
      arguments_->put(std::span<const AttendItem>(items_), std::span<const double>(rotations_),
                      std::span<const unsigned>(places_), sink_logits));
  std::tie(call.items, call.rotations, call.decoded_places, call.sink_logits) = there;
  if (sink_logits.empty()) call.sink_logits = nullptr;
  call.decoded = reinterpret_cast<const float*>(decoded_.data());
  if (n_basis_pages_most_ > 0)
    SATCHEL_TRY(
        device_->check(transform_queries(device_->queue(), call, n_sets, n_basis_pages_most_)));
  return device_->check(cuda::attend_decode(device_->queue(), call, n_sets));
}

// Decodes the pages without a kernel in this round's splits, each once for all tiles of its lane.
Result<void> Attention::decode_round(const AttendCall& call, const Decode& decode) {
  places_.clear();
  decodes_.clear();
  for (std::size_t i = 0; i < items_.size(); ++i) {
    AttendItem& item = items_[i];
    const CudaLaneTable& table = *tables_[i];
    if (!table.has_decoded()) continue;
    if (item.first_row != 0) {
      item.first_page = items_[i - 1].first_page;
      item.first_place = items_[i - 1].first_place;
      continue;
    }
    const unsigned n_before = run_units(table, item.lane);
    const auto page_at = [&](unsigned split) {
      const unsigned unit = item.first_unit(split);
      return unit < n_before ? 0 : unit - n_before;
    };
    item.first_page = page_at(call.first_split);
    item.first_place = static_cast<unsigned>(places_.size());
    for (unsigned p = item.first_page; p < page_at(call.first_split + call.n_splits); ++p) {
      places_.push_back(static_cast<unsigned>(decodes_.size()));
      if (table.plans()[table.pages(item.lane)[p].plan].has_kernel) continue;
      const PageView& page = table.views(item.lane)[p];
      decodes_.push_back({.layout = page.layout, .page = page.bytes, .n_tokens = page.n_tokens});
    }
  }
  if (decodes_.empty()) return {};
  const std::size_t stride = decoded_floats(call.head_dim);
  SATCHEL_TRY(reserve(decoded_, decodes_.size() * stride * sizeof(float)));
  auto* rows = reinterpret_cast<float*>(decoded_.data());
  for (DecodeArgs& each : decodes_) {
    each.k = rows;
    each.v = rows + stride / 2;
    rows += stride;
  }
  return decode(decodes_);
}

void Attention::count_decoded() {
  n_decoded_.assign(items_.size(), 0);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const CudaLaneTable& table = *tables_[i];
    if (items_[i].first_row != 0 || !table.has_decoded()) continue;
    n_decoded_[i] = static_cast<std::size_t>(std::ranges::count_if(
        table.pages(items_[i].lane),
        [&](const DevicePage& page) { return !table.plans()[page.plan].has_kernel; }));
  }
}

// The most pages to decode for n_splits splits of every lane.
std::size_t Attention::decoded_most(unsigned n_splits) const {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < items_.size(); ++i)
    sum += std::min(n_decoded_[i], std::size_t{n_splits} * items_[i].units_of_split);
  return sum;
}

// By doubling, because a growing lane needs more at every step.
Result<void> Attention::reserve(Buffer& buffer, std::size_t bytes) {
  if (buffer.size() >= bytes) return {};
  return device_->reserve(buffer, std::max(bytes, 2 * buffer.size()));
}

}  // namespace satchel::kernels::cuda
