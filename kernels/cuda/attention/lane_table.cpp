#include "kernels/cuda/attention/lane_table.h"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "kernels/base/assert.h"
#include "kernels/cuda/attention/operand_places.h"

namespace satchel::kernels::cuda {
namespace {

// Room for n in each row, doubled from what there is.
template <class T>
void reserve(HostMirroredArray<T>& values, std::size_t n_rows, std::size_t& of_row, std::size_t n) {
  if (n <= of_row) return;
  const std::size_t wanted = std::max(n, 2 * of_row);
  values.widen(n_rows, of_row, wanted);
  of_row = wanted;
}

DeviceRun device_run(const ExactRun& run) {
  return {.k = run.k,
          .v = run.v,
          .positions = run.positions,
          .n_tokens = static_cast<unsigned>(run.n_tokens)};
}

// What a block copies at once (copy_part) lies together in the page.
void assert_planes_follow(const PagePlan& page, const PageOperand& operand,
                          const DecodeOperand& of_block) {
  if (of_block.form == Form::mixed)
    SATCHEL_ASSERT(operand.zero_at == operand.scale_at + 2 * page.head_dim);
  if (of_block.form != Form::codes) return;
  const CodePlaces& places = of_block.places;
  SATCHEL_ASSERT(operand.low_bits == 0 || operand.low_at == operand.values_at + places.low);
  SATCHEL_ASSERT(operand.is_symmetric ||
                 operand.zero_at == operand.scale_at + places.zero - places.scale);
}

// Each quad's codes begin kSkewWords later than in the page, so that the four that a step of the
// matrix instruction takes lie in different banks.
void place_quads(const PageLayout& layout, std::uint32_t (&quads)[kCudaQuadsMax]) {
  std::uint32_t word = mixed_codes_at(layout.head_dim) / 4;
  for (unsigned q = 0; q < layout.head_dim / kQuad; ++q) {
    const std::uint32_t bits = layout.k.quad_bits[q];
    quads[q] = bits | word << 4;
    word += bits * layout.capacity / 8 + kSkewWords;
  }
}

void sort_quads(const PageLayout& layout, std::uint32_t (&sorted)[kCudaQuadsMax]) {
  std::uint32_t word = 0;
  const std::size_t n_quads = layout.head_dim / kQuad;
  for (std::uint32_t q = 0; q < n_quads; ++q) {
    const std::uint32_t bits = layout.k.quad_bits[q];
    sorted[q] = bits | q << 4 | word << 12;
    word += bits * static_cast<std::uint32_t>(layout.capacity) / 8;
  }
  std::ranges::stable_sort(std::span(sorted).first(n_quads), std::ranges::greater(),
                           [](std::uint32_t quad) { return quad & 15; });
}

// 0 where the block must take it.
unsigned packed_kind_of(const LanePlan& plan) {
  const unsigned d = plan.page.head_dim;
  const auto has_groups = [](const DecodeOperand& operand) {
    return operand.form == Form::codes && operand.of_group % kTilesAhead == 0;
  };
  const bool is_of_warp = plan.has_kernel && plan.page.capacity == kPageTokens &&
                          (d == 64 || d == 128 || d == 256) && has_groups(plan.v) &&
                          (plan.k.form == Form::mixed || has_groups(plan.k)) &&
                          !(d == 64 && plan.k.bits == 3);
  return is_of_warp ? packed_kind(plan.k.is_transformed, plan.v.is_transformed) : 0;
}

DevicePage device_page(const PageView& page, unsigned plan) {
  DevicePage out{.bytes = page.bytes,
                 .n_tokens = page.n_tokens,
                 .plan = plan,
                 .shift = page.shift,
                 .first_position = page.first_position,
                 .last_position = page.last_position};
  std::ranges::copy(page.live.words, out.live);
  return out;
}

}  // namespace

LanePlan lane_plan(const PageLayout& layout, const PageBasis& basis, std::size_t shared_bytes_max) {
  LanePlan plan{.page = page_plan(layout, basis)};
  plan.has_kernel = has_decode_kernel(plan.page.k) && has_row_kernel(plan.page.v);
  if (layout.k.is_mixed_bit()) {
    place_quads(layout, plan.quads);
    sort_quads(layout, plan.sorted_quads);
  }
  if (plan.has_kernel) {
    plan.k = decode_operand(plan.page.k, plan.page.capacity, plan.page.head_dim);
    plan.v = decode_operand(plan.page.v, plan.page.head_dim, plan.page.capacity);
    plan.slice_tokens = slice_tokens(plan);
    assert_planes_follow(plan.page, plan.page.k, plan.k);
    assert_planes_follow(plan.page, plan.page.v, plan.v);
    const std::size_t most = attend_operand_bytes_max(plan.page.head_dim, shared_bytes_max);
    plan.has_kernel = part_bytes_of(plan, true) <= most && part_bytes_of(plan, false) <= most;
  }
  if (!plan.has_kernel) {
    plan.k = plan.v = {.form = Form::floats};
    plan.slice_tokens = slice_tokens(plan);
  }
  plan.packed_kind = packed_kind_of(plan);
  return plan;
}

CudaLaneTable::CudaLaneTable(Device& device, std::size_t n_lanes, BasisStore& bases,
                             Arguments* arguments)
    : device_(&device), bases_(&bases), arguments_(arguments), views_(n_lanes) {
  lanes_.widen(n_lanes, 0, 1);
}

Result<unsigned> CudaLaneTable::plan_of(const PageLayout& layout) {
  SentBasis sent;
  if (layout.k.transform == Transform::basis && layout.k.is_mixed_bit()) {
    SATCHEL_TRY_ASSIGN(sent, bases_->of(layout.k.basis, layout.head_dim));
  }
  const LanePlan plan = lane_plan(layout, sent.basis, device_->shared_bytes_max());
  unsigned& last = last_plans_[&layout];
  if (last < plans_.size() && plans_[last] == plan) return last;
  const std::span<const LanePlan> known = plans();
  last = static_cast<unsigned>(std::ranges::find(known, plan) - known.begin());
  if (last == plans_.size()) {
    plans_.push_back(plan);
    bases_of_plans_.push_back(std::move(sent.memory));
  }
  return last;
}

Result<void> CudaLaneTable::set_runs(std::size_t lane, std::span<const ExactRun> runs) {
  SATCHEL_ASSERT(lane < n_lanes());
  reserve(runs_, n_lanes(), runs_of_lane_, runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i)
    runs_.set(lane * runs_of_lane_ + i, device_run(runs[i]));
  DeviceLane changed = lanes_[lane];
  changed.n_runs = static_cast<unsigned>(runs.size());
  lanes_.set(lane, changed);
  return {};
}

Result<void> CudaLaneTable::set_pages(std::size_t lane, std::span<const PageView> pages) {
  SATCHEL_ASSERT(lane < n_lanes());
  reserve(pages_, n_lanes(), pages_of_lane_, pages.size());
  SATCHEL_TRY(bases_->begin());
  const PageLayout* layout = nullptr;
  unsigned plan = 0;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (pages[i].layout != layout) {
      layout = pages[i].layout;
      SATCHEL_TRY_ASSIGN(plan, plan_of(*layout));
      has_decoded_ = has_decoded_ || !plans_[plan].has_kernel;
      has_bases_ = has_bases_ || is_in_basis(plans_[plan]);
    }
    has_shifts_ = has_shifts_ || pages[i].shift != 0;
    pages_.set(lane * pages_of_lane_ + i, device_page(pages[i], plan));
  }
  DeviceLane changed = lanes_[lane];
  changed.n_pages = static_cast<unsigned>(pages.size());
  lanes_.set(lane, changed);
  views_[lane] = pages;
  return {};
}

std::span<const DeviceRun> CudaLaneTable::runs(std::size_t lane) const {
  return runs_.span(lane * runs_of_lane_, lanes_[lane].n_runs);
}

std::span<const DevicePage> CudaLaneTable::pages(std::size_t lane) const {
  return pages_.span(lane * pages_of_lane_, lanes_[lane].n_pages);
}

Result<DeviceLanes> CudaLaneTable::send() {
  SATCHEL_TRY(lanes_.send(*device_, arguments_));
  SATCHEL_TRY(runs_.send(*device_, arguments_));
  SATCHEL_TRY(pages_.send(*device_, arguments_));
  SATCHEL_TRY(plans_.send(*device_, arguments_));
  return DeviceLanes{.lanes = lanes_.there(),
                     .runs = runs_.there(),
                     .pages = pages_.there(),
                     .plans = plans_.there(),
                     .runs_of_lane = static_cast<unsigned>(runs_of_lane_),
                     .pages_of_lane = static_cast<unsigned>(pages_of_lane_)};
}

}  // namespace satchel::kernels::cuda
