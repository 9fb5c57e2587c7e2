// What calls tell while they run, how they are stopped, and what they refuse with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "embed/c_api.h"

namespace satchel::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string repeated(std::string_view text, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += text;
  return out;
}

// Stops the call when it was told something for the n-th time.
struct Stopper {
  explicit Stopper(int n, std::int32_t phase_in) : n_left(n), phase(phase_in) {
    listener.user = this;
    listener.progress = [](void* user, int32_t now, uint64_t done, uint64_t total) -> int32_t {
      auto& self = *static_cast<Stopper*>(user);
      EXPECT_EQ(now, self.phase);
      EXPECT_LE(done, total);
      return --self.n_left == 0 ? 1 : 0;
    };
  }
  int n_left;
  std::int32_t phase;
  satchel_listener listener = SATCHEL_INIT(satchel_listener);
};

TEST_F(CApi, loading_is_told_and_can_be_stopped_and_leaves_the_store_free) {
  const Store kept = store();
  const Runtime owner = runtime();
  satchel_model_options options = SATCHEL_INIT(satchel_model_options);
  options.backend = "cpu";
  options.store = kept.get();
  Stopper stops(3, SATCHEL_PHASE_LOAD);
  satchel_model* made = nullptr;
  EXPECT_EQ(satchel_model_load(owner.get(), kBundledModel.c_str(), &options, &stops.listener, &made,
                               failure_.out()),
            SATCHEL_CANCELLED);
  EXPECT_EQ(failure_.code(), "STOPPED");
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(stops.n_left, 0) << "nothing is told once it is stopped";
  EXPECT_NE(model(kept.get()), nullptr);
}

TEST_F(CApi, opening_a_chat_that_is_recomputed_is_told_and_can_be_stopped) {
  const Store kept = store();
  const Model loaded = model(kept.get());
  send(session(loaded.get(), "notes").get(), repeated(kNotes, 20));
  satchel_session_options options = SATCHEL_INIT(satchel_session_options);
  options.recipe = "compact";
  satchel_resume_report report = SATCHEL_INIT(satchel_resume_report);
  satchel_session* made = nullptr;
  const auto open = [&](const satchel_listener* listener) {
    return satchel_session_open(loaded.get(), "notes", &options, listener, &report, &made,
                                failure_.out());
  };
  Stopper stops(1, SATCHEL_PHASE_PREFILL);
  EXPECT_EQ(open(&stops.listener), SATCHEL_CANCELLED);
  EXPECT_EQ(stops.n_left, 0);
  EXPECT_EQ(made, nullptr);
  ok(open(nullptr), failure_);
  const Session chat(made);
  EXPECT_EQ(report.outcome, SATCHEL_RESUME_OTHER_RECIPE);
  EXPECT_STREQ(report.reason, "other_recipe");
  EXPECT_STREQ(satchel_reason_text(report.reason), "The cache was made with another recipe.");
  EXPECT_EQ(satchel_reason_text("none"), nullptr);
  EXPECT_GT(report.n_recomputed, 300u);
}

TEST_F(CApi, a_document_makes_way_for_a_question_and_says_what_is_unread) {
  const Model loaded = model();
  const Session chat = session(loaded.get(), nullptr, "compact"), other = session(loaded.get());
  struct Asker {
    satchel_session* session;
    std::atomic<bool> asks = false;
    std::thread thread = {};
    satchel_listener listener = SATCHEL_INIT(satchel_listener);
  } asker{other.get()};
  asker.listener.user = &asker;
  asker.listener.progress = [](void* user, int32_t, uint64_t, uint64_t) -> int32_t {
    auto& self = *static_cast<Asker*>(user);
    if (!self.thread.joinable())
      self.thread = std::thread([&self] {
        self.asks = true;
        EXPECT_EQ(satchel_send(self.session, kPet.data(), kPet.size(), nullptr, nullptr, nullptr,
                               nullptr, nullptr),
                  SATCHEL_OK);
      });
    while (!self.asks) std::this_thread::yield();
    return 0;
  };
  const std::string text = repeated(kNotes, 200);  // three contexts
  satchel_prefill_report report = SATCHEL_INIT(satchel_prefill_report);
  const int32_t status = satchel_append_document(chat.get(), "notes", text.data(), text.size(),
                                                 &asker.listener, &report, failure_.out());
  asker.thread.join();
  ok(status, failure_);
  const uint64_t n_unread = report.n_unread;
  EXPECT_GT(n_unread, 0u);
  EXPECT_GT(report.n_tokens + n_unread, 4000u);
  EXPECT_EQ(stats(chat.get()).n_unread, n_unread);
  ok(satchel_prefill(chat.get(), nullptr, &report, failure_.out()), failure_);
  EXPECT_EQ(report.n_unread, 0u);
  EXPECT_EQ(report.n_tokens, n_unread);
  EXPECT_EQ(stats(chat.get()).n_unread, 0u);
}

TEST_F(CApi, a_chat_that_is_open_is_not_removed_nor_opened_again) {
  const Store kept = store();
  const Model loaded = model(kept.get());
  Session chat = session(loaded.get(), "notes");
  const std::string answer = send(chat.get(), kPet);
  EXPECT_EQ(satchel_chat_remove(loaded.get(), "notes", failure_.out()), SATCHEL_BUSY);
  EXPECT_EQ(failure_.code(), "CHAT_OPEN");
  satchel_session* second = nullptr;
  EXPECT_EQ(satchel_session_open(loaded.get(), "notes", nullptr, nullptr, nullptr, &second,
                                 failure_.out()),
            SATCHEL_BUSY);
  EXPECT_THAT(messages(chat.get()), HasSubstr(answer)) << "it goes on";
  chat.reset();
  ok(satchel_chat_remove(loaded.get(), "notes", failure_.out()), failure_);
  EXPECT_EQ(satchel_chat_remove(loaded.get(), "notes", failure_.out()), SATCHEL_NOT_FOUND);
}

TEST_F(CApi, documents_are_listed_kept_and_removed) {
  const Store store = this->store();
  const Model loaded = model(store.get());
  const auto shelf = [&] {
    satchel_buffer* json = nullptr;
    ok(satchel_documents(loaded.get(), &json, failure_.out()), failure_);
    return std::string(satchel_buffer_data(Buffer(json).get()));
  };
  EXPECT_EQ(shelf(), "[]");
  satchel_buffer* id = nullptr;
  ok(satchel_document_keep(loaded.get(), "notes.txt", kNotes.data(), kNotes.size(), &id,
                           failure_.out()),
     failure_);
  const Buffer kept(id);
  EXPECT_THAT(shelf(), AllOf(HasSubstr(satchel_buffer_data(id)), HasSubstr("\"kept\":true")));
  satchel_buffer* text = nullptr;
  ok(satchel_document_text(loaded.get(), satchel_buffer_data(id), &text, failure_.out()),
     failure_);
  EXPECT_EQ(satchel_buffer_data(Buffer(text).get()), kNotes);
  ok(satchel_document_remove(loaded.get(), satchel_buffer_data(id), failure_.out()), failure_);
  EXPECT_EQ(shelf(), "[]");
  EXPECT_EQ(satchel_document_remove(loaded.get(), satchel_buffer_data(id), failure_.out()),
            SATCHEL_NOT_FOUND);
  EXPECT_EQ(failure_.code(), "DOC_NOT_FOUND");
  const Model without = model();
  EXPECT_EQ(satchel_documents(without.get(), &text, failure_.out()), SATCHEL_UNSUPPORTED);
}

TEST_F(CApi, a_key_makes_an_encrypted_store_or_says_why_not) {
  const Runtime owner = runtime();
  satchel_store_options options = SATCHEL_INIT(satchel_store_options);
  const std::string folder = folder_.path().string();
  options.folder = folder.c_str();
  options.key = "harbour";
  const auto open = [&] {
    satchel_store* made = nullptr;
    const int32_t status = satchel_store_open(owner.get(), &options, &made, failure_.out());
    satchel_store_free(made);
    return status;
  };
  if (const int32_t made = open(); made != SATCHEL_OK) {  // built without SQLCipher
    EXPECT_EQ(made, SATCHEL_INVALID);
    EXPECT_EQ(failure_.code(), "LIBRARY_KEY");
    EXPECT_THAT(failure_.message(), HasSubstr("without encryption"));
    return;
  }
  EXPECT_EQ(open(), SATCHEL_OK);
  options.key = nullptr;
  EXPECT_EQ(open(), SATCHEL_INVALID);
  EXPECT_EQ(failure_.code(), "LIBRARY_KEY");
}

TEST_F(CApi, what_does_not_fit_says_its_numbers_for_programs) {
  const Model loaded = model();
  const Session chat = session(loaded.get());
  const std::string long_text = repeated(kNotes, 200);
  EXPECT_EQ(satchel_send(chat.get(), long_text.data(), long_text.size(), nullptr, nullptr, nullptr,
                         nullptr, failure_.out()),
            SATCHEL_OUT_OF_MEMORY);
  EXPECT_EQ(failure_.code(), "CONTEXT_FULL");
  EXPECT_GT(number_of(failure_.detail(), "n_tokens"), 4000u);
  EXPECT_GT(number_of(failure_.detail(), "n_left"), 1000u);

  satchel_session_options options = SATCHEL_INIT(satchel_session_options);
  options.limit_bytes = 1000;
  const auto ask = [&] {
    satchel_session* made = nullptr;
    ok(satchel_session_create(loaded.get(), nullptr, &options, &made, failure_.out()), failure_);
    const Session tight(made);
    return satchel_send(made, kPet.data(), kPet.size(), nullptr, nullptr, nullptr, nullptr,
                        failure_.out());
  };
  EXPECT_EQ(ask(), SATCHEL_OUT_OF_MEMORY);
  EXPECT_EQ(failure_.code(), "MEMORY");
  options.limit_bytes = number_of(failure_.detail(), "least_limit_bytes");
  ok(ask(), failure_);

  EXPECT_EQ(satchel_recipe_check("nobody's", nullptr, failure_.out()), SATCHEL_NOT_FOUND);
  EXPECT_EQ(failure_.detail(), "{}");
}

TEST_F(CApi, every_function_refuses_nothing_at_all) {
  using Call = int32_t (*)(satchel_error**);
  const Call calls[] = {
      [](auto e) { return satchel_runtime_create(nullptr, nullptr, e); },
      [](auto e) { return satchel_scorer_register(nullptr, e); },
      [](auto e) { return satchel_store_open(nullptr, nullptr, nullptr, e); },
      [](auto e) { return satchel_model_inspect(nullptr, nullptr, e); },
      [](auto e) { return satchel_model_load(nullptr, nullptr, nullptr, nullptr, nullptr, e); },
      [](auto e) { return satchel_model_describe(nullptr, nullptr, e); },
      [](auto e) { return satchel_tokenize(nullptr, nullptr, 0, nullptr, 0, nullptr, e); },
      [](auto e) { return satchel_detokenize(nullptr, nullptr, 0, nullptr, e); },
      [](auto e) { return satchel_estimate_memory(nullptr, nullptr, 0, 0, nullptr, e); },
      [](auto e) {
        return satchel_model_estimate(nullptr, nullptr, nullptr, nullptr, 0, 0, nullptr, e);
      },
      [](auto e) { return satchel_recipes(nullptr, e); },
      [](auto e) { return satchel_recipe_check(nullptr, nullptr, e); },
      [](auto e) { return satchel_session_create(nullptr, nullptr, nullptr, nullptr, e); },
      [](auto e) {
        return satchel_session_open(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, e);
      },
      [](auto e) { return satchel_snapshot_save(nullptr, nullptr, e); },
      [](auto e) {
        return satchel_snapshot_load(nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr,
                                     nullptr, e);
      },
      [](auto e) { return satchel_session_fork(nullptr, nullptr, e); },
      [](auto e) { return satchel_chats(nullptr, nullptr, e); },
      [](auto e) { return satchel_chat_remove(nullptr, nullptr, e); },
      [](auto e) { return satchel_documents(nullptr, nullptr, e); },
      [](auto e) { return satchel_document_keep(nullptr, nullptr, nullptr, 0, nullptr, e); },
      [](auto e) { return satchel_document_text(nullptr, nullptr, nullptr, e); },
      [](auto e) { return satchel_document_remove(nullptr, nullptr, e); },
      [](auto e) { return satchel_append(nullptr, nullptr, 0, nullptr, e); },
      [](auto e) {
        return satchel_append_document(nullptr, nullptr, nullptr, 0, nullptr, nullptr, e);
      },
      [](auto e) { return satchel_prefill(nullptr, nullptr, nullptr, e); },
      [](auto e) { return satchel_messages(nullptr, nullptr, e); },
      [](auto e) {
        return satchel_send(nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr, e);
      },
      [](auto e) { return satchel_answer(nullptr, nullptr, nullptr, nullptr, nullptr, e); },
      [](auto e) {
        return satchel_ask_all(nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr, e);
      },
      [](auto e) { return satchel_stream_open(nullptr, nullptr, 0, nullptr, nullptr, e); },
      [](auto e) { return satchel_stream_next(nullptr, 0, nullptr, nullptr, e); },
      [](auto e) { return satchel_stream_result(nullptr, nullptr, nullptr, e); },
      [](auto e) {
        return satchel_use_cpu(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, e);
      },
      [](auto e) { return satchel_truncate(nullptr, 0, e); },
      [](auto e) { return satchel_versions(nullptr, 0, nullptr, 0, nullptr, e); },
      [](auto e) { return satchel_switch_to(nullptr, 0, e); },
      [](auto e) { return satchel_pin(nullptr, 0, e); },
      [](auto e) { return satchel_forget(nullptr, 0, e); },
      [](auto e) { return satchel_cache_stats(nullptr, nullptr, e); },
      [](auto e) { return satchel_fidelity_stats(nullptr, nullptr, e); },
      [](auto e) { return satchel_memory_change_preview(nullptr, nullptr, nullptr, e); },
      [](auto e) { return satchel_memory_change_apply(nullptr, nullptr, nullptr, nullptr, e); },
      [](auto e) { return satchel_idle(nullptr, nullptr, nullptr, e); },
  };
  for (const Call& call : calls) {
    const std::ptrdiff_t number = &call - calls;
    EXPECT_EQ(call(failure_.out()), SATCHEL_INVALID) << number;
    EXPECT_THAT(failure_.message(), HasSubstr("must not be NULL")) << number;
    EXPECT_EQ(call(nullptr), SATCHEL_INVALID) << number;
  }
}

}  // namespace
}  // namespace satchel::test
