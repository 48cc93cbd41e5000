#pragma once
// The loss that a model is trained with: its own, or one put behind its first output.
#include <string>
#include <vector>

#include "engine/onnx/instantiate.h"

namespace pipescope::onnx {

/// "cross_entropy", "nll", "mse", "bce", "model".
const std::vector<std::string>& lossNames();

struct TrainingModelOptions {
  InstantiateOptions instantiate;
  std::string loss = "cross_entropy";
};

/// instantiate(), as training or inference wants it: outputs are the predictions alone, and in training
/// `loss` is set and "labels" is the last input. Losses are means over the micro-batch: cross_entropy and nll
/// (of log-probabilities) take classes along axis 1 and labels (int32) without that axis; mse and bce (of
/// probabilities; logarithms are cut at −100 as in PyTorch) take one label (float32) for each prediction.
/// "model": the graph's own SoftmaxCrossEntropyLoss or NegativeLogLikelihoodLoss, whose scores are the
/// predictions; else an output declared as one float32, beside the first other one, the predictions: inputs
/// that only the loss reads come last then. Errors: no such node, predictions that do not fit the loss.
base::Result<Instance> instantiateWithLoss(const Model& model, const ops::OperatorRegistry& registry,
                                           const TrainingModelOptions& options);

}  // namespace pipescope::onnx
