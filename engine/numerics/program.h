#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/numerics/aligned_buffer.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::numerics {

/// What one run of a program reads and writes besides its arena.
struct Bindings {
  std::span<const std::span<const std::byte>> inputs;   ///< of one micro-batch, in the order of Graph::inputs
  std::span<const std::span<const std::byte>> weights;  ///< in the order of Program::weights()
  std::span<const std::span<std::byte>>
      gradients;  ///< in the order of Program::gradients(); none: in the arena
  ops::RunIdentity identity;
  base::Executor* executor = nullptr;  ///< what kernels may split their work over; null: nothing
};

/// Memory of one run at a time: the arena and lists that are filled anew for each node.
class Workspace {
 public:
  std::span<const std::byte> arena() const { return arena_.bytes(); }

 private:
  friend class Program;
  AlignedBuffer arena_;
  std::vector<std::span<const std::byte>> inputs_;
  std::vector<std::span<std::byte>> outputs_;
};

/// A graph made ready to compute one micro-batch: kernels in order, every tensor at its place. Immutable: any
/// number of workspaces may run it at once.
class Program {
 public:
  /// The graph must outlive nothing: what is needed is copied. Errors: what ops::checkShapes and kernels
  /// refuse, weights without a value, tensors without elements.
  static base::Result<Program> create(const graph::Graph& graph, const ops::OperatorRegistry& registry);

  /// Weights as tensors of the graph (parameters only), ascending.
  const std::vector<graph::TensorId>& weights() const { return weights_; }
  /// Parameters that have a gradient, ascending.
  const std::vector<graph::TensorId>& gradients() const { return gradients_; }
  std::int64_t arenaBytes() const { return arenaBytes_; }

  Workspace makeWorkspace() const;
  /// Fails where an operator refuses a value (a label outside its classes).
  base::Status run(const Bindings& bindings, Workspace& workspace) const;
  /// Whether replicas must run together because they exchange values within a micro-batch (ReplicaSum).
  bool exchanges() const { return exchanges_; }
  /// The same micro-batch of all replicas, in ascending order: in step at each exchange.
  base::Status runTogether(std::span<const Bindings> bindings, std::span<Workspace* const> workspaces) const;
  /// Gives a constant another value between runs; as many bytes as it has. False: it has no constant of the
  /// name.
  bool setConstant(const std::string& name, std::span<const std::byte> value);
  /// Graph output `index`, or the loss, after a run; valid until the workspace's next one.
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
  /// Where a tensor is.
  struct Place {
    enum class Kind : std::uint8_t { none, input, weight, constant, gradient, arena } kind = Kind::none;
    std::int64_t at = 0;  ///< index, or offset in the arena
    std::int64_t bytes = 0;
  };
  struct Step {
    ops::Kernel kernel;
    std::vector<Place> inputs, outputs;
    std::int64_t scratch = 0;  ///< offset in the arena
    std::int64_t group = 0;    ///< ReplicaSum: replicas that sum up together; 0: any other operator
  };
  base::Status runStep(const Step& step, const Bindings& bindings, Workspace& workspace) const;
  void exchange(const Step& step, std::span<const Bindings> bindings,
                std::span<Workspace* const> workspaces) const;
  std::span<const std::byte> read(const Place& place, const Bindings& bindings,
                                  const Workspace& workspace) const;
  std::span<std::byte> write(const Place& place, const Bindings& bindings, Workspace& workspace) const;

  std::vector<Step> steps_;
  /// A gradient that serves several parameters is copied to all but the first at the end.
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
