// Resume: token for token where the saved cache is good, read again and said so where it is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "unit/runtime/session_fixture.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

using kvcache::MessageState;
using kvcache::RestoreOutcome;
using testing::HasSubstr;

class Resume : public ChatTest {
 protected:
  // Notes and a first question.
  std::unique_ptr<Session> begin(std::string_view recipe) {
    auto session = open(recipe);
    value_of(session->add_document("notes", held_out_notes()));
    value_of(session->read({}, {}));
    ask(*session, held_out_questions().at(0));
    return session;
  }
  std::vector<std::int32_t> go_on(Session& session) {
    for (std::size_t i = 1; i < 4; ++i) ask(session, held_out_questions().at(i));
    return {session.tokens().begin(), session.tokens().end()};
  }
};

class EveryPreset : public Resume, public testing::WithParamInterface<const char*> {};

TEST_P(EveryPreset, continues_token_for_token_and_reads_nothing_again) {
  const std::vector<std::int32_t> uninterrupted = go_on(*begin(GetParam()));
  journal_ = {};
  const auto first = begin(GetParam());
  value_of(first->save());
  const std::size_t n_chat = first->tokens().size();
  const auto engine = open_engine(bundled_model());  // as a new process would
  const auto second = open(GetParam(), 0, *engine);
  const ResumeReport report = resume(*second);
  EXPECT_EQ(report.outcome, RestoreOutcome::restored);
  EXPECT_EQ(report.n_chat_tokens, n_chat);
  EXPECT_EQ(report.n_reused, n_chat);
  EXPECT_EQ(report.n_reread, 0u);
  EXPECT_EQ(report.message, "");
  EXPECT_GT(report.bytes_read, 0u);
  EXPECT_EQ(second->stats().body_bytes, first->stats().body_bytes);
  EXPECT_EQ(go_on(*second), uninterrupted);
  expect_journal_holds(*second);
}

INSTANTIATE_TEST_SUITE_P(Presets, EveryPreset,
                         testing::Values("full", "balanced", "compact", "extreme"),
                         [](const auto& row) { return std::string(row.param); });

TEST_F(Resume, of_an_empty_chat_finds_nothing_and_is_no_error) {
  const auto session = open("full");
  const ResumeReport report = resume(*session);
  EXPECT_EQ(report.outcome, RestoreOutcome::nothing_saved);
  EXPECT_EQ(report.n_chat_tokens, 0u);
  EXPECT_EQ(ask(*session, "Where is the brass bell?").finish, Finish::end_of_turn);
}

TEST_F(Resume, without_a_saved_cache_reads_the_chat_again_and_says_so) {
  const std::size_t n_chat = begin("compact")->tokens().size();
  const auto session = open("compact");
  const std::size_t n_steps = n_chat * shared_engine().config().n_layers;
  std::size_t last = 0;
  const ResumeReport report = value_of(session->resume({}, [&](const Progress& now) {
    if (now.phase != Phase::read_prompt) return;
    EXPECT_GT(now.done, last);
    EXPECT_EQ(now.total, n_steps);
    last = now.done;
  }));
  EXPECT_EQ(last, n_steps);
  EXPECT_EQ(report.n_reused, 0u);
  EXPECT_EQ(report.n_reread, n_chat);
  EXPECT_FALSE(report.message.empty());
  EXPECT_EQ(session->n_read(), n_chat);
}

TEST_F(Resume, after_a_damaged_block_reads_again_and_says_so) {
  const auto first = begin("compact");
  value_of(first->save());
  auto& blocks = blocks_.chats.at(chat_).blocks;
  auto& bytes = blocks.begin()->second;
  bytes[bytes.size() / 2] ^= std::byte{1};
  const auto second = open("compact");
  const ResumeReport report = resume(*second);
  EXPECT_EQ(report.outcome, RestoreOutcome::damaged);
  EXPECT_EQ(report.n_reused + report.n_reread, first->tokens().size());
  EXPECT_GT(report.n_reread, 0u);
  EXPECT_FALSE(report.message.empty());
  EXPECT_EQ(ask(*second, held_out_questions().at(1)).finish, Finish::end_of_turn);
  value_of(second->save());  // and the next resume is whole again
  EXPECT_EQ(resume(*open("compact")).n_reread, 0u);
}

TEST_F(Resume, with_another_recipe_reads_again_and_says_so) {
  const auto first = begin("compact");
  value_of(first->save());
  const auto second = open("full");
  const ResumeReport report = resume(*second);
  EXPECT_EQ(report.outcome, RestoreOutcome::other_recipe);
  EXPECT_EQ(report.n_reread, first->tokens().size());
  EXPECT_FALSE(report.message.empty());
  EXPECT_EQ(second->stats().n_evicted, 0u);
}

TEST_F(Resume, with_another_model_reads_again_and_says_so) {
  const auto first = begin("full");
  value_of(first->save());
  const auto path = std::filesystem::path(testing::TempDir()) / "other.gguf";
  {
    std::ifstream from(bundled_model(), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(from)), {});
    bytes[bytes.size() - 100] ^= 1;  // one bit of one weight
    std::ofstream(path, std::ios::binary) << bytes;
  }
  const auto engine = open_engine(path);
  const auto second = open("full", 0, *engine);
  const ResumeReport report = resume(*second);
  EXPECT_EQ(report.outcome, RestoreOutcome::other_model);
  EXPECT_EQ(report.n_reread, first->tokens().size());
  EXPECT_FALSE(report.message.empty());
}

TEST_F(Resume, messages_of_another_tokenizer_are_made_into_tokens_anew) {
  const std::vector<std::int32_t> foreign = {900, 901, 902, 5'000'000}, own_looking = {300, 301};
  value_of(journal_.append(chat_, {.role = kvcache::Role::user,
                                   .state = MessageState::complete,
                                   .text = "Read these notes.\nThe bell is in the shed.",
                                   .tokens = foreign}));
  value_of(journal_.append(chat_, {.role = kvcache::Role::assistant,
                                   .state = MessageState::complete,
                                   .text = "Noted.",
                                   .tokens = own_looking}));
  const auto session = open("full");
  const ResumeReport report = resume(*session);
  EXPECT_THAT(report.message, HasSubstr("2 messages were written with another tokenizer"));
  std::string text;
  for (const std::int32_t id : session->tokens()) text += shared_engine().tokenizer().spelling(id);
  EXPECT_TRUE(text.starts_with("<s><|im_start|>user\nRead")) << text;
  EXPECT_TRUE(text.ends_with("<|im_end|>\n<|im_start|>assistant\nNoted.<|im_end|>\n")) << text;
  ask(*session, "Where is the bell?");
  value_of(session->save());
  const auto again = open("full");  // old messages anew, new ones as they are: the same ids
  EXPECT_EQ(resume(*again).n_reread, 0u);
}

TEST_F(Resume, after_a_kill_in_the_middle_of_an_answer_keeps_what_had_come) {
  {
    const auto first = begin("compact");
    value_of(first->save());
    value_of(first->add_user(held_out_questions().at(1)));
  }
  // What a killed process leaves: an answer that still streams.
  const std::vector<std::int32_t> head = {};
  const auto id = value_of(journal_.append(chat_, {.role = kvcache::Role::assistant,
                                                   .state = MessageState::streaming,
                                                   .text = {},
                                                   .tokens = head}));
  const std::vector<std::int32_t> some =
      value_of(shared_engine().tokenizer().encode("The bell", SpecialText::as_text));
  ASSERT_TRUE(journal_.extend(id, "The bell", some).ok());
  const auto second = open("compact");
  const ResumeReport report = resume(*second);
  EXPECT_EQ(report.outcome, RestoreOutcome::restored);
  EXPECT_GT(report.n_reread, 0u);  // the question and the cut answer
  EXPECT_LT(report.n_reread, 60u);
  EXPECT_THAT(report.message, HasSubstr("were read"));
  EXPECT_EQ(stored().back().state, MessageState::interrupted);
  EXPECT_EQ(stored().back().text, "The bell");
  EXPECT_EQ(ask(*second, "Go on.").finish, Finish::end_of_turn);
  expect_journal_holds(*second);
}

TEST_F(Resume, after_a_stopped_answer_finds_nothing_to_read) {
  const auto first = begin("compact");
  value_of(first->add_user(held_out_questions().at(1)));
  int n_pieces = 0;
  value_of(first->generate({}, [&](std::string_view) { return ++n_pieces < 2; }, {}, {}));
  value_of(first->save());
  const auto second = open("compact");
  EXPECT_EQ(resume(*second).n_reread, 0u);
}

TEST_F(Resume, a_second_save_writes_only_what_is_new) {
  const auto session = begin("balanced");
  const auto first = value_of(session->save());
  ask(*session, held_out_questions().at(1));
  const auto second = value_of(session->save());
  EXPECT_LT(second.bytes_written, first.bytes_written);
  EXPECT_EQ(second.n_tokens, session->tokens().size());
}

TEST_F(Resume, stopped_in_the_middle_of_reading_again_can_go_on) {
  const std::size_t n_chat = begin("full")->tokens().size();
  const auto session = open("full");
  std::stop_source source;
  const auto stopped = session->resume(source.get_token(), [&](const Progress& now) {
    if (2 * now.done > now.total) source.request_stop();
  });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, "STOPPED");
  EXPECT_LT(session->n_read(), n_chat);
  value_of(session->read({}, {}));
  EXPECT_EQ(session->n_read(), n_chat);
}

}  // namespace
}  // namespace satchel::runtime
