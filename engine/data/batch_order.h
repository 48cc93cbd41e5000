#pragma once
// The order in which the calls of a compiled model take samples.
#include <cstdint>
#include <vector>

#include "profiler/base/result.h"

namespace pipescope::data {

/// The shape of one call. The product of the four numbers is its number of rows, in the order [D][G][R][b]:
/// block k of b rows belongs to replica k mod R, accumulation step (k div R) mod G and iteration k div (R·G).
/// This is PopART's data layout.
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

/// One of several processes, each of which reads its own part of the data set.
struct Partition {
  std::int64_t instances = 1;  ///< P
  std::int64_t instance = 0;   ///< 0 … P − 1
};

/// A part of an epoch's order.
struct OrderRange {
  std::int64_t first = 0, count = 0;
};
/// Cuts the set into P ranges one after another, each with rows · ⌊size / (rows · P)⌋ samples. Some samples
/// are left over: even epochs leave out the end, and shuffled odd epochs the beginning, as PopTorch's data
/// loader does.
OrderRange rangeOf(std::int64_t size, std::int64_t rows, const Partition& partition, std::int64_t epoch,
                   bool shuffle);

/// Refuses factors below 1 and products above 2³¹ − 1 rows.
base::Status checkBatchShape(const BatchShape& shape);

/// The order of an epoch's samples: 0 … size − 1, shuffled (Fisher–Yates) with random numbers keyed by (seed,
/// epoch). Equal arguments give equal orders on every machine. The number of replicas does not change the
/// order.
std::vector<std::int64_t> epochOrder(std::int64_t size, std::uint64_t seed, std::int64_t epoch, bool shuffle);

}  // namespace pipescope::data
