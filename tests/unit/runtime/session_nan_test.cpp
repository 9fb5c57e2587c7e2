// A chat for which the model's numbers are none: nothing of its cache is saved.
#include <gtest/gtest.h>

#include "runtime/contract/cache_key.h"
#include "runtime/limits/presets.h"
#include "support/memory_journal.h"
#include "support/record_stores.h"
#include "support/value_of.h"
#include "unit/runtime/chain_model.h"

namespace satchel::runtime {
namespace {

TEST(ChatWithoutNumbers, is_not_saved_nor_written_again_in_vain) {
  const auto engine = open_chain({.next = {{'x', 'y'}, {'y', 'z'}}, .jinja = "", .poison = 'z'});
  test::MemoryJournal journal;
  test::MemoryRecordStore records;
  SessionOptions options(value_of(resolve_recipe("full")));
  options.journal = &journal;
  options.chat = {1};
  options.records = &records;
  const auto chat = value_of(engine->new_session(options));
  value_of(chat->add_user("x"));
  EXPECT_EQ(chat->generate({}, {}, {}, {}).error().code, "LOGITS_NAN");
  for (int time = 0; time < 2; ++time) {
    const auto saved = chat->save();
    ASSERT_FALSE(saved.ok());
    EXPECT_EQ(saved.error().code, "CACHE_NAN");
    EXPECT_FALSE(value_of(records.newest_manifest(cache_key(ChatId{1}))).has_value());
    EXPECT_EQ(records.caches.empty(), time > 0) << "the second time nothing is tried";
    records.caches.clear();
  }
  EXPECT_EQ(value_of(journal.messages(ChatId{1})).size(), 2u) << "the words are there";
}

}  // namespace
}  // namespace satchel::runtime
