#pragma once
// ONNX's cases of random operators hold what NumPy drew. Such draws are judged by what the operator promises:
// type, shape, and values of the right distribution.
#include <string>
#include <vector>

#include "engine/onnx/model.h"

namespace pipescope::conformance {

/// True for Bernoulli, RandomUniformLike … and for Dropout in training with a ratio above 0.
bool isRandomCase(const onnx::ModelGraph& graph, const std::vector<graph::TensorValue>& inputs);

/// Empty where the outputs are a possible draw.
std::string judgeRandom(const onnx::ModelGraph& graph, const std::vector<graph::TensorValue>& inputs,
                        const std::vector<graph::TensorValue>& outputs,
                        const std::vector<graph::TensorValue>& expected);

}  // namespace pipescope::conformance
