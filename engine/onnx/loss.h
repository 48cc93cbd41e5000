#pragma once
// The loss that a model is trained with. It is either the model's own or is added after the first output.
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

/// Like instantiate(), with a loss. Outputs are the predictions alone; in training `loss` is set and "labels"
/// is the last input. All losses are means over the micro-batch.
/// - cross_entropy and nll (of log-probabilities) take classes along axis 1, and int32 labels without that
///   axis.
/// - mse and bce (of probabilities, with logarithms cut at −100 as in PyTorch) take one float32 label for
///   each prediction.
/// - "model" takes the SoftmaxCrossEntropyLoss or NegativeLogLikelihoodLoss of the graph, whose scores become
///   the predictions. If there is none, it takes an output that is declared as one float32; the first other
///   output then holds the predictions, and inputs that only the loss reads come last.
/// Errors: the model has no such node, or the predictions do not fit the loss.
base::Result<Instance> instantiateWithLoss(const Model& model, const ops::OperatorRegistry& registry,
                                           const TrainingModelOptions& options);

}  // namespace pipescope::onnx
