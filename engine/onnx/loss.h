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
  /// Name of the output that is the loss, with "model"; all others stay outputs. Empty: own_loss.h finds the
  /// loss.
  std::string lossOutput;
  /// The label that cross_entropy and nll leave out; PyTorch's default.
  std::int64_t ignoredLabel = -100;
};

/// Makes an instance as instantiate() does, with a loss. Outputs are the predictions alone; in training
/// `loss` is set and "labels" is the last input. All losses are means over the micro-batch.
/// - cross_entropy and nll (of log-probabilities) take classes along the axis that class_axis.h finds, and
///   int32 labels without that axis. If the predictions have several rows for each sample, samples have as
///   many labels.
/// - mse and bce (of probabilities, with logarithms cut at −100 as in PyTorch) take one float32 label for
///   each prediction.
/// - "model" takes the loss that own_loss.h finds.
/// Errors: the model has no such loss, or the predictions do not fit the loss.
base::Result<Instance> instantiateWithLoss(const Model& model, const ops::OperatorRegistry& registry,
                                           const TrainingModelOptions& options);

}  // namespace pipescope::onnx
