#pragma once
// What an operator's gradient function is given; compile::addGradients implements it.
#include <string>
#include <vector>

#include "engine/ops/core/operator.h"

namespace pipescope::ops {

class GradientBuilder {
 public:
  virtual ~GradientBuilder() = default;

  /// The forward node, and its call.
  virtual const OperatorCall& call() const = 0;
  const Node& node() const { return call().node; }
  /// Gradient of the loss by an output. Not valid: none flows into it. For the loss itself: a constant 1.
  virtual graph::TensorId outputGradient(std::size_t output) = 0;
  /// Whether an output is the loss: then a gradient operator may do without the constant 1.
  virtual bool isLoss(std::size_t output) const = 0;
  /// Whether anybody needs the gradient by this input: something trainable lies upstream.
  virtual bool wants(std::size_t input) const = 0;
  /// Adds a backward node of one output, named "<forward node>/<suffix>"; the output has the same name.
  virtual Result<graph::TensorId> add(const std::string& op, const std::string& suffix,
                                      std::vector<graph::TensorId> inputs, graph::Attributes attributes) = 0;
  /// The same for an operator of several outputs: the first is named as with add(), the others
  /// "<forward node>/<suffix>_1", "…_2".
  virtual Result<std::vector<graph::TensorId>> addMany(const std::string& op, const std::string& suffix,
                                                       std::vector<graph::TensorId> inputs,
                                                       graph::Attributes attributes, std::size_t outputs) = 0;
  /// Declares the gradient by an input; contributions of several consumers are added up by the caller.
  virtual void setInputGradient(std::size_t input, graph::TensorId gradient) = 0;

  /// add() and setInputGradient() in one: the usual case.
  Status addFor(std::size_t input, const std::string& op, const std::string& suffix,
                std::vector<graph::TensorId> inputs, graph::Attributes attributes) {
    PIPESCOPE_ASSIGN(const graph::TensorId gradient,
                     add(op, suffix, std::move(inputs), std::move(attributes)));
    setInputGradient(input, gradient);
    return {};
  }
};

}  // namespace pipescope::ops
