// Satchel for C++17: the C API with owners and exceptions. Header-only: it calls the functions of
// satchel.h and nothing else, so that host and library may have other compilers.
//   owners   Runtime, Store, Model, Session, Stream: movable, freed by themselves, in any order
//   errors   every call throws satchel::Error. A listener may throw: the call ends, and what it
//            threw is thrown again by it
//   threads  as in satchel.h
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "satchel.h"

namespace satchel {

class Error : public std::runtime_error {
 public:
  explicit Error(satchel_error* taken)
      : std::runtime_error(satchel_error_message(taken)),
        kind_(satchel_error_class(taken)),
        code_(satchel_error_code(taken)),
        detail_(satchel_error_detail(taken)) {
    satchel_error_free(taken);
  }
  std::int32_t kind() const noexcept { return kind_; }            // SATCHEL_INVALID …
  const std::string& code() const noexcept { return code_; }      // "MODEL_TRUNCATED"
  const std::string& detail() const noexcept { return detail_; }  // its numbers, a JSON object

 private:
  std::int32_t kind_;
  std::string code_, detail_;
};

namespace detail {

struct Free {
  void operator()(satchel_runtime* handle) const { satchel_runtime_free(handle); }
  void operator()(satchel_store* handle) const { satchel_store_free(handle); }
  void operator()(satchel_model* handle) const { satchel_model_free(handle); }
  void operator()(satchel_session* handle) const { satchel_session_free(handle); }
  void operator()(satchel_stream* handle) const { satchel_stream_free(handle); }
  void operator()(satchel_buffer* handle) const { satchel_buffer_free(handle); }
};
template <class T>
using Owner = std::unique_ptr<T, Free>;

template <class Call>
void check(const Call& call) {
  satchel_error* error = nullptr;
  if (call(&error) != SATCHEL_OK) throw Error(error);
}

inline std::string text_of(satchel_buffer* taken) {
  const Owner<satchel_buffer> owned(taken);
  return {satchel_buffer_data(taken), satchel_buffer_size(taken)};
}

}  // namespace detail

// What a call tells while it runs. False ends it: an answer is stopped, anything else throws an
// Error of kind SATCHEL_CANCELLED. Either of the functions converts to a listener.
struct Listener {
  using Progress = std::function<bool(std::int32_t phase, std::uint64_t done, std::uint64_t total)>;
  using Delta = std::function<bool(std::string_view delta, bool is_thought)>;

  Listener() = default;
  Listener(Progress of_work, Delta of_answer)
      : progress(std::move(of_work)), delta(std::move(of_answer)) {}
  template <class F, std::enable_if_t<std::is_invocable_v<F&, std::string_view, bool>, int> = 0>
  Listener(F of_answer) : delta(std::move(of_answer)) {}
  template <class F,
            std::enable_if_t<std::is_invocable_v<F&, std::int32_t, std::uint64_t, std::uint64_t>,
                             int> = 0>
  Listener(F of_work) : progress(std::move(of_work)) {}

  Progress progress;
  Delta delta;
};

struct Answer {
  std::string text;
  satchel_result result = SATCHEL_INIT(satchel_result);
};

namespace detail {

// What a listener threw waits here until the call is over: it must not cross the C functions.
class Heard {
 public:
  explicit Heard(Listener listener) : listener_(std::move(listener)) {
    if (listener_.progress) functions_.progress = on_progress;
    if (listener_.delta) functions_.delta = on_delta;
    functions_.user = this;
  }
  Heard(const Heard&) = delete;
  const satchel_listener* functions() const { return &functions_; }
  template <class Call>
  void check(const Call& call) {
    satchel_error* error = nullptr;
    const std::int32_t status = call(&error);
    if (thrown_ != nullptr) {
      satchel_error_free(error);
      std::rethrow_exception(thrown_);
    }
    if (status != SATCHEL_OK) throw Error(error);
  }

 private:
  template <class Work>
  std::int32_t guarded(const Work& work) noexcept {
    if (thrown_ != nullptr) return 1;
    try {
      return work() ? 0 : 1;
    } catch (...) {
      thrown_ = std::current_exception();
      return 1;
    }
  }
  static std::int32_t on_progress(void* user, std::int32_t phase, std::uint64_t done,
                                  std::uint64_t total) {
    auto& self = *static_cast<Heard*>(user);
    return self.guarded([&] { return self.listener_.progress(phase, done, total); });
  }
  static std::int32_t on_delta(void* user, const satchel_delta* delta) {
    auto& self = *static_cast<Heard*>(user);
    return self.guarded([&] {
      return self.listener_.delta({delta->text, delta->size}, delta->is_thought != 0);
    });
  }

  Listener listener_;
  satchel_listener functions_ = SATCHEL_INIT(satchel_listener);
  std::exception_ptr thrown_;
};

// A handle that a call makes; freed where a listener of the call threw.
template <class T, class Call>
Owner<T> made(Listener listener, const Call& call) {
  Heard heard(std::move(listener));
  T* handle = nullptr;
  try {
    heard.check([&](auto err) { return call(heard.functions(), &handle, err); });
  } catch (...) {
    Free()(handle);
    throw;
  }
  return Owner<T>(handle);
}

}  // namespace detail

// The canonical JSON of a preset, a recipe's name or a recipe's JSON.
inline std::string check_recipe(const std::string& recipe) {
  satchel_buffer* json = nullptr;
  detail::check([&](auto err) { return satchel_recipe_check(recipe.c_str(), &json, err); });
  return detail::text_of(json);
}

// Scores the tokens of one lane: scores [lane.n_tokens], all 0 before. What it throws ends the call
// with an Error SCORER.
using Scorer = std::function<void(const satchel_scored_lane& lane, float* scores)>;

// For recipes that name it, until the process ends.
inline void register_scorer(const std::string& name, Scorer scorer) {
  auto kept = std::make_unique<Scorer>(std::move(scorer));
  satchel_scorer given = SATCHEL_INIT(satchel_scorer);
  given.name = name.c_str();
  given.user = kept.get();
  given.score = [](void* user, const satchel_scored_lane* lane, float* scores) -> std::int32_t {
    try {
      (*static_cast<Scorer*>(user))(*lane, scores);
      return 0;
    } catch (...) {
      return 1;
    }
  };
  detail::check([&](auto err) { return satchel_scorer_register(&given, err); });
  (void)kept.release();
}

// What a GGUF file says of its model, without loading it: a JSON object.
inline std::string inspect_model(const std::string& path) {
  satchel_buffer* json = nullptr;
  detail::check([&](auto err) { return satchel_model_inspect(path.c_str(), &json, err); });
  return detail::text_of(json);
}

class Runtime {
 public:
  explicit Runtime(const satchel_runtime_options* options = nullptr) {
    satchel_runtime* made = nullptr;
    detail::check([&](auto err) { return satchel_runtime_create(options, &made, err); });
    handle_.reset(made);
  }
  // Of a model that is not loaded.
  satchel_estimate estimate(const std::string& path, const char* recipe,
                            std::uint64_t n_tokens = 0, std::uint64_t limit_bytes = 0,
                            const satchel_model_options* options = nullptr) const {
    satchel_estimate out = SATCHEL_INIT(satchel_estimate);
    detail::check([&](auto err) {
      return satchel_model_estimate(get(), path.c_str(), options, recipe, n_tokens, limit_bytes,
                                    &out, err);
    });
    return out;
  }
  satchel_runtime* get() const { return handle_.get(); }

 private:
  detail::Owner<satchel_runtime> handle_;
};

// Not in libsatchel-core.
class Store {
 public:
  // key  nullptr: it is not encrypted
  Store(const Runtime& runtime, const std::string& folder, const char* key = nullptr) {
    satchel_store_options options = SATCHEL_INIT(satchel_store_options);
    options.folder = folder.c_str();
    options.key = key;
    satchel_store* made = nullptr;
    detail::check(
        [&](auto err) { return satchel_store_open(runtime.get(), &options, &made, err); });
    handle_.reset(made);
  }
  satchel_store* get() const { return handle_.get(); }

 private:
  detail::Owner<satchel_store> handle_;
};

class Model;

// An answer that is made on a thread of its own and taken delta by delta; the end of the object
// stops it.
class Stream {
 public:
  struct Delta {
    std::string text;
    bool is_thought = false;
  };
  // Nothing: it has ended.
  std::optional<Delta> next() {
    satchel_delta delta = SATCHEL_INIT(satchel_delta);
    std::int32_t state = SATCHEL_STREAM_ENDED;
    detail::check(
        [&](auto err) { return satchel_stream_next(handle_.get(), -1, &delta, &state, err); });
    if (state == SATCHEL_STREAM_ENDED) return std::nullopt;
    return Delta{{delta.text, delta.size}, delta.is_thought != 0};
  }
  // Waits for the end.
  Answer result() const {
    Answer answer;
    satchel_buffer* text = nullptr;
    detail::check(
        [&](auto err) { return satchel_stream_result(handle_.get(), &answer.result, &text, err); });
    answer.text = detail::text_of(text);
    return answer;
  }
  satchel_stream* get() const { return handle_.get(); }

 private:
  friend class Session;
  explicit Stream(satchel_stream* made) : handle_(made) {}

  detail::Owner<satchel_stream> handle_;
};

class Session {
 public:
  // Adds a document and prefills it; the chat goes on behind it.
  satchel_prefill_report add_document(const std::string& title, std::string_view text,
                                      Listener listener = {}) {
    return reported<satchel_prefill_report>(
        std::move(listener), [&](const satchel_listener* heard, auto* report, auto err) {
          return satchel_append_document(get(), title.c_str(), text.data(), text.size(), heard,
                                         report, err);
        });
  }
  // sampling  nullptr: the defaults
  Answer send(std::string_view message, Listener listener = {},
              const satchel_sampling* sampling = nullptr) {
    return answered(std::move(listener),
                    [&](const satchel_listener* heard, Answer& answer, auto text, auto err) {
                      return satchel_send(get(), message.data(), message.size(), sampling, heard,
                                          &answer.result, text, err);
                    });
  }
  Stream stream(std::string_view message, const satchel_sampling* sampling = nullptr) {
    satchel_stream* made = nullptr;
    detail::check([&](auto err) {
      return satchel_stream_open(get(), message.data(), message.size(), sampling, &made, err);
    });
    return Stream(made);
  }
  Answer answer(Listener listener = {}, const satchel_sampling* sampling = nullptr) {
    return answered(std::move(listener),
                    [&](const satchel_listener* heard, Answer& answer, auto text, auto err) {
                      return satchel_answer(get(), sampling, heard, &answer.result, text, err);
                    });
  }
  Answer ask_all(std::string_view question, Listener listener = {},
                 const satchel_sampling* sampling = nullptr) {
    return answered(std::move(listener),
                    [&](const satchel_listener* heard, Answer& answer, auto text, auto err) {
                      return satchel_ask_all(get(), question.data(), question.size(), sampling,
                                             heard, &answer.result, text, err);
                    });
  }
  // Their ids.
  std::vector<std::int64_t> append(const std::vector<satchel_message>& messages) {
    std::vector<std::int64_t> ids(messages.size());
    detail::check([&](auto err) {
      return satchel_append(get(), messages.data(), messages.size(), ids.data(), err);
    });
    return ids;
  }
  satchel_prefill_report prefill(Listener listener = {}) {
    return reported<satchel_prefill_report>(
        std::move(listener), [&](const satchel_listener* heard, auto* report, auto err) {
          return satchel_prefill(get(), heard, report, err);
        });
  }
  void truncate(std::int64_t last) {
    detail::check([&](auto err) { return satchel_truncate(get(), last, err); });
  }
  // Oldest first, the message among them.
  std::vector<std::int64_t> versions(std::int64_t message) {
    std::size_t n = 0;
    detail::check([&](auto err) { return satchel_versions(get(), message, nullptr, 0, &n, err); });
    std::vector<std::int64_t> ids(n);
    detail::check(
        [&](auto err) { return satchel_versions(get(), message, ids.data(), n, &n, err); });
    return ids;
  }
  void switch_to(std::int64_t version) {
    detail::check([&](auto err) { return satchel_switch_to(get(), version, err); });
  }
  void pin(std::int64_t message) {
    detail::check([&](auto err) { return satchel_pin(get(), message, err); });
  }
  void forget(std::int64_t message) {
    detail::check([&](auto err) { return satchel_forget(get(), message, err); });
  }
  // The chat as it is now, as bytes for Model::load_snapshot.
  std::string save_snapshot() {
    satchel_buffer* bytes = nullptr;
    detail::check([&](auto err) { return satchel_snapshot_save(get(), &bytes, err); });
    return detail::text_of(bytes);
  }
  Session fork() {
    satchel_session* made = nullptr;
    detail::check([&](auto err) { return satchel_session_fork(get(), &made, err); });
    return Session(made);
  }
  void cancel() noexcept { satchel_cancel(get()); }  // from any thread
  // Work that may wait; true: nothing waits any more.
  bool idle(Listener listener = {}) {
    detail::Heard heard(std::move(listener));
    std::int32_t finished = 0;
    heard.check([&](auto err) { return satchel_idle(get(), heard.functions(), &finished, err); });
    return finished != 0;
  }

  satchel_stats stats() const {
    satchel_stats out = SATCHEL_INIT(satchel_stats);
    detail::check([&](auto err) { return satchel_cache_stats(get(), &out, err); });
    return out;
  }
  satchel_fidelity fidelity() const {
    satchel_fidelity out = SATCHEL_INIT(satchel_fidelity);
    detail::check([&](auto err) { return satchel_fidelity_stats(get(), &out, err); });
    return out;
  }
  // What the request would do; and doing it.
  satchel_memory_change preview_memory(const satchel_memory_request& request) const {
    satchel_memory_change out = SATCHEL_INIT(satchel_memory_change);
    detail::check(
        [&](auto err) { return satchel_memory_change_preview(get(), &request, &out, err); });
    return out;
  }
  satchel_memory_change change_memory(const satchel_memory_request& request,
                                      Listener listener = {}) {
    return reported<satchel_memory_change>(
        std::move(listener), [&](const satchel_listener* heard, auto* change, auto err) {
          return satchel_memory_change_apply(get(), &request, heard, change, err);
        });
  }
  std::string messages_json() const {
    satchel_buffer* json = nullptr;
    detail::check([&](auto err) { return satchel_messages(get(), &json, err); });
    return detail::text_of(json);
  }
  satchel_session* get() const { return handle_.get(); }

 private:
  friend class Model;
  explicit Session(satchel_session* made) : handle_(made) {}

  template <class Report, class Call>
  static Report reported(Listener listener, const Call& call) {
    detail::Heard heard(std::move(listener));
    Report report = SATCHEL_INIT(Report);
    heard.check([&](auto err) { return call(heard.functions(), &report, err); });
    return report;
  }
  template <class Call>
  static Answer answered(Listener listener, const Call& call) {
    detail::Heard heard(std::move(listener));
    Answer answer;
    satchel_buffer* text = nullptr;
    try {
      heard.check([&](auto err) { return call(heard.functions(), answer, &text, err); });
    } catch (...) {
      satchel_buffer_free(text);
      throw;
    }
    answer.text = detail::text_of(text);
    return answer;
  }

  detail::Owner<satchel_session> handle_;
};

class Model {
 public:
  Model(const Runtime& runtime, const std::string& path,
        const satchel_model_options* options = nullptr, Listener listener = {}) {
    handle_ = detail::made<satchel_model>(
        std::move(listener), [&](const satchel_listener* heard, auto made, auto err) {
          return satchel_model_load(runtime.get(), path.c_str(), options, heard, made, err);
        });
  }
  // With the chats of a store.
  Model(const Runtime& runtime, const std::string& path, const Store& store)
      : Model(runtime, path, kept_in(store)) {}

  // options  nullptr: the defaults. name  nullptr: none, or made of the first message
  Session chat(const char* name = nullptr, const satchel_session_options* options = nullptr) const {
    satchel_session* made = nullptr;
    detail::check(
        [&](auto err) { return satchel_session_create(get(), name, options, &made, err); });
    return Session(made);
  }
  // A saved one; report may be nullptr.
  Session open(const char* name, satchel_resume_report* report = nullptr,
               const satchel_session_options* options = nullptr, Listener listener = {}) const {
    return Session(
        detail::made<satchel_session>(std::move(listener), [&](const satchel_listener* heard,
                                                               auto made, auto err) {
          return satchel_session_open(get(), name, options, heard, report, made, err);
        }).release());
  }
  // One that Session::save_snapshot gave bytes of; name  as of chat(); report may be nullptr.
  Session load_snapshot(std::string_view bytes, const char* name = nullptr,
                        satchel_resume_report* report = nullptr,
                        const satchel_session_options* options = nullptr,
                        Listener listener = {}) const {
    return Session(
        detail::made<satchel_session>(std::move(listener), [&](const satchel_listener* heard,
                                                               auto made, auto err) {
          return satchel_snapshot_load(get(), bytes.data(), bytes.size(), name, options, heard,
                                       report, made, err);
        }).release());
  }
  std::size_t count_tokens(std::string_view text) const {
    std::size_t n = 0;
    detail::check([&](auto err) {
      return satchel_tokenize(get(), text.data(), text.size(), nullptr, 0, &n, err);
    });
    return n;
  }
  satchel_estimate estimate(const char* recipe, std::uint64_t n_tokens = 0,
                            std::uint64_t limit_bytes = 0) const {
    satchel_estimate out = SATCHEL_INIT(satchel_estimate);
    detail::check([&](auto err) {
      return satchel_estimate_memory(get(), recipe, n_tokens, limit_bytes, &out, err);
    });
    return out;
  }
  satchel_model* get() const { return handle_.get(); }

 private:
  Model(const Runtime& runtime, const std::string& path, const satchel_model_options& options)
      : Model(runtime, path, &options) {}
  static satchel_model_options kept_in(const Store& store) {
    satchel_model_options options = SATCHEL_INIT(satchel_model_options);
    options.store = store.get();
    return options;
  }

  detail::Owner<satchel_model> handle_;
};

}  // namespace satchel
