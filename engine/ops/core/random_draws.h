#pragma once
// Draws single numbers from a RandomSequence, and honours the seed that a node may give.
#include <bit>
#include <cmath>
#include <numbers>

#include "engine/ops/core/random.h"
#include "engine/ops/core/recomputation.h"

namespace pipescope::ops {

/// A uniform number in [0, 1) with 53 bits, from words 2i and 2i + 1.
inline double uniformAt(const RandomSequence& sequence, std::int64_t i) {
  const auto words = sequence.block(static_cast<std::uint64_t>(i) / 2);
  const std::size_t first = i % 2 == 0 ? 0 : 2;
  const std::uint64_t bits = (std::uint64_t{words[first]} << 32 | words[first + 1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

/// A number of the standard normal distribution: the cosine of the Box-Muller transform of words 2i and 2i +
/// 1.
inline double normalAt(const RandomSequence& sequence, std::int64_t i) {
  const auto words = sequence.block(static_cast<std::uint64_t>(i) / 2);
  const std::size_t first = i % 2 == 0 ? 0 : 2;
  const double radius = std::sqrt(-2 * std::log((static_cast<double>(words[first]) + 0.5) * 0x1p-32));
  return radius * std::cos(2 * std::numbers::pi * (static_cast<double>(words[first + 1]) + 0.5) * 0x1p-32);
}

/// The draws of a node. If it has the attribute `seed`, this replaces the run's seed.
class NodeDraws {
 public:
  explicit NodeDraws(const Node& node)
      : name_(originOf(node.name)), hasSeed_(node.attributes.contains("seed")) {
    if (hasSeed_) seed_ = std::bit_cast<std::uint64_t>(graph::floatAttribute(node, "seed", 0));
  }
  RandomSequence sequence(RunIdentity identity) const {
    if (hasSeed_) identity.seed = seed_;
    return {identity, name_};
  }

 private:
  std::string name_;
  bool hasSeed_;
  std::uint64_t seed_ = 0;
};

}  // namespace pipescope::ops
