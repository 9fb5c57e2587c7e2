// Resume: token for token where the saved cache is good, read again and said so where it is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "kvcache/snapshot/manifest.h"
#include "kvcache/snapshot/thin.h"
#include "runtime/contract/cache_key.h"
#include "runtime/limits/presets.h"
#include "support/toy_coder.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

using kvcache::Reread;
using kvcache::RereadReason;
using runtime::MessageState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

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

constexpr std::uint64_t kForeignTokenizer = 4711;
std::uint64_t own_hash() {
  return shared_engine().tokenizer().hash();
}

std::string spelled(const Session& session) {
  std::string text;
  for (const std::int32_t id : session.tokens()) text += shared_engine().tokenizer().spelling(id);
  return text;
}

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
  EXPECT_EQ(report.reason, RereadReason::none);
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
  EXPECT_EQ(report.reason, RereadReason::nothing_saved);
  EXPECT_EQ(report.n_chat_tokens, 0u);
  EXPECT_EQ(ask(*session, "Where is the brass bell?").finish, Finish::end_of_turn);
}

TEST_F(Resume, without_a_saved_cache_reads_the_chat_again_and_says_so) {
  const std::size_t n_chat = begin("compact")->tokens().size();
  const auto session = open("compact");
  const std::size_t n_steps = n_chat * shared_engine().config().n_layers();
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
  EXPECT_THAT(report.reread, ElementsAre(Reread{RereadReason::nothing_saved, n_chat}));
  EXPECT_THAT(report.message, StartsWith("There is no saved cache. "));
  EXPECT_EQ(session->n_read(), n_chat);
}

TEST_F(Resume, after_a_damaged_record_reads_again_and_says_so) {
  auto first = begin("compact");
  value_of(first->save());
  const std::size_t n_chat = first->tokens().size();
  first.reset();  // or its pages would be shared, and the record not read
  auto& records = records_.caches.at(runtime::cache_key(chat_)).records;
  auto& bytes = records.begin()->second;
  bytes[bytes.size() / 2] ^= std::byte{1};
  const auto second = open("compact");
  const ResumeReport report = resume(*second);
  EXPECT_EQ(report.reason, RereadReason::damaged);
  EXPECT_GT(report.n_reused, 0u);
  EXPECT_EQ(report.n_reused + report.n_reread, n_chat);
  EXPECT_GT(report.n_reread, 0u);
  EXPECT_THAT(report.reread, ElementsAre(Reread{RereadReason::damaged, report.n_reread}));
  EXPECT_FALSE(report.message.empty());
  EXPECT_EQ(ask(*second, held_out_questions().at(1)).finish, Finish::end_of_turn);
  value_of(second->save());  // and the next resume is whole again
  EXPECT_EQ(resume(*open("compact")).n_reread, 0u);
}

// It goes on from what the store has, reads nothing again, and is noted once however often it is
// opened.
TEST_F(Resume, of_a_thinned_cache_says_so_and_has_a_step_in_its_history) {
  const test::ToyCoder coder;
  records_.stream_coder = &coder;
  value_of(begin("balanced")->save());
  EXPECT_GT(value_of(kvcache::thin_saved(records_, cache_key(chat_))).n_records, 0u);
  for (int time = 0; time < 2; ++time) {
    const auto session = open("balanced");
    const ResumeReport report = resume(*session);
    EXPECT_EQ(report.reason, RereadReason::none);
    EXPECT_EQ(report.n_reread, 0u);
    EXPECT_GT(report.n_thinned, 0u);
    EXPECT_THAT(report.message, HasSubstr("thinned"));
    const auto is_thinning = [](const LedgerEntry& entry) {
      return entry.cause == LedgerCause::rest;
    };
    EXPECT_EQ(std::ranges::count_if(session->ledger(), is_thinning), 1) << time;
    const auto step = std::ranges::find_if(session->ledger(), is_thinning);
    ASSERT_NE(step, session->ledger().end());
    EXPECT_EQ(step->n_lowered, report.n_thinned);
    if (time == 0) {  // what was measured was of another cache
      EXPECT_EQ(session->fidelity().n_tokens, 0u);
    }
    EXPECT_EQ(ask(*session, held_out_questions().at(1)).finish, Finish::end_of_turn);
    value_of(session->save());
  }
}

TEST_F(Resume, with_another_recipe_reads_again_and_says_so) {
  const auto first = begin("compact");
  value_of(first->save());
  const auto second = open("full");
  const ResumeReport report = resume(*second);
  EXPECT_EQ(report.reason, RereadReason::other_recipe);
  EXPECT_EQ(report.n_reread, first->tokens().size());
  EXPECT_THAT(report.reread, ElementsAre(Reread{RereadReason::other_recipe, report.n_reread}));
  EXPECT_FALSE(report.message.empty());
  EXPECT_EQ(second->stats().n_evicted, 0u);
}

TEST_F(Resume, of_a_chat_that_has_changed_reads_again_from_there) {
  const auto first = begin("full");
  value_of(first->save());
  const std::size_t n_kept = first->messages()[1].end;
  ASSERT_TRUE(journal_.truncate(chat_, first->messages()[1].id).ok());
  value_of(open("full")->resume({}, {}));  // it was cut: nothing to read
  const auto second = open("full");
  resume(*second);
  value_of(second->add_user("Who else is there?"));
  const auto third = open("full");
  const ResumeReport report = resume(*third);
  EXPECT_GE(report.n_reused, n_kept);
  EXPECT_THAT(report.reread, ElementsAre(Reread{RereadReason::other_tokens, report.n_reread}));
  EXPECT_EQ(report.n_reread, third->tokens().size() - report.n_reused);
}

TEST_F(Resume, of_a_cache_in_a_format_of_tomorrow_reads_again) {
  const auto first = begin("full");
  value_of(first->save());
  auto& manifest = records_.caches.at(runtime::cache_key(chat_)).manifest->bytes;
  manifest[8] = std::byte{99};  // its version
  kvcache::sign_manifest(manifest);
  const ResumeReport report = resume(*open("full"));
  EXPECT_THAT(report.reread,
              ElementsAre(Reread{RereadReason::other_format, first->tokens().size()}));
  EXPECT_THAT(report.message, HasSubstr("(format 99;"));
}

TEST_F(Resume, under_a_limit_that_the_saved_cache_does_not_fit_reads_again) {
  const auto first = open("full");
  for (std::size_t i = 0; i < 2; ++i) value_of(first->add_document("notes", held_out_notes(i)));
  value_of(first->read({}, {}));
  value_of(first->save());
  const auto engine = open_engine(bundled_model());
  const std::size_t least =
      value_of(least_budget(engine->config(), value_of(resolve_recipe("full"))));
  const ResumeReport report = resume(*open("full", least, *engine));
  EXPECT_THAT(report.reread, ElementsAre(Reread{RereadReason::over_limit, first->tokens().size()}));
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
  EXPECT_EQ(report.reason, RereadReason::other_model);
  EXPECT_EQ(report.n_reread, first->tokens().size());
  EXPECT_THAT(report.reread, ElementsAre(Reread{RereadReason::other_model, report.n_reread}));
  EXPECT_FALSE(report.message.empty());
}

TEST_F(Resume, messages_of_another_tokenizer_are_made_into_tokens_anew) {
  const std::vector<std::int32_t> foreign = {900, 901, 902, 5'000'000}, own_looking = {300, 301};
  value_of(journal_.append(chat_, {.role = runtime::Role::user,
                                   .state = MessageState::complete,
                                   .text = "Read these notes.\nThe bell is in the shed.",
                                   .tokens = foreign,
                                   .tokenizer = kForeignTokenizer}));
  value_of(journal_.append(chat_, {.role = runtime::Role::assistant,
                                   .state = MessageState::complete,
                                   .text = "Noted.",
                                   .tokens = own_looking,
                                   .tokenizer = kForeignTokenizer}));
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

TEST_F(Resume, a_system_message_of_another_tokenizer_keeps_its_words) {
  const std::string said =
      "You answer in one sentence, whatever you are asked, and you say no more.";
  for (const auto& [role, text] :
       {std::pair{runtime::Role::system, said}, {runtime::Role::user, "Where is the bell?"}})
    value_of(journal_.append(chat_, {.role = role,
                                     .state = MessageState::complete,
                                     .text = text,
                                     .tokens = {},
                                     .tokenizer = kForeignTokenizer}));
  const auto session = open("full");
  value_of(session->resume({}, {}));
  const auto opened = value_of(shared_engine().chat_template().open_chat(
      shared_engine().tokenizer(), said, Thinking::automatic));
  EXPECT_TRUE(std::ranges::equal(session->tokens().first(opened.size()), opened))
      << spelled(*session);
}

TEST_F(Resume, a_short_document_is_known_to_be_of_this_tokenizer) {
  {
    const auto first = open("full");
    value_of(first->add_document("todo.txt", "Buy milk on Monday."));
    value_of(first->read({}, {}));
    value_of(first->save());
  }
  const auto second = open("full");
  const ResumeReport report = resume(*second);
  EXPECT_EQ(report.reason, RereadReason::none);
  EXPECT_EQ(report.n_reread, 0u);
  EXPECT_EQ(report.message, "");
  EXPECT_THAT(spelled(*second), testing::Not(HasSubstr("todo")));
}

TEST_F(Resume, messages_older_than_the_hashes_are_ours_if_the_model_is) {
  {
    const auto first = begin("full");
    value_of(first->save());
  }
  const std::size_t n_stored = stored().size();
  for (std::size_t i = 0; i < n_stored; ++i) {
    EXPECT_EQ(journal_.row(chat_, i).tokenizer, own_hash());
    journal_.row(chat_, i).tokenizer = 0;
    journal_.row(chat_, i).model = shared_engine().fingerprint();
  }
  const ResumeReport ours = resume(*open("full"));
  EXPECT_EQ(ours.n_reread, 0u);
  EXPECT_EQ(ours.message, "");
  for (std::size_t i = 0; i < n_stored; ++i) journal_.row(chat_, i).model = "another";
  EXPECT_THAT(resume(*open("full")).message,
              HasSubstr("4 messages were written with another tokenizer"));
}

TEST_F(Resume, nothing_is_said_to_the_model_in_the_words_of_a_damaged_message) {
  begin("full");
  runtime::StoredMessage& damaged = journal_.row(chat_, 0);
  damaged.state = MessageState::damaged;
  damaged.text.clear();
  damaged.tokens.clear();
  const auto session = open("full");
  const ResumeReport report = resume(*session);
  EXPECT_THAT(report.message, HasSubstr("1 message of this chat is damaged"));
  EXPECT_TRUE(spelled(*session).starts_with("<s><|im_start|>assistant\nNoted."))
      << spelled(*session);
  ASSERT_EQ(session->messages().size(), 4u);
  EXPECT_EQ(session->messages()[0].state, MessageState::damaged);
  EXPECT_EQ(session->messages()[0].end, 1u);  // what begins a chat
  EXPECT_EQ(ask(*session, held_out_questions().at(1)).finish, Finish::end_of_turn);
  const auto again = open("full");
  EXPECT_THAT(resume(*again).message, HasSubstr("damaged"));
  EXPECT_EQ(again->tokens().size(), session->tokens().size());
}

TEST_F(Resume, a_damaged_message_in_place_of_a_cut_answers_end_closes_it) {
  const auto first = begin("full");
  value_of(first->add_user(held_out_questions().at(1)));
  value_of(first->generate({}, [](std::string_view) { return false; }, {}, {}));
  value_of(first->add_user("Go on."));
  runtime::StoredMessage& damaged = journal_.row(chat_, stored().size() - 1);
  damaged.state = MessageState::damaged;
  damaged.text.clear();
  damaged.tokens.clear();
  const auto session = open("full");
  resume(*session);
  EXPECT_TRUE(spelled(*session).ends_with("<|im_end|>\n")) << spelled(*session);
}

// Tokens of ours, so many in one message.
void append_tokens(test::MemoryJournal& journal, runtime::ChatId chat, std::size_t n) {
  const std::vector<std::int32_t> ids(n, 300);
  value_of(journal.append(chat, {.role = runtime::Role::user,
                                 .state = MessageState::complete,
                                 .text = "long",
                                 .tokens = ids,
                                 .tokenizer = own_hash()}));
}

TEST_F(Resume, a_chat_at_the_end_of_its_context_opens_with_a_damaged_message) {
  append_tokens(journal_, chat_, 20);
  append_tokens(journal_, chat_, shared_engine().config().context - 3);
  journal_.row(chat_, 0).state = MessageState::damaged;
  journal_.row(chat_, 0).tokens.clear();
  journal_.row(chat_, 0).text = "an apology that is much longer than the context that is left here";
  const auto session = open("full");
  EXPECT_FALSE(resume(*session).too_long);
  EXPECT_EQ(session->n_read(), session->tokens().size());
  EXPECT_EQ(session->add_user("Hello?").error().code, "CONTEXT_FULL");
}

TEST_F(Resume, a_chat_longer_than_the_context_can_be_read_and_says_why_it_does_not_go_on) {
  append_tokens(journal_, chat_, shared_engine().config().context + 1);
  const auto session = open("full");
  const ResumeReport report = resume(*session);
  EXPECT_TRUE(report.too_long);
  EXPECT_THAT(report.message, HasSubstr("this model's context is 2,048"));
  ASSERT_EQ(session->messages().size(), 1u);
  EXPECT_EQ(session->messages()[0].end, session->tokens().size());
  EXPECT_EQ(session->add_user("Hello?").error().code, "CONTEXT_FULL");
  EXPECT_EQ(session->read({}, {}).error().code, "CONTEXT_FULL");
  EXPECT_EQ(session->generate({}, {}, {}, {}).error().code, "CONTEXT_FULL");
  EXPECT_EQ(value_of(session->save()).n_tokens, 0u);
  EXPECT_EQ(stored().size(), 1u);
}

TEST_F(Resume, after_a_kill_in_the_middle_of_an_answer_keeps_what_had_come) {
  {
    const auto first = begin("compact");
    value_of(first->save());
    value_of(first->add_user(held_out_questions().at(1)));
  }
  // What a killed process leaves: an answer that still streams.
  const std::vector<std::int32_t> head = {};
  const auto id = value_of(journal_.append(chat_, {.role = runtime::Role::assistant,
                                                   .state = MessageState::streaming,
                                                   .text = {},
                                                   .tokens = head,
                                                   .tokenizer = own_hash()}));
  const std::vector<std::int32_t> some =
      value_of(shared_engine().tokenizer().encode("The bell", SpecialText::as_text));
  ASSERT_TRUE(journal_.extend(id, "The bell", some).ok());
  const auto second = open("compact");
  const ResumeReport report = resume(*second);
  EXPECT_THAT(report.reread, ElementsAre(Reread{RereadReason::not_saved, report.n_reread}));
  EXPECT_EQ(report.reason, RereadReason::not_saved);
  EXPECT_GT(report.n_reread, 0u);  // the question and the cut answer
  EXPECT_LT(report.n_reread, 60u);
  EXPECT_EQ(report.message, "The saved cache is older than this text.");
  EXPECT_EQ(stored().back().state, MessageState::interrupted);
  EXPECT_EQ(stored().back().text, "The bell");
  EXPECT_EQ(ask(*second, "Go on.").finish, Finish::end_of_turn);
  expect_journal_holds(*second);
}

TEST_F(Resume, after_a_stopped_answer_finds_nothing_to_read) {
  const auto first = begin("compact");
  value_of(first->add_user(held_out_questions().at(1)));
  int n_deltas = 0;
  value_of(first->generate({}, [&](std::string_view) { return ++n_deltas < 2; }, {}, {}));
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
  value_of(session->add_user("What else?"));  // is read for the first time
  EXPECT_THAT(value_of(session->read({}, {})).reread,
              ElementsAre(Reread{RereadReason::nothing_saved, n_chat}));
  EXPECT_EQ(session->n_read(), session->tokens().size());
}

TEST_F(Resume, what_a_stop_left_unread_is_read_message_by_message_with_the_next_one) {
  {
    const auto first = open("full");
    for (int i = 0; i < 2; ++i) {
      value_of(first->add_document("notes", held_out_notes()));
      value_of(first->read({}, {}));
    }
  }
  const auto whole = open("full");
  resume(*whole);
  const auto stopped = open("full");
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(stopped->resume(source.get_token(), {}).error().code, "STOPPED");
  EXPECT_EQ(stopped->n_read(), 0u);
  for (const auto& session : {whole.get(), stopped.get()}) {
    value_of(session->add_user(held_out_questions().at(0)));
    value_of(session->generate({.n_tokens_max = 4}, {}, {}, {}));
    EXPECT_EQ(session->n_read(), session->tokens().size());
  }
  EXPECT_EQ(stopped->stats().bytes, whole->stats().bytes);
}

}  // namespace
}  // namespace satchel::runtime
