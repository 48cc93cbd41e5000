#pragma once
// Keeps the addresses of a memory that are taken at the steps of a program.
#include <cstdint>
#include <map>
#include <vector>

#include "engine/devices/core/device_family.h"

namespace pipescope::devices::hbm_card {

/// Disjoint ranges of addresses, from first to end. Neighbours are joined.
class AddressSet {
 public:
  void add(std::int64_t first, std::int64_t end);
  /// The end of a range that meets [first, end); `first` itself: none does.
  std::int64_t behind(std::int64_t first, std::int64_t end) const;

 private:
  std::map<std::int64_t, std::int64_t> ranges_;  ///< first → end
};

/// A segment tree over the steps. Each node holds what is taken during all of its steps, and what is taken
/// during any of them, so that a search looks at a few sets instead of all variables.
class OccupiedAddresses {
 public:
  explicit OccupiedAddresses(std::int32_t steps);
  /// The lowest address from which `bytes` are free during all of these lives.
  std::int64_t lowest(const std::vector<LifeSteps>& lives, std::int64_t bytes) const;
  void take(const std::vector<LifeSteps>& lives, std::int64_t address, std::int64_t bytes);

 private:
  struct Node {
    AddressSet whole, any;
  };
  void collect(std::size_t node, std::int32_t from, std::int32_t to, LifeSteps life,
               std::vector<const AddressSet*>& sets) const;
  void insert(std::size_t node, std::int32_t from, std::int32_t to, LifeSteps life, std::int64_t first,
              std::int64_t end);

  std::int32_t steps_;
  std::vector<Node> nodes_;
};

}  // namespace pipescope::devices::hbm_card
