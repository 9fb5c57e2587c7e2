// Answers that begin right behind what was read: of base models, which go on with a text, and of
// templates that have no words of their own before an answer (Llama 2, Mistral).
#include <gmock/gmock.h>

#include "runtime/limits/presets.h"
#include "unit/runtime/chain_model.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

constexpr const char* kMistral =
    "{{ bos_token }}{{ '[INST] ' + message['content'] + ' [/INST]' }}{{ eos_token }}";

class Headless : public testing::Test {
 protected:
  void open_engine(const std::string& jinja) {
    // a to h in turn, then the end; an instruction's end leads to a.
    engine_ = open_chain({.next = {{'a', 'b'},
                                   {'b', 'c'},
                                   {'c', 'd'},
                                   {'d', 'e'},
                                   {'e', 'f'},
                                   {'f', 'g'},
                                   {'g', 'h'},
                                   {'h', ChainToken::end},
                                   {']', 'a'}},
                          .jinja = jinja});
  }
  std::unique_ptr<Session> open() {
    SessionOptions options(value_of(resolve_recipe("full")));
    options.journal = &journal_;
    options.records = &records_;
    options.chat = {7};
    return value_of(engine_->new_session(options));
  }
  static GenerateReport go_on(Session& session, std::size_t n_tokens_max = 0) {
    return value_of(session.generate({.n_tokens_max = n_tokens_max}, {}, {}, {}));
  }
  std::unique_ptr<Engine> engine_;
  test::MemoryJournal journal_;
  test::MemoryRecordStore records_;
};

TEST_F(Headless, a_base_model_goes_on_with_the_text_and_nothing_stands_between) {
  open_engine("");
  ASSERT_TRUE(engine_->chat_template().is_plain());
  const auto session = open();
  value_of(session->add_user("Say a"));
  EXPECT_EQ(go_on(*session, 3).text, "bcd");
  value_of(session->add_user(", then e"));
  EXPECT_EQ(go_on(*session, 2).text, "fg");
  value_of(session->add_user(" a"));
  const GenerateReport ended = go_on(*session);
  EXPECT_EQ(ended.text, "bcdefgh");
  EXPECT_EQ(ended.finish, Finish::end_of_turn);
  EXPECT_EQ(written(*engine_, *session), "Say abcd, then efg abcdefgh<|im_end|>")
      << "an end of its own";
  EXPECT_EQ(session->n_read(), session->tokens().size());
}

TEST_F(Headless, a_document_is_set_apart_by_lines_alone) {
  open_engine("");
  const auto session = open();
  value_of(session->add_document("notes", "Letters."));
  value_of(session->read({}, {}));
  value_of(session->add_user("abc"));
  EXPECT_EQ(go_on(*session, 2).text, "de");
  EXPECT_EQ(written(*engine_, *session), "Letters.\n\nabcde");
  EXPECT_EQ(value_of(journal_.messages({7}))[1].text, kNoted);
}

TEST_F(Headless, a_template_without_a_head_answers_what_was_asked) {
  open_engine(kMistral);
  ASSERT_EQ(engine_->chat_template().name(), "mistral");
  const auto session = open();
  value_of(session->add_user("Letters?"));
  EXPECT_EQ(go_on(*session).text, "abcdefgh");
  value_of(session->add_user("Again?"));
  EXPECT_EQ(go_on(*session).text, "abcdefgh");
}

TEST_F(Headless, what_was_read_before_is_answered_as_what_is_read_now) {
  open_engine(kMistral);
  {
    const auto session = open();
    value_of(session->add_user("Letters?"));
    value_of(session->read({}, {}));
    value_of(session->save());
  }
  const auto session = open();
  value_of(session->resume({}, {}));
  EXPECT_EQ(go_on(*session, 3).text, "abc");
  value_of(session->truncate(session->messages().front().id));
  EXPECT_EQ(go_on(*session, 3).text, "abc") << "said again";
}

TEST_F(Headless, an_empty_text_is_nothing_to_go_on_with) {
  open_engine("");
  const auto session = open();
  value_of(session->add_user(""));
  const auto report = session->generate({}, {}, {}, {});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, "PARAM");
}

class HeadlessReal : public ChatTest {};

TEST_F(HeadlessReal, the_first_token_is_the_one_that_reading_the_text_at_once_gives) {
  EngineOptions options;
  options.model = bundled_model();
  options.n_threads = 2;
  options.chat_template = "plain";
  const auto engine = value_of(Engine::open(options));
  const auto session = open("full", shared_budget(), *engine);
  value_of(session->add_user("The brass bell hangs in the harbour. Ada comes on Friday at"));
  const std::string text = value_of(session->generate(Sampling::plain_greedy(1), {}, {}, {})).text;
  auto other = open_model(value_of(GgufFile::open(bundled_model())), "cpu");
  const auto ids = session->tokens().first(session->tokens().size() - 1);
  const auto logits = other.read(*other.cache("full", ids.size()), ids);
  EXPECT_EQ(session->tokens().back(), static_cast<TokenId>(top_of(logits))) << text;
}

}  // namespace
}  // namespace satchel::runtime
