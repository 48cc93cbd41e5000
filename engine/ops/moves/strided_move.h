#pragma once
// A chain of rearrangements as one move: where the elements of a dense tensor lie, seen through Slices,
// Transposes and Reshapes. Numerics replaces such chains with it (engine/numerics/combine_moves.h).
#include <optional>

#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// The elements of a dense tensor in another order.
class StridedView {
 public:
  explicit StridedView(const Shape& dense);

  /// Axis i becomes the former axis order[i].
  void permute(const std::vector<std::int64_t>& order);
  /// Takes `extents` elements begin, begin + step … of each axis. False if the view cannot express that.
  bool cut(const Shape& extents, const std::vector<std::int64_t>& begin,
           const std::vector<std::int64_t>& steps);
  /// Gives the same elements in the same order other extents. False if the view cannot express that.
  bool reshape(const Shape& extents);

  /// Attributes ranks, extents, strides and starts, which the definitions below read.
  graph::Attributes attributes() const;

 private:
  /// The loops, outermost first. An axis that was made of several has a loop for each.
  struct Loop {
    std::int64_t extent = 1, stride = 0;
  };
  std::vector<std::vector<Loop>> axes_;
  std::int64_t start_ = 0;
};

/// y holds the elements of x in the view's order.
const OperatorDefinition& stridedReadDefinition();
/// y holds every input where its view says; together the views cover y. The attributes of all inputs follow
/// each other.
const OperatorDefinition& stridedWriteDefinition();

}  // namespace pipescope::ops
