#pragma once
// The generated stand-in for MNIST: a set of drawn digits as IDX files.
#include <cstdint>
#include <filesystem>

#include "profiler/base/executor.h"
#include "profiler/base/progress.h"
#include "profiler/base/result.h"

namespace pipescope::data {

struct DigitSetOptions {
  std::uint64_t seed = 1;
  std::int64_t trainCount = 60'000;
  std::int64_t testCount = 10'000;
};

/// Draws a set and writes it into an existing folder as four plain IDX files with MNIST's names.
/// The bytes depend on the options only. Cancelling or failing leaves files behind: see
/// ensureDigits.
base::Status writeDigitSet(const std::filesystem::path& directory, const DigitSetOptions& options,
                           base::Progress& progress, base::Executor& executor);

}  // namespace pipescope::data
