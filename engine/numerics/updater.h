#pragma once
// Turns the gradients of micro-batches into new weights: accumulation, the sum over replicas, loss scale,
// clipping, the optimizer, rounding.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "engine/numerics/collectives.h"
#include "engine/numerics/graph_program.h"
#include "engine/numerics/parameters.h"
#include "engine/numerics/session_options.h"
#include "engine/optimizers/optimizer.h"
#include "profiler/base/executor.h"

namespace pipescope::numerics {

/// Elements of a weight that one task updates.
inline constexpr std::size_t kRangeElements = 8192;

/// One tensor of the state of an optimizer, for example "layer1/conv/weight/moment1".
struct NamedState {
  std::string name;
  graph::TensorType type;
  std::span<std::byte> bytes;
};

class Updater {
 public:
  /// `parameters` must outlive the updater and must not move.
  Updater(const graph::Graph& graph, const GraphProgram& program, Parameters& parameters,
          std::unique_ptr<optimizers::Optimizer> optimizer, base::Executor& executor,
          const SessionOptions& options);

  /// Returns how many of `all` micro-batches may be computed before accumulate() must be called.
  std::size_t slotsFor(std::size_t all);
  /// Returns the bytes to which the micro-batch in a slot writes gradient `index` of the program.
  std::span<std::byte> slot(std::size_t slot, std::size_t index);

  /// Adds the gradients of micro-batches first … first + count − 1 of `all`, which are in the slots 0 ….
  /// After the last of `all` it updates the weights. `step` is the number of updates, including this one.
  void accumulate(std::size_t first, std::size_t count, std::size_t all, std::int64_t step);
  /// Tells the updater that weights were assigned from outside. Master copies then start from them.
  void weightsChanged();
  /// Adds a replica with weights and state of its own, which its own sums update. Replicas are added in
  /// ascending order, starting with the second. `own` must outlive the updater. weightsChanged() gives it the
  /// values of the first replica.
  void addReplica(Parameters& own);

  optimizers::Optimizer& optimizer() { return *optimizer_; }
  /// Takes another rule from the next update on. The state stays, so the rule must keep the same state.
  /// Refused: a rule that needs other state, other sums or other work on the device.
  base::Status changeOptimizer(std::unique_ptr<optimizers::Optimizer> optimizer);
  /// The same for the parameters of a group of SessionOptions::groups.
  base::Status changeOptimizer(std::size_t group, std::unique_ptr<optimizers::Optimizer> optimizer);
  /// Gives one parameter a rule of its own, until the rule of its group changes. Refused as above. A
  /// parameter without a gradient is never updated, so nothing happens.
  base::Status changeOptimizer(const std::string& parameter,
                               std::unique_ptr<optimizers::Optimizer> optimizer);
  /// The group of SessionOptions::groups that holds a parameter; −1: none does.
  int groupOf(const std::string& parameter) const;
  const optimizers::OptimizerGroups& groups() const { return options_.groups; }
  LossScale& lossScale() { return lossScale_; }
  /// Norm of the last gradients before clipping, or 0 if clipping is off.
  double gradientNorm() const { return norm_; }
  std::vector<NamedState> state();

 private:
  /// A part of one gradient, which one task adds up and updates. The length of a range does not depend on the
  /// number of threads.
  struct Range {
    std::size_t gradient = 0;  ///< index into Program::gradients()
    std::size_t first = 0, count = 0;
  };
  struct Sums {
    std::int64_t above = 0, below = 0;  ///< elements above and below the edge of the loss scale
    double square = 0;                  ///< sum of the squares of the elements
    std::array<double, 4> rule{};       ///< sums that the optimizer asks for
  };

  const std::string& nameOf(const Range& range) const {
    return parameters_.name(gradientParameters_[range.gradient]);
  }
  graph::ElementType typeOf(const Range& range) const {
    return parameters_.type(gradientParameters_[range.gradient]).element;
  }
  /// The sum of the gradients of a replica. If there is a single micro-batch, it is the gradient itself.
  std::span<float> accumulator(std::size_t replica, const Range& range);
  bool isGradient(const Range& range) const {
    return single_ && typeOf(range) == graph::ElementType::float32;
  }
  void add(std::size_t index, std::size_t first, std::size_t count, std::int64_t step);
  void addOne(const Range& range, std::span<float> sum, std::size_t slot, std::int64_t microBatch,
              std::int64_t step);
  void countLarge(std::size_t index, std::size_t count);
  void reduce(const Range& range);
  /// Data that each replica has of its own. If replicas share their weights, there is only one.
  struct Replica {
    Parameters* parameters = nullptr;
    std::vector<std::vector<AlignedBuffer>> state;  ///< state tensors of each gradient
    std::vector<AlignedBuffer> masters;             ///< master copy of each gradient's weight; empty: none
  };
  void makeState(Replica& replica) const;
  /// The group of a gradient's parameter; −1: it has no settings of its own.
  std::vector<int> groupOf_;
  const optimizers::Optimizer& ruleOf(std::size_t gradient) const {
    if (own_[gradient]) return *own_[gradient];
    const int group = groupOf_[gradient];
    return group < 0 ? *optimizer_ : *options_.groups[static_cast<std::size_t>(group)].optimizer;
  }
  std::vector<std::unique_ptr<optimizers::Optimizer>> own_;  ///< rules of single gradients; null: its group's
  base::Status checkChange(std::size_t gradient, const optimizers::Optimizer& optimizer) const;
  base::Status changeGroup(int group, const optimizers::Optimizer& optimizer);
  void sumOverInstances();
  optimizers::Update updateOf(const Range& range, std::span<float> weights,
                              std::span<std::span<float>> state) const;
  void readState(const Range& range, std::vector<AlignedBuffer>& state, std::span<std::span<float>> parts,
                 std::span<std::array<float, kRangeElements>> wide) const;
  void writeState(const Range& range, std::vector<AlignedBuffer>& state,
                  std::span<const std::span<float>> parts) const;
  void runRule(std::size_t index, bool measure);
  void runRuleOf(std::size_t replica, std::size_t index, bool measure);
  void clip();
  void finish();
  bool needsWholeGradients() const { return options_.clipNorm > 0 || optimizer_->sumCount() > 0; }

  Parameters& parameters_;
  std::unique_ptr<optimizers::Optimizer> optimizer_;
  base::Executor& executor_;
  SessionOptions options_;
  InProcessCollectives collectives_;
  LossScale lossScale_;

  std::vector<std::int64_t> slotOffsets_, sumOffsets_;  ///< offset of each gradient in a slot, an accumulator
  std::vector<std::size_t> gradientParameters_;
  std::int64_t slotBytes_ = 0, sumBytes_ = 0;
  std::vector<AlignedBuffer> slots_, accumulators_;  ///< accumulators by replica
  std::vector<Replica> replicas_;                    ///< replicas, at least one
  std::vector<std::vector<optimizers::StateTensor>> stateTypes_;
  std::vector<Range> ranges_;
  std::vector<Sums> sums_;                       ///< sums of each range
  std::vector<std::array<double, 4>> ruleSums_;  ///< sums of each gradient
  double divisor_ = 1, norm_ = 0;
  std::int64_t step_ = 0;
  bool single_ = false;  ///< The update uses one micro-batch of one replica: nothing is accumulated.
};

}  // namespace pipescope::numerics
