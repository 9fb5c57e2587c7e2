// Cutting the end off, going on in a second chat, pinning, forgetting, another recipe.
#include <gtest/gtest.h>

#include "runtime/limits/presets.h"
#include "support/fail_each_call.h"
#include "unit/runtime/failing_engine.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

using runtime::MessageId;

class Edit : public ChatTest {
 protected:
  std::unique_ptr<Session> with_notes(std::string_view recipe) {
    auto session = open(recipe);
    notes_ = value_of(session->add_document("notes", held_out_notes())).front();
    value_of(session->read({}, {}));
    return session;
  }
  static std::vector<std::int32_t> ids(const Session& session) {
    return {session.tokens().begin(), session.tokens().end()};
  }
  DocumentIds notes_;
};

TEST_F(Edit, a_chat_cut_to_a_message_goes_on_as_one_that_never_had_the_rest) {
  const auto plain = with_notes("full");
  ask(*plain, held_out_questions().at(0));
  ask(*plain, held_out_questions().at(2));
  const std::vector<std::int32_t> wanted = ids(*plain);
  journal_ = {};
  const auto session = with_notes("full");
  const MessageId answer = ask(*session, held_out_questions().at(0)).answer;
  const std::size_t n_before = session->tokens().size();
  for (int i = 0; i < 4; ++i) ask(*session, held_out_questions().at(1));
  const auto cut = session->truncate(answer);
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  EXPECT_EQ(session->tokens().size(), n_before);
  EXPECT_EQ(session->n_read(), n_before);
  EXPECT_EQ(session->messages().back().id, answer);
  EXPECT_EQ(stored().size(), 4u);
  ask(*session, held_out_questions().at(2));
  EXPECT_EQ(ids(*session), wanted);
  expect_journal_holds(*session);
}

TEST_F(Edit, a_cut_that_the_backend_fails_at_costs_reading_and_no_words) {
  const FailingEngine with;
  MessageId answer;
  {
    const auto session = open("compact", 0, *with.engine);
    answer = value_of(session->add_document("notes", held_out_notes())).front().answer;
    value_of(session->add_document("more", held_out_notes(1)));
    value_of(session->read({}, {}));
    idle(*session);
    value_of(session->save());
  }
  const test::MemoryJournal saved = journal_;
  const auto reopened = [&] {
    journal_ = saved;
    auto session = open("compact", 0, *with.engine);
    resume(*session);
    return session;
  };
  test::fail_each_call(
      *with.failing, reopened, [&](Session& session) { return session.truncate(answer); },
      [&](Session& session, const Result<void>& cut) {
        ASSERT_TRUE(cut.ok()) << cut.error().message;
        ASSERT_LE(session.n_read(), session.tokens().size());
        EXPECT_EQ(session.messages().back().id, answer);
        const std::size_t n_lost = session.tokens().size() - session.n_read();
        const GenerateReport asked = ask(session, held_out_questions().at(2), 4);
        EXPECT_EQ(asked.n_tokens, 4u);
        EXPECT_EQ(n_reread(asked.read.reread), n_lost);
        if (n_lost > 0) {
          EXPECT_EQ(main_reason(asked.read.reread), kvcache::RereadReason::cut_failed);
        }
        EXPECT_EQ(session.n_read(), session.tokens().size());
        expect_journal_holds(session);
      });
}

TEST_F(Edit, a_cut_chat_is_saved_and_resumed_as_cut) {
  const auto session = with_notes("compact");
  const MessageId answer = ask(*session, held_out_questions().at(0)).answer;
  ask(*session, held_out_questions().at(1));
  idle(*session);
  value_of(session->save());
  ASSERT_TRUE(session->truncate(answer).ok());
  value_of(session->save());
  const auto again = open("compact");
  const ResumeReport report = resume(*again);
  EXPECT_EQ(report.n_reread, 0u) << report.message;
  EXPECT_EQ(ids(*again), ids(*session));
  ask(*session, held_out_questions().at(2));
  const std::vector<std::int32_t> wanted = ids(*session);
  ASSERT_TRUE(session->truncate(answer).ok());
  ask(*again, held_out_questions().at(2));
  EXPECT_EQ(ids(*again), wanted);
}

TEST_F(Edit, a_chat_cut_to_nothing_begins_anew) {
  const auto session = with_notes("balanced");
  ASSERT_TRUE(session->truncate({}).ok());
  EXPECT_TRUE(session->tokens().empty());
  EXPECT_EQ(session->n_read(), 0u);
  EXPECT_TRUE(stored().empty());
  EXPECT_EQ(ask(*session, "Where is the brass bell?").finish, Finish::end_of_turn);
  expect_journal_holds(*session);
  EXPECT_EQ(session->truncate({99'999}).error().code, "MESSAGE_NOT_FOUND");
}

TEST_F(Edit, a_fork_goes_on_by_itself_and_shares_what_is_held) {
  const auto session = with_notes("compact");
  idle(*session);
  const std::vector<std::int32_t> common = ids(*session);
  const std::size_t used = session->stats().arena_used_bytes;
  const runtime::ChatId other{8};
  const auto fork = value_of(session->fork(other));
  EXPECT_LT(fork->stats().arena_used_bytes, used + session->stats().bytes);
  EXPECT_EQ(ids(*fork), common);
  EXPECT_EQ(fork->n_read(), session->n_read());
  EXPECT_EQ(value_of(journal_.messages(other)).size(), stored().size());
  const std::string said = ask(*fork, held_out_questions().at(0)).text;
  EXPECT_EQ(ids(*session), common);
  EXPECT_EQ(ask(*session, held_out_questions().at(0)).text, said);
  ask(*fork, held_out_questions().at(1));
  expect_journal_holds(*session);
  value_of(fork->save());
  value_of(session->save());
}

TEST_F(Edit, a_pinned_message_is_not_compressed_and_a_neighbour_is) {
  const auto session = with_notes("kvzip");
  const DocumentIds second = value_of(session->add_document("again", held_out_notes())).front();
  value_of(session->read({}, {}));
  const auto pinned = session->pin(notes_.document);
  ASSERT_TRUE(pinned.ok()) << pinned.error().message;
  idle(*session);
  const auto messages = session->messages();
  const std::size_t n_pinned = messages[0].end - messages[0].begin;
  const kvcache::CacheStats stats = session->stats();
  EXPECT_GT(stats.n_evicted, 0u);
  for (const kvcache::LayerStats& layer : stats.layers) EXPECT_GE(layer.n_kept_min, n_pinned);
  EXPECT_EQ(session->pin({99'999}).error().code, "MESSAGE_NOT_FOUND");
  EXPECT_EQ(messages[2].id, second.document);
}

TEST_F(Edit, a_forgotten_message_is_gone_from_the_cache_and_stays_in_the_journal) {
  const auto session = with_notes("full");
  ask(*session, held_out_questions().at(0));
  const std::vector<std::int32_t> all = ids(*session);
  const auto messages = session->messages();
  const std::size_t n_forgotten = messages[0].end - messages[0].begin;
  const std::size_t n_lanes = session->stats().n_kept / session->n_read();
  const auto done = session->forget(notes_.document);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(session->stats().n_evicted,
            n_lanes * (n_forgotten - kvcache::kSinkTokens));  // the first tokens stay
  EXPECT_EQ(ids(*session), all);
  EXPECT_EQ(stored().size(), 4u);
  EXPECT_EQ(ask(*session, held_out_questions().at(1)).finish, Finish::end_of_turn);
  expect_journal_holds(*session);
  EXPECT_EQ(session->forget({99'999}).error().code, "MESSAGE_NOT_FOUND");
}

TEST_F(Edit, another_recipe_reads_the_chat_again_as_if_it_had_been_there_from_the_start) {
  const auto plain = with_notes("full");
  ask(*plain, held_out_questions().at(0));
  const std::vector<std::int32_t> wanted = ids(*plain);
  journal_ = {};
  const auto session = with_notes("extreme");
  idle(*session);
  EXPECT_GT(session->stats().n_evicted, 0u);
  const std::size_t n = session->tokens().size();
  const ReadReport read = value_of(session->set_recipe(value_of(resolve_recipe("full")), {}, {}));
  EXPECT_EQ(read.n_tokens, n);
  EXPECT_EQ(read.reread, std::vector<kvcache::Reread>({{kvcache::RereadReason::other_recipe, n}}));
  EXPECT_EQ(session->stats().n_evicted, 0u);
  EXPECT_EQ(session->recipe().name(), "full");
  ask(*session, held_out_questions().at(0));
  EXPECT_EQ(ids(*session), wanted);
  value_of(session->save());
  EXPECT_EQ(resume(*open("full")).n_reread, 0u);
}

TEST_F(Edit, a_recipe_that_does_not_fit_leaves_the_old_one) {
  const auto extreme = value_of(resolve_recipe("extreme"));
  const auto need = value_of(shared_engine().estimate(extreme, {.n_tokens = 600}));
  const auto engine = open_engine(bundled_model());
  const auto session = open("extreme", need.arena_bytes, *engine);
  value_of(session->add_document("notes", held_out_notes() + "\n" + held_out_notes()));
  value_of(session->read({}, {}));
  const auto refused = session->set_recipe(value_of(resolve_recipe("full")), {}, {});
  if (!refused.ok()) {
    EXPECT_EQ(refused.error().kind, ErrorKind::out_of_memory);
  }
  const auto back = session->set_recipe(extreme, {}, {});
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(session->n_read(), session->tokens().size());
}

}  // namespace
}  // namespace satchel::runtime
