#pragma once
// Counts what causal attention computes, in which a query sees its own position and those before it.
#include <cstdint>
#include <vector>

namespace pipescope::compile {

/// Ranks along the axis `context`, each with an equal part of the positions of a sample.
struct CausalRanks {
  std::int64_t positions = 1, ranks = 1;
  /// True: rank r has the parts r and 2·ranks − 1 − r of 2·ranks parts, so that all ranks have equal work
  /// (Llama 3, arXiv 2407.21783, §3.3.2; Megatron-LM). False, or where the positions do not divide by
  /// 2·ranks: it has the neighbouring positions of part r of `ranks`.
  bool paired = true;

  bool pairs() const { return paired && positions % (2 * ranks) == 0; }
};

/// Pairs of a query and a key that a kernel computes for queries [firstQuery, endQuery) and keys
/// [firstKey, endKey). It leaves out a tile of 128 × 128 pairs in which no query sees a key
/// (FlashAttention-2, arXiv 2307.08691, §3.1; the tile is that of its forward kernels with heads of 128
/// elements).
std::int64_t causalPairs(std::int64_t firstQuery, std::int64_t endQuery, std::int64_t firstKey,
                         std::int64_t endKey);

/// Pairs that the rank with the most of them computes for the keys of all ranks.
std::int64_t mostCausalPairs(const CausalRanks& ranks);
/// The same for each step of a ring, in which rank r has the keys of rank r − step.
std::vector<std::int64_t> causalPairsOfRing(const CausalRanks& ranks);
/// Pairs of the rank with the most ÷ mean over ranks, without tiles: (2·ranks − 1) ÷ ranks for neighbouring
/// positions of a long sample, and 1 for paired ones.
double causalImbalance(const CausalRanks& ranks);

}  // namespace pipescope::compile
