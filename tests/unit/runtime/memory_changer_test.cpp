// MemoryChanger: how a request is done, or refused. The figures of changes:
// session_memory_test.cpp.
#include "runtime/session/memory_changer.h"

#include <gtest/gtest.h>

#include "unit/runtime/chat_parts_fixture.h"

namespace satchel::runtime {
namespace {

class MemoryChangerOf : public ChatPartsTest {};

TEST_F(MemoryChangerOf, a_limit_that_is_too_low_is_refused_and_changes_nothing) {
  const auto chat = parts_with_text("full");
  const std::size_t limit = chat->cache->arena().bytes(), bytes = chat->cache.stats().bytes;
  const auto refused =
      MemoryChanger(chat->parts, chat->prefill).change({.limit_bytes = 1000}, {}, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "LIMIT");
  EXPECT_EQ(chat->cache->arena().bytes(), limit);
  EXPECT_EQ(chat->cache.stats().bytes, bytes);
}

TEST_F(MemoryChangerOf, another_recipe_reads_everything_again) {
  const auto chat = parts_with_text("compact");
  const std::size_t n = chat->transcript.tokens().size();
  const kvcache::Recipe full = value_of(resolve_recipe("full"));
  EXPECT_EQ(value_of(MemoryChanger(chat->parts, chat->prefill).set_recipe(full, {}, {})).n_tokens,
            n);
  EXPECT_EQ(chat->cache.recipe().hash(), full.hash());
  EXPECT_EQ(chat->cache.n_tokens(), n);
}

TEST_F(MemoryChangerOf, a_limit_above_what_was_reserved_needs_a_store) {
  SessionOptions unsaved = options("full");
  unsaved.records = nullptr;
  const auto chat = parts(unsaved);
  add_text(*chat, "Hello.");
  const std::size_t more = 2 * chat->cache->arena().capacity_bytes();
  const auto refused =
      MemoryChanger(chat->parts, chat->prefill).change({.limit_bytes = more}, {}, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "CACHE_LIMIT");
}

}  // namespace
}  // namespace satchel::runtime
