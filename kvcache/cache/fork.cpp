// A second cache that holds the same: pages and checkpoints of states are shared; sinks, tails,
// scores and running states are copied.
#include <algorithm>
#include <optional>
#include <typeinfo>

#include "kvcache/cache/cache.h"
#include "kvcache/state/cache_state.h"

namespace satchel::kvcache {
namespace {

// Where a page of one recipe's tiers belongs among another's, at its own place if that is alike;
// nothing: nowhere.
std::optional<std::uint8_t> tier_of_bytes(const TierLayouts& layouts, const PageRecord& page,
                                          std::size_t lane, const TokenShape& token) {
  const auto is_alike = [&](std::uint8_t tier) {
    return tier < layouts.n_tiers() &&
           layouts.of_lane(tier, lane, token, page.n_tokens) == *page.layout;
  };
  if (is_alike(page.tier)) return page.tier;
  for (std::uint8_t tier = 0; tier < layouts.n_tiers(); ++tier)
    if (is_alike(tier)) return tier;
  return std::nullopt;
}

// Scores of pending text, or of a message that is decided when its turn ends, mean nothing to
// another recipe's scorer.
Result<void> check_nothing_waits(const CacheState& cache, const Pipeline& other) {
  for (const TextSegment& segment : cache.text.segments)
    if (segment.state == SegmentState::pending ||
        (segment.state == SegmentState::open && segment.kind == SegmentKind::message &&
         other.decides()))
      return Error{ErrorKind::unsupported, "CACHE_RECIPE",
                   "Some text has not been compressed yet under its present recipe."};
  return {};
}

// Each page under its twin's own layout: this cache may go.
Result<void> share_pages(CacheState& cache, CacheState& twin, std::size_t index) {
  Lane& to = twin.lanes[index];
  for (PageRecord page : cache.lanes[index].pages()) {
    const std::optional<std::uint8_t> tier =
        tier_of_bytes(twin.layout.tiers, page, index, to.token());
    if (!tier)
      return Error{ErrorKind::unsupported, "CACHE_RECIPE",
                   "Recipe \"" + twin.layout.recipe.name() + "\" has no tier like \"" +
                       cache.layout.tier_names()[page.tier] + "\", at which text is held."};
    page.tier = *tier;
    page.layout = &twin.layout.tiers.of_lane(*tier, index, to.token(), page.n_tokens);
    cache.arena.share(page.extent);
    to.add_page(page);
  }
  return {};
}

Result<void> copy_lane(CacheState& cache, CacheState& twin, std::size_t index) {
  const Lane& from = cache.lanes[index];
  Lane& to = twin.lanes[index];
  const std::size_t d = from.head_dim();
  SATCHEL_TRY(twin.fit_exact(index, from.tail_kept()));
  SATCHEL_TRY(copy_exact(cache.backend, d, {from.sinks(), 0, to.sinks(), 0, from.n_sinks()}));
  SATCHEL_TRY(copy_exact(cache.backend, d, {from.tail(), 0, to.tail(), 0, from.n_tail()}));
  to.set_lengths(from.n_sinks(), from.n_tail());
  to.reserve_pages(from.pages().size());
  SATCHEL_TRY(share_pages(cache, twin, index));
  return twin.show(index);
}

Result<void> copy_scores(CacheState& cache, CacheState& twin) {
  for (const std::size_t first : cache.scores.chunks()) {
    SATCHEL_TRY(twin.scores.ensure(first, ScoreStore::kChunk));
    std::vector<float> row(ScoreStore::kChunk);
    for (std::size_t i = 0; i < cache.lanes.size(); ++i) {
      SATCHEL_TRY(cache.scores.read(i, first, row));
      SATCHEL_TRY(twin.scores.write(i, first, row));
    }
  }
  return {};
}

// `twin` was just opened over the same arena.
Result<void> copy_into(CacheState& cache, CacheState& twin) {
  SATCHEL_ASSERT(cache.prefill == nullptr);
  cache.undo_open_step();
  SATCHEL_TRY(twin.take_moved_sinks(cache.reach));
  twin.reach = cache.reach;  // before pages come: they keep their order
  for (std::size_t i = 0; i < cache.lanes.size(); ++i) SATCHEL_TRY(copy_lane(cache, twin, i));
  SATCHEL_TRY(twin.move_sinks(twin.reach));
  SATCHEL_TRY(cache.states.copy_to(twin.states));
  if (twin.layout.recipe.hash() == cache.layout.recipe.hash())
    SATCHEL_TRY(copy_scores(cache, twin));
  twin.text.segments = cache.text.segments;
  twin.text.n_tokens = cache.text.n_tokens;
  twin.since_flush = cache.since_flush;
  twin.next_serial = cache.next_serial;
  twin.reserve_lists();
  return twin.show_all_if_stale();
}

}  // namespace

Result<std::unique_ptr<Cache>> Cache::fork() {
  SATCHEL_TRY_ASSIGN(std::unique_ptr<Cache> same, twin());
  SATCHEL_TRY(copy_into(*state_, *same->state_));
  return same;
}

Result<std::unique_ptr<Cache>> Cache::fork(const Recipe& recipe) {
  CacheState& s = *state_;
  SATCHEL_TRY(check_nothing_waits(s, recipe.pipeline()));
  SATCHEL_TRY_ASSIGN(std::unique_ptr<Cache> twin, open(s.shared_arena, s.layout.shape, recipe));
  const Reader &now = s.layout.pipeline.reader(), &then = recipe.pipeline().reader();
  const bool has_same_notes =
      std::ranges::all_of(s.layout.tiers.tokens(), [&](const TokenShape& token) {
        return now.note_bytes(token.head_dim) == then.note_bytes(token.head_dim);
      });
  if (typeid(now) != typeid(then) || !has_same_notes || twin->state_->requirements().decoding)
    return Error{
        ErrorKind::unsupported, "CACHE_RECIPE",
        "Recipe \"" + recipe.name() + "\" needs data that was not recorded during prefill."};
  SATCHEL_TRY(copy_into(s, *twin->state_));
  return twin;
}

}  // namespace satchel::kvcache
