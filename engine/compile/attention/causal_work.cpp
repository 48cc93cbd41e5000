#include "engine/compile/attention/causal_work.h"

#include <algorithm>
#include <utility>

namespace pipescope::compile {
namespace {

constexpr std::int64_t kTile = 128;

/// Half-open ranges of positions.
using Parts = std::vector<std::pair<std::int64_t, std::int64_t>>;

Parts partsOf(const CausalRanks& ranks, std::int64_t rank) {
  const std::int64_t count = ranks.pairs() ? 2 * ranks.ranks : ranks.ranks;
  const std::int64_t length = ranks.positions / count;
  Parts parts{{rank * length, (rank + 1) * length}};
  if (ranks.pairs()) parts.push_back({(count - 1 - rank) * length, (count - rank) * length});
  return parts;
}

std::int64_t pairsOf(const Parts& queries, const Parts& keys) {
  std::int64_t pairs = 0;
  for (const auto& [firstQuery, endQuery] : queries)
    for (const auto& [firstKey, endKey] : keys) pairs += causalPairs(firstQuery, endQuery, firstKey, endKey);
  return pairs;
}

}  // namespace

std::int64_t causalPairs(std::int64_t firstQuery, std::int64_t endQuery, std::int64_t firstKey,
                         std::int64_t endKey) {
  std::int64_t pairs = 0;
  for (std::int64_t first = firstQuery; first < endQuery; first += kTile) {
    const std::int64_t end = std::min(first + kTile, endQuery);
    // The last query of the tile sees the most keys, and all of a tile of keys is computed.
    const std::int64_t seen = std::max<std::int64_t>(0, std::min(end, endKey) - firstKey);
    pairs += (end - first) * std::min((seen + kTile - 1) / kTile * kTile, endKey - firstKey);
  }
  return pairs;
}

std::int64_t mostCausalPairs(const CausalRanks& ranks) {
  std::int64_t most = 0;
  for (std::int64_t rank = 0; rank < ranks.ranks; ++rank)
    most = std::max(most, pairsOf(partsOf(ranks, rank), {{0, ranks.positions}}));
  return most;
}

std::vector<std::int64_t> causalPairsOfRing(const CausalRanks& ranks) {
  std::vector<std::int64_t> steps(static_cast<std::size_t>(ranks.ranks), 0);
  for (std::int64_t step = 0; step < ranks.ranks; ++step) {
    std::int64_t& most = steps[static_cast<std::size_t>(step)];
    for (std::int64_t rank = 0; rank < ranks.ranks; ++rank) {
      const std::int64_t owner = (rank - step + ranks.ranks) % ranks.ranks;
      most = std::max(most, pairsOf(partsOf(ranks, rank), partsOf(ranks, owner)));
    }
  }
  return steps;
}

double causalImbalance(const CausalRanks& ranks) {
  double most = 0;
  for (std::int64_t rank = 0; rank < ranks.ranks; ++rank) {
    double seen = 0;
    for (const auto& [first, end] : partsOf(ranks, rank))
      seen += 0.5 * static_cast<double>(end - first) * static_cast<double>(first + end + 1);
    most = std::max(most, seen);
  }
  const auto n = static_cast<double>(ranks.positions);
  return most / (n * (n + 1) / 2) * static_cast<double>(ranks.ranks);
}

}  // namespace pipescope::compile
