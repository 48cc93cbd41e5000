#pragma once
#include <filesystem>
#include <string>

namespace pipescope::conformance {

enum class Verdict { passed, refused, wrong, crashed };

struct Outcome {
  Verdict verdict = Verdict::passed;
  std::string sentence;  ///< why not; of a case that passed: the element type of its first input
};

/// What runs a model: the interpreter, or a graph of fixed shapes made by instantiate() and run by Program.
enum class Way { interpreted, instantiated };

/// Runs every data set of a case folder in this process.
Outcome runCase(const std::filesystem::path& folder, Way way);

/// The same in a child process of its own: a crash, a broken invariant or more than 60 s is an outcome too.
Outcome runIsolated(const std::filesystem::path& folder, Way way);

}  // namespace pipescope::conformance
