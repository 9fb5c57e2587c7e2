// MemoryChangePlanner: what would be, said without doing it. What a change does:
// session_memory_test.cpp.
#include "runtime/session/memory_change_planner.h"

#include <gtest/gtest.h>

#include "unit/runtime/chat_parts_fixture.h"

namespace satchel::runtime {
namespace {

class MemoryChangePlannerOf : public ChatPartsTest {};

TEST_F(MemoryChangePlannerOf, a_chat_without_a_requested_limit_takes_the_one_there_is) {
  const auto chat = parts_with_text("full");
  const MemoryChangePlanner planner(chat->parts);
  EXPECT_EQ(planner.limit_of({}), chat->cache->arena().bytes());
  EXPECT_EQ(planner.limit_of({.limit_bytes = 1'000'001}), kvcache::Arena::rounded_down(1'000'001));
}

TEST_F(MemoryChangePlannerOf, a_limit_below_what_a_message_takes_leaves_the_cache_nothing) {
  const auto chat = parts_with_text("full");
  const MemoryChangePlanner planner(chat->parts);
  EXPECT_EQ(planner.own_bytes_under(1), 0u);
  EXPECT_GT(planner.own_bytes_under(chat->cache->arena().bytes()), 0u);
}

TEST_F(MemoryChangePlannerOf, a_finer_recipe_means_that_all_is_read_again) {
  const auto chat = parts_with_text("compact");
  const MemoryChangePlanner planner(chat->parts);
  const MemoryTrial trial = value_of(planner.try_out({.recipe = value_of(resolve_recipe("full"))}));
  EXPECT_TRUE(trial.rereads);
  EXPECT_EQ(trial.copy, nullptr);
  EXPECT_EQ(trial.change.n_reread, chat->transcript.tokens().size());
}

TEST_F(MemoryChangePlannerOf, a_preview_changes_nothing) {
  const auto chat = parts_with_text("full");
  const kvcache::CacheStats before = chat->cache.stats();
  const MemoryChangePlanner planner(chat->parts);
  value_of(planner.preview({.recipe = value_of(resolve_recipe("compact"))}, {}));
  EXPECT_EQ(chat->cache.stats().bytes, before.bytes);
  EXPECT_EQ(chat->cache.stats().arena_used_bytes, before.arena_used_bytes);
  EXPECT_EQ(chat->cache.recipe().hash(), value_of(resolve_recipe("full")).hash());
  EXPECT_TRUE(chat->meter.ledger().entries().empty());
}

}  // namespace
}  // namespace satchel::runtime
