#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/numerics/aligned_buffer.h"
#include "engine/numerics/finite_check.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::numerics {

class Instances;

/// Memory that a run of a program reads and writes outside its arena.
struct Bindings {
  std::span<const std::span<const std::byte>> inputs;   ///< one micro-batch, in the order of Graph::inputs
  std::span<const std::span<const std::byte>> weights;  ///< sorted in the order of Program::weights()
  /// Order of Program::gradients(); if empty, gradients lie in the arena.
  std::span<const std::span<std::byte>> gradients;
  ops::RunIdentity identity;
  base::Executor* executor = nullptr;  ///< kernels may split their work over it; null: they do not
};

/// The memory of one run: the arena, and lists that are filled again for each node.
class Workspace {
 public:
  std::span<const std::byte> arena() const { return arena_.bytes(); }

 private:
  friend class GraphProgram;
  AlignedBuffer arena_;
  std::vector<std::span<const std::byte>> inputs_;
  std::vector<std::span<std::byte>> outputs_;
};

/// A graph that is ready to compute one micro-batch. It has its kernels in order, and every tensor has a
/// place. A program is immutable; several workspaces may run it at the same time.
class GraphProgram {
 public:
  /// The program copies what it needs, so the graph need not outlive it. Errors: what ops::checkShapes and
  /// kernels refuse, weights without a value, tensors without elements.
  static base::Result<GraphProgram> create(const graph::Graph& graph, const ops::OperatorRegistry& registry);

  /// Ids of the weights (parameters only), ascending.
  const std::vector<graph::TensorId>& weights() const { return weights_; }
  /// Ids of the parameters that have a gradient, ascending.
  const std::vector<graph::TensorId>& gradients() const { return gradients_; }
  std::int64_t arenaBytes() const { return arenaBytes_; }

  Workspace makeWorkspace() const;
  /// Fails if an operator refuses a value, for example a label outside its classes.
  base::Status run(const Bindings& bindings, Workspace& workspace) const;
  /// True if replicas must run together because they exchange values within a micro-batch (ReplicaSum).
  bool exchanges() const { return exchanges_; }
  /// Runs the same micro-batch of all replicas, which meet at each exchange. Replicas are in ascending order.
  /// With `instances` these are the replicas of one of them, and groups may have replicas of several.
  base::Status runTogether(std::span<const Bindings> bindings, std::span<Workspace* const> workspaces,
                           const Instances* instances = nullptr) const;
  /// Replaces the value of a constant between runs by one with as many bytes. Returns false if there is no
  /// such constant.
  bool setConstant(const std::string& name, std::span<const std::byte> value);
  /// Makes each later run end with an error at the first operator that makes an infinite number or a NaN from
  /// finite ones.
  void checkFinite() { checksFinite_ = true; }
  /// These return output `index` of the graph and the loss after a run. The bytes are valid until the next
  /// run in the workspace.
  std::span<const std::byte> output(const Workspace& workspace, const Bindings& bindings,
                                    std::size_t index) const;
  std::span<const std::byte> loss(const Workspace& workspace, const Bindings& bindings) const;
  /// Result `index` of Graph::stateUpdates.
  std::span<const std::byte> stateResult(const Workspace& workspace, const Bindings& bindings,
                                         std::size_t index) const {
    return read(stateResults_[index], bindings, workspace);
  }
  bool hasLoss() const { return loss_.kind != Place::Kind::none; }

 private:
  friend class ProgramBuilder;
  /// The place of a tensor.
  struct Place {
    enum class Kind : std::uint8_t { none, input, weight, constant, gradient, arena } kind = Kind::none;
    std::int64_t at = 0;  ///< an index, or an offset in the arena
    std::int64_t bytes = 0;
  };
  struct Step {
    ops::Kernel kernel;
    std::vector<Place> inputs, outputs;
    std::int64_t scratch = 0;  ///< offset in the arena
    std::int64_t group = 0;    ///< ReplicaSum: number of replicas that are summed; 0 for any other operator
  };
  base::Status runStep(const Step& step, const Bindings& bindings, Workspace& workspace) const;
  void exchange(const Step& step, std::span<const Bindings> bindings, std::span<Workspace* const> workspaces,
                const Instances* instances) const;
  std::span<const std::byte> read(const Place& place, const Bindings& bindings,
                                  const Workspace& workspace) const;
  std::span<std::byte> write(const Place& place, const Bindings& bindings, Workspace& workspace) const;

  std::vector<Step> steps_;
  std::vector<CheckedNode> checked_;  ///< one for each step
  bool checksFinite_ = false;
  /// If several parameters share one gradient, it is copied to all but the first at the end.
  std::vector<std::pair<Place, Place>> copies_;
  std::vector<std::vector<std::byte>> constants_;
  std::vector<std::string> constantNames_;
  std::vector<graph::TensorId> weights_, gradients_;
  std::vector<Place> outputs_, stateResults_;
  Place loss_;
  bool exchanges_ = false;
  std::int64_t arenaBytes_ = 0;
};

}  // namespace pipescope::numerics
