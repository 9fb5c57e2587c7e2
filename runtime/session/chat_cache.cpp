#include "runtime/session/chat_cache.h"
#include "runtime/contract/cache_key.h"

#include <algorithm>
#include <utility>

#include "kernels/base/assert.h"

namespace satchel::runtime {

using kvcache::RereadReason;

namespace {

// Raised where a text comes to have other K and V than before, by a change of the graph or of RoPE:
// caches that were saved before are then prefilled again. Other tokens are told by comparison.
constexpr std::uint16_t kNumericsVersion = 1;

}  // namespace

ChatCache::ChatCache(EngineState& engine, const SessionOptions& options,
                     std::unique_ptr<kvcache::Cache> cache)
    : engine_(engine),
      records_(options.records),
      key_(cache_key(options.chat)),
      kept_text_(kept_text(options.journal)),
      recipe_(options.recipe),
      cache_(std::move(cache)) {
  open_snapshot();
  engine_.caches.push_back(this);
}

ChatCache::~ChatCache() {
  std::erase(engine_.caches, this);
}

std::vector<const kvcache::Snapshot*> ChatCache::open_snapshots() const {
  std::vector<const kvcache::Snapshot*> all;
  for (const ChatCache* const chat : engine_.caches)
    if (chat->snapshot_ != nullptr) all.push_back(chat->snapshot_.get());
  return all;
}

kvcache::CacheStats ChatCache::stats() const {
  if (!is_lost()) return cache_->stats();
  kvcache::CacheStats stats;
  stats.arena_bytes = engine_.arena != nullptr ? engine_.arena->bytes() : lost_limit_;
  return stats;
}

void ChatCache::take_head_budgets() {
  const auto& budgets = engine_.model->config().head_budgets;
  if (budgets != nullptr && cache_->needs_head_budgets()) cache_->set_head_budgets(budgets);
}

void ChatCache::open_snapshot() {
  snapshot_.reset();
  if (has_store()) snapshot_ = std::make_unique<kvcache::Snapshot>(*cache_, *records_, key_);
}

kvcache::SnapshotIdentity ChatCache::identity(std::span<const std::int32_t> tokens) const {
  return {.model = engine_.fingerprint,
          .recipe = recipe_.hash(),
          .tokens = tokens,
          .numerics = kNumericsVersion};
}

Result<kvcache::SaveReport> ChatCache::save(kvcache::Snapshot& snapshot,
                                            std::span<const std::int32_t> tokens,
                                            const std::stop_token& stop) const {
  SATCHEL_TRY(engine_.file.check_unchanged());
  return snapshot.save(identity(tokens), stop);
}

Result<kvcache::SaveReport> ChatCache::save(std::span<const std::int32_t> tokens,
                                            const std::stop_token& stop) {
  const std::size_t body_bytes = cache_->stats().body_bytes;
  const bool is_other =
      refused_ && (body_bytes < refused_->body_bytes || n_tokens() < refused_->n_tokens);
  if (refused_ && !is_other) return refused_->why;
  refused_.reset();
  Result<kvcache::SaveReport> saved = save(*snapshot_, tokens.first(n_tokens()), stop);
  if (!saved.ok() && (saved.error().code == "CACHE_QUOTA" || saved.error().code == "CACHE_NAN"))
    refused_ = {saved.error(), body_bytes, n_tokens()};
  return saved;
}

kvcache::RestoreReport ChatCache::restore(std::span<const std::int32_t> tokens) {
  if (awaits_restore()) open_snapshot();
  if (!has_store() || tokens.empty()) return {};
  return restore(*snapshot_, tokens, open_snapshots());
}

std::size_t ChatCache::n_saved(std::span<const std::int32_t> tokens) const {
  return snapshot_ == nullptr ? 0 : snapshot_->n_saved(tokens);
}

Result<kvcache::SaveReport> ChatCache::save_copy(const kvcache::SavedPlace& to,
                                                 std::span<const std::int32_t> tokens) {
  kvcache::Snapshot snapshot(*cache_, to.store, to.key);
  return save(snapshot, tokens.first(n_tokens()));
}

kvcache::RestoreReport ChatCache::restore_copy(const kvcache::SavedPlace& from,
                                               std::span<const std::int32_t> tokens) {
  kvcache::Snapshot snapshot(*cache_, from.store, from.key);
  return restore(snapshot, tokens);
}

kvcache::RestoreReport ChatCache::restore(kvcache::Snapshot& snapshot,
                                          std::span<const std::int32_t> tokens,
                                          std::span<const kvcache::Snapshot* const> beside) {
  const Result<kvcache::RestoreReport> restored = snapshot.restore(identity(tokens), beside);
  if (restored.ok() && restored->bytes_shared > 0)
    engine_.record(LogLevel::info,
                   "restored shared_bytes=" + std::to_string(restored->bytes_shared));
  if (restored.ok()) return *restored;
  cache_->clear();
  return {.reason = RereadReason::damaged, .detail = restored.error().message};
}

RereadReason ChatCache::reason_under(const kvcache::Recipe& recipe) const {
  return recipe.hash() == recipe_.hash() ? RereadReason::lowered : RereadReason::other_recipe;
}

std::vector<kvcache::Reread> ChatCache::take_rereads() {
  std::vector<kvcache::Reread> all = rereads_.take();
  for (const kvcache::Reread& one : all)
    engine_.record(LogLevel::info, "reread tokens=" + std::to_string(one.n_tokens) +
                                       " reason=" + kvcache::reread_word(one.reason));
  return all;
}

// A checkpoint is before the cut; a window is read from the chat's beginning.
std::size_t ChatCache::cut_point(std::size_t n_tokens) {
  refused_.reset();  // what is left may be saved
  const std::size_t point = cache_->edit().truncation_point(n_tokens);
  const bool has_window = std::ranges::any_of(cache_->shape().layers,
                                              [](const auto& layer) { return layer.window > 0; });
  rereads_.lost({.begin = point, .end = std::min(n_tokens, cache_->n_tokens())},
                point == 0 && has_window ? RereadReason::window : RereadReason::checkpoint);
  return point;
}

void ChatCache::replace(std::unique_ptr<kvcache::Cache> cache, const kvcache::Recipe& recipe) {
  snapshot_.reset();
  cache_ = std::move(cache);
  recipe_ = recipe;
  open_snapshot();
}

Result<std::unique_ptr<kvcache::Cache>> ChatCache::open_in_place(const kvcache::Recipe& recipe) {
  const kvcache::CacheShape shape = cache_->shape();
  Result<std::unique_ptr<kvcache::Cache>> made = kvcache::Cache::open(engine_.arena, shape, recipe);
  const auto is_full = [&] { return !made.ok() && made.error().kind == ErrorKind::out_of_memory; };
  if (is_full()) {
    snapshot_.reset();
    cache_->clear();
    made = kvcache::Cache::open(engine_.arena, shape, recipe);
  }
  if (is_full()) {  // not even two empty ones
    cache_.reset();
    made = kvcache::Cache::open(engine_.arena, shape, recipe);
    if (!made.ok()) SATCHEL_TRY(take(engine_.arena->bytes()));
  }
  return made;
}

Result<void> ChatCache::change_recipe(const kvcache::Recipe& recipe) {
  const std::size_t n_before = n_tokens();
  const RereadReason reason = reason_under(recipe);
  Result<std::unique_ptr<kvcache::Cache>> opened = open_in_place(recipe);
  rereads_.lost({.begin = opened.ok() ? 0 : n_tokens(), .end = n_before},
                opened.ok() ? reason : RereadReason::memory_lost);
  if (opened.ok())
    replace(std::move(opened).value(), recipe);
  else if (!is_lost() && n_tokens() == 0)
    open_snapshot();
  return opened.ok() ? Result<void>() : opened.error();
}

Result<void> ChatCache::take_memory(std::size_t limit) {
  const std::size_t n_before = n_tokens();
  const Result<void> taken = take_other_memory(limit);
  rereads_.lost({.begin = n_tokens(), .end = n_before}, RereadReason::memory_lost);
  return taken;
}

Result<void> ChatCache::take_other_memory(std::size_t limit) {
  const std::size_t before = cache_->arena().bytes();
  const kvcache::CacheShape shape = cache_->shape();
  Result<std::shared_ptr<kvcache::Arena>> other = engine_.open_arena(limit);
  if (other.ok()) {
    SATCHEL_TRY_ASSIGN(std::unique_ptr<kvcache::Cache> opened,
                       kvcache::Cache::open(*other, shape, recipe_));
    snapshot_.reset();
    cache_ = std::move(opened);
    engine_.take_arena(std::move(*other));
    return {};
  }
  snapshot_.reset();
  cache_.reset();
  const Result<void> raised = engine_.set_budget(limit);
  SATCHEL_TRY(take(before));
  return raised;
}

Result<void> ChatCache::take_again(std::size_t limit_most) {
  const std::size_t limit = lost_limit_;
  const Result<void> taken = take(std::min(limit, limit_most));
  if (!taken.ok()) lost_limit_ = limit;
  return taken;
}

Result<void> ChatCache::take(std::size_t limit) {
  SATCHEL_ASSERT(cache_ == nullptr && snapshot_ == nullptr);
  lost_limit_ = limit;
  const auto opened = [this]() -> Result<void> {
    if (engine_.arena == nullptr) SATCHEL_TRY(engine_.set_budget(lost_limit_));
    SATCHEL_TRY_ASSIGN(cache_, kvcache::Cache::open(
                                   engine_.arena, engine_.model->config().cache_shape(), recipe_));
    return {};
  };
  const Result<void> done = opened();
  if (!done.ok()) return lost(done.error());
  return {};
}

Error ChatCache::lost(const Error& why) const {
  return {why.kind, "CACHE_LOST",
          "The memory of this chat was released to make a change, and is no longer available" +
              (why.message.empty() ? "." : ": " + why.message) + " " + kept_text_ +
              "The next message tries again. Close other programs or chats first, or open the "
              "chat again with a smaller memory limit."};
}

}  // namespace satchel::runtime
