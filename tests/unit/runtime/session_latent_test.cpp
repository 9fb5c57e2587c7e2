// Chats of a model with latent attention: edited, branched, regenerated, saved and opened, they say
// what they say when read anew; every preset works, and what cannot is refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "runtime/limits/presets.h"
#include "support/temp_folder.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/tiny_recurrent.h"

namespace satchel::runtime {
namespace {

using kvcache::RereadReason;
using testing::HasSubstr;

Engine& latent_engine() {
  static const test::TempFolder folder(test::Place::memory);
  static const std::unique_ptr<Engine> engine = [] {
    EXPECT_TRUE(tiny_deepseek2_gguf(4096).write(folder / "latent.gguf"));
    return open_engine(folder / "latent.gguf");
  }();
  return *engine;
}

class LatentChat : public ChatTest {
 protected:
  static constexpr std::size_t kAnswer = 40;

  std::unique_ptr<Session> chat(std::string_view recipe = "full",
                                std::size_t budget_bytes = 16u << 20) {
    return open(recipe, budget_bytes, latent_engine());
  }
  static std::vector<std::int32_t> ids(const Session& session) {
    return {session.tokens().begin(), session.tokens().end()};
  }
  static GenerateReport say(Session& session, std::string_view text) {
    return ask(session, text, kAnswer);
  }
  // The chat as a process without any saved cache has it.
  std::vector<std::int32_t> read_anew_and_say(std::string_view text) {
    const test::MemoryRecordStore saved = std::exchange(records_, {});
    const auto journal = journal_;
    const auto session = chat();
    EXPECT_EQ(resume(*session).n_reused, 0u);
    say(*session, text);
    const std::vector<std::int32_t> all = ids(*session);
    journal_ = journal;
    records_ = saved;
    return all;
  }
};

TEST_F(LatentChat, edited_in_the_middle_says_what_it_says_when_read_anew) {
  const auto session = chat();
  say(*session, letters(300));
  const MessageId kept = say(*session, letters(90, 'b')).answer;
  say(*session, letters(200, 'c'));
  ASSERT_TRUE(session->truncate(kept).ok());
  EXPECT_EQ(session->tokens().size(), session->n_read());
  const std::vector<std::int32_t> wanted = read_anew_and_say(letters(33, 'd'));
  say(*session, letters(33, 'd'));
  EXPECT_EQ(ids(*session), wanted);
}

TEST_F(LatentChat, regenerated_says_the_same) {
  const auto session = chat();
  say(*session, letters(300));
  say(*session, letters(64, 'b'));
  const std::vector<std::int32_t> once = ids(*session);
  const std::set<std::int32_t> said(once.end() - kAnswer, once.end());
  EXPECT_GT(said.size(), 5u) << "else it would say the same of any text";
  const MessageId question = session->messages()[session->messages().size() - 2].id;
  ASSERT_TRUE(session->truncate(question).ok());
  value_of(session->generate({.n_tokens_max = kAnswer}, {}, {}, {}));
  EXPECT_EQ(ids(*session), once);
}

TEST_F(LatentChat, a_branch_and_its_origin_go_their_own_ways) {
  const auto session = chat();
  say(*session, letters(200));
  const auto branch = value_of(session->fork(ChatId{8}));
  const std::vector<std::int32_t> other = read_anew_and_say(letters(70, 'e'));
  say(*branch, letters(70, 'e'));
  EXPECT_EQ(ids(*branch), other);
  const std::vector<std::int32_t> wanted = read_anew_and_say(letters(41, 'f'));
  say(*session, letters(41, 'f'));
  EXPECT_EQ(ids(*session), wanted);
}

TEST_F(LatentChat, forgets_a_message_and_goes_on) {
  const auto session = chat();
  say(*session, letters(150));
  say(*session, letters(90, 'b'));
  ASSERT_TRUE(session->forget(session->messages().front().id).ok());
  EXPECT_EQ(say(*session, letters(20, 'c')).n_tokens, kAnswer);
}

TEST_F(LatentChat, saved_and_opened_goes_on_in_every_preset) {
  for (const Preset& preset : presets()) {
    SCOPED_TRACE(preset.name);
    journal_ = {};
    records_ = {};
    const auto session = chat(preset.name);
    value_of(session->add_document("letters", letters(900)));
    say(*session, letters(30, 'b'));
    idle(*session);
    value_of(session->save());
    const std::vector<std::int32_t> before = ids(*session);
    const MessageId last = session->messages().back().id;
    say(*session, letters(10, 'c'));
    const std::vector<std::int32_t> wanted = ids(*session);
    const auto again = chat(preset.name);
    ASSERT_TRUE(journal_.truncate(chat_, last).ok());
    const ResumeReport report = resume(*again);
    EXPECT_EQ(report.reason, RereadReason::none) << report.message;
    EXPECT_EQ(report.n_reread, 0u);
    EXPECT_EQ(ids(*again), before);
    say(*again, letters(10, 'c'));
    EXPECT_EQ(ids(*again), wanted);
  }
}

TEST_F(LatentChat, with_any_record_damaged_reads_that_part_again) {
  {
    const auto session = chat();
    say(*session, letters(500));
    say(*session, letters(60, 'b'));
    value_of(session->save());
  }
  const std::vector<std::int32_t> wanted = read_anew_and_say(letters(25, 'd'));
  const test::MemoryRecordStore sound = records_;
  const auto journal = journal_;
  for (const auto& [id, bytes] : sound.caches.begin()->second.records) {
    records_ = sound;
    journal_ = journal;
    records_.caches.begin()->second.records.at(id).back() ^= std::byte{1};
    const auto session = chat();
    const ResumeReport report = resume(*session);
    EXPECT_THAT(report.message, HasSubstr("damaged (record " + std::to_string(id)));
    EXPECT_GT(report.n_reread, 0u) << id;
    say(*session, letters(25, 'd'));
    EXPECT_EQ(ids(*session), wanted) << id;
  }
}

// The steps of Full's "room": 8 bits, then 4, 3 and 2.
TEST_F(LatentChat, comes_down_the_ladder_where_memory_is_short) {
  const auto recipe = value_of(resolve_recipe("full"));
  const std::size_t least =
      value_of(latent_engine().estimate(recipe, {.n_tokens = 900})).arena_bytes;
  const auto session = chat("full", least);
  value_of(session->add_document("letters", letters(2500)));
  EXPECT_EQ(say(*session, letters(20, 'c')).n_tokens, kAnswer);
  const kvcache::CacheStats stats = session->stats();
  EXPECT_GT(stats.n_tokens, 2500u);
  EXPECT_EQ(stats.n_evicted, 0u);
  EXPECT_LE(stats.bytes, least);
  std::size_t n_lowered = 0;
  for (std::size_t tier = kvcache::kTierRecipe + 1; tier < stats.tiers.size(); ++tier)
    n_lowered += stats.tiers[tier].n_tokens;
  EXPECT_GT(n_lowered, 0u);
}

TEST_F(LatentChat, is_changed_to_another_preset_and_measured) {
  const auto session = chat();
  value_of(session->add_document("letters", letters(900)));
  say(*session, letters(30, 'b'));
  for (const char* name : {"balanced", "compact"}) {
    const MemoryChange change =
        value_of(session->change_memory({.recipe = value_of(resolve_recipe(name))}, {}, {}));
    EXPECT_LT(change.bytes_after, change.bytes_before) << name;
  }
  EXPECT_EQ(say(*session, letters(20, 'c')).n_tokens, kAnswer);
}

TEST_F(LatentChat, a_recipe_that_merges_is_refused_by_name) {
  SessionOptions options(value_of(resolve_recipe("satchel-refit")));
  options.budget_bytes = 16u << 20;
  const auto session = latent_engine().new_session(options);
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, "RECIPE_LATENT");
}

}  // namespace
}  // namespace satchel::runtime
