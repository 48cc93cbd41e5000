#pragma once
// Interface that an operator's gradient function gets. compile::addGradients implements it.
#include <string>
#include <vector>

#include "engine/ops/core/operator.h"

namespace pipescope::ops {

class GradientBuilder {
 public:
  virtual ~GradientBuilder() = default;

  /// The forward node and its call.
  virtual const OperatorCall& call() const = 0;
  const Node& node() const { return call().node; }
  /// The gradient of the loss by an output. Not valid: no gradient reaches it. For the loss itself it is a
  /// constant 1.
  virtual graph::TensorId outputGradient(std::size_t output) = 0;
  /// True if an output is the loss, so that a gradient operator may do without the constant 1.
  virtual bool isLoss(std::size_t output) const = 0;
  /// True if the gradient by this input is needed, because something trainable lies upstream.
  virtual bool wants(std::size_t input) const = 0;
  /// Adds a backward node with one output. Both are named "<forward node>/<suffix>".
  virtual Result<graph::TensorId> add(const std::string& op, const std::string& suffix,
                                      std::vector<graph::TensorId> inputs, graph::Attributes attributes) = 0;
  /// The same for an operator with several outputs. The first output is named as in add(), the others
  /// "<forward node>/<suffix>_1", "…_2".
  virtual Result<std::vector<graph::TensorId>> addMany(const std::string& op, const std::string& suffix,
                                                       std::vector<graph::TensorId> inputs,
                                                       graph::Attributes attributes, std::size_t outputs) = 0;
  /// Declares the gradient by an input. The caller adds up the contributions of several consumers.
  virtual void setInputGradient(std::size_t input, graph::TensorId gradient) = 0;

  /// Combines add() and setInputGradient(), which is the usual case.
  Status addFor(std::size_t input, const std::string& op, const std::string& suffix,
                std::vector<graph::TensorId> inputs, graph::Attributes attributes) {
    PIPESCOPE_ASSIGN(const graph::TensorId gradient,
                     add(op, suffix, std::move(inputs), std::move(attributes)));
    setInputGradient(input, gradient);
    return {};
  }
};

}  // namespace pipescope::ops
