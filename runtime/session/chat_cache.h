// ChatCache: a chat's cache, its recipe and its saved form, and how one cache takes the place of
// another.
//   states      held; lost, where memory that was given back for a change could not be had again;
//               from lost, and after take_memory(), an empty cache that awaits_restore()
//   invariants  1 lost: there is no cache, n_tokens() is 0, and only is_lost(), recipe(), stats(),
//                 take_again() and lost() may be called
//               2 what is saved is bound to the cache there is: it goes first, and is opened anew
//   errors      CACHE_LOST, saying what to do; the kind is that of what failed
#pragma once

#include <memory>
#include <span>

#include "runtime/engine_state.h"
#include "runtime/session/session.h"

namespace satchel::runtime {

class ChatCache {
 public:
  ChatCache(EngineState& engine, const SessionOptions& options,
            std::unique_ptr<kvcache::Cache> cache);
  ChatCache(const ChatCache&) = delete;

  bool is_lost() const { return cache_ == nullptr; }
  kvcache::Cache& operator*() const { return *cache_; }
  kvcache::Cache* operator->() const { return cache_.get(); }
  const kvcache::Recipe& recipe() const { return recipe_; }
  std::size_t n_tokens() const { return is_lost() ? 0 : cache_->n_tokens(); }
  kvcache::CacheStats stats() const;  // of a lost one: the memory limit
  // It knows the model's head-budget profile as soon as there is one.
  void take_head_budgets();

  // tokens: of the chat, of which the cache has seen the first.
  bool has_store() const { return records_ != nullptr; }
  Result<kvcache::SaveReport> save(std::span<const std::int32_t> tokens);
  // Into an empty cache. A store that cannot be read costs time, never the chat: it is as good as
  // damaged.
  kvcache::RestoreReport restore(std::span<const std::int32_t> tokens);
  bool awaits_restore() const { return has_store() && !is_lost() && snapshot_ == nullptr; }

  // In place of the one there is.
  void replace(std::unique_ptr<kvcache::Cache> cache, const kvcache::Recipe& recipe);
  // An empty cache under another recipe. Where there is room for both caches nothing changes if
  // that fails. Else it takes the place of the chat's own, which is empty if that fails, or, if the
  // backend fails as well, lost.
  Result<void> change_recipe(const kvcache::Recipe& recipe);
  // An empty cache in an arena of `limit` bytes. Where there is room for both arenas nothing
  // changes if that fails. Else the old one goes first, and is taken again if the new one cannot be
  // had; if it is gone by then, the cache is lost.
  Result<void> take_memory(std::size_t limit);
  // A lost one as an empty cache. Where the engine has no arena, in one of the size it had, but of
  // limit_most at most.
  Result<void> take_again(std::size_t limit_most);
  Error lost(const Error& why) const;

 private:
  void open_snapshot();
  kvcache::SnapshotIdentity identity(std::span<const std::int32_t> tokens) const;
  Result<std::unique_ptr<kvcache::Cache>> open_in_place(const kvcache::Recipe& recipe);
  Result<void> take(std::size_t limit);

  EngineState& engine_;
  kvcache::RecordStore* const records_;
  const kvcache::CacheKey key_;
  const char* const kept_text_;
  kvcache::Recipe recipe_;
  std::unique_ptr<kvcache::Cache> cache_;
  std::size_t lost_limit_ = 0;  // what the arena had
  std::unique_ptr<kvcache::Snapshot> snapshot_;
};

}  // namespace satchel::runtime
