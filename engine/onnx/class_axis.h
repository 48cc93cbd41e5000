#pragma once
#include "engine/graph/graph.h"

namespace pipescope::onnx {

/// Returns the axis along which scores of classes lie: the last one behind a matrix product, axis 1 behind a
/// convolution, the axis of a softmax, followed through nodes that only arrange elements or work on each of
/// them. If nothing of the kind makes the scores, it is the last axis if a whole-number input has the shape
/// of the others (tokens), and otherwise axis 1, as for PyTorch's losses. Scores have at least two axes; the
/// first one is never of classes.
std::size_t classAxis(const graph::Graph& graph, graph::TensorId scores);

}  // namespace pipescope::onnx
