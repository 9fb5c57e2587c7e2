// The past of a chat: aged turns become episodes, and a chat goes on beyond the model's context.
#include "runtime/session/past.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/episodes/document_parts.h"
#include "runtime/session/turn.h"
#include "support/failing_journal.h"
#include "unit/runtime/chat_parts_fixture.h"

namespace satchel::runtime {
namespace {

using kvcache::RereadReason;
using kvcache::SegmentKind;
using kvcache::TextSegment;
using testing::Contains;
using testing::HasSubstr;

// Of somebody whose full name stands in one conversation only, the first or the third: what was
// read behind other notes in the same context the model does not answer anyway.
struct Fact {
  const char* question;
  const char* answer;
};
constexpr Fact kFacts[] = {
    {"Which pet does Matteo Thorsen keep?", "rabbit"},
    {"Which instrument is played by Bastian Brunner?", "clarinet"},
    {"Which instrument is played by Estelle Oliveira?", "guitar"},
};

std::string remark(std::size_t number) {
  return "The brass bell of tower " + std::to_string(number) + " is rung at noon.";
}

class SessionPast : public ChatTest {
 protected:
  std::unique_ptr<Session> open_beyond(std::string_view recipe,
                                       BeyondContext beyond = BeyondContext::episodes,
                                       Journal* journal = nullptr) {
    SessionOptions options(value_of(resolve_recipe(recipe)));
    options.budget_bytes = shared_budget();
    options.beyond = beyond;
    options.chat = chat_;
    options.journal = journal != nullptr ? journal : &journal_;
    options.records = &records_;
    return value_of(shared_engine().new_session(options));
  }
  static DocumentIds add_notes(Session& session, std::size_t number) {
    const std::string title = "notes " + std::to_string(number);
    const auto added = value_of(session.add_document(title, held_out_notes(number)));
    value_of(session.read({}, {}));
    return added.front();
  }
  // Three conversations are longer than the context.
  std::unique_ptr<Session> with_notes(std::string_view recipe) {
    auto session = open_beyond(recipe);
    for (std::size_t i = 0; i < 3; ++i) notes_.push_back(add_notes(*session, i));
    EXPECT_GT(session->tokens().size(), session->n_context());
    return session;
  }
  static void expect_knows(Session& session, const Fact& fact) {
    EXPECT_THAT(ask(session, fact.question).text, HasSubstr(fact.answer));
  }
  static std::vector<std::int32_t> go_on(Session& session) {
    for (const Fact& fact : kFacts) ask(session, fact.question);
    return ids(session);
  }
  static std::vector<std::int32_t> ids(const Session& session) {
    return {session.tokens().begin(), session.tokens().end()};
  }
  static void talk(Session& session, std::size_t n_turns) {
    for (std::size_t i = 0; i < n_turns; ++i) ask(session, remark(i), 4);
  }
  std::vector<DocumentIds> notes_;
};

class PastOf : public ChatPartsTest {
 protected:
  static void talk(Session::State& chat, std::size_t n_turns) {
    for (std::size_t i = 0; i < n_turns; ++i) {
      add_text(chat, remark(i));
      const TurnRequest request{.sampling = Sampling::plain_greedy(4)};
      Turn turn(chat.parts, chat.prefill, request);
      turn.begin();
      while (const auto token = turn.choose()) turn.decoded(turn.decode(*token));
      value_of(turn.close());
    }
  }
  static std::vector<TextSegment> segments(Session::State& chat) {
    return {chat.cache->segments().begin(), chat.cache->segments().end()};
  }
  static std::vector<TextSegment> episodes(Session::State& chat) {
    std::vector<TextSegment> out = segments(chat);
    std::erase_if(out, [](const auto& segment) { return segment.kind != SegmentKind::episode; });
    return out;
  }
};

class EvictingPast : public SessionPast, public testing::WithParamInterface<const char*> {};

TEST_P(EvictingPast, aged_turns_are_compressed_while_the_chat_is_idle_and_the_ledger_says_so) {
  const auto session = open(GetParam());
  talk(*session, 40);
  ASSERT_LT(session->tokens().size(), session->n_context());
  EXPECT_TRUE(session->has_idle_work());
  const std::size_t n_before = session->stats().n_evicted;
  const IdleReport report = idle(*session);
  EXPECT_TRUE(report.finished);
  EXPECT_GT(report.n_evicted, 0u);
  EXPECT_EQ(main_reason(report.reread), RereadReason::gathered);
  EXPECT_GE(n_reread(report.reread), kEpisodeTokens);
  EXPECT_EQ(session->stats().n_evicted - n_before, report.n_evicted);
  std::size_t n_noted = 0;
  for (const LedgerEntry& entry : session->ledger())
    if (entry.cause == LedgerCause::idle) n_noted += entry.n_evicted;
  EXPECT_EQ(n_noted, report.n_evicted);
  EXPECT_FALSE(session->has_idle_work());
}

INSTANTIATE_TEST_SUITE_P(Recipes, EvictingPast, testing::Values("satchel", "compact"),
                         [](const auto& row) { return std::string(row.param); });

TEST_F(SessionPast, an_exact_chat_has_nothing_to_gather) {
  const auto session = open("full");
  talk(*session, 40);
  EXPECT_FALSE(session->has_idle_work());
  EXPECT_EQ(idle(*session).n_evicted, 0u);
  EXPECT_EQ(session->stats().n_evicted, 0u);
}

TEST_F(PastOf, the_system_prompt_and_the_last_turns_stay_as_they_were) {
  SessionOptions own = options("satchel");
  own.system = "You answer questions.";
  const auto chat = parts(own);
  talk(*chat, 40);
  const std::vector<TextSegment> before = segments(*chat);
  ASSERT_TRUE(chat->idle_work.is_due());
  value_of(chat->idle_work.run({}, {}));
  EXPECT_FALSE(chat->idle_work.is_due());
  const std::vector<TextSegment> after = segments(*chat);
  EXPECT_GT(episodes(*chat).size(), 0u);
  EXPECT_EQ(after.front(), before.front());
  EXPECT_EQ(after.front().kind, SegmentKind::pinned);
  ASSERT_GT(after.size(), 2 * kRecentTurns);
  for (std::size_t i = 1; i <= 2 * kRecentTurns; ++i)
    EXPECT_EQ(after[after.size() - i], before[before.size() - i]) << i;
}

TEST_F(PastOf, a_pinned_message_is_not_gathered) {
  const auto chat = parts(options("satchel"));
  talk(*chat, 60);
  const SessionMessage pinned = chat->transcript.messages()[30];
  value_of(chat->cache->edit().pin(pinned.begin, pinned.end - pinned.begin));
  value_of(chat->idle_work.run({}, {}));
  ASSERT_GT(episodes(*chat).size(), 0u);
  for (const TextSegment& episode : episodes(*chat))
    EXPECT_TRUE(episode.end() <= pinned.begin || episode.first >= pinned.end);
  EXPECT_THAT(segments(*chat),
              Contains(testing::AllOf(testing::Field(&TextSegment::first, pinned.begin),
                                      testing::Field(&TextSegment::kind, SegmentKind::pinned))));
}

class BeyondTheContext : public SessionPast, public testing::WithParamInterface<const char*> {};

TEST_P(BeyondTheContext, a_chat_goes_on_and_still_knows_what_was_said_first) {
  const bool is_exact = std::string_view(GetParam()) == "full";
  const auto session = is_exact ? open_beyond(GetParam()) : open(GetParam());
  EXPECT_EQ(session->beyond(), BeyondContext::episodes);
  std::size_t n_messages = 0;
  for (std::size_t i = 0; session->tokens().size() <= 3 * session->n_context(); ++i) {
    add_notes(*session, i);
    ask(*session, remark(i), 4);
    n_messages += 4;
    EXPECT_GT(session->n_context_left(), 0u);
  }
  const GenerateReport report = ask(*session, kFacts[0].question);
  EXPECT_THAT(report.text, HasSubstr(kFacts[0].answer));
  EXPECT_GE(report.episodes.n_all, 6u);
  EXPECT_THAT(report.episodes.seen, Contains(0u));
  EXPECT_LE(report.episodes.seen.size(), kEpisodesSeen);
  EXPECT_EQ(session->n_read(), session->tokens().size());
  EXPECT_EQ(session->messages().size(), n_messages + 2);
  EXPECT_EQ(stored().size(), n_messages + 2);
  EXPECT_EQ(stored()[0].text, held_out_notes(0));
  expect_journal_holds(*session);
}

INSTANTIATE_TEST_SUITE_P(Recipes, BeyondTheContext, testing::Values("full", "satchel", "compact"),
                         [](const auto& row) { return std::string(row.param); });

TEST_F(SessionPast, a_chat_of_many_short_turns_goes_on) {
  const auto session = open_beyond("satchel");
  ask(*session, "The brass bell of Otto Delgado is in the shed.", 4);
  for (std::size_t i = 0; session->tokens().size() < session->n_context() + 400; ++i)
    ask(*session, remark(i), 4);
  EXPECT_GT(session->n_context_left(), 0u);
  const GenerateReport report = ask(*session, "Where is the brass bell of Otto Delgado?");
  EXPECT_THAT(report.episodes.seen, Contains(0u));
  EXPECT_THAT(report.text, HasSubstr("shed"));
  expect_journal_holds(*session);
}

// What an answer costs must not grow with the chat.
TEST_F(SessionPast, an_answer_sees_as_many_parts_whether_all_share_its_words_or_none_does) {
  const auto session = open_beyond("satchel");
  for (std::size_t i = 0; session->episodes().size() < 2 * kEpisodesSeen; ++i)
    ask(*session, remark(i), 4);
  const SeenEpisodes all_share = ask(*session, "Where is the brass bell?", 4).episodes;
  EXPECT_TRUE(all_share.by_words);
  EXPECT_EQ(all_share.seen.size(), kEpisodesSeen);
  const SeenEpisodes none_shares = ask(*session, "What is this all about?", 4).episodes;
  EXPECT_FALSE(none_shares.by_words);
  std::vector<std::size_t> newest;
  for (std::size_t i = kEpisodesSeen; i > 0; --i) newest.push_back(none_shares.n_all - i);
  EXPECT_EQ(none_shares.seen, newest);
}

TEST_F(SessionPast, an_exact_chat_ends_with_the_context_unless_it_is_asked_to_go_on) {
  const auto session = open("full");
  EXPECT_EQ(session->beyond(), BeyondContext::ends);
  add_notes(*session, 0);
  add_notes(*session, 1);
  EXPECT_EQ(session->add_document("", held_out_notes(2)).error().code, "CONTEXT_FULL");
  EXPECT_EQ(session->add_user(held_out_notes(2)).error().code, "CONTEXT_FULL");
  const auto longer = open_beyond("full");
  resume(*longer);
  add_notes(*longer, 2);
  expect_knows(*longer, kFacts[0]);
}

class SavedPast : public SessionPast, public testing::WithParamInterface<const char*> {};

TEST_P(SavedPast, goes_on_token_for_token_and_reads_nothing_again) {
  const auto whole = with_notes(GetParam());
  ask(*whole, kFacts[1].question);
  const std::vector<std::int32_t> uninterrupted = go_on(*whole);
  journal_ = {};
  const auto first = with_notes(GetParam());
  ask(*first, kFacts[1].question);
  value_of(first->save());
  const auto second = open_beyond(GetParam());
  const ResumeReport report = resume(*second);
  EXPECT_EQ(report.reason, RereadReason::none);
  EXPECT_FALSE(report.too_long);
  EXPECT_EQ(report.n_reread, 0u) << report.message;
  EXPECT_EQ(second->stats().body_bytes, first->stats().body_bytes);
  EXPECT_EQ(go_on(*second), uninterrupted);
  expect_journal_holds(*second);
}

INSTANTIATE_TEST_SUITE_P(Recipes, SavedPast, testing::Values("full", "satchel"),
                         [](const auto& row) { return std::string(row.param); });

TEST_F(SessionPast, without_its_saved_cache_a_long_chat_is_read_again_and_still_knows) {
  const std::size_t n_chat = with_notes("full")->tokens().size();
  const auto session = open_beyond("full");
  const ResumeReport report = resume(*session);
  EXPECT_EQ(report.reason, RereadReason::nothing_saved);
  EXPECT_EQ(report.n_reread, n_chat);
  EXPECT_EQ(session->n_read(), n_chat);
  for (const Fact& fact : kFacts) expect_knows(*session, fact);
}

TEST_F(SessionPast, a_long_chat_opened_to_end_with_the_context_is_too_long) {
  const std::size_t n_chat = with_notes("satchel")->tokens().size();
  const auto session = open_beyond("satchel", BeyondContext::ends);
  EXPECT_TRUE(resume(*session).too_long);
  EXPECT_EQ(session->tokens().size(), n_chat);
  EXPECT_EQ(session->add_user("Hello?").error().code, "CONTEXT_FULL");
}

TEST_F(SessionPast, a_long_chat_cut_to_an_early_message_goes_on_as_one_that_never_had_the_rest) {
  const auto rest = [](Session& session) {
    expect_knows(session, kFacts[0]);
    for (std::size_t i = 1; i < 3; ++i) add_notes(session, i);
    EXPECT_GT(session.tokens().size(), session.n_context());
    return go_on(session);
  };
  const auto plain = open_beyond("full");
  add_notes(*plain, 0);
  const std::vector<std::int32_t> wanted = rest(*plain);
  journal_ = {};
  const auto session = with_notes("full");
  expect_knows(*session, kFacts[1]);
  const auto cut = session->truncate(notes_[0].answer);
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  EXPECT_EQ(session->messages().size(), 2u);
  EXPECT_EQ(rest(*session), wanted);
  expect_journal_holds(*session);
}

TEST_F(SessionPast, a_long_chat_cut_between_two_episodes_goes_on) {
  const auto session = with_notes("full");
  ask(*session, kFacts[1].question);
  const auto cut = session->truncate(notes_[1].answer);
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  EXPECT_EQ(session->messages().size(), 4u);
  EXPECT_EQ(session->n_read(), session->tokens().size());
  ask(*session, remark(0), 4);  // with episodes that leave no room for the notes
  add_notes(*session, 2);
  EXPECT_LT(session->n_context_left(), session->n_context() - 700) << "the notes are near";
  for (const Fact& fact : kFacts) expect_knows(*session, fact);
  expect_journal_holds(*session);
}

TEST_F(SessionPast, a_fork_of_a_long_chat_goes_on_by_itself) {
  const auto session = with_notes("full");
  const auto fork = value_of(session->fork({8}));
  EXPECT_EQ(fork->beyond(), BeyondContext::episodes);
  EXPECT_EQ(ids(*fork), ids(*session));
  const std::vector<std::int32_t> forked = go_on(*fork);
  EXPECT_LT(session->tokens().size(), forked.size());
  EXPECT_EQ(go_on(*session), forked);
  expect_journal_holds(*session);
}

TEST_F(SessionPast, a_long_chat_is_read_again_under_another_recipe) {
  const auto session = with_notes("full");
  const std::size_t bytes = session->stats().bytes;
  value_of(session->set_recipe(value_of(resolve_recipe("compact")), {}, {}));
  EXPECT_EQ(session->n_read(), session->tokens().size());
  EXPECT_LT(session->stats().bytes, bytes);
  for (const Fact& fact : kFacts) ask(*session, fact.question);
  expect_journal_holds(*session);
}

TEST_F(SessionPast, a_long_chat_comes_down_to_a_smaller_limit) {
  const auto session = with_notes("full");
  expect_knows(*session, kFacts[0]);
  const std::size_t wanted = session->stats().arena_used_bytes * 8 / 10;
  const MemoryRequest request{.limit_bytes = wanted};
  const MemoryChange foretold = value_of(session->preview_memory(request, {}));
  EXPECT_TRUE(foretold.fits);
  const MemoryChange done = value_of(session->change_memory(request, {}, {}));
  EXPECT_EQ(done.bytes_after, foretold.bytes_after);
  EXPECT_LE(session->stats().arena_used_bytes, wanted);
  expect_knows(*session, kFacts[0]);
  expect_journal_holds(*session);
}

TEST_F(SessionPast, a_long_chat_comes_down_to_a_smaller_preset) {
  const auto session = with_notes("full");
  const std::size_t bytes = session->stats().bytes;
  const MemoryRequest request{.recipe = value_of(resolve_recipe("compact"))};
  const MemoryChange done = value_of(session->change_memory(request, {}, {}));
  EXPECT_LT(done.bytes_after, bytes);
  EXPECT_EQ(session->n_read(), session->tokens().size());
  ask(*session, kFacts[0].question);
  expect_journal_holds(*session);
}

// The model goes on with as many as this without end.
std::string bells(std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += "bell ";
  return out;
}

std::string long_document() {
  return held_out_notes(0) + "\n\n" + held_out_notes(1) + "\n\n" + held_out_notes(2);
}

TEST_F(SessionPast, a_document_longer_than_the_context_is_read_in_parts) {
  const auto session = open_beyond("full");
  const auto added = value_of(session->add_document("notes.txt", long_document()));
  ASSERT_GT(added.size(), 1u);
  const auto rows = stored();
  ASSERT_EQ(rows.size(), 2 * added.size());
  std::string text;
  for (std::size_t i = 0; i < added.size(); ++i) {
    const std::string number =
        " (part " + std::to_string(i + 1) + " of " + std::to_string(added.size()) + ")";
    EXPECT_EQ(rows[2 * i].id, added[i].document);
    EXPECT_EQ(rows[2 * i].title, "notes.txt" + number);
    EXPECT_EQ(rows[2 * i].kind, MessageKind::document);
    EXPECT_EQ(rows[2 * i + 1].id, added[i].answer);
    text += rows[2 * i].text;
  }
  EXPECT_EQ(text, long_document());
  value_of(session->read({}, {}));
  for (const Fact& fact : kFacts) expect_knows(*session, fact);
  expect_journal_holds(*session);
}

TEST_F(SessionPast, the_parts_of_a_document_are_stored_together_or_not_at_all) {
  for (std::size_t n = 0;; ++n) {
    ASSERT_LT(n, 10u);
    journal_ = {};
    test::FailingJournal failing(journal_, n);
    const auto session = open_beyond("full", BeyondContext::episodes, &failing);
    const auto added = session->add_document("notes.txt", long_document());
    EXPECT_EQ(added.ok(), !failing.failed());
    EXPECT_EQ(stored().size(), added.ok() ? 2 * added->size() : 0u);
    EXPECT_EQ(session->messages().size(), stored().size());
    if (!failing.failed()) return;
  }
}

TEST_F(SessionPast, a_long_document_that_is_stopped_while_it_is_cut_leaves_nothing) {
  const auto session = open_beyond("full");
  std::stop_source stop;
  stop.request_stop();
  std::string book;
  while (book.size() < 2 * kKeptBytes) book += long_document();
  const auto added = session->add_document("book.txt", book, stop.get_token());
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, "STOPPED");
  EXPECT_TRUE(stored().empty());
  EXPECT_TRUE(session->messages().empty());
  EXPECT_TRUE(session->add_document("notes.txt", long_document(), stop.get_token()).ok());
}

TEST_F(SessionPast, a_message_longer_than_the_context_is_to_be_attached_as_a_document) {
  const auto session = open_beyond("full");
  const auto refused = session->add_user(long_document());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "CONTEXT_FULL");
  EXPECT_THAT(refused.error().message, HasSubstr("attach it as a document"));
  EXPECT_TRUE(stored().empty());
  EXPECT_EQ(ask(*session, "Where is the brass bell?").finish, Finish::end_of_turn);
}

TEST_F(SessionPast, an_answer_that_runs_into_the_end_of_the_context_makes_room_for_itself) {
  const auto session = open_beyond("full");
  add_notes(*session, 0);
  value_of(session->add_user(bells(300)));
  const std::size_t n_wanted = session->n_context_left() + 300;
  const GenerateReport report =
      value_of(session->generate(Sampling::plain_greedy(n_wanted), {}, {}, {}));
  EXPECT_EQ(report.finish, Finish::n_tokens_max) << report.message;
  EXPECT_EQ(report.n_tokens, n_wanted);
  EXPECT_GT(session->tokens().size(), session->n_context());
  EXPECT_GT(session->n_context_left(), 0u);
  const GenerateReport next = ask(*session, kFacts[0].question);
  EXPECT_THAT(next.episodes.seen, Contains(0u));
  expect_journal_holds(*session);
}

TEST_F(SessionPast, what_an_answer_made_room_for_is_saved_and_goes_on_token_for_token) {
  const auto first = open_beyond("satchel");
  add_notes(*first, 0);
  value_of(first->add_user(bells(300)));
  const std::size_t n_wanted = first->n_context_left() + 100;
  value_of(first->generate(Sampling::plain_greedy(n_wanted), {}, {}, {}));
  EXPECT_GT(first->tokens().size(), first->n_context());
  value_of(first->save());
  const auto second = open_beyond("satchel");
  EXPECT_EQ(resume(*second).n_reread, 0u);
  const auto third = value_of(first->fork({8}));
  EXPECT_EQ(go_on(*second), go_on(*third));
}

TEST_F(SessionPast, an_answer_ends_where_it_fills_the_context_by_itself) {
  const auto session = open_beyond("full");
  add_notes(*session, 0);
  value_of(session->add_user(bells(300)));
  const GenerateReport report = value_of(session->generate(Sampling::plain_greedy(0), {}, {}, {}));
  EXPECT_EQ(report.finish, Finish::context_full);
  EXPECT_GT(report.n_tokens, session->n_context() - 400);
  EXPECT_EQ(session->n_read(), session->tokens().size());
  expect_journal_holds(*session);
  EXPECT_NE(ask(*session, remark(0), 4).finish, Finish::context_full);
  expect_journal_holds(*session);
}

}  // namespace
}  // namespace satchel::runtime
