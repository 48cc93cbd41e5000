#pragma once
#include <pybind11/pybind11.h>

#include <string>

#include "profiler/model/source.h"

namespace pipescope::python {

/// A table of the profile as {column: NumPy array}: int64 for numbers, ids, ticks and enums, float64, or a
/// list of texts. `start` and `stop` are row numbers; only their blocks are read.
pybind11::dict tableColumns(const model::ProfileSource& source, const std::string& table, std::int64_t start,
                            std::int64_t stop);
/// Throws what Python sees: ValueError for bad input, OSError for the system's errors, RuntimeError
/// otherwise.
[[noreturn]] void raise(const base::Error& error);

template <class T>
T must(base::Result<T> result) {
  if (!result.ok()) raise(result.error());
  return std::move(result).value();
}

}  // namespace pipescope::python
