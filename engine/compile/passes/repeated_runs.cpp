#include "engine/compile/passes/repeated_runs.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace pipescope::compile {
namespace {

/// Every negative number becomes a number of its own.
std::vector<std::int64_t> withOwnSeparators(std::vector<std::int64_t> numbers) {
  std::int64_t own = 0;
  for (std::int64_t& number : numbers) {
    if (number < 0) number = --own;
  }
  return numbers;
}

/// Starts of all suffixes in ascending order, by doubling the length of the sorted prefixes.
std::vector<std::size_t> sortedSuffixes(const std::vector<std::int64_t>& numbers) {
  const std::size_t count = numbers.size();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::int64_t> rank = numbers, next(count);
  for (std::size_t length = 1; count > 0; length *= 2) {
    const auto behind = [&](std::size_t at) {
      return at + length < count ? std::pair{1, rank[at + length]} : std::pair{0, std::int64_t{0}};
    };
    const auto before = [&](std::size_t a, std::size_t b) {
      return rank[a] != rank[b] ? rank[a] < rank[b] : behind(a) < behind(b);
    };
    std::ranges::sort(order, before);
    next[order[0]] = 0;
    for (std::size_t i = 1; i < count; ++i)
      next[order[i]] = next[order[i - 1]] + (before(order[i - 1], order[i]) ? 1 : 0);
    rank = next;
    if (static_cast<std::size_t>(rank[order.back()]) + 1 == count) break;
  }
  return order;
}

/// The length of the common prefix of each suffix and the one before it. (Kasai and others 2001.)
std::vector<std::size_t> commonPrefixes(const std::vector<std::int64_t>& numbers,
                                        const std::vector<std::size_t>& order) {
  const std::size_t count = numbers.size();
  std::vector<std::size_t> place(count), common(count, 0);
  for (std::size_t i = 0; i < count; ++i) place[order[i]] = i;
  std::size_t length = 0;
  for (std::size_t at = 0; at < count; ++at) {
    if (place[at] == 0) {
      length = 0;
      continue;
    }
    const std::size_t other = order[place[at] - 1];
    while (at + length < count && other + length < count && numbers[at + length] == numbers[other + length])
      ++length;
    common[place[at]] = length;
    if (length > 0) --length;
  }
  return common;
}

/// The most numbers of all occurrences of a run that repeats itself.
constexpr std::size_t kMostNumbers = 100'000;

/// Occurrences that all overlap repeat nothing. Occurrences that lie at most half their length apart repeat
/// what their first half does, which occurs more often: they are kept as long as they are few.
bool isWorthKeeping(const RepeatedRun& run) {
  if (run.starts.back() - run.starts.front() < run.length) return false;
  if (run.length * run.starts.size() <= kMostNumbers) return true;
  std::size_t least = SIZE_MAX;
  for (std::size_t i = 1; i < run.starts.size(); ++i)
    least = std::min(least, run.starts[i] - run.starts[i - 1]);
  return 2 * least > run.length;
}

}  // namespace

std::vector<RepeatedRun> repeatedRuns(const std::vector<std::int64_t>& numbers) {
  const std::vector<std::int64_t> own = withOwnSeparators(numbers);
  const std::vector<std::size_t> order = sortedSuffixes(own), common = commonPrefixes(own, order);
  struct Open {
    std::size_t length, first;
  };
  std::vector<RepeatedRun> runs;
  std::vector<Open> open;
  for (std::size_t i = 1; i <= own.size(); ++i) {
    const std::size_t length = i < own.size() ? common[i] : 0;
    std::size_t first = i - 1;
    while (!open.empty() && open.back().length > length) {
      first = open.back().first;
      const std::size_t all = open.back().length;
      open.pop_back();
      // So many occurrences cannot all lie farther apart than half their length.
      if (all * (i - first) > kMostNumbers && 2 * ((own.size() - all) / (i - first - 1)) <= all) continue;
      RepeatedRun run{all,
                      {order.begin() + static_cast<std::ptrdiff_t>(first),
                       order.begin() + static_cast<std::ptrdiff_t>(i)}};
      std::ranges::sort(run.starts);
      if (isWorthKeeping(run)) runs.push_back(std::move(run));
    }
    if (length > 0 && (open.empty() || open.back().length < length)) open.push_back({length, first});
  }
  return runs;
}

}  // namespace pipescope::compile
