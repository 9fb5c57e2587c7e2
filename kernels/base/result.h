// Result<T>: a value or an Error. Expected failures (file, memory, device, Stop) travel as values;
// our own bugs are assertions (assert.h). Named after std::expected, which g++ 12 has only under
// C++23, so that it can replace this.
//   needs   value() only where ok(), error() only where not
//   threads as its T
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "kernels/base/assert.h"

namespace satchel {

// The classes a caller may want to tell apart; the programs map them to exit codes
// (app/cli/exit_codes.h).
enum class ErrorKind {
  invalid,        // what the caller asked for makes no sense
  not_found,      // a file, chat, model or name that is not there
  corrupt,        // bytes from outside are damaged or forged
  unsupported,    // well formed, but not something this build can do
  out_of_memory,  // does not fit into the pool or the machine
  device_lost,    // the backend's device is gone or was demanded and is missing
  storage,        // disk full, read-only, in use
  cancelled,      // the user said stop
  internal,       // a stranger's exception or a broken promise of ours
};

// What went wrong. `code` is stable and for programs ("MODEL_TRUNCATED"); `message` is for people:
// what, where, what was kept, what to do.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string code;
  std::string message;
};

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return checked(); }
  const T& value() const& { return const_cast<Result*>(this)->checked(); }
  T&& value() && { return std::move(checked()); }
  T& operator*() & { return checked(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &checked(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    SATCHEL_ASSERT(!ok());
    return std::get<1>(state_);
  }
  Error&& error() && {
    SATCHEL_ASSERT(!ok());
    return std::get<1>(std::move(state_));
  }

 private:
  T& checked() {
    SATCHEL_ASSERT(ok());
    return std::get<0>(state_);
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  void value() const { SATCHEL_ASSERT(ok()); }

  const Error& error() const& {
    SATCHEL_ASSERT(!ok());
    return *error_;
  }
  Error&& error() && {
    SATCHEL_ASSERT(!ok());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace satchel

#define SATCHEL_JOIN_(a, b) a##b
#define SATCHEL_JOIN(a, b) SATCHEL_JOIN_(a, b)

// Runs an expression that gives a Result; returns its Error from the surrounding function
// unchanged.
#define SATCHEL_TRY(...) SATCHEL_TRY_NAMED_(SATCHEL_JOIN(satchel_try_, __COUNTER__), __VA_ARGS__)
#define SATCHEL_TRY_NAMED_(name, ...)                                  \
  do {                                                                 \
    auto&& name = (__VA_ARGS__);                                       \
    if (!name.ok()) return std::forward<decltype(name)>(name).error(); \
  } while (false)

// SATCHEL_TRY_ASSIGN(const Page page, pool.page_at(id)): declares and fills a variable, or returns
// the Error unchanged.
#define SATCHEL_TRY_ASSIGN(declaration, ...) \
  SATCHEL_TRY_ASSIGN_NAMED_(SATCHEL_JOIN(satchel_try_, __COUNTER__), declaration, __VA_ARGS__)
#define SATCHEL_TRY_ASSIGN_NAMED_(name, declaration, ...) \
  auto name = (__VA_ARGS__);                              \
  if (!name.ok()) return std::move(name).error();         \
  declaration = std::move(name).value()
