#pragma once
// Runs one node on values. Constant folding and the interpreter use it.
#include <span>

#include "engine/onnx/model.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::onnx {

using Values = std::vector<std::shared_ptr<const TensorValue>>;
/// The values of a graph. A value that is not known (yet, or any more) is null.
using ValuesById = base::IdVector<ValueId, std::shared_ptr<const TensorValue>>;

struct Evaluation {
  const ops::OperatorRegistry& registry;
  ops::RunIdentity identity;
  /// Limit of the bytes of outputs and scratch memory. More is an error instead of an allocation.
  std::int64_t maxBytes = std::int64_t{1} << 33;
};

/// Returns the outputs of a node that holds no graphs. A null input is one that is left out; an output that
/// the node leaves out is null. Shapes may depend on the values of inputs. Errors name the node.
base::Result<Values> evaluate(const OnnxNode& node, const Values& inputs, const Evaluation& evaluation);

/// Bytes of a type. Error: the product does not fit 64 bits; `what` names the tensor in the sentence.
base::Result<std::int64_t> checkedBytes(const TensorType& type, const std::string& what);

}  // namespace pipescope::onnx
