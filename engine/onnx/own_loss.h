#pragma once
// Finds the loss that a model computes itself.
#include "engine/onnx/model.h"
#include "profiler/base/result.h"

namespace pipescope::onnx {

/// True if an output of the model is made by SoftmaxCrossEntropyLoss or NegativeLogLikelihoodLoss, or if its
/// first output is declared as one float32 beside predictions.
bool hasOwnLoss(const Model& model);

/// Arranges a model for its own loss. Its outputs become the predictions and, in training, the loss.
/// - If a loss node makes an output, predictions are what this node scores, before it is only reshaped or
///   transposed for the loss. If that is an output of the model on the way, it is this output.
/// - Otherwise the loss is an output that is declared as one float32. The first other output holds the
///   predictions; without one, they are what the first loss node scores.
/// Inputs that only the loss reads are labels; they come last, or are left out with the loss. Errors: the
/// model has no loss, or its labels are constant.
base::Status useOwnLoss(Model& model, bool training);

}  // namespace pipescope::onnx
