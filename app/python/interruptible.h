#pragma once
#include <pybind11/pybind11.h>

#include <optional>

#include "app/python/table_columns.h"
#include "profiler/base/progress.h"

namespace pipescope::python {

/// Lets Ctrl-C end work that runs without the interpreter's lock.
class Interruptible : public base::Progress {
 public:
  void report(double, std::string_view) override {}
  bool cancelled() const override {
    const pybind11::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) interrupted_ = true;
    return interrupted_;
  }
  /// Throws KeyboardInterrupt if it ended the work, or else the error.
  void raiseIf(const std::optional<base::Error>& error) const {
    if (interrupted_) throw pybind11::error_already_set();
    if (error) raise(*error);
  }

 private:
  mutable bool interrupted_ = false;
};

/// Calls `work`, which returns a Result, without the interpreter's lock. Its error becomes an exception.
template <class Work>
auto withoutLock(const Interruptible& progress, Work work) {
  std::optional<decltype(work())> result;
  {
    const pybind11::gil_scoped_release release;
    result.emplace(work());
  }
  progress.raiseIf(result->ok() ? std::nullopt : std::optional(result->error()));
  return std::move(*result);
}

}  // namespace pipescope::python
