#include "profiler/import/clock_alignment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>

namespace pipescope::importing {
namespace {

using model::Pass;

constexpr std::int64_t kNoBound = std::numeric_limits<std::int64_t>::max() / 4;

/// Bounds of offset(b) − offset(a).
struct Range {
  std::int64_t least = -kNoBound, most = kNoBound;
  bool closed() const { return least > -kNoBound && most < kNoBound; }
  double middle() const {
    if (closed()) return (static_cast<double>(least) + static_cast<double>(most)) / 2;
    // A one-sided bound: a pass that waited begins as soon as its input arrives, so the bound itself is near.
    return static_cast<double>(least > -kNoBound ? least : most);
  }
  double width() const {
    return closed() ? std::abs(static_cast<double>(most) - static_cast<double>(least)) : 1e12;
  }
};

struct Pair {
  std::size_t producer, consumer;  // traces
  std::int64_t made, begun;        // in their own clocks
};

using Key = std::tuple<std::string, std::int64_t, std::int32_t, std::int32_t, Pass>;

Key keyOf(const RecordedPass& pass, std::int32_t stage) {
  return {pass.replica, pass.step.value_or(0), pass.microBatch, stage, pass.pass};
}

std::vector<Pair> pairsOf(const std::vector<std::vector<RecordedPass>>& passes) {
  struct Made {
    std::size_t trace;
    std::int64_t end;
  };
  std::map<Key, Made> made;
  for (std::size_t t = 0; t < passes.size(); ++t)
    for (const RecordedPass& pass : passes[t]) made[keyOf(pass, pass.stage)] = {t, pass.end.count};
  std::vector<Pair> pairs;
  for (std::size_t t = 0; t < passes.size(); ++t) {
    for (const RecordedPass& pass : passes[t]) {
      if (pass.microBatch < 0 || (pass.pass != Pass::forward && pass.pass != Pass::backward)) continue;
      const auto found = made.find(keyOf(pass, pass.stage + (pass.pass == Pass::forward ? -1 : 1)));
      if (found != made.end() && found->second.trace != t)
        pairs.push_back({found->second.trace, t, found->second.end, pass.start.count});
    }
  }
  return pairs;
}

/// Ranges by trace pair (a < b).
std::map<std::pair<std::size_t, std::size_t>, Range> rangesOf(const std::vector<Pair>& pairs) {
  std::map<std::pair<std::size_t, std::size_t>, Range> ranges;
  for (const Pair& pair : pairs) {
    // begun + offset(consumer) ≥ made + offset(producer)
    const std::int64_t bound = pair.made - pair.begun;
    Range& range = ranges[std::minmax(pair.producer, pair.consumer)];
    if (pair.producer < pair.consumer) {
      range.least = std::max(range.least, bound);
    } else {
      range.most = std::min(range.most, -bound);
    }
  }
  return ranges;
}

}  // namespace

ClockAlignment alignClocks(const std::vector<std::vector<RecordedPass>>& passes) {
  ClockAlignment alignment;
  alignment.offsets.assign(passes.size(), 0);
  const std::vector<Pair> pairs = pairsOf(passes);
  const auto ranges = rangesOf(pairs);
  alignment.pairs = static_cast<std::int64_t>(pairs.size());

  // A first solution along a tree of the narrowest ranges, then least squares around it.
  std::vector<double> offset(passes.size(), 0);
  std::vector<bool> known(passes.size(), false);
  known[0] = true;
  for (;;) {
    const std::pair<const std::pair<std::size_t, std::size_t>, Range>* best = nullptr;
    for (const auto& entry : ranges)
      if (known[entry.first.first] != known[entry.first.second] &&
          (best == nullptr || entry.second.width() < best->second.width()))
        best = &entry;
    if (best == nullptr) break;
    const auto [a, b] = best->first;
    if (known[a]) offset[b] = offset[a] + best->second.middle();
    if (known[b]) offset[a] = offset[b] - best->second.middle();
    known[a] = known[b] = true;
  }
  for (int round = 0; round < 200 && ranges.size() + 1 > passes.size(); ++round) {
    for (std::size_t t = 1; t < passes.size(); ++t) {
      double sum = 0, weights = 0;
      for (const auto& [ends, range] : ranges) {
        if (ends.first != t && ends.second != t) continue;
        const double weight = 1 / std::pow(range.width() + 1, 2);
        sum += weight * (ends.second == t ? offset[ends.first] + range.middle()
                                          : offset[ends.second] - range.middle());
        weights += weight;
      }
      if (weights > 0) offset[t] = sum / weights;
    }
  }
  for (std::size_t t = 0; t < passes.size(); ++t) {
    alignment.complete = alignment.complete && known[t];
    alignment.offsets[t] = std::llround(offset[t]);
  }
  for (const auto& [ends, range] : ranges)
    if (range.closed() && range.least <= range.most)
      alignment.uncertainty = std::max(alignment.uncertainty, (range.most - range.least) / 2);
  for (const Pair& pair : pairs)
    if (pair.begun + alignment.offsets[pair.consumer] < pair.made + alignment.offsets[pair.producer])
      ++alignment.contradictions;
  return alignment;
}

}  // namespace pipescope::importing
