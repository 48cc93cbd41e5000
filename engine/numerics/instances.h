#pragma once
// Several processes that train one model together. Each has its share of the replicas.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace pipescope::numerics {

/// All instances call the same functions in the same order; each call waits for the others. Implementations
/// end the process if an instance is lost, because no sum can then be formed.
class Instances {
 public:
  virtual ~Instances() = default;
  virtual int count() const = 0;
  virtual int index() const = 0;  ///< index of this process, from 0
  virtual std::string host(int index) const = 0;
  /// Seconds that this process has spent in the functions below so far: mostly waiting for the others.
  virtual double waitedSeconds() const = 0;

  /// `parts` holds the same values of each replica of this process, in ascending order of replicas.
  /// Afterwards each part holds the sum over the replicas of all instances. The sum is formed in ascending
  /// order of replicas, so it has the bits that one process with all replicas computes.
  virtual void sumInOrder(std::span<const std::span<float>> parts) const = 0;
  /// The sum over all instances.
  virtual std::int64_t sum(std::int64_t value) const = 0;
  /// Replaces the bytes by those of the first instance.
  virtual void broadcast(std::span<std::byte> bytes) const = 0;
  /// The bytes of all instances, in ascending order. Every instance gives as many.
  virtual std::vector<std::byte> gather(std::span<const std::byte> bytes) const = 0;
};

}  // namespace pipescope::numerics
