#include "engine/plan/closed_forms.h"

#include <algorithm>
#include <cmath>

namespace pipescope::plan {

double leastPipelineTime(double work, std::int64_t microBatches, std::int64_t places) {
  const double rest = 1 - 1 / static_cast<double>(microBatches);
  return work / (1 - std::pow(rest, static_cast<double>(places)));
}

double leastLongestPlace(double work, double again, std::int64_t places) {
  if (places == 1) return work;
  return 1 / (static_cast<double>(places - 1) / (work + again) + 1 / work);
}

double leastHeldBytes(const HeldBytes& all, std::int64_t places, std::int64_t replicas, std::int64_t zero,
                      std::int64_t microBatches) {
  const auto share = [&](double bytes, std::int64_t from) {
    return zero >= from ? bytes / static_cast<double>(replicas) : bytes;
  };
  const double sums = microBatches > 1 ? share(all.accumulators, 2) : 0;
  return (share(all.weights, 3) + share(all.optimizer, 1) + sums) / static_cast<double>(places);
}

double expectedFill(const std::string& schedule, std::int64_t places, std::int64_t chunks) {
  const auto others = static_cast<double>(places - 1);
  if (schedule == "zb-v") return others / 6;
  if (schedule.starts_with("zb-")) return others / 3;
  return others / static_cast<double>(std::max<std::int64_t>(1, chunks));
}

double expectedInFlight(const std::string& schedule, std::int64_t places, std::int64_t chunks,
                        std::int64_t microBatches) {
  const auto all = static_cast<double>(microBatches), deep = static_cast<double>(places);
  if (places == 1) return 1;
  if (schedule == "gpipe") return all;
  if (schedule == "popart") return std::min(all, 2 * deep - 1);
  // Weight gradients that wait keep what they need, and each stage of a place has a ring of its own.
  if (schedule == "zb-v") return std::min(all, 2 * deep);
  if (schedule.starts_with("zb-")) return std::min(all, 1.5 * deep);
  return std::min(all, chunks > 1 ? 2 * deep - 0.5 : deep);
}

}  // namespace pipescope::plan
