#pragma once
// ONNX's cases of random operators hold what NumPy drew. We judge our draws by what the operator promises
// instead: type, shape, and values of the right distribution.
#include <string>
#include <vector>

#include "engine/onnx/model.h"

namespace pipescope::conformance {

/// True for Bernoulli, RandomUniformLike … and for Dropout in training with a ratio above 0.
bool isRandomCase(const onnx::OnnxGraph& graph, const std::vector<graph::TensorValue>& inputs);

/// Returns "" if the outputs are a possible draw, otherwise the reason why not.
std::string judgeRandom(const onnx::OnnxGraph& graph, const std::vector<graph::TensorValue>& inputs,
                        const std::vector<graph::TensorValue>& outputs,
                        const std::vector<graph::TensorValue>& expected);

}  // namespace pipescope::conformance
