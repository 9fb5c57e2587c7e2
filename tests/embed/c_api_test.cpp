// The C API as a host sees it: this program links libsatchel.so and nothing else of ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <satchel/satchel.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "embed/c_api.h"

namespace satchel::test {
namespace {

using testing::HasSubstr;

TEST_F(CApi, an_answer_follows_a_grammar_or_a_schema_and_bad_ones_are_refused) {
  const Model loaded = model();
  const Session chat = session(loaded.get());
  send(chat.get(), kNotes);
  satchel_sampling sampling = SATCHEL_INIT(satchel_sampling);
  satchel_buffer* text = nullptr;
  satchel_result result = SATCHEL_INIT(satchel_result);
  const auto ask = [&] {
    return satchel_send(chat.get(), kPet.data(), kPet.size(), &sampling, nullptr, &result, &text,
                        failure_.out());
  };
  sampling.grammar = "root ::= \"A \" (\"rabbit\" | \"cat\") \".\"";
  ok(ask(), failure_);
  EXPECT_THAT(std::string(satchel_buffer_data(text)), testing::AnyOf("A rabbit.", "A cat."));
  EXPECT_EQ(result.finish, SATCHEL_END_OF_TURN);
  satchel_buffer_free(text);
  sampling.grammar = nullptr;
  sampling.json_schema = R"({"type": "object", "properties": {"pet": {"enum": ["rabbit", "cat"]}},
                             "required": ["pet"], "additionalProperties": false})";
  ok(ask(), failure_);
  EXPECT_THAT(std::string(satchel_buffer_data(text)), HasSubstr("\"pet\":"));
  satchel_buffer_free(text);

  const std::string before = messages(chat.get());
  sampling.grammar = "root ::= root";
  EXPECT_EQ(ask(), SATCHEL_INVALID);
  EXPECT_EQ(failure_.code(), "PARAM") << "not both";
  sampling.json_schema = nullptr;
  EXPECT_EQ(ask(), SATCHEL_INVALID);
  EXPECT_EQ(failure_.code(), "GRAMMAR");
  sampling.grammar = nullptr;
  sampling.json_schema = R"({"not": {}})";
  EXPECT_EQ(ask(), SATCHEL_UNSUPPORTED);
  EXPECT_EQ(failure_.code(), "SCHEMA");
  EXPECT_EQ(messages(chat.get()), before) << "nothing was sent";
}

TEST_F(CApi, a_chat_reads_answers_and_says_what_it_reused) {
  const Model loaded = model();
  const Session chat = session(loaded.get());
  satchel_result first = SATCHEL_INIT(satchel_result), second = SATCHEL_INIT(satchel_result);
  send(chat.get(), kNotes, &first);
  EXPECT_THAT(send(chat.get(), kPet, &second), HasSubstr("rabbit"));
  EXPECT_EQ(first.n_reused, 0u);
  EXPECT_EQ(first.n_prefilled, first.n_prompt);
  EXPECT_EQ(second.finish, SATCHEL_END_OF_TURN);
  EXPECT_GT(second.n_reused, first.n_prompt);
  EXPECT_EQ(second.n_reused + second.n_prefilled, second.n_prompt);
  EXPECT_GT(second.n_answer, 0u);
  EXPECT_EQ(stats(chat.get()).n_context, 2048u);
  EXPECT_GT(stats(chat.get()).bytes, 0u);
}

TEST_F(CApi, an_answer_streams_in_whole_characters_and_a_listener_ends_it) {
  const Model loaded = model();
  const Session chat = session(loaded.get());
  send(chat.get(), kNotes);
  struct Heard {
    std::string text;
    int n_left = 100;
  } all, few{.text = {}, .n_left = 2};
  const auto hear = [](void* user, const satchel_delta* delta) -> int32_t {
    auto* heard = static_cast<Heard*>(user);
    heard->text.append(delta->text, delta->size);
    return --heard->n_left <= 0 ? 1 : 0;
  };
  satchel_listener hears_all = SATCHEL_INIT(satchel_listener), hears_few = hears_all;
  hears_all.delta = hears_few.delta = hear;
  hears_all.user = &all;
  hears_few.user = &few;
  satchel_buffer* text = nullptr;
  ok(satchel_send(chat.get(), kPet.data(), kPet.size(), nullptr, &hears_all, nullptr, &text,
                  failure_.out()),
     failure_);
  const Buffer owned(text);
  EXPECT_EQ(all.text, satchel_buffer_data(text));
  satchel_result result = SATCHEL_INIT(satchel_result);
  ok(satchel_send(chat.get(), kPet.data(), kPet.size(), nullptr, &hears_few, &result, nullptr,
                  failure_.out()),
     failure_);
  EXPECT_EQ(result.finish, SATCHEL_STOPPED);
  EXPECT_LT(few.text.size(), all.text.size());
}

TEST_F(CApi, the_reading_of_a_long_message_is_told_and_can_be_stopped) {
  const Model loaded = model();
  const Session chat = session(loaded.get());
  std::string text;
  for (int i = 0; i < 40; ++i) text += kNotes;
  satchel_listener stops = SATCHEL_INIT(satchel_listener);
  int n_told = 0;
  stops.user = &n_told;
  stops.progress = [](void* user, int32_t phase, uint64_t done, uint64_t total) -> int32_t {
    EXPECT_EQ(phase, SATCHEL_PHASE_PREFILL);
    EXPECT_LE(done, total);
    return ++*static_cast<int*>(user) == 2 ? 1 : 0;
  };
  EXPECT_EQ(satchel_send(chat.get(), text.data(), text.size(), nullptr, &stops, nullptr, nullptr,
                         failure_.out()),
            SATCHEL_CANCELLED);
  EXPECT_GE(n_told, 2);
  EXPECT_FALSE(send(chat.get(), kPet).empty()) << "the session goes on";
}

TEST_F(CApi, what_was_read_compressed_and_saved_is_resumed_by_another_model) {
  std::string before;
  satchel_stats held = {};
  {
    const Store kept = store();
    const Model loaded = model(kept.get());
    const Session chat = session(loaded.get(), "notes", "compact");
    std::string text;
    for (int i = 0; i < 20; ++i) text += kNotes;
    satchel_prefill_report read = SATCHEL_INIT(satchel_prefill_report);
    ok(satchel_append_document(chat.get(), "notes", text.data(), text.size(), nullptr, &read,
                               failure_.out()),
       failure_);
    EXPECT_GT(read.n_tokens, 300u);
    int32_t finished = 0;
    while (finished == 0)
      ok(satchel_idle(chat.get(), nullptr, &finished, failure_.out()), failure_);
    before = send(chat.get(), kPet);
    held = stats(chat.get());
    EXPECT_LT(held.bytes, held.fp16_bytes);
    EXPECT_GT(held.n_evicted, 0u);
  }
  const Store kept = store();
  const Model loaded = model(kept.get());
  satchel_resume_report report = SATCHEL_INIT(satchel_resume_report);
  satchel_session* made = nullptr;
  ok(satchel_session_open(loaded.get(), "notes", nullptr, nullptr, &report, &made, failure_.out()),
     failure_);
  const Session chat(made);
  EXPECT_EQ(report.outcome, SATCHEL_RESUME_RESTORED);
  EXPECT_EQ(report.n_recomputed, 0u);
  EXPECT_EQ(report.n_reused, report.n_tokens);
  EXPECT_EQ(stats(made).n_evicted, held.n_evicted);
  EXPECT_THAT(messages(made), HasSubstr("\"kind\":\"document\""));
  EXPECT_THAT(messages(made), HasSubstr(before));
  satchel_result result = SATCHEL_INIT(satchel_result);
  EXPECT_THAT(send(made, kPet, &result), HasSubstr("rabbit"));
  EXPECT_EQ(result.n_reused, report.n_tokens);
}

TEST_F(CApi, what_was_cut_and_said_otherwise_is_gone_back_to) {
  const Store kept = store();
  const Model loaded = model(kept.get());
  const Session chat = session(loaded.get(), "notes", "compact");
  satchel_result noted = SATCHEL_INIT(satchel_result), first = noted, second = noted;
  send(chat.get(), kNotes, &noted);
  send(chat.get(), kPet, &first);
  const std::string before = messages(chat.get());
  ok(satchel_truncate(chat.get(), noted.answer_id, failure_.out()), failure_);
  send(chat.get(), "What does Quentin do?", &second);
  const int64_t question = second.answer_id - 1;
  int64_t ids[2] = {};
  size_t n = 0;
  ok(satchel_versions(chat.get(), question, ids, 2, &n, failure_.out()), failure_);
  EXPECT_EQ(n, 2u);
  EXPECT_EQ(ids[0], first.answer_id - 1);
  EXPECT_EQ(ids[1], question);
  ok(satchel_versions(chat.get(), noted.answer_id, nullptr, 0, &n, failure_.out()), failure_);
  EXPECT_EQ(n, 1u);
  ok(satchel_switch_to(chat.get(), ids[0], failure_.out()), failure_);
  EXPECT_EQ(messages(chat.get()), before);
  EXPECT_EQ(stats(chat.get()).n_unread, 0u);
  EXPECT_EQ(satchel_switch_to(chat.get(), 999, failure_.out()), SATCHEL_NOT_FOUND);
}

TEST_F(CApi, a_conversation_from_elsewhere_a_cut_and_a_fork_answer_as_one_had_here) {
  const Model loaded = model();
  const Session here = session(loaded.get()), there = session(loaded.get());
  const std::string noted = send(here.get(), kNotes);
  const std::string pet = send(here.get(), kPet);
  satchel_message said[3] = {SATCHEL_INIT(satchel_message), SATCHEL_INIT(satchel_message),
                             SATCHEL_INIT(satchel_message)};
  const std::string_view texts[3] = {kNotes, noted, kPet};
  for (std::uint32_t i = 0; i < 3; ++i) {
    said[i].role = i == 1 ? SATCHEL_ASSISTANT : SATCHEL_USER;
    said[i].text = texts[i].data();
    said[i].size = texts[i].size();
  }
  int64_t ids[3] = {};
  ok(satchel_append(there.get(), said, 3, ids, failure_.out()), failure_);
  ok(satchel_prefill(there.get(), nullptr, nullptr, failure_.out()), failure_);
  const auto answer = [&](satchel_session* session) {
    satchel_sampling sampling = SATCHEL_INIT(satchel_sampling);
    sampling.n_tokens_max = 16;
    satchel_buffer* text = nullptr;
    ok(satchel_answer(session, &sampling, nullptr, nullptr, &text, failure_.out()), failure_);
    const Buffer owned(text);
    return std::string(satchel_buffer_data(text));
  };
  EXPECT_EQ(answer(there.get()), pet);
  satchel_session* made = nullptr;
  ok(satchel_session_fork(there.get(), &made, failure_.out()), failure_);
  const Session fork(made);
  ok(satchel_truncate(made, ids[2], failure_.out()), failure_);
  EXPECT_EQ(answer(made), pet);
  EXPECT_EQ(messages(made), messages(there.get()));
  ok(satchel_pin(made, ids[0], failure_.out()), failure_);
  ok(satchel_forget(made, ids[1], failure_.out()), failure_);
}

TEST_F(CApi, memory_is_estimated_changed_and_refused_with_what_would_do) {
  const Model loaded = model();
  satchel_estimate estimate = SATCHEL_INIT(satchel_estimate);
  ok(satchel_estimate_memory(loaded.get(), "compact", 0, 0, &estimate, failure_.out()), failure_);
  EXPECT_EQ(estimate.fits, 1u);
  EXPECT_LT(estimate.expected_bytes, estimate.fp16_bytes);
  ok(satchel_estimate_memory(loaded.get(), "compact", 1000, 8'000'000, &estimate, failure_.out()),
     failure_);
  const Runtime owner = runtime();
  satchel_model_options options = SATCHEL_INIT(satchel_model_options);
  options.backend = "cpu";
  satchel_estimate before_loading = SATCHEL_INIT(satchel_estimate);
  ok(satchel_model_estimate(owner.get(), kBundledModel.c_str(), &options, "compact", 1000,
                            8'000'000, &before_loading, failure_.out()),
     failure_);
  EXPECT_EQ(before_loading.fits, estimate.fits);
  EXPECT_EQ(before_loading.cache_bytes, estimate.cache_bytes);
  EXPECT_EQ(before_loading.expected_bytes, estimate.expected_bytes);
  EXPECT_EQ(before_loading.workspace_bytes, estimate.workspace_bytes);
  EXPECT_EQ(before_loading.limit_bytes, estimate.limit_bytes);
  EXPECT_EQ(before_loading.least_limit_bytes, estimate.least_limit_bytes);
  EXPECT_EQ(before_loading.n_tokens_fit, estimate.n_tokens_fit);
  EXPECT_EQ(before_loading.n_tokens_most, estimate.n_tokens_most);
  // Repacked, this small model's weights take a fifth more than in their file.
  EXPECT_LE(before_loading.weight_bytes, estimate.weight_bytes);
  EXPECT_GT(double(before_loading.weight_bytes), 0.8 * double(estimate.weight_bytes));
  const Session chat = session(loaded.get());
  std::string text;
  for (int i = 0; i < 20; ++i) text += kNotes;
  send(chat.get(), text);
  const uint64_t before = stats(chat.get()).bytes;
  satchel_memory_change change = SATCHEL_INIT(satchel_memory_change);
  satchel_memory_request request = SATCHEL_INIT(satchel_memory_request);
  request.recipe = "extreme";
  ok(satchel_memory_change_preview(chat.get(), &request, &change, failure_.out()), failure_);
  EXPECT_LT(change.bytes_after, before);
  EXPECT_EQ(stats(chat.get()).bytes, before) << "a preview";
  ok(satchel_memory_change_apply(chat.get(), &request, nullptr, &change, failure_.out()), failure_);
  const uint64_t extreme = stats(chat.get()).bytes;
  EXPECT_LT(extreme, before);
  request.recipe = nullptr;
  request.keep = .5;  // of the recipe that the chat has now, which kept a quarter
  ok(satchel_memory_change_apply(chat.get(), &request, nullptr, &change, failure_.out()), failure_);
  EXPECT_GT(stats(chat.get()).bytes, extreme);
  request.keep = 0;
  request.limit_bytes = 1000;
  EXPECT_EQ(satchel_memory_change_apply(chat.get(), &request, nullptr, &change, failure_.out()),
            SATCHEL_INVALID);
  EXPECT_EQ(change.bytes_after, 0u);
  EXPECT_THAT(failure_.message(), HasSubstr("too small for this chat of"));
  EXPECT_THAT(failure_.detail(), HasSubstr("\"limit_bytes\":1000,\"least_limit_bytes\":"));
  request.limit_bytes = number_of(failure_.detail(), "least_limit_bytes");
  ok(satchel_memory_change_apply(chat.get(), &request, nullptr, &change, failure_.out()), failure_);
  satchel_buffer* json = nullptr;
  EXPECT_EQ(satchel_recipe_check("{\"name\": 3}", &json, failure_.out()), SATCHEL_INVALID);
  EXPECT_EQ(failure_.code(), "RECIPE");
  EXPECT_EQ(json, nullptr);
  ok(satchel_recipes(&json, failure_.out()), failure_);
  const Buffer owned(json);
  EXPECT_THAT(satchel_buffer_data(json), HasSubstr("\"snapkv\""));
}

TEST_F(CApi, handles_may_be_freed_in_any_order_and_null_is_fine) {
  satchel_store* kept = store().release();
  satchel_model* loaded = model(kept).release();
  satchel_session* chat = session(loaded, "any order").release();
  satchel_store_free(kept);
  satchel_model_free(loaded);
  EXPECT_FALSE(send(chat, kPet).empty());
  satchel_session_free(chat);
  satchel_runtime_free(nullptr);
  satchel_store_free(nullptr);
  satchel_model_free(nullptr);
  satchel_session_free(nullptr);
  satchel_buffer_free(nullptr);
  satchel_error_free(nullptr);
  satchel_cancel(nullptr);
  EXPECT_STREQ(satchel_buffer_data(nullptr), "");
}

TEST_F(CApi, null_where_something_must_be_is_an_error_that_names_it) {
  const Model loaded = model();
  satchel_session* made = nullptr;
  EXPECT_EQ(satchel_session_create(nullptr, nullptr, nullptr, &made, failure_.out()),
            SATCHEL_INVALID);
  EXPECT_THAT(failure_.message(), HasSubstr("model must not be NULL"));
  EXPECT_EQ(satchel_session_create(loaded.get(), nullptr, nullptr, nullptr, nullptr),
            SATCHEL_INVALID);
  EXPECT_EQ(satchel_runtime_create(nullptr, nullptr, failure_.out()), SATCHEL_INVALID);
  EXPECT_EQ(satchel_send(nullptr, "x", 1, nullptr, nullptr, nullptr, nullptr, failure_.out()),
            SATCHEL_INVALID);
  EXPECT_THAT(failure_.message(), HasSubstr("session must not be NULL"));
  const Session chat = session(loaded.get());
  EXPECT_EQ(
      satchel_send(chat.get(), nullptr, 1, nullptr, nullptr, nullptr, nullptr, failure_.out()),
      SATCHEL_INVALID);
  EXPECT_EQ(satchel_append(chat.get(), nullptr, 2, nullptr, failure_.out()), SATCHEL_INVALID);
  satchel_result result = SATCHEL_INIT(satchel_result);
  result.n_answer = 7;
  auto* text = reinterpret_cast<satchel_buffer*>(&result);  // of an earlier call
  EXPECT_EQ(satchel_send(chat.get(), nullptr, 1, nullptr, nullptr, &result, &text, nullptr),
            SATCHEL_INVALID);
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(result.n_answer, 0u);
  EXPECT_EQ(satchel_recipe_check("./compact.json", nullptr, failure_.out()), SATCHEL_NOT_FOUND);
  EXPECT_THAT(failure_.message(), HasSubstr("looks like a file"));
  EXPECT_EQ(satchel_session_create(loaded.get(), "named", nullptr, &made, failure_.out()),
            SATCHEL_INVALID);
  EXPECT_EQ(failure_.code(), "NO_STORE");
}

TEST_F(CApi, structs_of_older_and_newer_hosts_are_read_as_far_as_they_are_known) {
  const Model loaded = model();
  struct Newer {
    satchel_session_options known = SATCHEL_INIT(satchel_session_options);
    uint64_t later = 0;
  } newer;
  newer.known.struct_size = sizeof newer;
  satchel_session* made = nullptr;
  ok(satchel_session_create(loaded.get(), nullptr, &newer.known, &made, failure_.out()), failure_);
  satchel_session_free(made);
  newer.later = 1;
  EXPECT_EQ(satchel_session_create(loaded.get(), nullptr, &newer.known, &made, failure_.out()),
            SATCHEL_UNSUPPORTED);
  EXPECT_EQ(failure_.code(), "UNSUPPORTED_OPTION");
  EXPECT_EQ(made, nullptr);
  satchel_session_options unsized = SATCHEL_INIT(satchel_session_options);
  unsized.struct_size = 0;
  EXPECT_EQ(satchel_session_create(loaded.get(), nullptr, &unsized, &made, failure_.out()),
            SATCHEL_INVALID);
  EXPECT_EQ(failure_.code(), "STRUCT_SIZE");
  satchel_session_options older = SATCHEL_INIT(satchel_session_options);
  older.struct_size = offsetof(satchel_session_options, keep);
  older.keep = 7;  // of no use to it
  ok(satchel_session_create(loaded.get(), nullptr, &older, &made, failure_.out()), failure_);
  const Session chat(made);
  struct {
    satchel_stats stats = SATCHEL_INIT(satchel_stats);
    uint64_t behind = 42;
  } room;
  room.stats.struct_size = offsetof(satchel_stats, n_prefilled);
  room.stats.n_prefilled = 99;
  send(made, kPet);
  EXPECT_EQ(satchel_cache_stats(made, &room.stats, nullptr), SATCHEL_OK);
  EXPECT_GT(room.stats.n_tokens, 0u);
  EXPECT_EQ(room.stats.n_prefilled, 99u) << "behind what the host said it has";
  EXPECT_EQ(room.behind, 42u);
}

TEST_F(CApi, what_cannot_be_opened_says_what_and_leaves_nothing) {
  const Runtime owner = runtime();
  satchel_model* made = nullptr;
  EXPECT_EQ(
      satchel_model_load(owner.get(), "/no/such.gguf", nullptr, nullptr, &made, failure_.out()),
      SATCHEL_NOT_FOUND);
  EXPECT_THAT(failure_.message(), HasSubstr("/no/such.gguf"));
  EXPECT_EQ(made, nullptr);
  const Store kept = store();
  const Model loaded = model(kept.get());
  satchel_session* chat = nullptr;
  EXPECT_EQ(satchel_session_open(loaded.get(), "nobody", nullptr, nullptr, nullptr, &chat,
                                 failure_.out()),
            SATCHEL_NOT_FOUND);
  EXPECT_EQ(failure_.code(), "CHAT_NOT_FOUND");
  satchel_model_options options = SATCHEL_INIT(satchel_model_options);
  options.store = kept.get();
  EXPECT_EQ(satchel_model_load(owner.get(), kBundledModel.c_str(), &options, nullptr, &made,
                               failure_.out()),
            SATCHEL_INVALID);
  EXPECT_EQ(failure_.code(), "STORE_USED");
}

TEST_F(CApi, chats_are_listed_and_removed_by_name) {
  const Store kept = store();
  const Model loaded = model(kept.get());
  send(session(loaded.get(), "one").get(), kPet);
  send(session(loaded.get(), "two").get(), kPet);
  send(session(loaded.get(), "no\xff utf-8").get(), kPet);
  const auto listed = [&] {
    satchel_buffer* json = nullptr;
    ok(satchel_chats(loaded.get(), &json, failure_.out()), failure_);
    const Buffer owned(json);
    return std::string(satchel_buffer_data(json));
  };
  EXPECT_THAT(listed(), HasSubstr("\"name\":\"one\""));
  ok(satchel_chat_remove(loaded.get(), "one", failure_.out()), failure_);
  EXPECT_THAT(listed(), testing::Not(HasSubstr("\"name\":\"one\"")));
  EXPECT_THAT(listed(), HasSubstr("\"name\":\"two\""));
}

TEST_F(CApi, text_is_counted_and_made_into_ids_and_back) {
  const Model loaded = model();
  std::size_t n = 0;
  ok(satchel_tokenize(loaded.get(), "The brass bell.", SATCHEL_NUL_ENDED, nullptr, 0, &n,
                      failure_.out()),
     failure_);
  ASSERT_GT(n, 2u);
  std::vector<int32_t> ids(n);
  EXPECT_EQ(
      satchel_tokenize(loaded.get(), "The brass bell.", 15, ids.data(), n - 1, &n, failure_.out()),
      SATCHEL_INVALID);
  EXPECT_EQ(failure_.code(), "BUFFER_SIZE");
  ok(satchel_tokenize(loaded.get(), "The brass bell.", 15, ids.data(), n, &n, failure_.out()),
     failure_);
  satchel_buffer* text = nullptr;
  ok(satchel_detokenize(loaded.get(), ids.data(), n, &text, failure_.out()), failure_);
  const Buffer owned(text);
  EXPECT_STREQ(satchel_buffer_data(text), "The brass bell.");
}

}  // namespace
}  // namespace satchel::test
