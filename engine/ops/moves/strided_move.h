#pragma once
// Chains of rearrangements as one: where the elements of a dense tensor lie, seen through Slices, Transposes
// and Reshapes. Numerics puts such moves in the place of the chains (engine/numerics/combine_moves.h).
#include <optional>

#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// The elements of a dense tensor in another order.
class StridedView {
 public:
  explicit StridedView(const Shape& dense);

  /// Axis i is the former axis order[i].
  void permute(const std::vector<std::int64_t>& order);
  /// Elements begin, begin + step … of each axis; `extents` of them. False where the view cannot say that.
  bool cut(const Shape& extents, const std::vector<std::int64_t>& begin,
           const std::vector<std::int64_t>& steps);
  /// The same elements in the same order with other extents. False where the view cannot say that.
  bool reshape(const Shape& extents);

  /// Attributes ranks, extents, strides and starts, which the definitions below read.
  graph::Attributes attributes() const;

 private:
  /// Loops, outermost first: an axis that was made of several has one for each.
  struct Loop {
    std::int64_t extent = 1, stride = 0;
  };
  std::vector<std::vector<Loop>> axes_;
  std::int64_t start_ = 0;
};

/// y = the elements of x in the view's order.
const OperatorDefinition& stridedReadDefinition();
/// y = every input put where its view says; the views together are all of y. Attributes of all inputs one
/// after another.
const OperatorDefinition& stridedWriteDefinition();

}  // namespace pipescope::ops
