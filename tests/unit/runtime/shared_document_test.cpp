// Open chats that begin with the same document of the shelf hold it once, and each answers as if it
// held it alone.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/limits/presets.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/together.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kChats = 8;

class SharedDocument : public ChatTest, public testing::WithParamInterface<const char*> {
 protected:
  // Long enough that a step reads shared pages once for all of them, within the model's context.
  static std::string document() {
    std::string text = held_out_notes();
    for (int i = 0; i < 60; ++i) text += " The bell hangs in room " + std::to_string(i) + ".";
    return text;
  }
  std::unique_ptr<Session> chat(std::int64_t id, std::string_view recipe = GetParam()) {
    chat_ = {id};
    return open(recipe);
  }
  static ReadReport attach(Session& session) {
    value_of(session.add_document("notes", document()));
    return value_of(session.read({}, {}));
  }
  // One that has read it, and what is packed later is packed.
  std::unique_ptr<Session> reader() {
    auto session = chat(1);
    attach(*session);
    for (int i = 0; i < 50 && !idle(*session).finished; ++i) {
    }
    value_of(session->save());
    return session;
  }
  std::unique_ptr<Session> taker(std::int64_t id) {
    auto session = chat(id);
    EXPECT_EQ(attach(*session).n_tokens, 0u);
    return session;
  }
  static std::string question(std::size_t i) {
    const std::vector<std::string> all = held_out_questions();
    return all.at(i % all.size());
  }
  // What each says that holds the document alone.
  std::vector<std::string> answers_alone(std::size_t n) {
    { reader(); }
    std::vector<std::string> said;
    for (std::size_t i = 0; i < n; ++i) {
      const auto session = taker(100 + static_cast<std::int64_t>(i));
      said.push_back(ask(*session, question(i)).text);
    }
    journal_ = {};
    records_ = {};
    return said;
  }
};

TEST_P(SharedDocument, is_held_once_however_many_chats_begin_with_it) {
  const auto first = reader();
  const std::size_t body = first->stats().body_bytes;
  std::vector<std::unique_ptr<Session>> chats;
  for (std::size_t i = 1; i < kChats; ++i) {
    auto session = chat(1 + static_cast<std::int64_t>(i));
    const kvcache::CacheStats empty = session->stats();
    EXPECT_EQ(attach(*session).n_tokens, 0u);
    const kvcache::CacheStats now = session->stats();
    EXPECT_EQ(now.body_bytes, body);
    EXPECT_EQ(now.arena_used_bytes - empty.arena_used_bytes, now.bytes - empty.bytes - body) << i;
    chats.push_back(std::move(session));
  }
}

TEST_P(SharedDocument, all_chats_answer_together_as_each_does_alone) {
  const std::vector<std::string> alone = answers_alone(kChats);
  const auto first = reader();
  std::vector<std::unique_ptr<Session>> chats;
  std::vector<ChatTurn> turns;
  for (std::size_t i = 0; i < kChats; ++i) {
    chats.push_back(taker(100 + static_cast<std::int64_t>(i)));
    value_of(chats.back()->add_user(question(i)));
    turns.push_back({chats.back().get(), {.sampling = {.n_tokens_max = 48}}});
  }
  const auto reports = answer_together(turns);
  for (std::size_t i = 0; i < kChats; ++i) {
    ASSERT_TRUE(reports[i].ok()) << reports[i].error().message;
    EXPECT_EQ(reports[i]->text, alone[i]) << i;
  }
}

TEST_P(SharedDocument, stays_whole_for_the_others_whatever_becomes_of_one) {
  const std::vector<std::string> alone = answers_alone(3);
  auto closed = reader();
  const auto compressed = taker(100), edited = taker(101), other = taker(102);
  value_of(compressed->change_memory({.recipe = value_of(resolve_recipe("extreme"))}, {}, {}));
  EXPECT_EQ(ask(*edited, question(1)).text, alone[1]);
  ASSERT_TRUE(edited->forget(edited->messages()[edited->messages().size() - 4].id).ok());
  ASSERT_TRUE(edited->truncate({}).ok());
  closed.reset();
  EXPECT_NE(ask(*compressed, question(0)).n_tokens, 0u);
  EXPECT_EQ(ask(*other, question(2)).text, alone[2]);
}

TEST_P(SharedDocument, is_held_once_also_when_chats_are_opened_again) {
  {
    const auto first = reader(), second = taker(2);
    for (Session* session : {first.get(), second.get()}) {
      ask(*session, question(0));
      value_of(session->save());
    }
  }
  const auto first = chat(1);
  ASSERT_EQ(resume(*first).n_reread, 0u);
  const auto second = chat(2);
  const kvcache::CacheStats empty = second->stats();
  ASSERT_EQ(resume(*second).n_reread, 0u);
  const kvcache::CacheStats now = second->stats();
  const std::size_t alone = now.bytes - empty.bytes;
  EXPECT_LT(now.arena_used_bytes, empty.arena_used_bytes + alone - now.body_bytes / 2);
}

INSTANTIATE_TEST_SUITE_P(Presets, SharedDocument, testing::Values("full", "balanced", "compact"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace satchel::runtime
