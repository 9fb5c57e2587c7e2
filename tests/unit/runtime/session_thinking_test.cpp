// Chats with a model that thinks: every token leads to one other, so that what it says is known.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "runtime/limits/presets.h"
#include "unit/runtime/chain_model.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::runtime {
namespace {

using testing::HasSubstr;

constexpr TokenId kEnd = ChainToken::end, kThink = ChainToken::think,
                  kThought = ChainToken::thought, kTwoLines = ChainToken::two_lines;

const std::string kSwitched = test::thoughtful_chain().jinja;
constexpr const char* kOpening = "{{- '<|im_start|>assistant\\n<think>\\n' }}";

class Thoughtful : public testing::Test {
 protected:
  static std::unique_ptr<Engine> engine_of(const std::map<TokenId, TokenId>& next,
                                           const std::string& jinja) {
    return open_chain({.next = next, .jinja = jinja});
  }
  std::unique_ptr<Session> open(Engine& engine) {
    SessionOptions options(value_of(resolve_recipe("full")));
    options.journal = &journal_;
    options.records = &records_;
    options.chat = {7};
    return value_of(engine.new_session(options));
  }
  GenerateReport ask(Session& session, std::size_t n_tokens_max = 0) {
    value_of(session.add_user("Well?"));
    thought_.clear();
    said_.clear();
    return value_of(
        session.generate({.n_tokens_max = n_tokens_max}, keeper(said_), {}, {}, keeper(thought_)));
  }
  static DeltaFn keeper(std::string& into) {
    return [&into](std::string_view delta) {
      into += delta;
      return true;
    };
  }
  std::string said_, thought_;
  test::MemoryJournal journal_;
  test::MemoryRecordStore records_;
};

// Behind the head: <think> H m </think> and two lines, Y e s. Behind the empty block: Y e s.
const std::map<TokenId, TokenId> kThinks = test::thoughtful_chain().next;

TEST_F(Thoughtful, answers_say_and_count_the_answer_and_keep_the_thoughts_apart) {
  const auto engine = engine_of(kThinks, kSwitched);
  ASSERT_EQ(engine->chat_template().name(), "qwen3");
  const auto session = open(*engine);
  const GenerateReport report = ask(*session);
  EXPECT_EQ(report.finish, Finish::end_of_turn);
  EXPECT_EQ(report.text, "Yes");
  EXPECT_EQ(report.n_tokens, 3u);
  EXPECT_EQ(report.thoughts.text, "Hm");
  EXPECT_EQ(report.thoughts.n_tokens, 5u);
  EXPECT_EQ(said_, "Yes");
  EXPECT_EQ(thought_, "Hm");
  const auto stored = value_of(journal_.messages({7}));
  EXPECT_EQ(stored.back().text, "Yes") << "what people read";
  EXPECT_THAT(stored.back().tokens,
              testing::IsSupersetOf({kThink, TokenId{'H'}, kThought, TokenId{'Y'}}))
      << "what the model reads";
  EXPECT_EQ(session->n_read(), session->tokens().size());
}

TEST_F(Thoughtful, answers_are_as_long_as_asked_however_long_was_thought) {
  const auto engine = engine_of(kThinks, kSwitched);
  const auto session = open(*engine);
  const GenerateReport report = ask(*session, 2);
  EXPECT_EQ(report.finish, Finish::n_tokens_max);
  EXPECT_EQ(report.text, "Ye");
  EXPECT_EQ(report.thoughts.text, "Hm");
}

// A token a byte: "<" alone does not say yet that thoughts begin.
TEST_F(Thoughtful, the_beginning_of_a_mark_is_no_token_of_the_answer) {
  std::map<TokenId, TokenId> next = kThinks;
  next['\n'] = '<';
  for (const char* at = "<think>H"; at[1] != '\0'; ++at) next[at[0]] = at[1];
  const auto engine = engine_of(next, kSwitched);
  const auto session = open(*engine);
  const GenerateReport report = ask(*session, 1);
  EXPECT_EQ(report.finish, Finish::n_tokens_max);
  EXPECT_EQ(report.text, "Y");
  EXPECT_EQ(report.n_tokens, 1u);
  EXPECT_EQ(report.thoughts.text, "Hm");
  EXPECT_EQ(report.thoughts.n_tokens, 11u);
}

TEST_F(Thoughtful, white_space_without_end_is_an_answer_that_the_limit_ends) {
  const auto engine = engine_of({{'\n', '\n'}}, kSwitched);
  for (const std::size_t n_max : {3u, 40u}) {
    journal_ = {};
    const auto session = open(*engine);
    value_of(session->add_user("Well?"));
    const GenerateReport report =
        value_of(session->generate({.n_tokens_max = n_max, .ends_loops = false}, {}, {}, {}));
    EXPECT_EQ(report.finish, Finish::n_tokens_max);
    EXPECT_EQ(report.n_tokens, std::max<std::size_t>(n_max, 16));
    EXPECT_EQ(report.text, std::string(report.n_tokens, '\n'));
  }
}

TEST_F(Thoughtful, models_that_are_told_not_to_think_answer_at_once) {
  const auto engine = engine_of(kThinks, kSwitched);
  const auto session = open(*engine);
  value_of(session->set_thinking(Thinking::off));
  const GenerateReport report = ask(*session);
  EXPECT_EQ(report.text, "Yes");
  EXPECT_EQ(report.thoughts.n_tokens, 0u);
  value_of(session->set_thinking(Thinking::on));
  EXPECT_EQ(ask(*session).thoughts.text, "Hm") << "from one answer to the next";
  const auto messages = session->messages();
  EXPECT_EQ(value_of(session->thoughts(messages[1].id)).text, "");
  EXPECT_EQ(value_of(session->thoughts(messages[3].id)).text, "Hm");
}

TEST_F(Thoughtful, chats_that_are_resumed_still_know_the_thoughts) {
  const auto engine = engine_of(kThinks, kSwitched);
  {
    const auto session = open(*engine);
    ask(*session);
    value_of(session->save());
  }
  const auto session = open(*engine);
  value_of(session->resume({}, {}));
  const auto messages = session->messages();
  const Thoughts thoughts = value_of(session->thoughts(messages.back().id));
  EXPECT_EQ(thoughts.text, "Hm");
  EXPECT_EQ(thoughts.n_tokens, 5u);
  EXPECT_EQ(value_of(session->thoughts(messages.front().id)).text, "") << "a question";
  EXPECT_EQ(session->thoughts({99}).error().code, "MESSAGE_NOT_FOUND");
}

TEST_F(Thoughtful, templates_that_open_the_thoughts_need_no_mark_from_the_model) {
  std::map<TokenId, TokenId> next = kThinks;
  next['\n'] = 'H';
  const auto engine = engine_of(next, kOpening);
  const auto session = open(*engine);
  const GenerateReport report = ask(*session);
  EXPECT_EQ(report.thoughts.text, "Hm");
  EXPECT_EQ(report.text, "Yes");
  EXPECT_EQ(value_of(session->thoughts(report.answer)).text, "Hm");
  const Error refused = session->set_thinking(Thinking::off).error();
  EXPECT_EQ(refused.code, "THINKING");
  EXPECT_THAT(refused.message, HasSubstr("Choose auto, or leave out --think"));
  EXPECT_TRUE(session->set_thinking(Thinking::automatic).ok());
  SessionOptions options(value_of(resolve_recipe("full")));
  options.thinking = Thinking::on;
  EXPECT_EQ(engine->new_session(options).error().code, "THINKING");
}

TEST_F(Thoughtful, models_that_think_in_circles_are_ended_and_a_stop_keeps_what_came) {
  std::map<TokenId, TokenId> next = kThinks;
  next['m'] = 'H';
  const auto engine = engine_of(next, kSwitched);
  const auto session = open(*engine);
  const GenerateReport circles = ask(*session);
  EXPECT_EQ(circles.finish, Finish::repeats);
  EXPECT_EQ(circles.text, "");
  EXPECT_THAT(circles.thoughts.text, HasSubstr("HmHmHm"));
  value_of(session->add_user("Go on."));
  int n_deltas = 0;
  const auto stopped = value_of(session->generate(
      {.ends_loops = false}, {}, {}, {}, [&](std::string_view) { return ++n_deltas < 3; }));
  EXPECT_EQ(stopped.finish, Finish::stopped);
  EXPECT_EQ(stopped.thoughts.text, "HmH");
  EXPECT_EQ(value_of(journal_.messages({7})).back().state, runtime::MessageState::interrupted);
  EXPECT_EQ(value_of(session->thoughts(stopped.answer)).text, "HmH");
}

constexpr const char* kNotesRead =
    "<|im_start|>user\nNotes.<|im_end|>\n<|im_start|>assistant\nNoted.<|im_end|>\n"
    "<|im_start|>user\nWell?<|im_end|>\n<|im_start|>assistant\n";

TEST_F(Thoughtful, a_document_read_first_is_noted_without_thoughts_and_leaves_the_switch) {
  const auto engine = engine_of(kThinks, kSwitched);
  for (const Thinking thinking : {Thinking::automatic, Thinking::on, Thinking::off}) {
    journal_ = {};
    const auto session = open(*engine);
    value_of(session->set_thinking(thinking));
    const DocumentIds ids = value_of(session->add_document("notes", "Notes.")).front();
    value_of(session->read({}, {}));
    const bool thinks = thinking != Thinking::off;
    const GenerateReport report = ask(*session);
    EXPECT_EQ(report.text, "Yes");
    EXPECT_EQ(report.thoughts.text, thinks ? "Hm" : "");
    EXPECT_EQ(value_of(session->thoughts(report.answer)).text, thinks ? "Hm" : "");
    EXPECT_EQ(value_of(session->thoughts(ids.answer)).text, "");
    EXPECT_EQ(written(*engine, *session),
              kNotesRead +
                  std::string(thinks ? "<think>Hm</think>\n\n" : "<think>\n\n</think>\n\n") +
                  "Yes<|im_end|>\n");
    EXPECT_EQ(session->n_read(), session->tokens().size());
  }
}

TEST_F(Thoughtful, a_document_read_first_does_not_open_the_thoughts_of_its_answer) {
  std::map<TokenId, TokenId> next = kThinks;
  next['\n'] = 'H';
  const auto engine = engine_of(next, kOpening);
  const auto session = open(*engine);
  const DocumentIds ids = value_of(session->add_document("notes", "Notes.")).front();
  const GenerateReport report = ask(*session);
  EXPECT_EQ(report.thoughts.text, "Hm");
  EXPECT_EQ(value_of(session->thoughts(ids.answer)).text, "");
  EXPECT_EQ(written(*engine, *session),
            kNotesRead + std::string("<think>\nHm</think>\n\nYes<|im_end|>\n"));
}

TEST_F(Thoughtful, answers_of_another_model_are_no_thoughts_of_this_one) {
  using enum runtime::MessageState;
  const auto add = [this](runtime::Role role, runtime::MessageState state, const char* text) {
    return value_of(journal_.append(
        {7}, {.role = role, .state = state, .text = text, .tokens = {}, .tokenizer = 1}));
  };
  add(runtime::Role::user, complete, "One?");
  const auto whole = add(runtime::Role::assistant, complete, "Two.");
  add(runtime::Role::user, complete, "Three?");
  const auto cut = add(runtime::Role::assistant, interrupted, "Fo");
  const auto engine = engine_of(kThinks, kOpening);
  const auto session = open(*engine);
  value_of(session->resume({}, {}));
  EXPECT_EQ(written(*engine, *session),
            "<|im_start|>user\nOne?<|im_end|>\n<|im_start|>assistant\nTwo.<|im_end|>\n"
            "<|im_start|>user\nThree?<|im_end|>\n<|im_start|>assistant\nFo");
  EXPECT_EQ(value_of(session->thoughts(whole)).text, "");
  EXPECT_EQ(value_of(session->thoughts(cut)).text, "");
}

// A chat that begins with a damaged message, or with one of another model, has its beginning made
// anew; SmolLM3's says whether it thinks.
TEST_F(Thoughtful, a_chat_begun_anew_begins_as_its_thinking_says) {
  const auto engine =
      engine_of(kThinks, "{{ '<|im_start|>' }} Reasoning Mode: ## Custom Instructions");
  ASSERT_EQ(engine->chat_template().name(), "smollm3");
  for (const auto state : {runtime::MessageState::complete, runtime::MessageState::damaged}) {
    journal_ = {};
    value_of(journal_.append({7}, {.role = runtime::Role::user,
                                   .state = state,
                                   .text = "One?",
                                   .tokens = {},
                                   .tokenizer = 1}));
    SessionOptions options(value_of(resolve_recipe("full")));
    options.journal = &journal_;
    options.chat = {7};
    options.thinking = Thinking::off;
    const auto session = value_of(engine->new_session(options));
    value_of(session->resume({}, {}));
    EXPECT_THAT(written(*engine, *session), HasSubstr("Reasoning Mode: /no_think\n"));
  }
}

}  // namespace
}  // namespace satchel::runtime
