// Result<T>: a value or an Error. Expected failures (file, memory, device, Stop) are values; our
// own bugs are assertions (assert.h). The interface follows std::expected, which g++ 12 has only
// under C++23, so that it can replace this class.
//   needs   value() requires ok(), error() requires !ok()
//   threads as T
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/base/assert.h"

namespace satchel {

// The classes of errors that callers distinguish; programs map them to exit codes
// (app/cli/exit_codes.h).
enum class ErrorKind {
  invalid,        // the caller's request makes no sense
  not_found,      // a file, chat, model or name does not exist
  corrupt,        // bytes from outside are damaged or forged
  unsupported,    // well formed, but this build cannot do it
  out_of_memory,  // does not fit into the arena or the machine
  device_lost,    // the backend's device failed, or was requested and is missing
  storage,        // disk full, read-only, in use
  cancelled,      // the user asked to stop
  internal,       // an exception of a library, or a broken guarantee of ours
};

// A number that the message says in words, for programs: "least_limit_bytes".
struct ErrorNumber {
  const char* name = "";  // a literal
  std::uint64_t value = 0;
};

// An error. `code` is stable and for programs ("MODEL_TRUNCATED"). `message` is for people: what
// happened, to what, what was kept and what to do.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string code;
  std::string message;
  std::vector<ErrorNumber> numbers = {};
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

// Evaluates an expression of type Result and returns its Error, if any, from the enclosing
// function.
#define SATCHEL_TRY(...) SATCHEL_TRY_NAMED_(SATCHEL_JOIN(satchel_try_, __COUNTER__), __VA_ARGS__)
#define SATCHEL_TRY_NAMED_(name, ...)                                  \
  do {                                                                 \
    auto&& name = (__VA_ARGS__);                                       \
    if (!name.ok()) return std::forward<decltype(name)>(name).error(); \
  } while (false)

// SATCHEL_TRY_ASSIGN(const Page page, pool.page_at(id)): declares a variable with the value, or
// returns the Error from the enclosing function.
#define SATCHEL_TRY_ASSIGN(declaration, ...) \
  SATCHEL_TRY_ASSIGN_NAMED_(SATCHEL_JOIN(satchel_try_, __COUNTER__), declaration, __VA_ARGS__)
#define SATCHEL_TRY_ASSIGN_NAMED_(name, declaration, ...) \
  auto name = (__VA_ARGS__);                              \
  if (!name.ok()) return std::move(name).error();         \
  declaration = std::move(name).value()
