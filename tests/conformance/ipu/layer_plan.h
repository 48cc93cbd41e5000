#pragma once
// What a row's tool builds, as a plan of one stage: the layer's tensors, and the Work of its passes.
#include <optional>
#include <string>

#include "engine/compile/plan.h"
#include "profiler/base/result.h"
#include "tests/conformance/ipu/layer_row.h"

namespace pipescope::conformance {

struct LayerPlan {
  compile::StagePlan stage;
  std::int64_t tiles = 0;  ///< of the chip that are used; 0: all
};

/// A kind of layer that the device model does not claim to know.
bool isModelled(const std::string& tool);

/// Fails with a sentence where an option is missing, malformed or not modelled, or the tool unknown.
base::Result<LayerPlan> planLayer(const LayerRow& row);

/// Collects tensors and operators of a layer.
class PlanAssembler {
 public:
  PlanAssembler();

  /// A tensor that the program does not make: the benchmarks ran without host copies, so it lives from the
  /// start on.
  compile::PlanTensorId kept(const std::string& name, graph::ElementType type, graph::Shape shape);
  compile::PlanTensorId temporary(const std::string& name, graph::ElementType type, graph::Shape shape);
  void add(model::Pass pass, const std::string& name, const std::string& kind, std::vector<ops::Work> work,
           std::vector<compile::PlanTensorId> inputs, std::vector<compile::PlanTensorId> outputs);
  compile::StagePlan finish();

 private:
  compile::StagePlan stage_;
};

/// Which passes --phase (or --single-phase) asks for.
struct Phases {
  bool forward = true, backward = true, update = true;
};
Phases phasesOf(LayerOptions& options, bool allByDefault);
graph::ElementType typeOf(LayerOptions& options, const std::string& name, graph::ElementType fallback);

// One file each.
base::Result<LayerPlan> planProduct(LayerOptions& options);
base::Result<LayerPlan> planFullyConnected(LayerOptions& options);
base::Result<LayerPlan> planConvolution(LayerOptions& options);
base::Result<LayerPlan> planOctaveConvolution(LayerOptions& options);
base::Result<LayerPlan> planPooling(LayerOptions& options);
base::Result<LayerPlan> planReduction(LayerOptions& options);
base::Result<LayerPlan> planEmbedding(LayerOptions& options);
base::Result<LayerPlan> planRecurrent(LayerOptions& options, int gates);

/// A convolution as Work from the tools' common options.
ops::Contraction convolutionOf(LayerOptions& options);
/// The three passes of a convolution as operators; the update is added to the weights.
void addConvolution(PlanAssembler& plan, const std::string& name, const ops::Contraction& forward,
                    const Phases& phases, compile::PlanTensorId input, compile::PlanTensorId weights,
                    compile::PlanTensorId output, compile::PlanTensorId outputGradient,
                    compile::PlanTensorId inputGradient);

}  // namespace pipescope::conformance
