#pragma once
// Finds the loss that a model computes itself.
#include <string>

#include "engine/onnx/model.h"
#include "profiler/base/result.h"

namespace pipescope::onnx {

/// True if an output of the model is made by SoftmaxCrossEntropyLoss or NegativeLogLikelihoodLoss, or if its
/// first output is declared as one float32, beside predictions or made from them and labels.
bool hasOwnLoss(const Model& model);

/// Arranges a model for its own loss. The outputs of the model become the predictions and, in training, the
/// loss.
/// - If a loss node makes an output, predictions are what this node scores, before it is only reshaped or
///   transposed for the loss. If that is an output of the model on the way, it is this output.
/// - Otherwise the loss is an output that is declared as one float32. The first other output holds the
///   predictions; without one, they are what the first loss node scores, or what meets the labels first.
/// Inputs that only the loss reads are labels; they come last, or are left out with the loss. Errors: the
/// model has no loss, or its labels are constant.
base::Status useOwnLoss(Model& model, bool training);

/// Arranges a model for training with the output of this name as its loss. All other outputs stay, in their
/// order, and the loss comes last; frameworks return them to the caller. A loss of SoftmaxCrossEntropyLoss or
/// NegativeLogLikelihoodLoss takes its labels as useOwnLoss does. Errors: there is no such output, or it is
/// not one float32.
base::Status useLossOutput(Model& model, const std::string& output);

}  // namespace pipescope::onnx
