#include "profiler/analysis/pipeline/slowness.h"

#include <algorithm>

namespace pipescope::analysis {
namespace {

constexpr double kSlow = 1.1;

double medianPace(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// Marks each worker that is slow in an iteration.
std::vector<std::vector<bool>> slowOnes(const std::vector<std::vector<double>>& pace) {
  std::vector<std::vector<bool>> slow(pace.size(), std::vector<bool>(pace.front().size()));
  for (std::size_t i = 0; i < pace.front().size(); ++i) {
    std::vector<double> all;
    for (const auto& worker : pace) all.push_back(worker[i]);
    const double usual = medianPace(all);
    for (std::size_t w = 0; w < pace.size(); ++w) slow[w][i] = usual > 0 && pace[w][i] > kSlow * usual;
  }
  return slow;
}

/// Iterations of stretches of three or more slow ones.
std::size_t inStretches(const std::vector<bool>& slow) {
  constexpr std::size_t kStretch = 3;
  std::size_t count = 0, length = 0;
  for (std::size_t i = 0; i <= slow.size(); ++i) {
    if (i < slow.size() && slow[i]) {
      ++length;
      continue;
    }
    if (length >= kStretch) count += length;
    length = 0;
  }
  return count;
}

}  // namespace

const char* nameOf(SlownessPattern pattern) {
  switch (pattern) {
    case SlownessPattern::none:
      return "none";
    case SlownessPattern::fixed:
      return "fixed";
    case SlownessPattern::passing:
      return "passing";
    case SlownessPattern::rotating:
      break;
  }
  return "rotating";
}

Slowness slownessOf(const std::vector<std::vector<double>>& pace) {
  Slowness found;
  if (pace.empty() || pace.front().empty()) return found;
  const std::vector<std::vector<bool>> slow = slowOnes(pace);
  const std::size_t iterations = pace.front().size();
  std::size_t all = 0, always = 0, stretched = 0;
  std::vector<std::size_t> fixed, passing;
  for (std::size_t w = 0; w < slow.size(); ++w) {
    const auto count = static_cast<std::size_t>(std::count(slow[w].begin(), slow[w].end(), true));
    const std::size_t own = inStretches(slow[w]);
    all += count;
    if (count > 0 && 4 * count >= 3 * iterations) {
      always += count;
      fixed.push_back(w);
    } else if (own > 0) {
      stretched += own;
      passing.push_back(w);
    }
  }
  for (std::size_t i = 0; i < iterations; ++i)
    found.slowIterations +=
        std::any_of(slow.begin(), slow.end(), [&](const auto& own) { return own[i]; }) ? 1 : 0;
  if (all == 0) return found;
  found.pattern = 2 * always >= all      ? SlownessPattern::fixed
                  : 2 * stretched >= all ? SlownessPattern::passing
                                         : SlownessPattern::rotating;
  if (found.pattern == SlownessPattern::rotating) return found;
  found.workers = found.pattern == SlownessPattern::fixed ? fixed : passing;
  found.firstIteration = iterations;
  for (const std::size_t w : found.workers) {
    for (std::size_t i = 0; i < iterations; ++i) {
      if (!slow[w][i]) continue;
      found.firstIteration = std::min(found.firstIteration, i);
      found.lastIteration = std::max(found.lastIteration, i);
    }
  }
  return found;
}

}  // namespace pipescope::analysis
