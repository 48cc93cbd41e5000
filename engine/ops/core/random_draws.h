#pragma once
// Draws of single numbers out of a RandomSequence, and the seed that a node may give.
#include <bit>
#include <cmath>
#include <numbers>

#include "engine/ops/core/random.h"
#include "engine/ops/core/recomputation.h"

namespace pipescope::ops {

/// Uniform in [0, 1), 53 bits: words 2i and 2i + 1.
inline double uniformAt(const RandomSequence& sequence, std::int64_t i) {
  const auto words = sequence.block(static_cast<std::uint64_t>(i) / 2);
  const std::size_t first = i % 2 == 0 ? 0 : 2;
  const std::uint64_t bits = (std::uint64_t{words[first]} << 32 | words[first + 1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

/// Of the standard normal distribution: Box and Muller's transform of words 2i and 2i + 1 (its cosine).
inline double normalAt(const RandomSequence& sequence, std::int64_t i) {
  const auto words = sequence.block(static_cast<std::uint64_t>(i) / 2);
  const std::size_t first = i % 2 == 0 ? 0 : 2;
  const double radius = std::sqrt(-2 * std::log((static_cast<double>(words[first]) + 0.5) * 0x1p-32));
  return radius * std::cos(2 * std::numbers::pi * (static_cast<double>(words[first + 1]) + 0.5) * 0x1p-32);
}

/// Draws of a node: the attribute `seed`, where it is there, takes the place of the run's seed.
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
