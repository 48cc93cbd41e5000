#pragma once
// A Result<T> holds a value or an Error. The error's message says what failed, where, and what the user can
// do.
#include <optional>
#include <string>
#include <utility>

#include "profiler/base/check.h"

namespace pipescope::base {

/// Decides the exit status of the program that fails.
enum class ErrorKind {
  badInput,   ///< the usage, configuration, data or file is wrong: exit 2
  refused,    ///< the work's own answer is no (NaN loss, a check that failed …): exit 1
  machine,    ///< the machine lacks disk, memory or threads; another try may succeed: exit 1
  io,         ///< the operating system refused (path not writable, file missing, file locked …): exit 2
  cancelled,  ///< the user asked to stop
  internal,   ///< this program has a fault: exit 3
};

struct Error {
  ErrorKind kind = ErrorKind::badInput;
  std::string message;
};

/// True if the work itself gave this answer, so that the same work gives it again. Everything else is trouble
/// of the machine or of this program, and no result.
constexpr bool isAnswer(ErrorKind kind) {
  return kind == ErrorKind::badInput || kind == ErrorKind::refused;
}

inline Error badInput(std::string message) {
  return {ErrorKind::badInput, std::move(message)};
}
inline Error refused(std::string message) {
  return {ErrorKind::refused, std::move(message)};
}
inline Error machineError(std::string message) {
  return {ErrorKind::machine, std::move(message)};
}
inline Error ioError(std::string message) {
  return {ErrorKind::io, std::move(message)};
}
inline Error cancelled(std::string message) {
  return {ErrorKind::cancelled, std::move(message)};
}
inline Error internalError(std::string message) {
  return {ErrorKind::internal, std::move(message)};
}

/// Fails the CHECK that value() makes: the Result holds `error` instead of a value.
[[noreturn]] void failWithoutValue(const Error& error);
/// Fails the CHECK that error() makes: the Result holds no error.
[[noreturn]] void failWithoutError();

// The members are an optional value and an optional error instead of a variant, because every type of
// value then costs the compiler less.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  /// Returns the value. A CHECK fails if there is none.
  T& value() & { return requireValue(), *value_; }
  const T& value() const& { return requireValue(), *value_; }
  T&& value() && { return requireValue(), std::move(*value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    if (ok()) failWithoutError();
    return error_;
  }

 private:
  void requireValue() const {
    if (!ok()) failWithoutValue(error_);
  }
  std::optional<T> value_;
  Error error_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}
  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    if (ok()) failWithoutError();
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace pipescope::base

/// Evaluates a Status or Result expression; if it failed, the enclosing function returns its error.
#define PIPESCOPE_TRY(expression)                                     \
  do {                                                                \
    if (auto pipescopeStatus = (expression); !pipescopeStatus.ok()) { \
      return pipescopeStatus.error();                                 \
    }                                                                 \
  } while (false)

#define PIPESCOPE_JOIN_(a, b) a##b
#define PIPESCOPE_JOIN(a, b) PIPESCOPE_JOIN_(a, b)
#define PIPESCOPE_ASSIGN_(temporary, declaration, expression) \
  auto temporary = (expression);                              \
  if (!temporary.ok()) return temporary.error();              \
  declaration = std::move(temporary).value()
/// PIPESCOPE_ASSIGN(auto x, f()) declares x as the value of f(). If f() failed, the enclosing function
/// returns its error.
#define PIPESCOPE_ASSIGN(declaration, ...) \
  PIPESCOPE_ASSIGN_(PIPESCOPE_JOIN(pipescopeResult, __LINE__), declaration, (__VA_ARGS__))
