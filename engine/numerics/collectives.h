#pragma once
// What replicas do together. Sums are in ascending order of replica, so they are the same bits everywhere.
#include <cstdint>
#include <span>

namespace pipescope::numerics {

class Collectives {
 public:
  virtual ~Collectives() = default;
  /// `parts` are the same values of each replica of a group, ascending; afterwards each holds their sum.
  virtual void allReduceSum(std::span<const std::span<float>> parts) const = 0;
};

/// Replicas that live in this process.
class InProcessCollectives : public Collectives {
 public:
  void allReduceSum(std::span<const std::span<float>> parts) const override;
};

}  // namespace pipescope::numerics
