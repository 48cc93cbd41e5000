#include "engine/plan/bounded_search.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace pipescope::plan {
namespace {

/// Combinations that are tried at the same time. It is a constant, so that results do not depend on the
/// number of threads.
constexpr std::size_t kTogether = 4;

/// Says which of the combinations that were not tried the bounds exclude.
void countExcluded(const std::vector<Prospect>& prospects, BoundedSearch& search) {
  for (std::size_t i = 0; i < prospects.size(); ++i) {
    if (search.tried[i]) continue;
    const Value& bound = prospects[i].bound;
    if (!search.best || !(*search.values[*search.best] < bound)) {
      ++search.left;
    } else if (bound.missing > search.values[*search.best]->missing) {
      ++search.excludedByMemory;
    } else {
      ++search.excludedByTime;
    }
  }
}

}  // namespace

BoundedSearch searchByBounds(const std::vector<Prospect>& prospects, std::size_t most, const Trial& trial,
                             base::Executor& executor, base::Progress& progress) {
  BoundedSearch search;
  search.values.resize(prospects.size());
  search.tried.resize(prospects.size(), false);
  std::vector<std::size_t> order(prospects.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, {}, [&](std::size_t i) { return std::tuple(prospects[i].estimate, prospects[i].bound); });
  std::size_t next = 0;
  while (next < order.size() && search.trials < most && !search.stopped) {
    progress.report(std::min(0.99, static_cast<double>(search.trials) / static_cast<double>(most)),
                    "trying out plans");
    std::vector<std::size_t> together;
    const std::size_t room = std::min(kTogether, most - search.trials);
    for (; next < order.size() && together.size() < room; ++next) {
      const std::size_t i = order[next];
      if (search.best && *search.values[*search.best] < prospects[i].bound) continue;
      together.push_back(i);
    }
    executor.parallelFor(together.size(),
                         [&](std::size_t k) { search.values[together[k]] = trial(together[k]); });
    search.stopped = progress.cancelled();
    if (search.stopped) {
      // Trials that were stopped have no value; nobody knows which ones.
      for (const std::size_t i : together) search.values[i].reset();
      break;
    }
    for (const std::size_t i : together) {
      search.tried[i] = true;
      if (!search.values[i]) continue;
      ++search.trials;
      const bool better = !search.best || std::tuple(*search.values[i], i) <
                                              std::tuple(*search.values[*search.best], *search.best);
      if (better) search.best = i;
    }
  }
  countExcluded(prospects, search);
  return search;
}

}  // namespace pipescope::plan
