#pragma once
// Joint operations of replicas. Sums are formed in ascending order of replicas, so they have the same bits
// everywhere.
#include <cstdint>
#include <span>

namespace pipescope::numerics {

class Collectives {
 public:
  virtual ~Collectives() = default;
  /// `parts` holds the same values of each replica of a group, in ascending order of replicas. Afterwards
  /// each part holds the sum.
  virtual void allReduceSum(std::span<const std::span<float>> parts) const = 0;
};

/// Collectives of replicas that run in this process.
class InProcessCollectives : public Collectives {
 public:
  void allReduceSum(std::span<const std::span<float>> parts) const override;
};

}  // namespace pipescope::numerics
