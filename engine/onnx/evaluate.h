#pragma once
// Runs one node on values: what constant folding and the interpreter are made of.
#include <span>

#include "engine/onnx/model.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::onnx {

using Values = std::vector<std::shared_ptr<const TensorValue>>;

struct Evaluation {
  const ops::OperatorRegistry& registry;
  ops::RunIdentity identity;
  /// Bytes that outputs and scratch may take; beyond, a sentence instead of an allocation.
  std::int64_t maxBytes = std::int64_t{1} << 33;
};

/// The outputs of a node that holds no graphs. Null inputs are left out; outputs that the node leaves out are
/// null. Shapes may depend on the inputs' values. Errors name the node.
base::Result<Values> evaluate(const ModelNode& node, const Values& inputs, const Evaluation& evaluation);

/// Bytes of a type; a sentence where the product does not fit 64 bits, `what` naming it.
base::Result<std::int64_t> checkedBytes(const TensorType& type, const std::string& what);

}  // namespace pipescope::onnx
