// Chats that answer together, and something fails that is not memory: who could go on alone goes
// on, the others say what happened; no word is lost, and every chat can be used afterwards.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/limits/presets.h"
#include "support/failing_journal.h"
#include "unit/runtime/chain_model.h"
#include "unit/runtime/failing_engine.h"
#include "unit/runtime/together.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kChats = 3;
constexpr std::size_t kTokens = 3;  // of an answer: two joint steps

class DeviceFails : public ChatTest {
 protected:
  // Steps of the model fail as well, not only what its caches do.
  void SetUp() override {
    ChatTest::SetUp();
    EngineState& state = with_.engine->state();
    state.model =
        value_of(Model::load(*with_.failing, state.file, ModelConfig(state.model->config()), {}));
  }
  void make_chats() {
    const char* recipes[kChats] = {"full", "compact", "quest"};
    const char* questions[kChats] = {"Where is the brass bell?", "Who is the pilot?", "Hello!"};
    journal_ = {};
    for (std::size_t i = 0; i < kChats; ++i) {
      chats_[i].reset();
      chat_ = {static_cast<std::int64_t>(i + 1)};
      chats_[i] = open(recipes[i], 0, *with_.engine);
      value_of(chats_[i]->add_user(questions[i]));
    }
  }
  // Together; `before_steps` is called before the first joint step.
  std::vector<Result<GenerateReport>> answer(const std::function<void()>& before_steps) {
    std::vector<ChatTurn> turns;
    for (const auto& chat : chats_)
      turns.push_back({chat.get(), {.sampling = {.n_tokens_max = kTokens}}});
    turns.back().request.delta = [&, begun = false](std::string_view) mutable {
      if (!std::exchange(begun, true)) before_steps();
      return true;
    };
    return answer_together(turns);
  }
  std::array<std::string, kChats> alone() {
    make_chats();
    std::array<std::string, kChats> texts;
    for (std::size_t i = 0; i < kChats; ++i)
      texts[i] = value_of(chats_[i]->generate({.n_tokens_max = kTokens}, {}, {}, {})).text;
    return texts;
  }
  // The words that came are kept, and the chat answers again.
  void expect_usable(std::size_t i, const std::string& whole) {
    chat_ = {static_cast<std::int64_t>(i + 1)};
    expect_journal_holds(*chats_[i]);
    EXPECT_THAT(whole, testing::StartsWith(stored().back().text));
    EXPECT_FALSE(stored().back().text.empty());
    EXPECT_EQ(stored().back().state, runtime::MessageState::interrupted);
    EXPECT_GT(ask(*chats_[i], "And then?", 2).n_tokens, 0u);
    EXPECT_EQ(chats_[i]->n_read(), chats_[i]->tokens().size());
    expect_journal_holds(*chats_[i]);
  }

  const FailingEngine with_;
  std::array<std::unique_ptr<Session>, kChats> chats_;
};

TEST_F(DeviceFails, once_in_a_joint_step_and_every_chat_gets_its_answer) {
  const auto whole = alone();
  std::size_t n_went_on = 0;
  bool has_failed = true;
  for (std::size_t n = 0; has_failed; n += 11) {
    make_chats();
    const auto reports = answer([&] { with_.failing->fail_at(n); });
    has_failed = with_.failing->has_failed();
    with_.failing->fail_at(std::nullopt);
    std::size_t n_lost = 0;
    for (std::size_t i = 0; i < kChats; ++i) {
      if (reports[i].ok()) {
        EXPECT_EQ(reports[i]->text, whole[i]) << "call " << n;
        EXPECT_EQ(chats_[i]->n_read(), chats_[i]->tokens().size()) << "call " << n;
      } else {  // at its end, which is its own
        ++n_lost;
        EXPECT_EQ(reports[i].error().code, "DEVICE_LOST");
      }
    }
    EXPECT_LE(n_lost, 1u) << "call " << n;
    if (has_failed && n_lost == 0) ++n_went_on;
  }
  EXPECT_GT(n_went_on, 5u);
}

TEST_F(DeviceFails, for_good_and_every_chat_keeps_its_words_and_goes_on_when_it_is_back) {
  const auto whole = alone();
  for (const std::size_t n : {0u, 30u, 60u}) {
    make_chats();
    const auto reports = answer([&] { with_.failing->fail_from(n); });
    ASSERT_TRUE(with_.failing->has_failed());
    with_.failing->fail_at(std::nullopt);
    for (std::size_t i = 0; i < kChats; ++i) {
      ASSERT_FALSE(reports[i].ok()) << "call " << n;
      EXPECT_EQ(reports[i].error().code, "DEVICE_LOST");
      expect_usable(i, whole[i]);
    }
  }
}

TEST(ChatsThatFail, a_chat_whose_logits_are_no_numbers_fails_alone) {
  const auto engine = open_chain(
      {.next = {{'a', 'b'}, {'b', 'c'}, {'c', 'd'}, {'d', ChainToken::end}, {'x', 'y'}, {'y', 'z'}},
       .jinja = "",
       .poison = 'z'});
  std::vector<std::unique_ptr<Session>> chats;
  std::vector<ChatTurn> turns;
  for (const char* text : {"a", "x", " a"}) {
    chats.push_back(
        value_of(engine->new_session(SessionOptions(value_of(resolve_recipe("full"))))));
    value_of(chats.back()->add_user(text));
    turns.push_back({.session = chats.back().get()});
  }
  const auto reports = answer_together(turns);
  EXPECT_EQ(value_of(reports[0]).text, "bcd");
  EXPECT_EQ(value_of(reports[2]).text, "bcd");
  ASSERT_FALSE(reports[1].ok());
  EXPECT_EQ(reports[1].error().code, "LOGITS_NAN");
  EXPECT_EQ(written(*engine, *chats[1]), "xyz") << "what was said is kept";
}

TEST(ChatsThatFail, a_chat_whose_words_cannot_be_saved_fails_alone_and_its_next_turn_saves_them) {
  const auto engine = open_chain(
      {.next = {{'a', 'b'}, {'b', 'c'}, {'c', 'd'}, {'d', ChainToken::end}}, .jinja = ""});
  test::MemoryJournal disk;
  for (std::size_t n = 2; n < 5; ++n) {  // behind the question and the beginning of the answer
    test::FailingJournal full(disk, n);
    const runtime::ChatId id{static_cast<std::int64_t>(n)};
    SessionOptions options(value_of(resolve_recipe("full")));
    const auto other = value_of(engine->new_session(options));
    options.journal = &full;
    options.chat = id;
    const auto chat = value_of(engine->new_session(options));
    value_of(other->add_user("a"));
    value_of(chat->add_user("a"));
    const std::vector<ChatTurn> turns = {{.session = chat.get()}, {.session = other.get()}};
    const auto reports = answer_together(turns);
    EXPECT_EQ(value_of(reports[1]).text, "bcd");
    ASSERT_FALSE(reports[0].ok()) << n;
    EXPECT_EQ(reports[0].error().code, "DISK_FULL");
    value_of(chat->add_user(" a"));
    EXPECT_EQ(value_of(chat->generate({}, {}, {}, {})).text, "bcd");
    std::vector<TokenId> kept;
    for (const auto& message : value_of(disk.messages(id)))
      kept.insert(kept.end(), message.tokens.begin(), message.tokens.end());
    EXPECT_TRUE(std::ranges::equal(kept, chat->tokens())) << n;
  }
}

}  // namespace
}  // namespace satchel::runtime
