#pragma once
// A model without most of its equal layers. It compiles in a fraction of the time, and tells what the layers
// that it left out cost.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/compiler/model_request.h"
#include "engine/graph/graph.h"
#include "engine/plan/long_models/layer_runs.h"
#include "engine/plan/split_costs.h"

namespace pipescope::plan {

/// The equal layers that may be left out of the first executable of a request; none where the request names
/// single operators or weights, so that equal layers may be compiled differently.
std::vector<LayerRun> runsOf(const compile::ModelRequest& request, const std::vector<graph::NodeId>& order);

/// Units are the positions in an order of the forward nodes.
class ShortModel {
 public:
  /// `first`: the first unit of each stage. Layers at both ends of a stage stay, because they may cost
  /// something else than the others. None: no stage has more layers than stay, or the layers cannot be left
  /// out (withoutLayers).
  static std::optional<ShortModel> make(const graph::Graph& forward, const std::vector<graph::NodeId>& order,
                                        const std::vector<LayerRun>& runs,
                                        const std::vector<std::size_t>& first);

  const std::shared_ptr<const graph::Graph>& forward() const { return forward_; }
  /// The nodes of forward() in the order of the whole model.
  const std::vector<graph::NodeId>& order() const { return order_; }
  /// True for a unit of the whole model that was left out.
  bool leftOut(std::size_t unit) const { return leftOut_[unit]; }
  /// Extends values of the units in order() to all units of the whole model. A unit that was left out gets
  /// the value of the same unit in an equal layer. Returns nothing if the layers that stayed differ by more
  /// than the rounding of times, because those that were left out may then differ, too.
  std::optional<std::vector<std::int64_t>> unfold(const std::vector<std::int64_t>& values) const;
  std::optional<SplitCosts> unfold(const SplitCosts& costs) const;

 private:
  std::shared_ptr<const graph::Graph> forward_;
  std::vector<graph::NodeId> order_;
  std::vector<LayerGap> gaps_;
  std::vector<bool> leftOut_;  ///< by unit
  std::vector<std::size_t>
      place_;  ///< by unit: position in order_ of the unit or of the one that stands for it
};

}  // namespace pipescope::plan
