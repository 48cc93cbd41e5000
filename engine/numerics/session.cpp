#include "engine/numerics/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace pipescope::numerics {

using base::badInput;
using base::Result;
using base::Status;

namespace {
/// Elements that one task adds up and updates: a length of its own, so that tasks do not depend on threads.
constexpr std::size_t kRangeElements = 8192;
}  // namespace

/// What a thread needs to run one micro-batch.
struct Session::Worker {
  Workspace workspace;
  std::vector<std::span<const std::byte>> inputs;
  std::vector<std::span<std::byte>> gradients;
};

bool Results::lossesFinite() const {
  return std::ranges::all_of(losses, [](float loss) { return std::isfinite(loss); });
}

namespace {

Status checkTypes(const graph::Graph& graph) {
  for (const graph::Tensor& tensor : graph.tensors()) {
    const bool isLoss = graph.loss && *graph.loss == tensor.id;
    if (!isLoss && tensor.role != graph::TensorRole::parameter) continue;
    if (tensor.type.element == graph::ElementType::float32) continue;
    return badInput(fmt::format("{} {} is {}; training and inference compute in float32",
                                isLoss ? "loss" : "weight", tensor.name, graph::toString(tensor.type)));
  }
  if (graph.inputs.empty()) return badInput("the model has no inputs");
  for (const graph::TensorId input : graph.inputs) {
    if (graph.tensor(input).type.shape.empty()) {
      return badInput(fmt::format("input {} has no axes; its first axis must be the micro-batch",
                                  graph.tensor(input).name));
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Session>> Session::create(const graph::Graph& graph,
                                                 const ops::OperatorRegistry& registry,
                                                 std::unique_ptr<optimizers::Optimizer> optimizer,
                                                 base::Executor& executor, SessionOptions options) {
  PIPESCOPE_TRY(checkTypes(graph));
  PIPESCOPE_ASSIGN(Program program, Program::create(graph, registry));
  if (optimizer && (program.gradients().empty() || !program.hasLoss())) {
    return badInput("the model cannot be trained: it has no loss that depends on weights");
  }
  if (!optimizer && !program.gradients().empty())
    return badInput("the model computes gradients, but there is no optimizer to use them");
  std::unique_ptr<Session> session(
      new Session(std::move(program), graph, std::move(optimizer), executor, options));
  PIPESCOPE_TRY(session->parameters_.initialize(graph, options.seed));
  return session;
}

Session::Session(Program program, const graph::Graph& graph, std::unique_ptr<optimizers::Optimizer> optimizer,
                 base::Executor& executor, SessionOptions options)
    : program_(std::move(program)),
      optimizer_(std::move(optimizer)),
      executor_(executor),
      options_(options),
      parameters_(graph) {
  for (const graph::TensorId input : graph.inputs) {
    inputNames_.push_back(graph.tensor(input).name);
    inputTypes_.push_back(graph.tensor(input).type);
  }
  for (const graph::TensorId output : graph.outputs) outputTypes_.push_back(graph.tensor(output).type);
  for (std::size_t i = 0; i < parameters_.count(); ++i)
    weights_.push_back(std::as_const(parameters_).bytes(i));
  if (optimizer_) makeTrainingBuffers(graph);
}

Session::~Session() = default;

void Session::makeTrainingBuffers(const graph::Graph& graph) {
  for (const graph::TensorId id : program_.gradients()) {
    const graph::Tensor& parameter = graph.tensor(id);
    const std::size_t index = gradientOffsets_.size();
    gradientOffsets_.push_back(gradientBytes_);
    gradientParameters_.push_back(parameters_.find(parameter.name));
    gradientBytes_ += alignedBytes(parameter.type.bytes().count);
    std::vector<AlignedBuffer>& state = state_.emplace_back();
    for (const optimizers::StateTensor& tensor : optimizer_->stateOf(parameter.type))
      state.emplace_back(tensor.type.bytes().count);
    const auto elements = static_cast<std::size_t>(parameter.type.elements());
    for (std::size_t first = 0; first < elements; first += kRangeElements) {
      ranges_.push_back({index, first, std::min(kRangeElements, elements - first)});
    }
  }
  accumulator_ = AlignedBuffer(gradientBytes_);
}

Result<std::size_t> Session::countMicroBatches(const Rows& rows) const {
  if (rows.size() != inputTypes_.size()) {
    return badInput(
        fmt::format("the model takes {} inputs, but {} were given", inputTypes_.size(), rows.size()));
  }
  std::size_t count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(inputTypes_[i].bytes().count);
    if (rows[i].empty() || rows[i].size() % bytes != 0) {
      return badInput(
          fmt::format("input {}: {} bytes are not a whole number of micro-batches of {} ({} bytes)",
                      inputNames_[i], rows[i].size(), graph::toString(inputTypes_[i]), bytes));
    }
    if (i > 0 && rows[i].size() / bytes != count) {
      return badInput(fmt::format("input {} holds {} micro-batches, but input {} holds {}", inputNames_[i],
                                  rows[i].size() / bytes, inputNames_[0], count));
    }
    count = rows[i].size() / bytes;
  }
  return count;
}

void Session::prepare(std::size_t microBatches, Keep keep, Results& results) const {
  const std::size_t kept = keep == Keep::all ? microBatches : keep == Keep::last ? 1 : 0;
  results.losses.assign(program_.hasLoss() ? microBatches : 0, 0);
  results.outputs.resize(outputTypes_.size());
  for (std::size_t i = 0; i < outputTypes_.size(); ++i) {
    results.outputs[i].resize(kept * static_cast<std::size_t>(outputTypes_[i].bytes().count));
  }
}

std::unique_ptr<Session::Worker> Session::takeWorker() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Worker> worker = std::move(idle_.back());
      idle_.pop_back();
      return worker;
    }
  }
  auto worker = std::make_unique<Worker>();
  worker->workspace = program_.makeWorkspace();
  worker->inputs.resize(inputTypes_.size());
  worker->gradients.resize(program_.gradients().size());
  return worker;
}

void Session::giveBack(std::unique_ptr<Worker> worker) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(worker));
}

Status Session::runOne(const Rows& rows, std::size_t microBatch, std::size_t slot, Keep keep,
                       Results& results, Worker& worker) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(inputTypes_[i].bytes().count);
    worker.inputs[i] = rows[i].subspan(microBatch * bytes, bytes);
  }
  for (std::size_t i = 0; i < worker.gradients.size(); ++i) {
    const std::int64_t bytes = parameters_.type(gradientParameters_[i]).bytes().count;
    worker.gradients[i] = gradientSlots_[slot].part(gradientOffsets_[i], bytes);
  }
  Bindings bindings{worker.inputs,
                    weights_,
                    worker.gradients,
                    {options_.seed, steps_, static_cast<std::int64_t>(microBatch), 0}};
  PIPESCOPE_TRY(program_.run(bindings, worker.workspace));
  if (program_.hasLoss())
    results.losses[microBatch] = valuesOf<float>(program_.loss(worker.workspace, bindings))[0];
  if (keep == Keep::none || (keep == Keep::last && microBatch + 1 != microBatches_)) return {};
  for (std::size_t i = 0; i < outputTypes_.size(); ++i) {
    const std::span<const std::byte> output = program_.output(worker.workspace, bindings, i);
    std::ranges::copy(output,
                      results.outputs[i].begin() +
                          static_cast<std::ptrdiff_t>(keep == Keep::all ? microBatch * output.size() : 0));
  }
  return {};
}

Status Session::runWave(const Rows& rows, std::size_t first, std::size_t count, Keep keep, Results& results) {
  statuses_.assign(count, Status());
  const auto body = [&](std::size_t slot) {
    std::unique_ptr<Worker> worker = takeWorker();
    statuses_[slot] = runOne(rows, first + slot, slot, keep, results, *worker);
    giveBack(std::move(worker));
  };
  executor_.parallelFor(count, std::ref(body));  // by reference: nothing to allocate
  // The first micro-batch that failed, whichever thread came to it first.
  for (Status& status : statuses_) PIPESCOPE_TRY(std::move(status));
  return {};
}

std::span<float> Session::gradientOf(AlignedBuffer& buffer, const Range& range) const {
  const std::int64_t bytes = parameters_.type(gradientParameters_[range.gradient]).bytes().count;
  return valuesOf<float>(buffer.part(gradientOffsets_[range.gradient], bytes))
      .subspan(range.first, range.count);
}

/// a ← a + g for the slots in ascending order; a starts from zero.
void Session::accumulate(const Range& range, std::size_t slots, bool first) {
  const std::span<float> sum = gradientOf(accumulator_, range);
  if (first) std::ranges::fill(sum, 0.0F);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    const std::span<const float> gradient = gradientOf(gradientSlots_[slot], range);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
  }
}

void Session::update(const Range& range) {
  std::vector<AlignedBuffer>& state = state_[range.gradient];
  std::array<std::span<float>, 8> parts;
  PIPESCOPE_CHECK(state.size() <= parts.size(), "an optimizer keeps too many state tensors");
  for (std::size_t i = 0; i < state.size(); ++i)
    parts[i] = valuesOf<float>(state[i].bytes()).subspan(range.first, range.count);
  optimizers::Update update;
  update.step = steps_ + 1;
  update.divisor = options_.meanGradient ? static_cast<double>(microBatches_) : 1;
  update.weights = parameters_.floats(gradientParameters_[range.gradient]).subspan(range.first, range.count);
  update.gradients = gradientOf(accumulator_, range);
  update.state = std::span(parts).first(state.size());
  optimizer_->update(update);
}

Status Session::trainStep(const Rows& rows, Keep keep, Results& results) {
  if (!optimizer_)
    return badInput("this model was made for inference; training needs an optimizer and gradients");
  PIPESCOPE_ASSIGN(microBatches_, countMicroBatches(rows));
  prepare(microBatches_, keep, results);
  const auto affordable =
      static_cast<std::size_t>(options_.gradientBytes / std::max<std::int64_t>(1, gradientBytes_));
  const std::size_t slots = std::min(microBatches_, std::max(executor_.threads(), affordable));
  while (gradientSlots_.size() < slots) gradientSlots_.emplace_back(gradientBytes_);
  for (std::size_t first = 0; first < microBatches_; first += slots) {
    const std::size_t count = std::min(slots, microBatches_ - first);
    PIPESCOPE_TRY(runWave(rows, first, count, keep, results));
    const bool last = first + count == microBatches_;
    const auto body = [&](std::size_t i) {
      accumulate(ranges_[i], count, first == 0);
      if (last) update(ranges_[i]);
    };
    executor_.parallelFor(ranges_.size(), std::ref(body));
  }
  ++steps_;
  return {};
}

Status Session::infer(const Rows& rows, Keep keep, Results& results) {
  if (optimizer_)
    return badInput(
        "this model was made for training; infer with one without gradients that takes over its weights");
  PIPESCOPE_ASSIGN(microBatches_, countMicroBatches(rows));
  prepare(microBatches_, keep, results);
  return runWave(rows, 0, microBatches_, keep, results);
}

}  // namespace pipescope::numerics
