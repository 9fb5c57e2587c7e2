// A message in the middle of a chat said otherwise: what follows stays, is placed or read again,
// and can be read exactly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/chat/correct_text.h"
#include "runtime/engine_state.h"
#include "support/fail_each_call.h"
#include "support/failing_journal.h"
#include "support/temp_folder.h"
#include "unit/runtime/failing_engine.h"
#include "unit/runtime/tiny_recurrent.h"

namespace satchel::runtime {
namespace {

using kvcache::RereadReason;
using testing::ElementsAre;

constexpr const char* kFirst = "Matteo Thorsen keeps a rabbit. Estelle Ibarra keeps a parrot.";
constexpr const char* kOther = "Matteo Thorsen keeps a tortoise, and so does Estelle Ibarra.";
constexpr const char* kPet = "Which pet does Matteo Thorsen keep?";

class Correct : public ChatTest {
 protected:
  using Ids = std::vector<std::int32_t>;
  static Ids ids(const Session& session) {
    return {session.tokens().begin(), session.tokens().end()};
  }
  // What was said first, and notes behind it, all read.
  std::unique_ptr<Session> chat(std::string_view recipe, std::string_view first = kFirst,
                                Engine& engine = shared_engine()) {
    auto session = open(recipe, 0, engine);
    const MessageText said[] = {{.role = Role::user, .text = first},
                                {.role = Role::assistant, .text = "I see."}};
    first_ = value_of(session->add_messages(said)).front();
    notes_ = value_of(session->add_document("notes", held_out_notes())).front().document;
    value_of(session->add_document("more", held_out_notes(1)));
    value_of(session->read({}, {}));
    for (int i = 0; i < 50 && !idle(*session).finished; ++i) {
    }
    return session;
  }
  static CorrectReport correct(Session& session, MessageId id, std::string_view text = kOther,
                               std::stop_token stop = {}) {
    return value_of(session.correct(id, text, std::move(stop), {}));
  }
  void expect_whole(const Session& session) {
    EXPECT_EQ(session.n_read(), session.tokens().size());
    expect_journal_holds(session);
  }
  static std::vector<std::string> texts(const std::vector<StoredMessage>& messages) {
    std::vector<std::string> out;
    for (const StoredMessage& message : messages) out.push_back(message.text);
    return out;
  }

  MessageId first_, notes_;
};

class CorrectUnderEachPreset : public Correct, public testing::WithParamInterface<const char*> {};

TEST_P(CorrectUnderEachPreset, keeps_what_follows_and_what_was_there_comes_back) {
  const Ids wanted = ids(*chat(GetParam(), kOther));
  journal_ = {};
  records_ = {};
  const auto session = chat(GetParam());
  value_of(session->save());
  const Ids before = ids(*session);
  const std::vector<std::string> said = texts(stored());
  const CorrectReport report = correct(*session, first_);
  EXPECT_EQ(ids(*session), wanted);
  EXPECT_GT(report.n_placed, 300u);
  EXPECT_EQ(report.n_placed, session->n_placed());
  EXPECT_EQ(report.n_unread, 0u);
  EXPECT_EQ(report.not_placed, NotPlaced::none);
  EXPECT_LT(report.n_read, 300u);
  EXPECT_EQ(report.reread,
            (std::vector<kvcache::Reread>{{RereadReason::edited, 32u + kvcache::kTailTokens}}));
  expect_whole(*session);
  std::vector<std::string> now = texts(stored());
  const auto place = std::ranges::find(now, kOther);
  ASSERT_NE(place, now.end());
  *place = kFirst;
  EXPECT_EQ(now, said);
  EXPECT_NE(ask(*session, kPet, 8).answer, MessageId{});
  expect_whole(*session);
  value_of(session->save());

  ASSERT_TRUE(session->switch_to(first_).ok());
  EXPECT_EQ(ids(*session), before);
  EXPECT_EQ(session->n_read(), before.size()) << "it was saved";
  EXPECT_EQ(session->n_placed(), 0u);
}

TEST_P(CorrectUnderEachPreset, is_saved_and_goes_on_as_if_never_closed) {
  const auto session = chat(GetParam());
  const CorrectReport report = correct(*session, first_);
  value_of(session->save());
  const auto again = open(GetParam());
  EXPECT_EQ(resume(*again).n_reread, 0u);
  EXPECT_EQ(again->n_placed(), report.n_placed);
  const GenerateReport theirs = ask(*again, kPet, 12);
  ASSERT_TRUE(session->truncate(session->messages().back().id).ok());
  EXPECT_EQ(ask(*session, kPet, 12).text, theirs.text);
}

INSTANTIATE_TEST_SUITE_P(Presets, CorrectUnderEachPreset,
                         testing::Values("full", "balanced", "compact"),
                         [](const auto& row) { return std::string(row.param); });

TEST_F(Correct, exactly_read_text_answers_as_one_that_always_stood_so) {
  const auto plain = chat("full", kOther);
  ask(*plain, kPet);
  const Ids wanted = ids(*plain);
  journal_ = {};
  const auto session = chat("full");
  const std::size_t n_placed = correct(*session, first_).n_placed;
  const ExactReport exact = value_of(session->read_exactly({}, {}));
  EXPECT_EQ(exact.read.n_tokens, n_placed + kvcache::kTailTokens);
  EXPECT_EQ(n_reread(exact.read.reread), exact.read.n_tokens);
  EXPECT_GT(exact.placed.n_tokens, 0u);
  EXPECT_GT(exact.placed.kl, 0);
  EXPECT_LT(exact.placed.kl, 1);
  EXPECT_EQ(session->n_placed(), 0u);
  ask(*session, kPet);
  EXPECT_EQ(ids(*session), wanted);
  EXPECT_EQ(value_of(session->read_exactly({}, {})).read.n_tokens, 0u);
}

TEST_F(Correct, the_ledger_tells_what_was_moved_and_later_what_that_cost) {
  const auto session = chat("full");
  EXPECT_TRUE(session->ledger().empty());
  const CorrectReport report = correct(*session, first_);
  ASSERT_EQ(session->ledger().size(), 1u);
  const LedgerEntry entry = session->ledger().front();
  EXPECT_EQ(entry.cause, LedgerCause::corrected);
  EXPECT_EQ(entry.n_tokens, session->n_read());
  EXPECT_EQ(entry.reuse.n_tokens, report.n_placed);
  EXPECT_EQ(entry.reuse.n_read, report.n_read);
  EXPECT_EQ(entry.reuse.ms, report.ms);
  EXPECT_GT(report.reading_ms, 0);
  EXPECT_EQ(entry.reuse.reading_ms, report.reading_ms);
  EXPECT_EQ(entry.bytes_after, session->stats().bytes);
  EXPECT_EQ(entry.n_lowered + entry.n_evicted, 0u);
  EXPECT_EQ(entry.fidelity.n_tokens, 0u);
  value_of(session->save());
  const auto again = open("full");
  resume(*again);
  ASSERT_EQ(again->ledger().size(), 1u);
  EXPECT_EQ(again->ledger().front().reuse.n_tokens, report.n_placed);
  const ExactReport exact = value_of(session->read_exactly({}, {}));
  EXPECT_EQ(session->ledger().front().fidelity.kl, exact.placed.kl);
  EXPECT_EQ(session->ledger().front().fidelity.n_tokens, exact.placed.n_tokens);
}

TEST_F(Correct, that_took_longer_than_reading_is_said_to_save_nothing) {
  const auto session = chat("full");
  shared_engine().state().read_ms_per_token = 1e-9;  // a machine that reads at once
  const CorrectReport report = correct(*session, first_);
  EXPECT_FALSE(session->ledger().back().reuse.saves_time());
  EXPECT_EQ(no_gain_text({.ms = report.ms, .reading_ms = report.reading_ms}).empty(),
            report.ms < 500);
  EXPECT_EQ(no_gain_text({.ms = 2000, .reading_ms = 1500}),
            "No time was saved: it took 2.00 s, and reading would have taken about 1.50 s.");
  EXPECT_EQ(no_gain_text({.ms = 2000, .reading_ms = 2500}), "");
  EXPECT_EQ(no_gain_text({.ms = 2000}), "") << "it is not known";
}

TEST_F(Correct, stopped_it_stands_and_the_rest_is_read_for_the_next_answer) {
  const auto session = chat("full");
  std::stop_source stop;
  stop.request_stop();
  const CorrectReport report = correct(*session, first_, kOther, stop.get_token());
  EXPECT_EQ(report.n_placed, 0u);
  EXPECT_GT(report.n_unread, 300u);
  EXPECT_EQ(report.n_unread, session->tokens().size() - session->n_read());
  expect_journal_holds(*session);
  EXPECT_EQ(main_reason(ask(*session, kPet, 4).read.reread), RereadReason::edited);
  expect_whole(*session);
}

TEST_F(Correct, stopped_reading_exactly_leaves_the_chat_as_it_was) {
  const auto session = chat("compact");
  const std::size_t n_placed = correct(*session, first_).n_placed;
  const Ids before = ids(*session);
  std::stop_source stop;
  const auto read = session->read_exactly(stop.get_token(), [&](const Progress& now) {
    if (now.done > 0) stop.request_stop();
  });
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, "STOPPED");
  EXPECT_EQ(session->n_placed(), n_placed);
  EXPECT_EQ(ids(*session), before);
  expect_whole(*session);
  value_of(session->save());
  const auto again = open("compact");
  EXPECT_EQ(resume(*again).n_reread, 0u);
  EXPECT_EQ(again->n_placed(), n_placed);
}

TEST_F(Correct, a_message_that_was_not_read_yet_is_read_as_it_stands_now) {
  const auto session = open("full");
  first_ = value_of(session->add_user(letters(400)));
  value_of(session->add_document("notes", held_out_notes()));
  const CorrectReport report = correct(*session, first_);
  EXPECT_EQ(report.n_read + report.n_placed, 0u);
  EXPECT_EQ(report.n_unread, session->tokens().size());
  EXPECT_TRUE(value_of(session->read({}, {})).reread.empty());
  expect_whole(*session);
}

TEST_F(Correct, marks_hold_for_what_follows) {
  const auto session = chat("compact");
  ASSERT_TRUE(session->pin(first_).ok());
  ASSERT_TRUE(session->forget(notes_).ok());
  const MessageId now = correct(*session, first_).message;
  const auto marked = [](const Session& of) {
    std::vector<std::string> out;
    for (const SessionMessage& message : of.messages())
      out.push_back(message.is_pinned ? "pinned" : message.is_forgotten ? "forgotten" : "");
    return out;
  };
  const std::vector<std::string> marks = marked(*session);
  EXPECT_EQ(std::ranges::count(marks, "pinned"), 1);
  EXPECT_EQ(std::ranges::count(marks, "forgotten"), 1);
  const auto first = std::ranges::find(session->messages(), now, &SessionMessage::id);
  EXPECT_TRUE(first->is_pinned);
  records_ = {};
  const auto again = open("compact");
  resume(*again);
  EXPECT_EQ(marked(*again), marks);
  EXPECT_EQ(ids(*again), ids(*session));
  // Of the branch that was left they stay, too.
  ASSERT_TRUE(again->switch_to(first_).ok());
  EXPECT_EQ(marked(*again), marks);
}

TEST_F(Correct, a_document_of_one_piece_too) {
  const auto session = chat("compact");
  const MessageId now = correct(*session, notes_, "Nobody keeps a pet any more.").message;
  const auto found = std::ranges::find(session->messages(), now, &SessionMessage::id);
  ASSERT_NE(found, session->messages().end());
  EXPECT_EQ(found->kind, MessageKind::document);
  EXPECT_EQ(found->title, "notes");
  expect_whole(*session);
}

TEST_F(Correct, what_cannot_be_corrected_changes_nothing) {
  const auto session = chat("compact");
  const Ids before = ids(*session);
  const auto code = [&](MessageId id, std::string_view text = kOther) {
    const auto done = session->correct(id, text, {}, {});
    return done.ok() ? "" : done.error().code;
  };
  EXPECT_EQ(code({4711}), "MESSAGE_NOT_FOUND");
  for (const SessionMessage& message : session->messages())
    if (message.role != Role::user) {
      EXPECT_EQ(code(message.id), "PARAM");
    }
  EXPECT_EQ(code(first_, letters(200'000)), "CONTEXT_FULL");
  ASSERT_TRUE(session->forget(notes_).ok());
  EXPECT_EQ(code(notes_), "PARAM");
  EXPECT_EQ(ids(*session), before);
  expect_whole(*session);
}

TEST_F(Correct, a_journal_that_fails_leaves_the_chat_as_it_was) {
  chat("full");
  test::FailingJournal failing(journal_, 0);
  SessionOptions options(open("full")->recipe());
  options.chat = chat_;
  options.journal = &failing;
  const auto session = value_of(shared_engine().new_session(options));
  resume(*session);
  const Ids before = ids(*session);
  const auto done = session->correct(first_, kOther, {}, {});
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, "DISK_FULL");
  EXPECT_EQ(ids(*session), before);
  expect_whole(*session);
  EXPECT_GT(correct(*session, first_).n_placed, 0u);
  expect_whole(*session);
}

// Each call of the backend fails once: the words stand or they do not, and the chat goes on.
TEST_F(Correct, a_backend_that_fails_loses_no_words) {
  const FailingEngine with;
  chat("compact", kFirst, *with.engine);
  const test::MemoryJournal saved = journal_;
  const auto reopened = [&] {
    journal_ = saved;
    auto session = open("compact", 0, *with.engine);
    resume(*session);
    return session;
  };
  test::fail_each_call(
      *with.failing, reopened,
      [&](Session& session) { return session.correct(first_, kOther, {}, {}); },
      [&](Session& session, const Result<CorrectReport>&) {
        expect_journal_holds(session);
        EXPECT_EQ(ask(session, kPet, 4).n_tokens, 4u);
        expect_whole(session);
      });
}

TEST_F(Correct, a_model_that_reads_in_order_reads_what_follows_again) {
  const test::TempFolder folder(test::Place::memory);
  ASSERT_TRUE(tiny_lfm2_gguf(4096).write(folder / "lfm2.gguf"));
  const auto engine = open_engine(folder / "lfm2.gguf");
  const auto session = open("full", 16u << 20, *engine);
  const MessageId first = value_of(session->add_user(letters(60)));
  value_of(session->add_document("notes", letters(600)));
  value_of(session->read({}, {}));
  const CorrectReport report = correct(*session, first, letters(50, 'k'));
  EXPECT_EQ(report.n_placed, 0u);
  EXPECT_EQ(report.n_unread, 0u);
  EXPECT_GT(n_reread(report.reread), 600u);
  EXPECT_EQ(main_reason(report.reread), RereadReason::edited);
  EXPECT_EQ(report.not_placed, NotPlaced::in_order);
  expect_whole(*session);
}

TEST(NotPlacedText, is_a_sentence_for_every_reason) {
  for (int why = 1; why <= static_cast<int>(NotPlaced::no_reading); ++why) {
    const std::string text = not_placed_text(static_cast<NotPlaced>(why));
    EXPECT_THAT(text, testing::StartsWith("Nothing was moved: "));
    EXPECT_THAT(text, testing::EndsWith("."));
  }
  EXPECT_EQ(not_placed_text(NotPlaced::none), "");
  const CorrectReport few{.message = {}, .n_read = 29, .ms = 101};
  EXPECT_THAT(describe(few), testing::EndsWith("read 29 tokens."));
}

// Of text in which scores of the steps are kept, too.
TEST_F(Correct, a_recipe_that_scores_steps_reads_what_follows_again) {
  const auto session = chat("h2o");
  const CorrectReport report = correct(*session, first_);
  EXPECT_EQ(report.n_placed, 0u);
  EXPECT_EQ(main_reason(report.reread), RereadReason::edited);
  EXPECT_EQ(report.not_placed, NotPlaced::each_step);
  EXPECT_THAT(describe(report), testing::EndsWith(not_placed_text(NotPlaced::each_step)));
  expect_whole(*session);
}

}  // namespace
}  // namespace satchel::runtime
