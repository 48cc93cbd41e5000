#pragma once
// Memory that the frameworks for cards save or hold beside the tensors of a graph.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/compile/ir.h"
#include "engine/devices/hbm_card/kernel_list.h"

namespace pipescope::devices::hbm_card {

/// The forward results that kernels of the backward pass compute again element by element, because they read
/// what these are made of anyway (C: Megatron-LM, core/fusions/fused_bias_swiglu.py keeps the input alone).
/// Indices into StageIr::tensors; views are resolved.
std::set<std::size_t> computedAgain(const compile::StageIr& stage, const StageUses& uses);

/// Tensors that stand for gradients of weights where products add to accumulators themselves: the libraries
/// keep one for each shape (C: TransformerEngine, pytorch/module/base.py: get_dummy_wgrad). The weights that
/// multiply one operand, such as those of queries, keys and values, are one weight there. The output layer of
/// a model belongs to the framework, which makes its tensor anew each time.
class StandInGradients {
 public:
  void addStage(const compile::StageIr& stage, const StageUses& uses);
  /// Notes that the product adds the gradient to its accumulator. False: the framework makes the tensor anew.
  bool add(const compile::StageIr& stage, const compile::IrOperator& product, std::size_t gradient);
  /// Bytes of the tensors by their shapes.
  std::map<std::string, std::int64_t> tensors() const;

 private:
  struct Layer {
    std::vector<std::string> shapes;
    std::int64_t bytes = 0;
  };
  /// Products of weights by name: the stage and the operand that they multiply.
  std::map<std::string, std::pair<int, std::size_t>> operandOf_;
  std::set<std::string> outputLayers_;
  std::map<std::pair<int, std::size_t>, Layer> layers_;
};

}  // namespace pipescope::devices::hbm_card
