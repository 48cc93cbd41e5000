#include "engine/plan/split_exchange.h"

#include <algorithm>
#include <map>

namespace pipescope::plan {
namespace {

template <class TicksOf>
SplitExchange exchangeBy(const SplitCosts& costs, const std::vector<int>& placeOfStage, TicksOf ticksOf) {
  SplitExchange exchange(placeOfStage.size(), std::vector<std::int64_t>(costs.cost.size(), 0));
  for (std::size_t s = 1; s < placeOfStage.size(); ++s) {
    const int from = placeOfStage[s - 1], to = placeOfStage[s];
    for (std::size_t cut = 1; cut < costs.cost.size(); ++cut)
      exchange[s][cut] =
          ticksOf(from, to, costs.activationBytes[cut]) + ticksOf(to, from, costs.gradientBytes[cut]);
  }
  return exchange;
}

}  // namespace

SplitExchange exchangeOver(const devices::System& system, const SplitCosts& costs,
                           const std::vector<int>& placeOfStage) {
  const int last = static_cast<int>(system.devices().size()) - 1;
  std::map<devices::Flow, std::int64_t> known;
  return exchangeBy(costs, placeOfStage, [&](int from, int to, std::int64_t bytes) -> std::int64_t {
    // Stages beyond the devices of the system are taken to lie on the last one: the compiler checks their
    // number later.
    from = std::min(from, last);
    to = std::min(to, last);
    if (bytes == 0 || from == to) return 0;
    const devices::Flow flow{from, to, base::Bytes(bytes)};
    const auto [at, isNew] = known.try_emplace(flow, 0);
    if (isNew) at->second = system.transferTicks({flow}).front().count;
    return at->second;
  });
}

SplitExchange exchangeAt(double bytesPerSecond, std::int64_t ticksPerSecond, const SplitCosts& costs,
                         const std::vector<int>& placeOfStage) {
  const double ticksOfByte = static_cast<double>(ticksPerSecond) / bytesPerSecond;
  return exchangeBy(costs, placeOfStage, [&](int from, int to, std::int64_t bytes) {
    return from == to ? 0 : static_cast<std::int64_t>(ticksOfByte * static_cast<double>(bytes));
  });
}

}  // namespace pipescope::plan
