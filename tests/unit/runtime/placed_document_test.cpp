// Documents that other chats have read, placed in the middle of a chat: moved and not read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/limits/presets.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::runtime {
namespace {

using kvcache::RereadReason;

class PlacedDocument : public ChatTest {
 protected:
  // Chats of their own have read both documents.
  void read_apart(std::string_view recipe) {
    for (std::size_t i = 0; i < 2; ++i) {
      chat_ = {static_cast<std::int64_t>(20 + i)};
      const auto session = open(recipe);
      add(*session, i);
      value_of(session->read({}, {}));
      for (int k = 0; k < 50 && !idle(*session).finished; ++k) {
      }
      value_of(session->save());
    }
    chat_ = {7};
  }
  static void add(Session& session, std::size_t notes) {
    value_of(session.add_document("notes", held_out_notes(notes)));
  }
  // A question, then both documents in another order.
  std::unique_ptr<Session> chat(std::string_view recipe, ReadHow how) {
    auto session = open(recipe);
    const MessageText said[] = {{.role = Role::user, .text = "Two notes follow."},
                                {.role = Role::assistant, .text = "I will read them."}};
    value_of(session->add_messages(said));
    value_of(session->read({}, {}));
    n_before_ = session->tokens().size();
    add(*session, 1);
    add(*session, 0);
    read_ = value_of(session->read({}, {}, how));
    return session;
  }
  static std::vector<std::int32_t> ids(const Session& session) {
    return {session.tokens().begin(), session.tokens().end()};
  }

  ReadReport read_;
  std::size_t n_before_ = 0;
};

class PlacedUnderEachPreset : public PlacedDocument,
                              public testing::WithParamInterface<const char*> {};

TEST_P(PlacedUnderEachPreset, is_read_at_its_ends_and_saved_as_it_stands) {
  read_apart(GetParam());
  const auto session = chat(GetParam(), ReadHow::at_once);
  const std::size_t n_documents = session->tokens().size() - n_before_;
  EXPECT_EQ(read_.n_tokens, 2 * (32 + kvcache::kTailTokens));
  EXPECT_EQ(read_.n_placed, n_documents - read_.n_tokens);
  EXPECT_EQ(read_.not_placed, NotPlaced::none);
  EXPECT_EQ(session->n_placed(), read_.n_placed);
  EXPECT_EQ(session->n_read(), session->tokens().size());
  EXPECT_THAT(read_.reread, testing::IsEmpty());
  EXPECT_EQ(read_.reuse.n_tokens, read_.n_placed);
  std::size_t n_moved = 0, n_texts = 0;
  for (const LedgerEntry& entry : session->ledger()) {
    n_moved += entry.reuse.n_tokens;
    n_texts += entry.cause == LedgerCause::placed ? 1u : 0u;
  }
  EXPECT_EQ(n_moved, read_.n_placed);
  EXPECT_EQ(n_texts, 2u);
  expect_journal_holds(*session);
  value_of(session->save());
  const auto again = open(GetParam());
  EXPECT_EQ(resume(*again).n_reread, 0u);
  EXPECT_EQ(again->n_placed(), read_.n_placed);
  const std::string question = held_out_questions().at(0);
  EXPECT_EQ(ask(*again, question, 8).text, ask(*session, question, 8).text);
}
INSTANTIATE_TEST_SUITE_P(Presets, PlacedUnderEachPreset,
                         testing::Values("full", "balanced", "compact"),
                         [](const auto& row) { return std::string(row.param); });

TEST_F(PlacedDocument, read_exactly_it_answers_as_one_that_was_read) {
  read_apart("full");
  const auto plain = chat("full", ReadHow::exactly);
  EXPECT_EQ(read_.n_placed, 0u);
  EXPECT_EQ(read_.not_placed, NotPlaced::none) << "nobody wanted it placed";
  ask(*plain, held_out_questions().at(0));
  const std::vector<std::int32_t> wanted = ids(*plain);
  journal_ = {};
  read_apart("full");
  const auto session = chat("full", ReadHow::at_once);
  ASSERT_GT(session->n_placed(), 0u);
  const ExactReport exact = value_of(session->read_exactly({}, {}));
  EXPECT_EQ(main_reason(exact.read.reread), RereadReason::placed);
  EXPECT_GT(exact.placed.kl, 0);
  EXPECT_EQ(session->n_placed(), 0u);
  ask(*session, held_out_questions().at(0));
  EXPECT_EQ(ids(*session), wanted);
}

TEST_F(PlacedDocument, is_read_where_no_chat_has_read_it_so) {
  read_apart("full");
  const auto session = chat("balanced", ReadHow::at_once);
  EXPECT_EQ(read_.n_placed, 0u);
  EXPECT_EQ(read_.not_placed, NotPlaced::no_reading);
  EXPECT_EQ(read_.n_tokens, session->tokens().size() - n_before_);
  EXPECT_EQ(session->n_read(), session->tokens().size());
}

TEST_F(PlacedDocument, is_read_and_says_so_where_the_recipe_scores_each_step) {
  read_apart("h2o");
  const auto session = chat("h2o", ReadHow::at_once);
  EXPECT_EQ(read_.n_placed, 0u);
  EXPECT_EQ(read_.not_placed, NotPlaced::each_step);
  EXPECT_EQ(session->n_read(), session->tokens().size());
}

TEST_F(PlacedDocument, is_read_where_what_was_saved_is_damaged) {
  read_apart("full");
  for (auto& [key, cache] : records_.caches)
    for (auto& [id, bytes] : cache.records) bytes[bytes.size() / 2] ^= std::byte{1};
  const auto session = chat("full", ReadHow::at_once);
  EXPECT_EQ(read_.n_placed, 0u);
  EXPECT_EQ(session->n_read(), session->tokens().size());
}

// What was moved there is not offered as what that beginning makes of the document.
TEST_F(PlacedDocument, behind_another_system_prompt_is_not_offered_to_others) {
  read_apart("full");
  SessionOptions options(value_of(resolve_recipe("full")));
  options.budget_bytes = shared_budget();
  options.chat = {30};
  options.journal = &journal_;
  options.records = &records_;
  options.system = "Answer in one word.";
  const auto session = value_of(shared_engine().new_session(options));
  add(*session, 0);
  ASSERT_GT(value_of(session->read({}, {}, ReadHow::at_once)).n_placed, 0u);
  const std::size_t n_caches = value_of(records_.list()).size();
  value_of(session->save());
  EXPECT_EQ(value_of(records_.list()).size(), n_caches + 1) << "its own alone";
  value_of(session->read_exactly({}, {}));
  value_of(session->save());
  EXPECT_EQ(value_of(records_.list()).size(), n_caches + 2);
}

// A chat that begins with a document takes it exactly; the second one is placed.
TEST_F(PlacedDocument, the_first_document_of_a_chat_is_taken_as_always) {
  read_apart("full");
  const auto session = open("full");
  add(*session, 1);
  add(*session, 0);
  const ReadReport read = value_of(session->read({}, {}, ReadHow::at_once));
  EXPECT_GT(read.n_shelf, 0u);
  EXPECT_GT(read.n_placed, 0u);
  EXPECT_EQ(read.n_tokens, 32 + kvcache::kTailTokens);
  EXPECT_EQ(read.n_shelf + read.n_placed + read.n_tokens, session->tokens().size());
}

}  // namespace
}  // namespace satchel::runtime
