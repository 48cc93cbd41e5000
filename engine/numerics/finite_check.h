#pragma once
// Finds the operator that makes an infinite number or a NaN from finite ones, as an overflow or a division by
// zero does.
#include <span>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "profiler/base/result.h"

namespace pipescope::numerics {

/// Counts the real numbers of the tensor that are infinite or NaN. Tensors of other types have none.
std::int64_t countNotFinite(graph::ElementType type, std::span<const std::byte> tensor);

/// Numbers that a node starts from: finite ones only, some infinite ones, or NaN.
enum class Numbers { finite, infinite, nan };

/// Facts about a node that the check needs.
struct CheckedNode {
  std::string title;  ///< "Log head/log"
  std::vector<graph::ElementType> inputs, outputs;
  bool compares = false;  ///< no device compares with NaN without an exception

  static CheckedNode of(const graph::Graph& graph, const graph::Node& node);
  /// Classifies the inputs. Call it before the node computes, because outputs may take over the memory of
  /// inputs.
  Numbers start(std::span<const std::span<const std::byte>> values) const;
  /// Fails with a sentence that names the node if its outputs hold infinite numbers or NaN that its inputs do
  /// not explain. It finds three faults: infinite numbers or NaN from finite inputs, NaN from infinite inputs
  /// (0 · ∞, ∞ − ∞), and a comparison with NaN.
  base::Status check(Numbers start, std::span<const std::span<std::byte>> values) const;
};

}  // namespace pipescope::numerics
