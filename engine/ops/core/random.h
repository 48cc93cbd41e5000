#pragma once
// Random numbers that are a function of what they are for: no state, so the same bits in any order, on any
// thread.
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// The sequence of one operator or parameter in one run: any element is had without those before it.
class RandomSequence {
 public:
  /// `name` is the operator's or parameter's name path.
  RandomSequence(const RunIdentity& identity, std::string_view name);

  /// Words 4·block … 4·block + 3 of the sequence.
  std::array<std::uint32_t, 4> block(std::uint64_t index) const;
  /// values[i] uniform in [−bound, bound), from word first + i.
  void uniform(std::span<float> values, float bound, std::uint64_t first = 0) const;

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 2> place_;  ///< iteration and micro-batch, the upper half of every counter
};

}  // namespace pipescope::ops
