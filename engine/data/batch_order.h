#pragma once
// Which samples a call of a compiled model takes, in which order.
#include <cstdint>
#include <vector>

#include "profiler/base/result.h"

namespace pipescope::data {

/// The four numbers whose product is the rows of one call, and the order [D][G][R][b] of those rows: block k
/// of b rows belongs to replica k mod R, accumulation step (k div R) mod G, iteration k div (R·G) (PopART's
/// data layout).
struct BatchShape {
  std::int64_t microBatch = 1;        ///< b
  std::int64_t deviceIterations = 1;  ///< D
  std::int64_t accumulation = 1;      ///< G
  std::int64_t replicas = 1;          ///< R

  std::int64_t blocks() const { return deviceIterations * accumulation * replicas; }
  std::int64_t rows() const { return microBatch * blocks(); }
  /// First row of the micro-batch of (iteration, accumulation step, replica).
  std::int64_t firstRow(std::int64_t iteration, std::int64_t step, std::int64_t replica) const {
    return ((iteration * accumulation + step) * replicas + replica) * microBatch;
  }
};

/// Which of several processes reads: each takes its own part of the data set.
struct Partition {
  std::int64_t instances = 1;  ///< P
  std::int64_t instance = 0;   ///< 0 … P − 1
};

/// A part of an epoch's order.
struct OrderRange {
  std::int64_t first = 0, count = 0;
};
/// The set is cut into P ranges one after another, each of rows · ⌊size / (rows · P)⌋ samples; of what is
/// left over, shuffled epochs of odd number leave out the beginning instead of the end (PopTorch's data
/// loader).
OrderRange rangeOf(std::int64_t size, std::int64_t rows, const Partition& partition, std::int64_t epoch,
                   bool shuffle);

/// Refuses factors below 1 and products above 2³¹ − 1 rows.
base::Status checkBatchShape(const BatchShape& shape);

/// The order of an epoch's samples: 0 … size − 1, shuffled (Fisher–Yates) by a sequence keyed by (seed,
/// epoch). Equal arguments give equal orders on every machine. One replica or many, the permutation is one of
/// the whole set.
std::vector<std::int64_t> epochOrder(std::int64_t size, std::uint64_t seed, std::int64_t epoch, bool shuffle);

}  // namespace pipescope::data
