#pragma once
// Slices of a tensor along an axis: what Scan hands to its graph, and what Loop and Scan collect from theirs.
#include <vector>

#include "engine/numerics/interpreter/control_flow.h"

namespace pipescope::numerics {

/// The slice at `index` of an axis, without that axis.
ValuePointer sliceAt(const graph::TensorValue& whole, std::size_t axis, std::size_t index);

/// Collects one slice per iteration and joins them along a new axis.
class SliceCollector {
 public:
  /// Adds a slice. Fails if it has another type than the slices before it.
  base::Status add(const ControlFlowCall& call, ValuePointer slice);

  struct Join {
    std::int64_t axis = 0;  ///< axis of the joined tensor; negative values count from the end
    bool reverse = false;   ///< the last slice comes first
  };
  /// `declared` is what the graph says about one slice; it gives the type if there is no slice. Errors: the
  /// axis does not exist, the result needs more memory than is left, or the type is unknown.
  base::Result<ValuePointer> join(const ControlFlowCall& call, const onnx::ModelValue& declared, Join how,
                                  GraphRunner& runner);

 private:
  base::Result<graph::TensorType> sliceType(const ControlFlowCall& call,
                                            const onnx::ModelValue& declared) const;

  std::vector<ValuePointer> slices_;
};

}  // namespace pipescope::numerics
