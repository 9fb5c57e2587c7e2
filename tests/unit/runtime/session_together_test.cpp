// Several chats of one engine that answer at once: each as it would alone.
#include <gmock/gmock.h>

#include "runtime/limits/presets.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/together.h"

namespace satchel::runtime {
namespace {

class ChatsTogether : public ChatTest {
 protected:
  // Three chats over the same notes, each with a question of its own and another recipe.
  void make_chats() {
    const std::vector<std::string> questions = held_out_questions();
    const char* recipes[] = {"full", "balanced", "compact"};
    for (std::size_t i = 0; i < 3; ++i) {
      chats_.push_back(open(recipes[i]));
      value_of(chats_[i]->add_document("notes", held_out_notes()));
      value_of(chats_[i]->add_user(questions[i]));
    }
  }
  std::vector<ChatTurn> turns() const {
    std::vector<ChatTurn> out;
    for (const auto& chat : chats_) out.push_back({chat.get(), {.sampling = {.n_tokens_max = 48}}});
    return out;
  }
  std::vector<std::unique_ptr<Session>> chats_;
};

TEST_F(ChatsTogether, each_gets_the_answer_it_gets_alone) {
  make_chats();
  std::vector<std::string> alone;
  for (const auto& chat : chats_)
    alone.push_back(value_of(chat->generate({.n_tokens_max = 48}, {}, {}, {})).text);
  chats_.clear();
  make_chats();
  const auto reports = answer_together(turns());
  ASSERT_EQ(reports.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(reports[i].ok()) << reports[i].error().message;
    EXPECT_EQ(reports[i]->text, alone[i]);
    EXPECT_GT(reports[i]->n_tokens, 3u);
    EXPECT_EQ(chats_[i]->n_read(), chats_[i]->tokens().size());
  }
}

TEST_F(ChatsTogether, a_chat_that_is_stopped_or_fails_leaves_the_others_to_answer) {
  make_chats();
  std::vector<ChatTurn> requests = turns();
  requests[0].request.delta = [](std::string_view) { return false; };
  const auto empty = open("full");
  requests.push_back({.session = empty.get()});
  const auto reports = answer_together(requests);
  EXPECT_EQ(reports[0]->finish, Finish::stopped);
  EXPECT_EQ(reports[0]->n_tokens, 1u);
  EXPECT_EQ(reports[1]->finish, Finish::end_of_turn);
  EXPECT_EQ(reports[2]->finish, Finish::end_of_turn);
  ASSERT_FALSE(reports[3].ok());
  EXPECT_EQ(reports[3].error().code, "PARAM");
}

TEST_F(ChatsTogether, a_full_memory_ends_answers_and_loses_no_word) {
  constexpr const char* kExact = "quest";  // a recipe of exact pages that comes down to nothing
  const auto recipe = value_of(resolve_recipe(kExact));
  const auto need = value_of(shared_engine().estimate(recipe, {.n_tokens = 280}));
  chats_.push_back(open(kExact, 2 * need.arena_bytes));
  chats_.push_back(open(kExact, 2 * need.arena_bytes));
  std::size_t n_full = 0;
  for (int turn = 0; turn < 100 && n_full == 0; ++turn) {
    for (const auto& chat : chats_) (void)chat->add_user("Where is the brass bell?");
    std::vector<ChatTurn> requests = turns();
    for (ChatTurn& turn_of : requests) turn_of.request.sampling = {.temperature = 1, .seed = 3};
    for (const auto& report : answer_together(requests))
      n_full +=
          report.ok() ? report->finish == Finish::cache_full : report.error().code == "CACHE_FULL";
  }
  EXPECT_GT(n_full, 0u);
  for (const auto& chat : chats_) {
    EXPECT_GT(chat->n_read(), 200u);
    EXPECT_LE(chat->n_read(), chat->tokens().size());
    EXPECT_FALSE(chat->messages().empty());
  }
}

}  // namespace
}  // namespace satchel::runtime
