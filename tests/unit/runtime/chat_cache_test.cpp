// ChatCache: saved and restored, under another recipe, lost and had again.
#include "runtime/session/chat_cache.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/base/half.h"
#include "kvcache/state/cache_state.h"
#include "unit/runtime/chat_parts_fixture.h"
#include "unit/runtime/failing_engine.h"

namespace satchel::runtime {
namespace {

using kvcache::RereadReason;

class ChatCacheOf : public ChatPartsTest {};

// Takes nothing, as a store whose quota is too small for the chat.
class FullRecordStore final : public kvcache::RecordStore {
 public:
  using Key = kvcache::CacheKey;
  Result<std::optional<kvcache::SavedManifest>> newest_manifest(const Key&) override {
    return std::optional<kvcache::SavedManifest>();
  }
  Result<std::vector<std::byte>> record(const Key&, kvcache::RecordId) override { return full(); }
  Result<void> put_record(const Key&, kvcache::RecordId, std::span<const std::byte>) override {
    ++n_tries;
    return full();
  }
  Result<void> commit(const Key&, const kvcache::SavedCommit&) override {
    ++n_tries;
    return full();
  }
  Result<void> drop(const Key&) override { return {}; }

  int n_tries = 0;

 private:
  static Error full() { return {ErrorKind::storage, "CACHE_QUOTA", "Too large."}; }
};

TEST_F(ChatCacheOf, a_chat_over_the_quota_is_not_written_again_until_it_is_smaller) {
  const auto first = parts_with_text("full");
  const auto tokens = first->transcript.tokens();
  value_of(first->cache.save(tokens));
  FullRecordStore full;
  SessionOptions on_full = options("full");
  on_full.records = &full;
  ChatCache second(shared_engine().state(), on_full, cache_of(on_full.recipe));
  const auto restore = [&] {
    return second.restore_copy({records_, first->cache.key()}, tokens).reason;
  };
  ASSERT_EQ(restore(), RereadReason::none);
  for (int turn = 0; turn < 3; ++turn)
    EXPECT_EQ(second.save(tokens).error().code, "CACHE_QUOTA") << turn;
  EXPECT_EQ(full.n_tries, 1);
  second->clear();
  EXPECT_TRUE(second.save(tokens).ok()) << "there is nothing to write";
  ASSERT_EQ(restore(), RereadReason::none);
  EXPECT_EQ(second.save(tokens).error().code, "CACHE_QUOTA");
  EXPECT_EQ(full.n_tries, 2);
}

TEST_F(ChatCacheOf, a_chat_whose_numbers_are_none_is_not_written_again_until_it_is_smaller) {
  const auto chat = parts_with_text("full");
  const auto tokens = chat->transcript.tokens();
  const Half infinite = float_to_half(std::numeric_limits<float>::infinity());
  kvcache::CacheState& state = chat->cache->state();
  value_of(state.backend.upload(reinterpret_cast<std::byte*>(state.lanes[0].tail().k),
                                std::as_bytes(std::span(&infinite, 1))));
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(chat->cache.save(tokens).error().code, "CACHE_NAN") << turn;
    EXPECT_FALSE(value_of(records_.newest_manifest(chat->cache.key())).has_value());
    EXPECT_EQ(records_.caches[chat->cache.key()].records.empty(), turn > 0) << "nothing is tried";
    records_.caches.clear();
  }
  chat->cache->clear();
  EXPECT_TRUE(chat->cache.save(tokens).ok()) << "there is nothing to write";
}

TEST_F(ChatCacheOf, a_chat_without_a_store_restores_nothing) {
  SessionOptions unsaved = options("full");
  unsaved.records = nullptr;
  ChatCache cache(shared_engine().state(), unsaved, cache_of(unsaved.recipe));
  EXPECT_FALSE(cache.has_store());
  EXPECT_FALSE(cache.awaits_restore());
  EXPECT_EQ(cache.restore(std::vector<std::int32_t>{1, 2}).reason, RereadReason::nothing_saved);
}

TEST_F(ChatCacheOf, a_chat_that_was_saved_comes_back_in_another_one) {
  const auto first = parts_with_text("full");
  value_of(first->cache.save(first->transcript.tokens()));
  ChatCache second(shared_engine().state(), options("full"), cache_of(first->cache.recipe()));
  const auto restored = second.restore(first->transcript.tokens());
  EXPECT_EQ(restored.reason, RereadReason::none) << restored.detail;
  EXPECT_EQ(second.n_tokens(), first->cache.n_tokens());
}

TEST_F(ChatCacheOf, a_store_that_cannot_be_read_is_as_good_as_damaged) {
  const auto first = parts_with_text("full");
  value_of(first->cache.save(first->transcript.tokens()));
  test::FailingRecordStore broken(records_, 0, test::FailingRecordStore::Then::always);
  SessionOptions on_broken = options("full");
  on_broken.records = &broken;
  ChatCache second(shared_engine().state(), on_broken, cache_of(on_broken.recipe));
  const auto restored = second.restore(first->transcript.tokens());
  EXPECT_EQ(restored.reason, RereadReason::damaged);
  EXPECT_FALSE(restored.detail.empty());
  EXPECT_EQ(second.n_tokens(), 0u);
}

TEST_F(ChatCacheOf, another_recipe_is_empty) {
  const auto chat = parts_with_text("full");
  const kvcache::Recipe other = value_of(resolve_recipe("compact"));
  ASSERT_TRUE(chat->cache.change_recipe(other).ok());
  EXPECT_EQ(chat->cache.recipe().hash(), other.hash());
  EXPECT_EQ(chat->cache.n_tokens(), 0u);
}

TEST_F(ChatCacheOf, a_chat_that_is_lost_says_so_and_is_had_again_with_less_memory) {
  const FailingEngine with;
  EngineState& engine = with.engine->state();
  ASSERT_TRUE(with.engine->set_budget(value_of(with.engine->default_budget())).ok());
  const std::size_t limit = engine.arena->bytes();
  ChatCache cache(engine, options("full"), cache_of(options("full").recipe, *with.engine));
  with.failing->fail_allocations(true);
  const auto lost = cache.take_memory(2 * limit);
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().code, "CACHE_LOST");
  EXPECT_TRUE(cache.is_lost());
  EXPECT_EQ(cache.n_tokens(), 0u);
  EXPECT_FALSE(cache.take_again(limit / 2).ok());
  EXPECT_EQ(cache.stats().arena_bytes, limit) << "what is tried next is not less for that";
  with.failing->fail_allocations(false);
  ASSERT_TRUE(cache.take_again(limit / 2).ok());
  EXPECT_TRUE(cache.awaits_restore());
  EXPECT_EQ(cache.stats().arena_bytes, kvcache::Arena::rounded_down(limit / 2));
}

}  // namespace
}  // namespace satchel::runtime
