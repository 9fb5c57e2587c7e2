// Under a limit, what is out of reach of a long chat rests in the store and comes back.
#include <algorithm>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/contract/cache_key.h"
#include "runtime/engine_state.h"
#include "runtime/limits/presets.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::runtime {
namespace {

using kvcache::RereadReason;
using testing::HasSubstr;

constexpr const char* kQuestions[] = {"Which pet does Matteo Thorsen keep?",
                                      "Which instrument is played by Bastian Brunner?",
                                      "Which instrument is played by Estelle Oliveira?"};

class SessionResting : public ChatTest {
 protected:
  std::unique_ptr<Session> open_beyond(std::string_view recipe, std::size_t limit = 0,
                                       kvcache::RecordStore* records = nullptr) {
    SessionOptions options(value_of(resolve_recipe(recipe)));
    options.budget_bytes = limit > 0 ? limit : shared_budget();
    options.beyond = BeyondContext::episodes;
    options.chat = chat_;
    options.journal = &journal_;
    options.records = records != nullptr ? records : &records_;
    return value_of(shared_engine().new_session(options));
  }
  // More than twice the context, and where less of it is kept so many that a limit is felt.
  static void read_all(Session& session) {
    const std::size_t n = session.recipe().keep() < 1 ? 12 : 5;
    for (std::size_t i = 0; i < n; ++i) {
      value_of(session.add_document("notes " + std::to_string(i), held_out_notes(i)));
      value_of(session.read({}, {}));
      idle(session);
    }
  }
  static std::vector<std::int32_t> go_on(Session& session) {
    for (const char* question : kQuestions) ask(session, question);
    return {session.tokens().begin(), session.tokens().end()};
  }
  // What the chat takes with all that memory, and a limit that is too low for it.
  std::vector<std::int32_t> with_ample_memory(std::string_view recipe) {
    const auto session = open_beyond(recipe);
    read_all(*session);
    limit_ = session->stats().arena_used_bytes * 7 / 10;
    const std::vector<std::int32_t> out = go_on(*session);
    EXPECT_EQ(session->stats().n_resting, 0u);
    journal_ = {};
    records_.caches.clear();
    return out;
  }
  std::size_t n_resting_records(ChatId chat) const {
    const std::string begin = cache_key(chat).name + " from ";
    return static_cast<std::size_t>(std::ranges::count_if(
        records_.caches, [&](const auto& row) { return row.first.name.starts_with(begin); }));
  }
  std::size_t limit_ = 0;
};

TEST_F(SessionResting, an_exact_chat_answers_token_for_token_as_one_with_ample_memory) {
  const std::vector<std::int32_t> ample = with_ample_memory("full");
  const auto session = open_beyond("full", limit_);
  read_all(*session);
  EXPECT_GT(session->stats().n_resting, 0u);
  EXPECT_EQ(session->stats().n_evicted, 0u);
  EXPECT_EQ(go_on(*session), ample);
  EXPECT_GT(session->stats().n_resting, 0u);
  EXPECT_LE(session->stats().arena_used_bytes, session->stats().arena_bytes);
  expect_journal_holds(*session);
}

TEST_F(SessionResting, named_episodes_that_the_limit_has_no_memory_for_are_told) {
  const kvcache::Recipe full = value_of(resolve_recipe("full"));
  const std::size_t least = value_of(least_budget(shared_engine().config(), full));
  const auto session = open_beyond("full", 3 * least);
  read_all(*session);
  ASSERT_GE(session->episodes().size(), 4u);
  ASSERT_TRUE(session->name_episodes({0, 1, 2, 3}).ok());
  const SeenEpisodes few = ask(*session, kQuestions[0]).episodes;
  EXPECT_TRUE(few.were_named);
  EXPECT_FALSE(few.missing.empty());
  EXPECT_EQ(few.seen.size() + few.missing.size(), 4u);
  EXPECT_TRUE(value_of(session->change_memory({.limit_bytes = shared_budget()}, {}, {})).fits);
  ASSERT_TRUE(session->name_episodes({0, 1, 2, 3}).ok());
  EXPECT_TRUE(ask(*session, kQuestions[0]).episodes.missing.empty());
  EXPECT_FALSE(ask(*session, kQuestions[1]).episodes.were_named);
}

class Resting : public SessionResting, public testing::WithParamInterface<const char*> {};

TEST_P(Resting, it_goes_on_in_another_process_as_if_nothing_had_been) {
  with_ample_memory(GetParam());
  auto first = open_beyond(GetParam(), limit_);
  read_all(*first);
  value_of(first->save());
  const std::size_t n_resting = first->stats().n_resting;
  EXPECT_GT(n_resting, 0u);
  auto journal = journal_;
  auto records = records_.caches;
  const std::vector<std::int32_t> uninterrupted = go_on(*first);
  first.reset();
  journal_ = journal;
  records_.caches = records;
  const auto second = open_beyond(GetParam(), limit_);
  const ResumeReport report = resume(*second);
  EXPECT_EQ(report.reason, RereadReason::none);
  EXPECT_EQ(report.n_reread, 0u);
  EXPECT_EQ(second->stats().n_resting, n_resting);
  EXPECT_EQ(go_on(*second), uninterrupted);
}

INSTANTIATE_TEST_SUITE_P(Recipes, Resting, testing::Values("full", "satchel"),
                         [](const auto& row) { return std::string(row.param); });

TEST_F(SessionResting, what_the_store_has_lost_is_read_again) {
  with_ample_memory("full");
  const auto session = open_beyond("full", limit_);
  read_all(*session);
  ASSERT_GT(n_resting_records(chat_), 0u);
  std::erase_if(records_.caches,
                [](const auto& row) { return row.first.name.find(" from ") != std::string::npos; });
  const GenerateReport answer = ask(*session, kQuestions[0]);
  EXPECT_THAT(answer.text, HasSubstr("rabbit"));
  EXPECT_EQ(main_reason(answer.read.reread), RereadReason::episode_lost);
  EXPECT_GE(n_reread(answer.read.reread), session->episodes()[0].n_tokens);
  expect_journal_holds(*session);
}

TEST_F(SessionResting, a_record_of_other_text_is_not_taken) {
  with_ample_memory("full");
  const auto session = open_beyond("full", limit_);
  read_all(*session);
  auto& caches = records_.caches;
  const auto is_resting = [](const auto& row) {
    return row.first.name.find(" from ") != std::string::npos;
  };
  const auto first = std::ranges::find_if(caches, is_resting);
  const auto other = std::find_if(std::next(first), caches.end(), is_resting);
  ASSERT_NE(other, caches.end());
  std::swap(first->second, other->second);
  EXPECT_THAT(ask(*session, kQuestions[0]).text, HasSubstr("rabbit"));
  expect_journal_holds(*session);
}

// Then the recipe's own steps free memory, as without a store.
TEST_F(SessionResting, a_store_that_fails_costs_sharpness_not_the_chat) {
  with_ample_memory("satchel");
  test::FailingRecordStore failing(records_, 0, test::FailingRecordStore::Then::always);
  const auto session = open_beyond("satchel", limit_, &failing);
  read_all(*session);
  EXPECT_GT(failing.n_calls(), 0u);
  EXPECT_EQ(session->stats().n_resting, 0u);
  for (const char* question : kQuestions) EXPECT_FALSE(ask(*session, question).text.empty());
  expect_journal_holds(*session);
}

TEST_F(SessionResting, text_that_is_cut_off_leaves_no_record) {
  with_ample_memory("full");
  const auto session = open_beyond("full", limit_);
  read_all(*session);
  ASSERT_GT(n_resting_records(chat_), 1u);
  ASSERT_TRUE(session->truncate(stored()[1].id).ok());
  EXPECT_LE(n_resting_records(chat_), 1u);
  ASSERT_TRUE(session->truncate({}).ok());
  EXPECT_EQ(n_resting_records(chat_), 0u);
  EXPECT_THAT(ask(*session, "Where is the brass bell?").text, testing::Not(testing::IsEmpty()));
}

TEST_F(SessionResting, a_fork_has_records_of_its_own) {
  with_ample_memory("full");
  auto session = open_beyond("full", limit_);
  read_all(*session);
  const auto fork = value_of(session->fork({8}));
  EXPECT_EQ(n_resting_records({8}), n_resting_records(chat_));
  std::erase_if(records_.caches, [&](const auto& row) { return row.first.owner == chat_.value; });
  session.reset();  // there is no memory for both
  EXPECT_THAT(ask(*fork, kQuestions[0]).text, HasSubstr("rabbit"));
}

TEST_F(SessionResting, a_message_that_rests_can_be_forgotten) {
  with_ample_memory("full");
  const auto session = open_beyond("full", limit_);
  read_all(*session);
  const std::size_t n_resting = session->stats().n_resting;
  const std::size_t n_evicted = session->stats().n_evicted;
  ASSERT_TRUE(session->forget(stored()[0].id).ok());
  EXPECT_LT(session->stats().n_resting, n_resting);
  EXPECT_GT(session->stats().n_evicted, n_evicted);
  EXPECT_THAT(ask(*session, kQuestions[0]).text, testing::Not(HasSubstr("rabbit")));
}

TEST_F(SessionResting, a_message_there_is_no_memory_for_is_not_forgotten_in_part) {
  with_ample_memory("full");
  const auto session = open_beyond("full", limit_);
  read_all(*session);
  ASSERT_GT(session->stats().n_resting, 0u);
  const std::size_t n_evicted = session->stats().n_evicted;
  const auto full =
      shared_engine().state().arena->take_scratch(shared_engine().state().arena->free_bytes());
  ASSERT_TRUE(full.ok());
  const Result<void> forgotten = session->forget(stored()[0].id);
  EXPECT_TRUE(forgotten.ok() || forgotten.error().code == "CACHE_FULL");
  EXPECT_EQ(session->stats().n_evicted > n_evicted, forgotten.ok());
}

// The quota of the store has taken it meanwhile.
TEST_F(SessionResting, an_episode_rests_again_only_with_a_record) {
  with_ample_memory("full");
  const auto session = open_beyond("full", limit_);
  read_all(*session);
  ask(*session, kQuestions[0]);  // comes back as it was stored
  std::erase_if(records_.caches,
                [](const auto& row) { return row.first.name.find(" from ") != std::string::npos; });
  value_of(session->change_memory({.limit_bytes = limit_ * 9 / 10}, {}, {}));
  for (const char* question : kQuestions) ask(*session, question);
  EXPECT_GT(n_resting_records(chat_), 0u);
  EXPECT_THAT(ask(*session, kQuestions[0]).text, HasSubstr("rabbit"));
}

TEST_F(SessionResting, a_chat_is_cut_also_where_the_store_fails) {
  with_ample_memory("full");
  std::optional<test::FailingRecordStore> failing;
  auto session = open_beyond("full", limit_);
  read_all(*session);
  ASSERT_GT(session->stats().n_resting, 0u);
  value_of(session->save());
  session.reset();
  failing.emplace(records_, 0, test::FailingRecordStore::Then::always);
  const auto other = open_beyond("full", limit_, &*failing);
  resume(*other);
  ASSERT_TRUE(other->truncate(stored()[1].id).ok());
  EXPECT_EQ(other->n_read(), other->tokens().size());
  EXPECT_FALSE(ask(*other, kQuestions[0]).text.empty());
}

TEST_F(SessionResting, for_a_lower_limit_episodes_rest_before_anything_is_thinned) {
  const auto session = open_beyond("full");
  read_all(*session);
  const MemoryRequest request{.limit_bytes = session->stats().arena_used_bytes * 7 / 10};
  const MemoryChange foretold = value_of(session->preview_memory(request, {}));
  const MemoryChange done = value_of(session->change_memory(request, {}, {}));
  EXPECT_EQ(done.n_lowered + done.n_evicted, 0u);
  EXPECT_EQ(done.bytes_after, foretold.bytes_after);
  EXPECT_GT(session->stats().n_resting, 0u);
  EXPECT_THAT(ask(*session, kQuestions[0]).text, HasSubstr("rabbit"));
}

}  // namespace
}  // namespace satchel::runtime
