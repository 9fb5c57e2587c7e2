#include "kernels/cuda/lanes/lane_sources.h"

#include <algorithm>

#include "kernels/cuda/rows/rope.h"

namespace satchel::kernels::cuda {
namespace {

bool is_same(const RopeTable& a, const RopeTable& b) {
  return a.inverse_frequency.data() == b.inverse_frequency.data() &&
         a.inverse_frequency.size() == b.inverse_frequency.size() && a.pairs == b.pairs;
}

RowForm form_of(const PageOperand& operand) {
  if (!has_row_kernel(operand)) return RowForm::floats;
  return operand.form == PageForm::exact && operand.transform == Transform::none ? RowForm::halves
                                                                                 : RowForm::page;
}

}  // namespace

void LaneSources::clear() {
  sources_.clear();
  plans_.clear();
  layouts_.clear();
  decodes_.clear();
  decoded_sources_.clear();
  shifts_.clear();
  ropes_.clear();
  frequencies_.clear();
  n_pairs_ = 0;
}

void LaneSources::add(std::span<const ExactRun> runs, std::span<const PageView> pages,
                      const RopeTable& rope) {
  for (const ExactRun& run : runs) add_run(run);
  for (const PageView& page : pages) add_page(page, rope);
}

void LaneSources::add_run(const ExactRun& run) {
  sources_.push_back({.k = reinterpret_cast<const std::byte*>(run.k),
                      .v = reinterpret_cast<const std::byte*>(run.v),
                      .positions = run.positions,
                      .n_tokens = static_cast<unsigned>(run.n_tokens)});
}

void LaneSources::add_page(const PageView& page, const RopeTable& rope) {
  const PageLayout& layout = *page.layout;
  const unsigned plan = plan_of(layout);
  TokenSource source{
      .k = page.bytes,
      .v = page.bytes,
      .positions = reinterpret_cast<const std::int32_t*>(page.bytes + layout.positions_at),
      .live = {page.live.words[0], page.live.words[1]},
      .n_tokens = page.n_tokens,
      .shift = page.shift,
      .plan = plan,
      .rotation = page.shift == 0 ? 0 : rotation_of(rope, page.shift),
      .k_form = form_of(plans_[plan].k),
      .v_form = form_of(plans_[plan].v),
      .is_page = true};
  if (layout.log_counts_at != 0)
    source.log_counts = reinterpret_cast<const float*>(page.bytes + layout.log_counts_at);
  if (source.rotation != 0 && source.k_form == RowForm::halves) source.k_form = RowForm::page;
  if (source.k_form == RowForm::halves) source.k += layout.k.planes[0].at;
  if (source.v_form == RowForm::halves) source.v += layout.v.planes[0].at;
  if (source.k_form == RowForm::floats || source.v_form == RowForm::floats) {
    decodes_.push_back({.layout = &layout, .page = page.bytes, .n_tokens = page.n_tokens});
    decoded_sources_.push_back(sources_.size());
  }
  sources_.push_back(source);
}

// Without a basis: pages in one are decoded beforehand.
unsigned LaneSources::plan_of(const PageLayout& layout) {
  const auto found = std::ranges::find(layouts_, &layout);
  if (found != layouts_.end()) return static_cast<unsigned>(found - layouts_.begin());
  plans_.push_back(page_plan(layout, {}));
  layouts_.push_back(&layout);
  return static_cast<unsigned>(plans_.size() - 1);
}

Result<void> LaneSources::decode(const OpContext& at, bool needs_values) {
  if (decodes_.empty()) return {};
  std::size_t n = 0;
  for (std::size_t i = 0; i < decodes_.size(); ++i) {
    const TokenSource& source = sources_[decoded_sources_[i]];
    const bool needs_k = source.k_form == RowForm::floats,
               needs_v = needs_values && source.v_form == RowForm::floats;
    n += (std::size_t{needs_k} + needs_v) * decodes_[i].n_tokens * decodes_[i].layout->head_dim;
  }
  SATCHEL_TRY(at.device.reserve(decoded_, n * sizeof(float)));
  auto* rows = reinterpret_cast<float*>(decoded_.data());
  const auto take = [&](RowForm form, const std::byte*& of_source, const DecodeArgs& each) {
    if (form != RowForm::floats) return static_cast<float*>(nullptr);
    float* const here = rows;
    of_source = reinterpret_cast<const std::byte*>(here);
    rows += each.n_tokens * each.layout->head_dim;
    return here;
  };
  for (std::size_t i = 0; i < decodes_.size(); ++i) {
    TokenSource& source = sources_[decoded_sources_[i]];
    decodes_[i].k = take(source.k_form, source.k, decodes_[i]);
    if (needs_values) decodes_[i].v = take(source.v_form, source.v, decodes_[i]);
  }
  return at.decode(decodes_);
}

// Linear search, because shifts are few: one per document that was inserted.
unsigned LaneSources::rotation_of(const RopeTable& rope, std::int32_t shift) {
  const std::size_t n_pairs = rope.inverse_frequency.size();
  if (n_pairs == 0) return 0;  // a layer without RoPE
  if (ropes_.empty() || !is_same(ropes_.back().rope, rope)) {
    ropes_.push_back({.rope = rope,
                      .first = shifts_.size(),
                      .n = 0,
                      .first_pair = n_pairs_,
                      .first_frequency = frequencies_.size()});
    frequencies_.insert(frequencies_.end(), rope.inverse_frequency.begin(),
                        rope.inverse_frequency.end());
  }
  ShiftsOfRope& own = ropes_.back();
  const auto first = shifts_.begin() + static_cast<std::ptrdiff_t>(own.first);
  const auto found = std::find(first, shifts_.end(), shift);
  const std::size_t index = static_cast<std::size_t>(found - first);
  if (index == own.n) {
    shifts_.push_back(shift);
    ++own.n;
    n_pairs_ += n_pairs;
  }
  return static_cast<unsigned>(1 + own.first_pair + index * n_pairs);
}

Result<void> make_rotations(const OpContext& at, const LaneSources& lanes,
                            const std::int32_t* shifts, const double* frequencies,
                            float* rotations) {
  for (const ShiftsOfRope& own : lanes.ropes()) {
    const Batch batch{.positions = shifts + own.first, .n_tokens = own.n};
    SATCHEL_TRY(
        at.check(make_rotation(at.queue(), batch, frequencies + own.first_frequency,
                               own.rope.inverse_frequency.size(), rotations + 2 * own.first_pair)));
  }
  return {};
}

}  // namespace satchel::kernels::cuda
