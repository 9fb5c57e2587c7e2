// ChatCache: a chat's cache, its recipe and its saved form, and how one cache takes the place of
// another.
//   states      held; lost: memory was released for a change and is no longer available; from lost,
//               and after take_memory(), an empty cache that awaits_restore()
//   invariants  1 lost: there is no cache, n_tokens() is 0, and only is_lost(), recipe(), stats(),
//                 take_again() and lost() may be called
//               2 the snapshot is bound to the cache: it is closed before the cache is replaced,
//                 and opened again after
//   errors      CACHE_LOST, saying what to do; the kind is that of what failed
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>

#include "runtime/engine_state.h"
#include "runtime/session/rereads.h"
#include "runtime/session/session.h"

namespace satchel::runtime {

class ChatCache {
 public:
  ChatCache(EngineState& engine, const SessionOptions& options,
            std::unique_ptr<kvcache::Cache> cache);
  ~ChatCache();
  ChatCache(const ChatCache&) = delete;

  bool is_lost() const { return cache_ == nullptr; }
  kvcache::Cache& operator*() const { return *cache_; }
  kvcache::Cache* operator->() const { return cache_.get(); }
  const kvcache::Recipe& recipe() const { return recipe_; }
  std::size_t n_tokens() const { return is_lost() ? 0 : cache_->n_tokens(); }
  Rereads& rereads() { return rereads_; }
  // What was read again since the last report, for the next.
  std::vector<kvcache::Reread> take_rereads();
  kvcache::CacheStats stats() const;  // of a lost one: the memory limit
  // Gives the cache the model's head-budget profile once there is one.
  void take_head_budgets();

  // tokens: all of the chat; the cache has seen the first n_tokens() of them.
  bool has_store() const { return records_ != nullptr; }
  kvcache::RecordStore& store() const { return *records_; }
  const kvcache::CacheKey& key() const { return key_; }
  kvcache::SnapshotIdentity identity(std::span<const std::int32_t> tokens) const;
  //   errors  CACHE_QUOTA, CACHE_NAN: until the cache is smaller, nothing is written in vain again;
  //           STOPPED
  Result<kvcache::SaveReport> save(std::span<const std::int32_t> tokens,
                                   const std::stop_token& stop = {});
  // What the model made of `tokens`, which the snapshot's cache has seen. Nothing is saved if the
  // model's file has changed: it would be taken for what the right file makes of them.
  Result<kvcache::SaveReport> save(kvcache::Snapshot& snapshot,
                                   std::span<const std::int32_t> tokens,
                                   const std::stop_token& stop = {}) const;
  // Into an empty cache. A store that cannot be read counts as damaged: it costs time, never the
  // chat. What another open chat holds of the same records is shared with it.
  kvcache::RestoreReport restore(std::span<const std::int32_t> tokens);
  // Of all open chats, this one among them: what a restore may share pages with.
  std::vector<const kvcache::Snapshot*> open_snapshots() const;
  // The same to and from where a copy of the chat is, which need not be its own store.
  Result<kvcache::SaveReport> save_copy(const kvcache::SavedPlace& to,
                                        std::span<const std::int32_t> tokens);
  kvcache::RestoreReport restore_copy(const kvcache::SavedPlace& from,
                                      std::span<const std::int32_t> tokens);
  // How many of these tokens restore() would find.
  std::size_t n_saved(std::span<const std::int32_t> tokens) const;
  bool awaits_restore() const { return has_store() && !is_lost() && snapshot_ == nullptr; }

  // Why the chat is read again under the recipe.
  kvcache::RereadReason reason_under(const kvcache::Recipe& recipe) const;
  // Where the text can be cut so that at most n_tokens are left; what is left out of them will be
  // read again.
  std::size_t cut_point(std::size_t n_tokens);
  // Takes the place of the present cache.
  void replace(std::unique_ptr<kvcache::Cache> cache, const kvcache::Recipe& recipe);
  // Opens an empty cache under another recipe. If there is memory for both, a failure changes
  // nothing. Otherwise the chat's own goes first: after a failure it is empty, or lost if the
  // backend fails too.
  Result<void> change_recipe(const kvcache::Recipe& recipe);
  // Opens an empty cache in an arena of `limit` bytes. If there is memory for both arenas, a
  // failure changes nothing. Otherwise the old one is released first, and allocated again if the
  // new one cannot be; if that fails too, the cache is lost.
  Result<void> take_memory(std::size_t limit);
  // Opens a lost cache again, empty. If the engine has no arena, in one of the size it had, but at
  // most limit_most.
  Result<void> take_again(std::size_t limit_most);
  Error lost(const Error& why) const;

 private:
  void open_snapshot();
  kvcache::RestoreReport restore(kvcache::Snapshot& snapshot, std::span<const std::int32_t> tokens,
                                 std::span<const kvcache::Snapshot* const> beside = {});
  Result<std::unique_ptr<kvcache::Cache>> open_in_place(const kvcache::Recipe& recipe);
  Result<void> take(std::size_t limit);
  Result<void> take_other_memory(std::size_t limit);

  EngineState& engine_;
  kvcache::RecordStore* const records_;
  const kvcache::CacheKey key_;
  const char* const kept_text_;
  kvcache::Recipe recipe_;
  std::unique_ptr<kvcache::Cache> cache_;
  std::size_t lost_limit_ = 0;  // what the arena had
  std::unique_ptr<kvcache::Snapshot> snapshot_;
  Rereads rereads_;
  struct Refused {
    Error why;
    std::size_t body_bytes, n_tokens;  // of the cache then
  };
  std::optional<Refused> refused_;
};

}  // namespace satchel::runtime
