#include "engine/emulate/emulated_executable.h"

namespace pipescope::emulate {

bool OutputRule::returns(std::int64_t iteration, std::int64_t microBatch, std::int64_t iterations,
                         std::int64_t microBatches) const {
  const std::int64_t index = iteration * microBatches + microBatch;
  switch (mode) {
    case Mode::all:
      return true;
    case Mode::everyN:
      return (index + 1) % period == 0;
    case Mode::final:
    case Mode::sum:
      return index + 1 == iterations * microBatches;
  }
  return true;
}

}  // namespace pipescope::emulate
