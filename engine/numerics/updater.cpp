#include "engine/numerics/updater.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>

#include "engine/numerics/values.h"
#include "engine/ops/core/random.h"

namespace pipescope::numerics {
namespace {

constexpr std::size_t kMostStates = 8;
constexpr std::ptrdiff_t kMostHalfStates = 3;
using Scratch = std::array<float, kRangeElements>;

std::span<float> floatsOf(AlignedBuffer& buffer, std::size_t first, std::size_t count) {
  return valuesOf<float>(buffer.bytes()).subspan(first, count);
}

}  // namespace

Updater::Updater(const graph::Graph& graph, const GraphProgram& program, Parameters& parameters,
                 std::unique_ptr<optimizers::Optimizer> optimizer, base::Executor& executor,
                 const SessionOptions& options)
    : parameters_(parameters),
      optimizer_(std::move(optimizer)),
      executor_(executor),
      options_(options),
      lossScale_(options.lossScale) {
  for (const graph::TensorId id : program.gradients()) {
    const graph::Tensor& parameter = graph.tensor(id);
    const std::size_t index = slotOffsets_.size();
    const auto elements = static_cast<std::size_t>(parameter.type.elements());
    slotOffsets_.push_back(slotBytes_);
    sumOffsets_.push_back(sumBytes_);
    gradientParameters_.push_back(parameters_.find(parameter.name));
    slotBytes_ += alignedBytes(parameter.type.bytes().count);
    sumBytes_ += alignedBytes(parameter.type.elements() * 4);
    groupOf_.push_back(groupOf(parameter.name));
    own_.emplace_back();
    stateTypes_.push_back(ruleOf(index).stateOf(parameter.type));
    PIPESCOPE_CHECK(stateTypes_.back().size() <= kMostStates, "an optimizer keeps too many state tensors");
    const auto isHalf = [](const auto& state) { return state.type.element != graph::ElementType::float32; };
    PIPESCOPE_CHECK(std::ranges::count_if(stateTypes_.back(), isHalf) <= kMostHalfStates,
                    "too many half states");
    for (std::size_t first = 0; first < elements; first += kRangeElements)
      ranges_.push_back({index, first, std::min(kRangeElements, elements - first)});
  }
  for (std::int64_t replica = 0; replica < options_.replicas; ++replica)
    accumulators_.emplace_back(sumBytes_);
  replicas_.push_back({&parameters_, {}, {}});
  makeState(replicas_.back());
  sums_.resize(ranges_.size());
  ruleSums_.resize(slotOffsets_.size());
  PIPESCOPE_CHECK(optimizer_->sumCount() <= ruleSums_.front().size(), "an optimizer needs too many sums");
}

void Updater::makeState(Replica& replica) const {
  for (std::size_t gradient = 0; gradient < gradientParameters_.size(); ++gradient) {
    const graph::TensorType& type = parameters_.type(gradientParameters_[gradient]);
    std::vector<AlignedBuffer>& state = replica.state.emplace_back();
    for (const optimizers::StateTensor& tensor : stateTypes_[gradient])
      state.emplace_back(tensor.type.bytes().count);
    const bool master = options_.masterWeights && type.element != graph::ElementType::float32;
    replica.masters.emplace_back(master ? type.elements() * 4 : 0);
  }
}

base::Status Updater::checkChange(std::size_t gradient, const optimizers::Optimizer& optimizer) const {
  const auto refuse = [&](const char* what) {
    return base::badInput(
        fmt::format("Optimizer {} cannot change in this way after compiling, because it would need other {}: "
                    "compile the model again.",
                    optimizer_->name(), what));
  };
  if (optimizer.name() != optimizer_->name() || optimizer.sumCount() != optimizer_->sumCount())
    return refuse("sums");
  const graph::TensorType& type = parameters_.type(gradientParameters_[gradient]);
  const std::vector<optimizers::StateTensor> state = optimizer.stateOf(type);
  const bool same = std::ranges::equal(state, stateTypes_[gradient], [](const auto& a, const auto& b) {
    return a.name == b.name && a.type == b.type;
  });
  if (!same) return refuse("state");
  if (optimizer.workOf(type, 1).size() != ruleOf(gradient).workOf(type, 1).size())
    return refuse("work on the device");
  return {};
}

/// Checks the new rule of a group, which then holds for all of its parameters, also those that had their own.
base::Status Updater::changeGroup(int group, const optimizers::Optimizer& optimizer) {
  for (std::size_t gradient = 0; gradient < groupOf_.size(); ++gradient) {
    if (groupOf_[gradient] == group) {
      PIPESCOPE_TRY(checkChange(gradient, optimizer));
    }
  }
  for (std::size_t gradient = 0; gradient < groupOf_.size(); ++gradient) {
    if (groupOf_[gradient] == group) own_[gradient].reset();
  }
  return {};
}

base::Status Updater::changeOptimizer(std::unique_ptr<optimizers::Optimizer> optimizer) {
  PIPESCOPE_TRY(changeGroup(-1, *optimizer));
  optimizer_ = std::move(optimizer);
  return {};
}

base::Status Updater::changeOptimizer(std::size_t group, std::unique_ptr<optimizers::Optimizer> optimizer) {
  PIPESCOPE_TRY(changeGroup(static_cast<int>(group), *optimizer));
  options_.groups[group].optimizer = std::move(optimizer);
  return {};
}

base::Status Updater::changeOptimizer(const std::string& parameter,
                                      std::unique_ptr<optimizers::Optimizer> optimizer) {
  for (std::size_t gradient = 0; gradient < gradientParameters_.size(); ++gradient) {
    if (parameters_.name(gradientParameters_[gradient]) != parameter) continue;
    PIPESCOPE_TRY(checkChange(gradient, *optimizer));
    own_[gradient] = std::move(optimizer);
    return {};
  }
  return {};
}

int Updater::groupOf(const std::string& parameter) const {
  const optimizers::OptimizerGroup* group = optimizers::groupOf(options_.groups, parameter);
  return group == nullptr ? -1 : static_cast<int>(group - options_.groups.data());
}

void Updater::addReplica(Parameters& own) {
  PIPESCOPE_CHECK(replicas_.size() < accumulators_.size(), "as many weights as replicas");
  replicas_.push_back({&own, {}, {}});
  makeState(replicas_.back());
}

void Updater::weightsChanged() {
  for (std::size_t replica = 1; replica < replicas_.size(); ++replica) {
    // The values are copied in place, because others hold pointers to them.
    for (std::size_t i = 0; i < parameters_.count(); ++i)
      std::ranges::copy(std::as_const(parameters_).bytes(i), replicas_[replica].parameters->bytes(i).begin());
    for (std::size_t gradient = 0; gradient < gradientParameters_.size(); ++gradient) {
      for (std::size_t i = 0; i < stateTypes_[gradient].size(); ++i)
        std::ranges::copy(replicas_[0].state[gradient][i].bytes(),
                          replicas_[replica].state[gradient][i].bytes().begin());
    }
  }
  for (const Range& range : ranges_) {
    for (Replica& replica : replicas_) {
      AlignedBuffer& master = replica.masters[range.gradient];
      if (master.bytes().empty()) continue;
      readFloats(typeOf(range), std::as_const(parameters_).bytes(gradientParameters_[range.gradient]),
                 range.first, floatsOf(master, range.first, range.count));
    }
  }
}

std::size_t Updater::slotsFor(std::size_t all) {
  const auto affordable =
      static_cast<std::size_t>(options_.gradientBytes / std::max<std::int64_t>(1, slotBytes_));
  std::size_t count = std::min(all, std::max(executor_.threads(), affordable));
  // The slots hold whole steps: the same micro-batch of all replicas.
  const auto replicas = static_cast<std::size_t>(options_.replicas);
  count = std::max<std::size_t>(1, count / replicas) * replicas;
  while (slots_.size() < count) slots_.emplace_back(slotBytes_);
  return count;
}

std::span<std::byte> Updater::slot(std::size_t slot, std::size_t index) {
  return slots_[slot].part(slotOffsets_[index], parameters_.type(gradientParameters_[index]).bytes().count);
}

std::span<float> Updater::accumulator(std::size_t replica, const Range& range) {
  if (isGradient(range)) return valuesOf<float>(slot(0, range.gradient)).subspan(range.first, range.count);
  const std::int64_t bytes = parameters_.type(gradientParameters_[range.gradient]).elements() * 4;
  return valuesOf<float>(accumulators_[replica].part(sumOffsets_[range.gradient], bytes))
      .subspan(range.first, range.count);
}

/// Adds the part of one micro-batch to a sum. `microBatch` counts within its replica.
void Updater::addOne(const Range& range, std::span<float> sum, std::size_t slotIndex, std::int64_t microBatch,
                     std::int64_t step) {
  const graph::ElementType type = typeOf(range);
  const std::span<const std::byte> bytes = slot(slotIndex, range.gradient);
  Scratch wide;
  std::span<const float> gradient;
  if (type == graph::ElementType::float32) {
    gradient = valuesOf<float>(bytes).subspan(range.first, range.count);
  } else {
    const auto own = std::span(wide).first(range.count);
    readFloats(type, bytes, range.first, own);
    gradient = own;
  }
  if (options_.meanGradient && options_.meanStrategy == MeanStrategy::running) {
    const auto f = static_cast<float>(microBatch);
    const float keep = f / (f + 1), take = 1 / (f + 1);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = keep * sum[i] + take * gradient[i];
  } else {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
  }
  if (single_ || options_.accumulator == graph::ElementType::float32) return;
  std::optional<ops::RandomSequence> random;
  if (options_.stochasticRounding)
    random.emplace(ops::RunIdentity{.seed = options_.seed, .iteration = step, .microBatch = microBatch},
                   fmt::format("{}/accumulator/{}", nameOf(range), range.first));
  roundTo(options_.accumulator, sum, random ? &*random : nullptr);
}

/// Adds the slots in ascending order, each to the sum of its replica. A sum starts from zero.
void Updater::add(std::size_t index, std::size_t first, std::size_t count, std::int64_t step) {
  const Range& range = ranges_[index];
  const auto replicas = static_cast<std::size_t>(options_.replicas);
  for (std::size_t replica = 0; replica < replicas && !isGradient(range); ++replica) {
    const std::span<float> sum = accumulator(replica, range);
    if (first == 0) std::ranges::fill(sum, 0.0F);
    for (std::size_t slotIndex = replica; slotIndex < count; slotIndex += replicas)
      addOne(range, sum, slotIndex, static_cast<std::int64_t>((first + slotIndex) / replicas), step);
  }
  if (lossScale_.counts()) countLarge(index, count);
}

void Updater::countLarge(std::size_t index, std::size_t count) {
  const Range& range = ranges_[index];
  Sums& sums = sums_[index];
  Scratch wide;
  const auto values = std::span(wide).first(range.count);
  for (std::size_t slotIndex = 0; slotIndex < count; ++slotIndex) {
    readFloats(typeOf(range), slot(slotIndex, range.gradient), range.first, values);
    // The comparison counts a NaN as large.
    const std::int64_t small =
        std::ranges::count_if(values, [](float g) { return std::abs(g) <= kLossScaleEdge; });
    sums.below += small;
    sums.above += static_cast<std::int64_t>(values.size()) - small;
  }
}

/// Sums over replicas in ascending order.
void Updater::reduce(const Range& range) {
  if (accumulators_.size() == 1) return;
  std::array<std::span<float>, kMostReplicas> parts;
  for (std::size_t replica = 0; replica < accumulators_.size(); ++replica)
    parts[replica] = accumulator(replica, range);
  collectives_.allReduceSum(std::span(parts).first(accumulators_.size()));
}

/// Sums over the replicas of all instances in ascending order, in one go: MPI is not called by several
/// threads.
void Updater::sumOverInstances() {
  std::vector<std::span<float>> parts;
  for (AlignedBuffer& accumulator : accumulators_) parts.push_back(valuesOf<float>(accumulator.bytes()));
  options_.instances->sumInOrder(parts);
}

optimizers::Update Updater::updateOf(const Range& range, std::span<float> weights,
                                     std::span<std::span<float>> state) const {
  optimizers::Update update;
  update.step = step_;
  update.divisor = divisor_;
  update.weights = weights;
  update.state = state;
  update.sums = std::span(ruleSums_[range.gradient]).first(optimizer_->sumCount());
  update.decays =
      options_.decayVectors || parameters_.type(gradientParameters_[range.gradient]).shape.size() > 1;
  return update;
}

/// Half-precision state is widened into `wide`.
void Updater::readState(const Range& range, std::vector<AlignedBuffer>& state,
                        std::span<std::span<float>> parts,
                        std::span<std::array<float, kRangeElements>> wide) const {
  std::size_t used = 0;
  for (std::size_t i = 0; i < state.size(); ++i) {
    const graph::ElementType type = stateTypes_[range.gradient][i].type.element;
    if (type == graph::ElementType::float32) {
      parts[i] = floatsOf(state[i], range.first, range.count);
      continue;
    }
    parts[i] = std::span(wide[used++]).first(range.count);
    readFloats(type, state[i].bytes(), range.first, parts[i]);
  }
}

void Updater::writeState(const Range& range, std::vector<AlignedBuffer>& state,
                         std::span<const std::span<float>> parts) const {
  for (std::size_t i = 0; i < state.size(); ++i) {
    const optimizers::StateTensor& tensor = stateTypes_[range.gradient][i];
    if (tensor.type.element == graph::ElementType::float32) continue;
    std::optional<ops::RandomSequence> random;
    if (options_.stochasticRounding)
      random.emplace(ops::RunIdentity{.seed = options_.seed, .iteration = step_},
                     fmt::format("{}/{}/{}", nameOf(range), tensor.name, range.first));
    writeFloats(tensor.type.element, parts[i], range.first, state[i].bytes(), random ? &*random : nullptr);
  }
}

/// Measures or updates a range. Half-precision weights without a master copy are widened, updated and
/// rounded.
void Updater::runRule(std::size_t index, bool measure) {
  for (std::size_t replica = 0; replica < replicas_.size(); ++replica) runRuleOf(replica, index, measure);
}

void Updater::runRuleOf(std::size_t replica, std::size_t index, bool measure) {
  Replica& own = replicas_[replica];
  const Range& range = ranges_[index];
  const std::size_t parameter = gradientParameters_[range.gradient];
  std::array<std::span<float>, kMostStates> parts;
  std::array<Scratch, kMostHalfStates> wideStates;
  std::vector<AlignedBuffer>& state = own.state[range.gradient];
  readState(range, state, parts, wideStates);
  const graph::ElementType type = typeOf(range);
  AlignedBuffer& master = own.masters[range.gradient];
  Scratch wide;
  std::span<float> weights;
  if (type == graph::ElementType::float32) {
    weights = own.parameters->floats(parameter).subspan(range.first, range.count);
  } else if (!master.bytes().empty()) {
    weights = floatsOf(master, range.first, range.count);
  } else {
    weights = std::span(wide).first(range.count);
    readFloats(type, std::as_const(*own.parameters).bytes(parameter), range.first, weights);
  }
  optimizers::Update update = updateOf(range, weights, std::span(parts).first(state.size()));
  update.gradients = accumulator(replica, range);
  if (measure) {
    // Measuring moves the state of each replica. The sums are those of the first one.
    std::array<double, 4> same{};
    std::array<double, 4>& sums = replica == 0 ? sums_[index].rule : same;
    ruleOf(range.gradient).measure(update, std::span(sums).first(optimizer_->sumCount()));
    writeState(range, state, parts);
    return;
  }
  ruleOf(range.gradient).update(update);
  writeState(range, state, parts);
  if (type == graph::ElementType::float32) return;
  std::optional<ops::RandomSequence> random;
  if (options_.stochasticRounding && master.bytes().empty())
    random.emplace(ops::RunIdentity{.seed = options_.seed, .iteration = step_},
                   fmt::format("{}/update/{}", nameOf(range), range.first));
  writeFloats(type, weights, range.first, own.parameters->bytes(parameter), random ? &*random : nullptr);
}

/// Computes the norm over all gradients. If it exceeds the limit, the factor goes into the divisor (as in
/// PyTorch's clip_grad_norm_).
void Updater::clip() {
  const auto body = [&](std::size_t i) {
    double square = 0;
    for (const float sum : accumulator(0, ranges_[i])) {
      const double g = static_cast<double>(sum) / divisor_;
      square += g * g;
    }
    sums_[i].square = square;
  };
  executor_.parallelFor(ranges_.size(), std::ref(body));
  double square = 0;
  for (const Sums& sums : sums_) square += sums.square;
  norm_ = std::sqrt(square);
  constexpr double kSmall = 1e-6;
  const double factor = options_.clipNorm / (norm_ + kSmall);
  if (factor < 1) divisor_ /= factor;
}

/// Runs the steps that need whole gradients, one after another.
void Updater::finish() {
  if (options_.clipNorm > 0) clip();
  if (const std::size_t count = optimizer_->sumCount(); count > 0) {
    const auto measure = [&](std::size_t i) { runRule(i, true); };
    executor_.parallelFor(ranges_.size(), std::ref(measure));
    for (std::array<double, 4>& sums : ruleSums_) sums.fill(0);
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      for (std::size_t s = 0; s < count; ++s) ruleSums_[ranges_[i].gradient][s] += sums_[i].rule[s];
    }
  }
  const auto update = [&](std::size_t i) { runRule(i, false); };
  executor_.parallelFor(ranges_.size(), std::ref(update));
}

void Updater::accumulate(std::size_t first, std::size_t count, std::size_t all, std::int64_t step) {
  const bool last = first + count == all, alone = options_.instances == nullptr,
             atOnce = last && alone && !needsWholeGradients();
  step_ = step;
  single_ = all == 1 && options_.replicas == 1 && alone;
  const bool running = options_.meanStrategy == MeanStrategy::running;
  const auto micro = static_cast<double>((running ? static_cast<std::size_t>(options_.replicas) : all) *
                                         static_cast<std::size_t>(options_.instanceCount()));
  divisor_ = (options_.meanGradient ? micro : 1) * lossScale_.value();
  if (first == 0) std::ranges::fill(sums_, Sums());
  const auto body = [&](std::size_t i) {
    add(i, first, count, step);
    if (last && alone) reduce(ranges_[i]);
    if (atOnce) runRule(i, false);
  };
  executor_.parallelFor(ranges_.size(), std::ref(body));
  if (last && !alone) sumOverInstances();
  if (last && !atOnce) finish();
  if (!last || !lossScale_.counts()) return;
  std::int64_t above = 0, below = 0;
  for (const Sums& sums : sums_) {
    above += sums.above;
    below += sums.below;
  }
  if (!alone) {
    above = options_.instances->sum(above);
    below = options_.instances->sum(below);
  }
  lossScale_.update(above, below);
}

std::vector<NamedState> Updater::state() {
  std::vector<NamedState> all;
  Replica& first = replicas_[0];
  for (std::size_t gradient = 0; gradient < first.state.size(); ++gradient) {
    const std::string& parameter = parameters_.name(gradientParameters_[gradient]);
    for (std::size_t i = 0; i < first.state[gradient].size(); ++i) {
      all.push_back({parameter + "/" + stateTypes_[gradient][i].name, stateTypes_[gradient][i].type,
                     first.state[gradient][i].bytes()});
    }
    if (!first.masters[gradient].bytes().empty()) {
      all.push_back({parameter + "/master",
                     {graph::ElementType::float32, parameters_.type(gradientParameters_[gradient]).shape},
                     first.masters[gradient].bytes()});
    }
  }
  return all;
}

}  // namespace pipescope::numerics
