#include "kvcache/cache.h"

#include <algorithm>
#include <limits>
#include <string>

#include "kvcache/cache_state.h"
#include "kvcache/size_text.h"

namespace satchel::kvcache {
namespace {

Result<void> check_shape(const CacheShape& shape) {
  const bool whole = shape.n_layers > 0 && shape.n_heads > 0 && shape.n_kv_heads > 0 &&
                     shape.n_heads % shape.n_kv_heads == 0;
  if (whole) return {};
  return Error{ErrorKind::unsupported, "CACHE_SHAPE",
               "A cache needs layers, and query heads that are a multiple of the KV heads; this "
               "model has " +
                   std::to_string(shape.n_layers) + " layers, " + std::to_string(shape.n_heads) +
                   " heads, " + std::to_string(shape.n_kv_heads) + " KV heads."};
}

// The least that is of any use: one page of tokens read as a prompt.
Result<void> check_bytes(const CacheShape& shape, const Recipe& recipe, std::size_t pool_bytes) {
  SATCHEL_TRY_ASSIGN(const CacheNeed least, cache_need(shape, recipe, kernels::kPageTokens));
  if (pool_bytes >= least.total()) return {};
  return Error{ErrorKind::out_of_memory, "MEMORY",
               "A memory limit of " + size_text(pool_bytes) +
                   " is too small for this model: sinks, tails and the reading of a prompt take " +
                   size_text(least.total()) + ". Raise the limit to at least that."};
}

}  // namespace

Result<std::unique_ptr<Cache>> Cache::open(kernels::Backend& backend, const CacheShape& shape,
                                           const Recipe& recipe, std::size_t pool_bytes) {
  SATCHEL_TRY(check_shape(shape));
  SATCHEL_TRY_ASSIGN(const kernels::PageLayout layout,
                     recipe.pipeline().page_layout(shape.head_dim));
  SATCHEL_TRY(check_bytes(shape, recipe, pool_bytes));
  const std::size_t lane_bytes = lane_fixed_bytes(shape.head_dim);
  SATCHEL_TRY_ASSIGN(Pool pool, Pool::open(backend, {.bytes = pool_bytes,
                                                     .fixed_bytes = fixed_bytes(shape),
                                                     .page_bytes = layout.bytes}));
  auto state = std::make_unique<State>(CacheState{.backend = backend,
                                                  .shape = shape,
                                                  .recipe = recipe,
                                                  .layout = layout,
                                                  .pool = std::move(pool)});
  for (std::size_t i = 0; i < shape.n_lanes(); ++i)
    state->lanes.emplace_back(state->pool.fixed() + i * lane_bytes, shape.head_dim);
  state->views.resize(shape.n_lanes());
  state->appended.resize(shape.n_layers);
  state->clear();
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
Pool& Cache::pool() {
  return state_->pool;
}
std::size_t Cache::n_tokens() const {
  return state_->n_tokens;
}
void Cache::clear() {
  SATCHEL_ASSERT(!state_->reading);
  state_->clear();
}

std::span<const kernels::LaneView> Cache::lanes(std::size_t layer) const {
  const std::size_t n = state_->shape.n_kv_heads;
  SATCHEL_ASSERT(layer < state_->shape.n_layers);
  return std::span(state_->views).subspan(layer * n, n);
}

Result<void> Cache::begin_step() {
  State& s = *state_;
  SATCHEL_ASSERT(!s.reading);
  s.undo_open_step();
  SATCHEL_TRY(s.flush_full_tails());
  if (s.n_tokens >= std::numeric_limits<std::int32_t>::max())
    return Error{ErrorKind::invalid, "CACHE_POSITION", "No position is left for another token."};
  std::size_t n_pages = 0;
  for (const Lane& lane : s.lanes) n_pages += lane.n_tail() + 1 == kTailCapacity ? 1u : 0u;
  SATCHEL_TRY(s.pool.check_free_pages(n_pages));
  s.step_open = true;
  return {};
}

Result<void> Cache::append(std::size_t layer, const float* k, const float* v) {
  State& s = *state_;
  SATCHEL_ASSERT(s.step_open && layer < s.shape.n_layers && s.appended[layer] == 0);
  const std::size_t head_dim = s.shape.head_dim;
  const auto position = static_cast<std::int32_t>(s.n_tokens);
  for (std::size_t head = 0; head < s.shape.n_kv_heads; ++head) {
    const std::size_t index = layer * s.shape.n_kv_heads + head;
    Lane& lane = s.lanes[index];
    const bool to_sinks = lane.next_is_sink();
    const ExactBlock& block = to_sinks ? lane.sinks() : lane.tail();
    const std::size_t slot = to_sinks ? lane.n_sinks() : lane.n_tail();
    const auto store = [&](const float* from, Half* to) {
      return s.backend.store({.from = from + head * head_dim,
                              .n_rows = 1,
                              .n_values = head_dim,
                              .from_stride = head_dim,
                              .to = to + slot * head_dim});
    };
    SATCHEL_TRY(store(k, block.k));
    SATCHEL_TRY(store(v, block.v));
    SATCHEL_TRY(s.backend.upload(reinterpret_cast<std::byte*>(block.positions + slot),
                                 std::as_bytes(std::span(&position, 1))));
    if (!to_sinks) lane.set_tail_position(slot, position);
  }
  for (std::size_t head = 0; head < s.shape.n_kv_heads; ++head) {  // only now is it visible
    const std::size_t index = layer * s.shape.n_kv_heads + head;
    Lane& lane = s.lanes[index];
    const bool to_sinks = lane.next_is_sink();
    lane.set_lengths(lane.n_sinks() + (to_sinks ? 1u : 0u), lane.n_tail() + (to_sinks ? 0u : 1u));
    s.refresh(index);
  }
  s.appended[layer] = 1;
  return {};
}

Result<void> Cache::end_step() {
  State& s = *state_;
  SATCHEL_ASSERT(s.step_open);
  for (std::uint8_t& appended : s.appended) {
    SATCHEL_ASSERT(appended == 1);
    appended = 0;
  }
  s.step_open = false;
  ++s.n_tokens;
  return s.flush_full_tails();
}

void CacheState::undo_open_step() {
  if (!step_open) return;
  for (std::size_t layer = 0; layer < shape.n_layers; ++layer) {
    if (appended[layer] == 0) continue;
    appended[layer] = 0;
    for (std::size_t head = 0; head < shape.n_kv_heads; ++head) {
      const std::size_t index = layer * shape.n_kv_heads + head;
      Lane& lane = lanes[index];
      const bool from_sinks = lane.n_tail() == 0 && n_tokens < kSinkTokens;
      lane.set_lengths(lane.n_sinks() - (from_sinks ? 1u : 0u),
                       lane.n_tail() - (from_sinks ? 0u : 1u));
      refresh(index);
    }
  }
  step_open = false;
}

Result<void> CacheState::flush_full_tails() {
  for (std::size_t lane = 0; lane < lanes.size(); ++lane)
    if (lanes[lane].n_tail() == kTailCapacity) SATCHEL_TRY(flush(lane));
  return {};
}

// The lane changes last: a backend that fails in between leaves it as it was.
Result<void> CacheState::flush(std::size_t index) {
  Lane& lane = lanes[index];
  SATCHEL_TRY_ASSIGN(const PageId page, pool.take_page());
  std::byte* bytes = pool.page(page);
  const auto moved = [&]() -> Result<void> {
    SATCHEL_TRY(backend.encode_page(layout, lane.tail().run(kernels::kPageTokens), bytes));
    return copy_exact(backend, shape.head_dim,
                      {lane.tail(), kernels::kPageTokens, lane.tail(), 0, kTailTokens});
  }();
  if (!moved.ok()) {
    pool.give_page(page);
    return moved.error();
  }
  const auto positions = lane.tail_positions();
  lane.add_page(page, {.bytes = bytes,
                       .layout = &layout,
                       .first_position = positions[0],
                       .last_position = positions[kernels::kPageTokens - 1]});
  lane.drop_flushed();
  refresh(index);
  return {};
}

void CacheState::reserve_pages(std::span<const std::size_t> n_pages) {
  std::size_t taken = 0;
  for (const std::size_t n : n_pages) taken += n;
  const std::size_t capacity = (pool.bytes() - fixed_bytes(shape)) / layout.bytes;
  // Lanes flush at different steps but equally often, so none gets more than its share and two.
  const std::size_t more = (capacity - std::min(capacity, taken)) / lanes.size() + 2;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    lanes[i].reserve_pages(n_pages[i] + more);
    refresh(i);
  }
}

void CacheState::clear() {
  for (auto lane = lanes.rbegin(); lane != lanes.rend(); ++lane)
    for (auto page = lane->pages().rbegin(); page != lane->pages().rend(); ++page)
      pool.give_page(*page);
  for (Lane& lane : lanes) lane.clear();
  std::fill(appended.begin(), appended.end(), std::uint8_t{0});
  step_open = false;
  n_tokens = 0;
  ++n_clears;
  reserve_pages(std::vector<std::size_t>(lanes.size(), 0));
}

}  // namespace satchel::kvcache
