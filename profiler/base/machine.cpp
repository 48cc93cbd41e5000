#include "profiler/base/machine.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <system_error>

#include "profiler/base/files/temporary_name.h"

namespace pipescope::base {
namespace {

constexpr const char* kNoMemory =
    "This machine has not enough memory for the work. Close other programs, raise the limit of the shell "
    "(ulimit -v), or use a machine with more memory.";
constexpr const char* kNoThread =
    "The system refuses to start another thread. End other programs, raise the limit of processes (ulimit "
    "-u), "
    "or use fewer threads (--threads).";

/// The sentence about an exception; null: it is a fault of this program.
const char* sentenceOf(const std::exception& problem) {
  if (dynamic_cast<const std::bad_alloc*>(&problem) != nullptr) return kNoMemory;
  // A container that would be larger than the address space.
  if (dynamic_cast<const std::length_error*>(&problem) != nullptr) return kNoMemory;
  const auto* system = dynamic_cast<const std::system_error*>(&problem);
  if (system == nullptr) return nullptr;
  if (system->code() == std::errc::resource_unavailable_try_again) return kNoThread;
  return system->code() == std::errc::not_enough_memory ? kNoMemory : nullptr;
}

const char* programName = "";
int endStatus = 1;
std::terminate_handler earlierHandler = nullptr;

/// Writes without memory of its own.
void say(const char* text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

[[noreturn]] void onTerminate() {
  const char* sentence = nullptr;
  if (const std::exception_ptr problem = std::current_exception()) {
    try {
      std::rethrow_exception(problem);
    } catch (const std::exception& caught) {
      sentence = sentenceOf(caught);
    } catch (...) {
    }
  }
  removeTemporaryFiles();
  if (sentence == nullptr) {
    if (earlierHandler != nullptr) earlierHandler();
    std::abort();
  }
  say(programName);
  say(": ");
  say(sentence);
  say("\n");
  _exit(endStatus);
}

}  // namespace

std::optional<Error> machineTrouble(const std::exception& problem) {
  const char* sentence = sentenceOf(problem);
  return sentence == nullptr ? std::nullopt : std::optional(machineError(sentence));
}

void endOnMachineTrouble(const char* program, int status) {
  programName = program;
  endStatus = status;
  earlierHandler = std::set_terminate(onTerminate);
}

}  // namespace pipescope::base
