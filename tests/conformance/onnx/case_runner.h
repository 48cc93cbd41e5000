#pragma once
#include <filesystem>
#include <string>

namespace pipescope::conformance {

enum class Verdict { passed, refused, wrong, crashed };

struct Outcome {
  Verdict verdict = Verdict::passed;
  /// Reason why it failed; for a case that passed: the element type of its first input.
  std::string sentence;
};

/// Ways to run a model: with the interpreter, or as a graph of fixed shapes from instantiate() with Program.
enum class Way { interpreted, instantiated };

/// Runs every data set of a case folder in this process.
Outcome runCase(const std::filesystem::path& folder, Way way);

/// Runs the case in a child process. A crash, a broken invariant or more than 60 s is an outcome too.
Outcome runIsolated(const std::filesystem::path& folder, Way way);

}  // namespace pipescope::conformance
