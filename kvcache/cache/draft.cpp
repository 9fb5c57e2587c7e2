// Drafts: tokens that attend to a few pages of each lane, appended behind the tails and dropped by
// the step that tries them.
//   source  arXiv:2404.11912 (TriForce) section 4.1, the model's draft over a retrieved cache
//   differs pages of up to 128 tokens, ranked by the attention they had, where the authors rank
//           chunks of 8 by their mean key; chosen anew while an answer is written
#include <algorithm>
#include <numeric>
#include <utility>

#include "kvcache/cache/cache.h"
#include "kvcache/state/cache_state.h"
#include "kvcache/state/score_slots.h"

namespace satchel::kvcache {
namespace {

// The n_pages with the largest sums of by_slot, ties to the earlier one.
std::vector<std::uint64_t> best_pages(const Lane& lane, std::span<const float> by_slot,
                                      std::size_t n_pages) {
  std::vector<std::pair<double, std::uint64_t>> ranked;
  std::size_t slot = lane.n_sinks() + lane.n_tail();
  for (const PageRecord& page : lane.pages_in_reach()) {
    double sum = 0;
    for (std::size_t i = 0; i < page.n_tokens; ++i, ++slot)
      if (page.live.has(i)) sum += static_cast<double>(by_slot[slot]);
    ranked.emplace_back(sum, page.serial);
  }
  const auto end = ranked.begin() + static_cast<std::ptrdiff_t>(std::min(n_pages, ranked.size()));
  std::partial_sort(ranked.begin(), end, ranked.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<std::uint64_t> serials;
  for (auto page = ranked.begin(); page != end; ++page) serials.push_back(page->second);
  return serials;
}

Result<void> choose_lane(CacheState& s, const Observation& seen, std::size_t head,
                         std::size_t index) {
  const Lane& lane = s.lanes[index];
  if (lane.pages_in_reach().size() > s.draft.n_pages) {
    const Result<void> scored = score_slots(s, seen.layer, head, index, [&](const auto& observed) {
      return score_lanes(s.backend, seen, {&observed, 1}, {});
    });
    if (!scored.ok() && scored.error().kind == ErrorKind::out_of_memory) return {};
    SATCHEL_TRY(scored);
  } else {  // all of them, whatever they had
    s.step.by_slot.assign(lane.n_slots(), 0.0f);
  }
  s.draft.pages[index] = best_pages(lane, s.step.by_slot, s.draft.n_pages);
  return {};
}

}  // namespace

void Cache::want_draft_pages(std::size_t n_pages) {
  CacheState& s = *state_;
  SATCHEL_ASSERT(n_pages > 0);
  s.draft.n_pages = n_pages;
  s.draft.pages.resize(s.lanes.size());
  s.draft.views.resize(s.lanes.size());
}

bool Cache::chooses_draft_pages() const {
  return state_->draft.choosing;
}

bool Cache::has_draft_pages() const {
  return !state_->draft.pages.empty() && state_->draft.n_pages == 0;
}

std::size_t Cache::n_drafted() const {
  return state_->draft.n_tokens;
}

Result<void> Cache::choose_draft_pages(std::size_t layer, const float* q, const float* lse,
                                       const kernels::Batch& batch) {
  CacheState& s = *state_;
  SATCHEL_ASSERT(s.step_open && s.draft.choosing && batch.n_tokens == 1);
  return see_layer(s, layer, q, lse, batch,
                   [&](const Observation& seen, std::size_t head, std::size_t index) {
                     return choose_lane(s, seen, head, index);
                   });
}

Result<void> Cache::begin_draft() {
  CacheState& s = *state_;
  SATCHEL_ASSERT(s.prefill == nullptr && has_draft_pages());
  if (!s.draft.open) {
    s.undo_open_step();
    SATCHEL_ASSERT(step_room() > 1);
    s.draft.open = s.step_open = s.table_is_stale = true;
    s.step_tokens = 1;
  }
  SATCHEL_ASSERT(s.since_flush + s.draft.n_tokens + 1 < kFlushTokens);
  return s.show_all_if_stale();
}

void Cache::end_draft() {
  CacheState& s = *state_;
  SATCHEL_ASSERT(s.draft.open);
  for (std::uint8_t& appended : s.appended) {
    SATCHEL_ASSERT(appended == 1);
    appended = 0;
  }
  ++s.draft.n_tokens;
}

}  // namespace satchel::kvcache
