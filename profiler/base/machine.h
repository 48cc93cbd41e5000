#pragma once
// Memory and threads that the machine does not have. Standard C++ reports both as exceptions.
#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "profiler/base/result.h"

namespace pipescope::base {

/// The error (machine) for an exception that says that memory ran out or that the system refuses to start a
/// thread. None for any other exception, which is a fault of this program.
std::optional<Error> machineTrouble(const std::exception& problem);

/// Runs `work`, which returns a Status or a Result. If memory runs out or a thread cannot be started, that is
/// its error. Other exceptions pass.
template <class Work>
std::invoke_result_t<Work> guarded(Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::exception& problem) {
    if (std::optional<Error> trouble = machineTrouble(problem)) return std::move(*trouble);
    throw;
  }
}

/// After this call, a program that cannot go on because an exception of machineTrouble() left a thread says
/// so on standard error, removes the files of TemporaryName, and ends with `status`. Other faults end it as
/// before. `program` is the name that the sentence begins with.
void endOnMachineTrouble(const char* program, int status);

}  // namespace pipescope::base
