// Chats with a model that thinks: every token leads to one other, so that what it says is known.
#include <gmock/gmock.h>

#include <map>

#include "runtime/governor/presets.h"
#include "support/gguf_writer.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/tokenizer_cases.h"

namespace satchel::runtime {
namespace {

using testing::HasSubstr;
using tokenizer_tests::byte_vocabulary;

constexpr TokenId kEnd = 257, kThink = 258, kThought = 259, kTwoLines = 260;
constexpr std::size_t kPieces = 320, kWidth = 320;

Vocabulary vocabulary() {
  Vocabulary v = byte_vocabulary({"<|im_start|>", "<|im_end|>"});
  for (const char* mark : {"<think>", "</think>"}) {
    v.pieces.emplace_back(mark);
    v.types.push_back(PieceType::user_defined);
  }
  v.pieces.emplace_back("ĊĊ");
  v.types.push_back(PieceType::normal);
  v.merges = {"Ċ Ċ"};
  for (std::size_t i = v.pieces.size(); i < kPieces; ++i) {
    v.pieces.push_back("<|filler_" + std::to_string(i) + "|>");
    v.types.push_back(PieceType::control);
  }
  return v;
}

// The layer adds nothing, so that the last token alone says which comes next.
tests::GgufWriter model_of(const std::map<TokenId, TokenId>& next, const std::string& jinja) {
  tests::GgufWriter out;
  out.add_string("general.architecture", "llama").add_string("general.name", "thinker");
  for (const auto& [key, value] : {std::pair{"block_count", 1u},
                                   {"embedding_length", 320u},
                                   {"feed_forward_length", 64u},
                                   {"context_length", 512u},
                                   {"attention.head_count", 1u},
                                   {"attention.head_count_kv", 1u},
                                   {"attention.key_length", 64u},
                                   {"attention.value_length", 64u}})
    out.add_u32(std::string("llama.") + key, value);
  out.add_f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  const Vocabulary v = vocabulary();
  std::vector<std::int32_t> types;
  for (const PieceType type : v.types) types.push_back(static_cast<std::int32_t>(type));
  out.add_string("tokenizer.ggml.model", "gpt2").add_string("tokenizer.ggml.pre", "gpt-2");
  out.add_string_array("tokenizer.ggml.tokens", v.pieces);
  out.add_i32_array("tokenizer.ggml.token_type", types);
  out.add_string_array("tokenizer.ggml.merges", v.merges);
  out.add_u32("tokenizer.ggml.eos_token_id", kEnd);
  out.add_string("tokenizer.chat_template", jinja);
  const auto zeros = [&](const std::string& name, std::size_t n_out, std::size_t n_in) {
    out.add_tensor(name, {n_in, n_out}, std::vector<float>(n_in * n_out));
  };
  std::vector<float> embedding(kPieces * kWidth), output(kPieces * kWidth);
  for (std::size_t token = 0; token < kPieces; ++token) embedding[token * kWidth + token] = 1;
  for (const auto& [from, to] : next)
    output[static_cast<std::size_t>(to) * kWidth + static_cast<std::size_t>(from)] = 1;
  out.add_tensor("token_embd.weight", {kWidth, kPieces}, embedding);
  for (const char* name : {"attn_norm", "ffn_norm"})
    out.add_tensor("blk.0." + std::string(name) + ".weight", {kWidth},
                   std::vector<float>(kWidth, 1.0f));
  for (const char* name : {"attn_q", "attn_k", "attn_v"})
    zeros("blk.0." + std::string(name) + ".weight", 64, kWidth);
  zeros("blk.0.attn_output.weight", kWidth, 64);
  for (const char* name : {"ffn_gate", "ffn_up"})
    zeros("blk.0." + std::string(name) + ".weight", 64, kWidth);
  zeros("blk.0.ffn_down.weight", kWidth, 64);
  out.add_tensor("output_norm.weight", {kWidth}, std::vector<float>(kWidth, 1.0f));
  out.add_tensor("output.weight", {kWidth, kPieces}, output);
  return out;
}

constexpr const char* kSwitched =
    "{{ '<|im_start|>' }}{% if enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}";
constexpr const char* kOpening = "{{- '<|im_start|>assistant\\n<think>\\n' }}";

class Thoughtful : public testing::Test {
 protected:
  std::unique_ptr<Engine> engine_of(const std::map<TokenId, TokenId>& next,
                                    const std::string& jinja) {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    const auto path =
        std::filesystem::temp_directory_path() / ("satchel-thinker-" + name + ".gguf");
    EXPECT_TRUE(model_of(next, jinja).write(path));
    auto engine = open_engine(path);
    std::filesystem::remove(path);  // it stays mapped
    return engine;
  }
  std::unique_ptr<Session> open(Engine& engine) {
    SessionOptions options(value_of(resolve_recipe("full")));
    options.journal = &journal_;
    options.blocks = &blocks_;
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
  static PieceFn keeper(std::string& into) {
    return [&into](std::string_view piece) {
      into += piece;
      return true;
    };
  }
  std::string said_, thought_;
  test::MemoryJournal journal_;
  test::MemoryBlockStore blocks_;
};

// Behind the head: <think> H m </think> and two lines, Y e s. Behind the empty block: Y e s.
const std::map<TokenId, TokenId> kThinks = {
    {'\n', kThink},   {kThink, 'H'}, {'H', 'm'}, {'m', kThought}, {kThought, kTwoLines},
    {kTwoLines, 'Y'}, {'Y', 'e'},    {'e', 's'}, {'s', kEnd}};

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
  EXPECT_EQ(session->set_thinking(Thinking::off).error().code, "THINKING");
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
  int n_pieces = 0;
  const auto stopped = value_of(session->generate(
      {.ends_loops = false}, {}, {}, {}, [&](std::string_view) { return ++n_pieces < 3; }));
  EXPECT_EQ(stopped.finish, Finish::stopped);
  EXPECT_EQ(stopped.thoughts.text, "HmH");
  EXPECT_EQ(value_of(journal_.messages({7})).back().state, kvcache::MessageState::interrupted);
  EXPECT_EQ(value_of(session->thoughts(stopped.answer)).text, "HmH");
}

}  // namespace
}  // namespace satchel::runtime
