#pragma once
// Builds what the tool of a row builds, as a plan of one stage: the tensors of the layer and the Work of its
// passes.
#include <optional>
#include <string>

#include "engine/compile/ir.h"
#include "profiler/base/result.h"
#include "tests/conformance/ipu/layer_row.h"

namespace pipescope::conformance {

struct LayerPlan {
  compile::StageIr stage;
  std::int64_t tiles = 0;  ///< tiles of the chip that are used; 0: all
};

/// True if the device model knows the tool's kind of layer.
bool isModelled(const std::string& tool);

/// Fails with a sentence if an option is missing, malformed or not modelled, or if the tool is unknown.
base::Result<LayerPlan> planLayer(const LayerRow& row);

/// Collects the tensors and operators of a layer.
class IrAssembler {
 public:
  IrAssembler();

  /// A tensor that lives all the time: one that no program makes, or a result that another program reads. The
  /// tools for convolutions, fully connected layers and poolings upload, compute and download in programs of
  /// their own, even where the benchmark then ignores the data, and Poplar keeps what passes between programs
  /// (C: PopLibs' tools, single_conv_layer.cpp and others: allocateHostMemoryForTensor, Engine).
  compile::IrTensorId kept(const std::string& name, graph::ElementType type, graph::Shape shape);
  compile::IrTensorId temporary(const std::string& name, graph::ElementType type, graph::Shape shape);
  compile::IrOperator& add(model::Pass pass, const std::string& name, const std::string& kind,
                           std::vector<ops::Work> work, std::vector<compile::IrTensorId> inputs,
                           std::vector<compile::IrTensorId> outputs);
  compile::StageIr finish();

 private:
  compile::StageIr stage_;
};

/// The passes that --phase (or --single-phase) asks for.
struct Phases {
  bool forward = true, backward = true, update = true;
};
Phases phasesOf(LayerOptions& options, bool allByDefault);
graph::ElementType typeOf(LayerOptions& options, const std::string& name, graph::ElementType fallback);

// Each of these is in a file of its own.
base::Result<LayerPlan> planProduct(LayerOptions& options);
base::Result<LayerPlan> planFullyConnected(LayerOptions& options);
base::Result<LayerPlan> planConvolution(LayerOptions& options);
base::Result<LayerPlan> planOctaveConvolution(LayerOptions& options);
base::Result<LayerPlan> planPooling(LayerOptions& options);
base::Result<LayerPlan> planReduction(LayerOptions& options);
base::Result<LayerPlan> planEmbedding(LayerOptions& options);
base::Result<LayerPlan> planRecurrent(LayerOptions& options, int gates);

graph::Shape inputShape(const ops::Contraction& convolution);
graph::Shape outputShape(const ops::Contraction& convolution);
graph::Shape weightShape(const ops::Contraction& convolution);
/// Computes the field of the result.
void setOutput(ops::Contraction& convolution);

/// A convolution as Work, from the options that the tools share.
ops::Contraction convolutionOf(LayerOptions& options);
/// The three passes of a convolution as operators; the update is added to the weights.
void addConvolution(IrAssembler& plan, const std::string& name, const ops::Contraction& forward,
                    const Phases& phases, compile::IrTensorId input, compile::IrTensorId weights,
                    compile::IrTensorId output, compile::IrTensorId outputGradient,
                    compile::IrTensorId inputGradient);

}  // namespace pipescope::conformance
