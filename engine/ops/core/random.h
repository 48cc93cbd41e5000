#pragma once
// Random numbers as a function of their purpose. They have no state, so they have the same bits in any order
// and on any thread.
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// The sequence of one operator or parameter in one run. Any element is available without those before it.
class RandomSequence {
 public:
  /// `name` is the name path of the operator or parameter.
  RandomSequence(const RunIdentity& identity, std::string_view name);

  /// Words 4·block … 4·block + 3 of the sequence.
  std::array<std::uint32_t, 4> block(std::uint64_t index) const;
  /// Fills `words`, whose number four divides, from word 4·block on.
  void words(std::span<std::uint32_t> words, std::uint64_t block) const;
  /// Fills `values` with uniform numbers in [−bound, bound), from word first + i.
  void uniform(std::span<float> values, float bound, std::uint64_t first = 0) const;

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 2> place_;  ///< iteration and micro-batch: the upper half of every counter
};

}  // namespace pipescope::ops
