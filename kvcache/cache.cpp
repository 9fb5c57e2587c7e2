#include "kvcache/cache.h"

#include <algorithm>
#include <optional>
#include <string>
#include <typeinfo>

#include "kernels/base/size_text.h"
#include "kvcache/cache_state.h"

namespace satchel::kvcache {
namespace {

Result<void> check_shape(const CacheShape& shape) {
  const bool whole =
      shape.n_layers() > 0 &&
      std::all_of(shape.layers.begin(), shape.layers.end(), [](const auto& layer) {
        return layer.n_heads > 0 && layer.n_kv_heads > 0 && layer.n_heads % layer.n_kv_heads == 0;
      });
  if (!whole)
    return Error{
        ErrorKind::unsupported, "CACHE_SHAPE",
        "A cache needs layers, and in each query heads that are a multiple of the KV heads."};
  if (shape.lane_shares != nullptr && !shape.suits(*shape.lane_shares))
    return Error{
        ErrorKind::invalid, "LANE_SHARES",
        "The lane table is not one of this model: it has another number of lanes, or keys of "
        "another size."};
  if (shape.key_bases != nullptr && !shape.suits(*shape.key_bases))
    return Error{
        ErrorKind::invalid, "KEY_BASES",
        "The key bases are not those of this model: they are of another number of lanes, or "
        "of keys of another size."};
  if (shape.selector != nullptr && !shape.suits(*shape.selector))
    return Error{ErrorKind::invalid, "SELECTOR_WEIGHTS",
                 "The selector's weights are not those of this model: they are of another number of "
                 "layers, or of heads of another number or size."};
  return {};
}

// The least that is of any use: one page of tokens read as a prompt.
Result<void> check_bytes(const CacheHome& home, const CacheShape& shape, const Recipe& recipe) {
  SATCHEL_TRY_ASSIGN(const CacheNeed least, cache_need(shape, recipe, kernels::kPageTokens));
  if (home.arena->free_bytes() >= least.total()) return {};
  return Error{ErrorKind::out_of_memory, "MEMORY",
               "A memory limit of " + size_text(home.arena->bytes()) + " with " +
                   size_text(home.arena->free_bytes()) +
                   " free is too small for this model: sinks, tails and the reading of a prompt "
                   "take " +
                   size_text(least.total()) + ". Raise the limit, or close other chats."};
}

}  // namespace

Result<std::unique_ptr<Cache>> Cache::open(const CacheHome& home, const CacheShape& shape,
                                           const Recipe& recipe) {
  SATCHEL_TRY(check_shape(shape));
  SATCHEL_TRY(recipe.pipeline().check(shape));
  SATCHEL_TRY_ASSIGN(TierLayouts layouts, TierLayouts::make(shape, recipe.pipeline()));
  SATCHEL_TRY(check_bytes(home, shape, recipe));
  auto state = std::make_unique<State>(home, shape, recipe, std::move(layouts));
  SATCHEL_TRY(state->take_fixed());
  return std::unique_ptr<Cache>(new Cache(std::move(state)));
}

Cache::Cache(std::unique_ptr<State> state) : state_(std::move(state)) {}
Cache::~Cache() = default;

const CacheShape& Cache::shape() const {
  return state_->shape;
}
const Recipe& Cache::recipe() const {
  return state_->recipe;
}
Arena& Cache::arena() {
  return state_->arena;
}
std::size_t Cache::n_tokens() const {
  return state_->n_tokens;
}
std::span<const TextSpan> Cache::spans() const {
  return state_->spans;
}

bool Cache::wants_second_pass() const {
  return state_->wants().probe;
}

bool Cache::wants_lane_shares() const {
  const State& s = *state_;
  return s.shape.lane_shares == nullptr && s.pipeline.decides() &&
         s.pipeline.allocator().wants_lane_shares();
}

void Cache::set_lane_shares(std::shared_ptr<const LaneShares> shares) {
  SATCHEL_ASSERT(state_->reading == nullptr);
  SATCHEL_ASSERT(state_->shape.suits(*shares));
  state_->shape.lane_shares = std::move(shares);
}

bool Cache::wants_pre_rope() const {
  return state_->wants().pre_rope;
}

kernels::Sequence Cache::lanes(std::size_t layer) const {
  SATCHEL_ASSERT(layer < state_->shape.n_layers());
  return {.lanes = state_->table.get(), .first_lane = state_->first_lane[layer], .n_tokens = 1};
}

namespace {

// Where a page of one recipe's tiers belongs among another's, at its own place if that is alike;
// nothing: nowhere.
std::optional<std::uint8_t> tier_of_bytes(const TierLayouts& layouts, const PageRecord& page,
                                          std::size_t lane, std::size_t head_dim) {
  const auto is_alike = [&](std::uint8_t tier) {
    return tier < layouts.n_tiers() &&
           layouts.of_lane(tier, lane, head_dim, page.n_tokens) == *page.layout;
  };
  if (is_alike(page.tier)) return page.tier;
  for (std::uint8_t tier = 0; tier < layouts.n_tiers(); ++tier)
    if (is_alike(tier)) return tier;
  return std::nullopt;
}

// Scores of what waits, or will be decided when its turn ends, mean nothing to another recipe's scorer.
Result<void> check_nothing_waits(const CacheState& cache, const Pipeline& other) {
  for (const TextSpan& span : cache.spans)
    if (span.state == SpanState::pending ||
        (span.state == SpanState::open && span.kind == SpanKind::message && other.decides()))
      return Error{ErrorKind::unsupported, "CACHE_RECIPE",
                   "Text waits for a decision of the recipe it was read under."};
  return {};
}

}  // namespace

Result<std::unique_ptr<Cache>> Cache::fork() {
  State& s = *state_;
  SATCHEL_TRY_ASSIGN(std::unique_ptr<Cache> twin, open(s.home, s.shape, s.recipe));
  SATCHEL_TRY(s.copy_into(*twin->state_));
  return twin;
}

Result<std::unique_ptr<Cache>> Cache::fork(const Recipe& recipe) {
  State& s = *state_;
  SATCHEL_TRY(check_nothing_waits(s, recipe.pipeline()));
  SATCHEL_TRY_ASSIGN(std::unique_ptr<Cache> twin, open(s.home, s.shape, recipe));
  const Reader &now = s.pipeline.reader(), &then = recipe.pipeline().reader();
  if (typeid(now) != typeid(then) || twin->state_->wants().decoding)
    return Error{ErrorKind::unsupported, "CACHE_RECIPE",
                 "Recipe \"" + recipe.name() + "\" needs what was not noted while reading."};
  SATCHEL_TRY(s.copy_into(*twin->state_));
  return twin;
}

Result<void> CacheState::copy_into(CacheState& twin) {
  SATCHEL_ASSERT(reading == nullptr);
  undo_open_step();
  for (std::size_t i = 0; i < lanes.size(); ++i) SATCHEL_TRY(copy_lane_into(twin, i));
  if (twin.recipe.hash() == recipe.hash()) SATCHEL_TRY(copy_scores_into(twin));
  twin.spans = spans;
  twin.n_tokens = n_tokens;
  twin.since_flush = since_flush;
  twin.next_serial = next_serial;
  twin.reserve_lists();
  return twin.show_all_if_stale();
}

// Pages are shared; sinks and tail are copied.
Result<void> CacheState::copy_lane_into(CacheState& twin, std::size_t index) {
  const Lane& from = lanes[index];
  Lane& to = twin.lanes[index];
  SATCHEL_TRY(twin.fit_exact(index, from.tail_kept()));
  SATCHEL_TRY(
      copy_exact(backend, from.head_dim(), {from.sinks(), 0, to.sinks(), 0, from.n_sinks()}));
  SATCHEL_TRY(copy_exact(backend, from.head_dim(), {from.tail(), 0, to.tail(), 0, from.n_tail()}));
  to.set_lengths(from.n_sinks(), from.n_tail());
  to.reserve_pages(from.pages().size());
  for (PageRecord page : from.pages()) {
    const std::optional<std::uint8_t> tier =
        tier_of_bytes(twin.layouts, page, index, to.head_dim());
    if (!tier)
      return Error{ErrorKind::unsupported, "CACHE_RECIPE",
                   "Recipe \"" + twin.recipe.name() + "\" has no tier like \"" +
                       tier_names()[page.tier].name + "\", at which text is held."};
    page.tier = *tier;
    page.layout =
        &twin.layouts.of_lane(*tier, index, to.head_dim(), page.n_tokens);  // its own: this may go
    arena.share(page.extent);
    to.add_page(page);
  }
  return twin.show(index);
}

Result<void> CacheState::copy_scores_into(CacheState& twin) {
  for (const std::size_t first : scores.chunks()) {
    SATCHEL_TRY(twin.scores.ensure(first, ScoreStore::kChunk));
    std::vector<float> row(ScoreStore::kChunk);
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      SATCHEL_TRY(scores.read(i, first, row));
      SATCHEL_TRY(twin.scores.write(i, first, row));
    }
  }
  return {};
}

void Cache::clear() {
  SATCHEL_ASSERT(state_->reading == nullptr);
  state_->clear();
}

void CacheState::clear() {
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    Lane& lane = lanes[i];
    for (std::size_t page = 0; page < lane.pages().size(); ++page) {
      PageRecord gone = lane.pages()[page];
      gone.live = {};
      lane.replace_page(page, gone);
    }
    lane.drop_empty_pages();
    lane.set_lengths(0, 0);
  }
  std::fill(appended.begin(), appended.end(), std::uint8_t{0});
  scores.clear();
  spans.clear();
  step_open = false;
  n_tokens = since_flush = 0;
  table_is_stale = true;
  reserve_lists();
}

}  // namespace satchel::kvcache
