// Satchel for C++17: the C API with owners and exceptions. Header-only: it calls the functions of
// satchel.h and nothing else, so that host and library may have other compilers.
//   owners   Runtime, Store, Model, Session: movable, freed by themselves, in any order
//   errors   every call throws satchel::Error. A listener may throw: the call ends, and what it
//            threw is thrown again by it
//   threads  as in satchel.h
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "satchel.h"

namespace satchel {

class Error : public std::runtime_error {
 public:
  explicit Error(satchel_error* taken)
      : std::runtime_error(satchel_error_message(taken)),
        kind_(satchel_error_class(taken)),
        code_(satchel_error_code(taken)) {
    satchel_error_free(taken);
  }
  std::int32_t kind() const noexcept { return kind_; }        // SATCHEL_INVALID …
  const std::string& code() const noexcept { return code_; }  // "MODEL_TRUNCATED"

 private:
  std::int32_t kind_;
  std::string code_;
};

namespace detail {

struct Free {
  void operator()(satchel_runtime* handle) const { satchel_runtime_free(handle); }
  void operator()(satchel_store* handle) const { satchel_store_free(handle); }
  void operator()(satchel_model* handle) const { satchel_model_free(handle); }
  void operator()(satchel_session* handle) const { satchel_session_free(handle); }
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

using Progress = std::function<void(std::int32_t phase, std::uint64_t done, std::uint64_t total)>;
// False ends the answer.
using Listener = std::function<bool(std::string_view piece, bool is_thought)>;

struct Answer {
  std::string text;
  satchel_result result = SATCHEL_INIT(satchel_result);
};

namespace detail {

// What a listener threw waits here until the call is over: it must not cross the C functions.
class Listeners {
 public:
  Listeners(Progress progress, Listener listener)
      : progress_(std::move(progress)), listener_(std::move(listener)) {}
  satchel_progress_fn progress() const { return progress_ ? on_progress : nullptr; }
  satchel_listener both() {
    satchel_listener out = SATCHEL_INIT(satchel_listener);
    out.user = this;
    out.progress = progress();
    if (listener_) out.piece = on_piece;
    return out;
  }
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
    try {
      return work() ? 0 : 1;
    } catch (...) {
      thrown_ = std::current_exception();
      return 1;
    }
  }
  static std::int32_t on_progress(void* user, std::int32_t phase, std::uint64_t done,
                                  std::uint64_t total) {
    auto& self = *static_cast<Listeners*>(user);
    return self.guarded([&] {
      self.progress_(phase, done, total);
      return true;
    });
  }
  static std::int32_t on_piece(void* user, const satchel_piece* piece) {
    auto& self = *static_cast<Listeners*>(user);
    return self.guarded([&] {
      return self.listener_({piece->text, piece->size}, piece->is_thought != 0);
    });
  }

  Progress progress_;
  Listener listener_;
  std::exception_ptr thrown_;
};

}  // namespace detail

class Runtime {
 public:
  explicit Runtime(const satchel_runtime_options* options = nullptr) {
    satchel_runtime* made = nullptr;
    detail::check([&](auto err) { return satchel_runtime_create(options, &made, err); });
    handle_.reset(made);
  }
  satchel_runtime* get() const { return handle_.get(); }

 private:
  detail::Owner<satchel_runtime> handle_;
};

// Not in libsatchel-core.
class Store {
 public:
  Store(const Runtime& runtime, const std::string& folder) {
    satchel_store_options options = SATCHEL_INIT(satchel_store_options);
    options.folder = folder.c_str();
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

class Session {
 public:
  // Reads a document; the chat goes on behind it.
  satchel_read add_document(const std::string& title, std::string_view text,
                            Progress progress = {}) {
    detail::Listeners heard(std::move(progress), {});
    satchel_read report = SATCHEL_INIT(satchel_read);
    heard.check([&](auto err) {
      return satchel_append_document(get(), title.c_str(), text.data(), text.size(),
                                     heard.progress(), &heard, &report, err);
    });
    return report;
  }
  // sampling  nullptr: the defaults. progress: while the prompt is read
  Answer send(std::string_view message, Listener listener = {},
              const satchel_sampling* sampling = nullptr, Progress progress = {}) {
    return answered(std::move(listener), std::move(progress),
                    [&](const satchel_listener& heard, Answer& answer, auto text, auto err) {
                      return satchel_send(get(), message.data(), message.size(), sampling, &heard,
                                          &answer.result, text, err);
                    });
  }
  Answer answer(Listener listener = {}, const satchel_sampling* sampling = nullptr,
                Progress progress = {}) {
    return answered(std::move(listener), std::move(progress),
                    [&](const satchel_listener& heard, Answer& answer, auto text, auto err) {
                      return satchel_answer(get(), sampling, &heard, &answer.result, text, err);
                    });
  }
  Answer ask_all(std::string_view question, Listener listener = {},
                 const satchel_sampling* sampling = nullptr, Progress progress = {}) {
    return answered(std::move(listener), std::move(progress),
                    [&](const satchel_listener& heard, Answer& answer, auto text, auto err) {
                      return satchel_ask_all(get(), question.data(), question.size(), sampling,
                                             &heard, &answer.result, text, err);
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
  void prewarm() {
    detail::check([&](auto err) { return satchel_prewarm(get(), nullptr, nullptr, nullptr, err); });
  }
  void truncate(std::int64_t last) {
    detail::check([&](auto err) { return satchel_truncate(get(), last, err); });
  }
  void pin(std::int64_t message) {
    detail::check([&](auto err) { return satchel_pin(get(), message, err); });
  }
  void forget(std::int64_t message) {
    detail::check([&](auto err) { return satchel_forget(get(), message, err); });
  }
  Session fork() {
    satchel_session* made = nullptr;
    detail::check([&](auto err) { return satchel_session_fork(get(), &made, err); });
    return Session(made);
  }
  void cancel() noexcept { satchel_cancel(get()); }  // from any thread
  // Work that may wait; true: nothing waits any more.
  bool idle() {
    std::int32_t finished = 0;
    detail::check([&](auto err) { return satchel_idle(get(), nullptr, nullptr, &finished, err); });
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
  // recipe  nullptr: as it is; limit_bytes 0: as it is
  satchel_memory_change change_memory(std::uint64_t limit_bytes, const char* recipe = nullptr) {
    satchel_memory_change out = SATCHEL_INIT(satchel_memory_change);
    detail::check([&](auto err) {
      return satchel_memory_change_apply(get(), limit_bytes, recipe, nullptr, nullptr, &out, err);
    });
    return out;
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

  template <class Call>
  Answer answered(Listener listener, Progress progress, const Call& call) {
    detail::Listeners listeners(std::move(progress), std::move(listener));
    const satchel_listener heard = listeners.both();
    Answer answer;
    satchel_buffer* text = nullptr;
    try {
      listeners.check([&](auto err) { return call(heard, answer, &text, err); });
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
        const satchel_model_options* options = nullptr, Progress progress = {}) {
    detail::Listeners heard(std::move(progress), {});
    satchel_model* made = nullptr;
    try {
      heard.check([&](auto err) {
        return satchel_model_load(runtime.get(), path.c_str(), options, heard.progress(), &heard,
                                  &made, err);
      });
    } catch (...) {
      satchel_model_free(made);
      throw;
    }
    handle_.reset(made);
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
  Session open(const char* name, satchel_resume* report = nullptr,
               const satchel_session_options* options = nullptr) const {
    satchel_session* made = nullptr;
    detail::check(
        [&](auto err) { return satchel_session_open(get(), name, options, report, &made, err); });
    return Session(made);
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
