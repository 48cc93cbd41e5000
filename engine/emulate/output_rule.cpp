#include "engine/emulate/emulated_executable.h"

namespace pipescope::emulate {

clock::OutputRule OutputRule::forClock() const {
  using ClockMode = clock::OutputRule::Mode;
  if (mode == Mode::all) return {ClockMode::all, 1};
  return mode == Mode::everyN ? clock::OutputRule{ClockMode::everyN, period}
                              : clock::OutputRule{ClockMode::last, 1};
}

bool OutputRule::returns(std::int64_t iteration, std::int64_t microBatch, std::int64_t iterations,
                         std::int64_t microBatches) const {
  return forClock().returns(iteration * microBatches + microBatch, iterations * microBatches);
}

}  // namespace pipescope::emulate
