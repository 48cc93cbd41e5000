#include "engine/numerics/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>

#include "engine/numerics/finite_check.h"
#include "engine/numerics/values.h"
#include "profiler/record/host_span.h"

namespace pipescope::numerics {

using base::badInput;
using base::Result;
using base::Status;

/// Memory that a thread needs to run one micro-batch.
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
    if (!isLoss && isTrainable(tensor.type.element)) continue;
    return badInput(fmt::format("{} {} is {}; {}", isLoss ? "loss" : "weight", tensor.name,
                                graph::toString(tensor.type),
                                isLoss ? "training and inference compute losses in float32"
                                       : "weights can be float32, float16 or bfloat16"));
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

/// Refuses a group that names no parameter of the model, and a parameter in two groups.
Status checkGroups(const graph::Graph& graph, const optimizers::OptimizerGroups& groups) {
  std::set<std::string> known, seen;
  for (const graph::Tensor& tensor : graph.tensors()) {
    if (tensor.role == graph::TensorRole::parameter) known.insert(tensor.name);
  }
  for (const optimizers::OptimizerGroup& group : groups) {
    for (const std::string& name : group.parameters) {
      if (!known.contains(name))
        return badInput(
            fmt::format("[[training.groups]] names {}, but the model has no such parameter.", name));
      if (!seen.insert(name).second)
        return badInput(fmt::format("[[training.groups]] name {} twice: leave it out of one group.", name));
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
  if (options.replicas < 1 || options.replicas > kMostReplicas)
    return badInput(fmt::format("{} replicas in one process; give 1 to {}", options.replicas, kMostReplicas));
  if (options.inputGroup < 1 || options.replicas % options.inputGroup != 0) {
    return badInput(fmt::format("groups of {} replicas with the same input do not divide {} replicas",
                                options.inputGroup, options.replicas));
  }
  for (const graph::Node& node : graph.nodes()) {
    const std::int64_t group = node.op == "ReplicaSum" ? graph::intAttribute(node, "replicas", 1) : 1;
    const std::int64_t all = options.replicas * options.instanceCount();
    if (group > 0 && all % group == 0) continue;
    return badInput(
        fmt::format("{} sums over groups of {} replicas, but there are {}; they must divide into groups",
                    node.name, group, all));
  }
  PIPESCOPE_ASSIGN(GraphProgram program, GraphProgram::create(graph, registry));
  if (optimizer && (program.gradients().empty() || !program.hasLoss())) {
    return badInput("the model cannot be trained: it has no loss that depends on weights");
  }
  if (!optimizer && !program.gradients().empty())
    return badInput("the model computes gradients, but there is no optimizer to use them");
  PIPESCOPE_TRY(checkGroups(graph, options.groups));
  std::unique_ptr<Session> session(
      new Session(std::move(program), graph, std::move(optimizer), executor, options));
  PIPESCOPE_TRY(session->parameters_.initialize(graph, options.seed));
  session->weightsChanged();
  return session;
}

Session::Session(GraphProgram program, const graph::Graph& graph,
                 std::unique_ptr<optimizers::Optimizer> optimizer, base::Executor& executor,
                 SessionOptions options)
    : program_(std::move(program)), executor_(executor), options_(options), parameters_(graph) {
  for (const graph::TensorId input : graph.inputs) {
    inputNames_.push_back(graph.tensor(input).name);
    inputTypes_.push_back(graph.tensor(input).type);
  }
  for (const graph::TensorId output : graph.outputs) outputTypes_.push_back(graph.tensor(output).type);
  for (std::size_t i = 0; i < parameters_.count(); ++i)
    weights_.push_back(std::as_const(parameters_).bytes(i));
  if (options.checksFinite) program_.checkFinite();
  if (!optimizer) return;
  updater_ =
      std::make_unique<Updater>(graph, program_, parameters_, std::move(optimizer), executor_, options_);
  for (const graph::StateUpdate& update : graph.stateUpdates) {
    const std::size_t parameter = parameters_.find(graph.tensor(update.parameter).name);
    const auto elements = static_cast<std::size_t>(parameters_.type(parameter).elements());
    states_.push_back(
        {parameter, update.keep, update.scale, std::vector<float>(elements), std::vector<float>(elements)});
    zeros_.emplace_back(parameters_.bytes(parameter).size());
  }
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].keep != 0) weights_[states_[i].parameter] = zeros_[i];
    assigns_ = assigns_ || states_[i].keep == 0;
  }
  for (std::size_t replica = 1; options_.ownWeights && replica < replicas(); ++replica) {
    others_.push_back(std::make_unique<Parameters>(graph));
    updater_->addReplica(*others_.back());
    auto& places = otherWeights_.emplace_back();
    for (std::size_t i = 0; i < parameters_.count(); ++i)
      places.push_back(std::as_const(*others_.back()).bytes(i));
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (states_[i].keep != 0) places[states_[i].parameter] = zeros_[i];
    }
  }
}

std::vector<std::uint64_t> Session::replicaHashes() const {
  std::vector<std::uint64_t> hashes{parameters_.hash()};
  for (const std::unique_ptr<Parameters>& other : others_) hashes.push_back(other->hash());
  return hashes;
}

Session::~Session() = default;

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
  count *= static_cast<std::size_t>(options_.inputGroup);
  if (count % replicas() != 0)
    return badInput(fmt::format("{} micro-batches do not divide by {} replicas", count, replicas()));
  return count;
}

std::size_t Session::rowBlock(std::size_t microBatch) const {
  const auto group = static_cast<std::size_t>(options_.inputGroup);
  return microBatch / replicas() * (replicas() / group) + microBatch % replicas() / group;
}

void Session::prepare(std::size_t microBatches, Keep keep, Results& results) const {
  const std::size_t kept = keep == Keep::all ? microBatches : keep == Keep::last ? replicas() : 0;
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

Bindings Session::bind(const Rows& rows, std::size_t microBatch, std::size_t slot, Worker& worker) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(inputTypes_[i].bytes().count);
    worker.inputs[i] = rows[i].subspan(rowBlock(microBatch) * bytes, bytes);
  }
  for (std::size_t i = 0; i < worker.gradients.size(); ++i) worker.gradients[i] = updater_->slot(slot, i);
  const std::size_t replica = microBatch % replicas();
  const std::int64_t before = options_.instances ? options_.instances->index() * options_.replicas : 0;
  const ops::RunIdentity identity{.seed = options_.seed,
                                  .iteration = steps_,
                                  .microBatch = static_cast<std::int64_t>(microBatch / replicas()),
                                  .replica = before + static_cast<std::int64_t>(replica),
                                  .stochasticRounding = options_.stochasticRounding};
  const auto& weights = replica == 0 || others_.empty() ? weights_ : otherWeights_[replica - 1];
  return {.inputs = worker.inputs,
          .weights = weights,
          .gradients = worker.gradients,
          .identity = identity,
          .executor = &executor_};
}

void Session::collect(const Bindings& bindings, std::size_t microBatch, std::size_t slot, Keep keep,
                      Results& results, const Worker& worker) {
  if (program_.hasLoss())
    results.losses[microBatch] = valuesOf<float>(program_.loss(worker.workspace, bindings))[0];
  for (std::size_t i = 0; i < states_.size(); ++i)
    std::ranges::copy(program_.stateResult(worker.workspace, bindings, i), stateResults_[slot][i].begin());
  const std::size_t dropped = keep == Keep::all ? 0 : microBatches_ - replicas();
  if (keep == Keep::none || microBatch < dropped) return;
  for (std::size_t i = 0; i < outputTypes_.size(); ++i) {
    const std::span<const std::byte> output = program_.output(worker.workspace, bindings, i);
    std::ranges::copy(output, results.outputs[i].begin() +
                                  static_cast<std::ptrdiff_t>((microBatch - dropped) * output.size()));
  }
}

Status Session::runTask(const Rows& rows, std::size_t first, std::size_t slot, Keep keep, Results& results) {
  PIPESCOPE_HOST_SPAN(span, "numerics", "micro-batch");
  if (!program_.exchanges()) {
    std::unique_ptr<Worker> worker = takeWorker();
    const Bindings bindings = bind(rows, first, slot, *worker);
    Status status = program_.run(bindings, worker->workspace);
    if (status.ok()) collect(bindings, first, slot, keep, results, *worker);
    giveBack(std::move(worker));
    return status;
  }
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<Bindings> bindings;
  std::vector<Workspace*> workspaces;
  for (std::size_t replica = 0; replica < replicas(); ++replica) {
    workers.push_back(takeWorker());
    bindings.push_back(bind(rows, first + replica, slot + replica, *workers.back()));
    workspaces.push_back(&workers.back()->workspace);
  }
  Status status = program_.runTogether(bindings, workspaces, options_.instances.get());
  for (std::size_t replica = 0; replica < replicas(); ++replica) {
    if (status.ok())
      collect(bindings[replica], first + replica, slot + replica, keep, results, *workers[replica]);
    giveBack(std::move(workers[replica]));
  }
  return status;
}

Status Session::runWave(const Rows& rows, std::size_t first, std::size_t count, Keep keep, Results& results) {
  PIPESCOPE_HOST_SPAN(span, "numerics", "micro-batches");
  const std::size_t each = program_.exchanges() ? replicas() : 1;
  statuses_.assign(count / each, Status());
  const auto body = [&](std::size_t task) {
    statuses_[task] = runTask(rows, first + task * each, task * each, keep, results);
  };
  if (options_.instances && program_.exchanges()) {
    // All instances exchange in the same order.
    for (std::size_t task = 0; task < statuses_.size(); ++task) body(task);
  } else {
    executor_.parallelFor(statuses_.size(), std::ref(body));  // The reference avoids an allocation.
  }
  // Reports the error of the first micro-batch that failed, whichever thread ran it.
  for (Status& status : statuses_) PIPESCOPE_TRY(std::move(status));
  return {};
}

void Session::moveStates(std::size_t first, std::size_t count) {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    State& state = states_[i];
    const graph::ElementType type = parameters_.type(state.parameter).element;
    const std::span<std::byte> bytes = parameters_.bytes(state.parameter);
    const auto keep = static_cast<float>(state.keep), scale = static_cast<float>(state.scale);
    readFloats(type, bytes, 0, state.old);
    for (std::size_t slot = 0; slot < count; ++slot) {
      if ((first + slot) % replicas() != 0) continue;
      readFloats(type, stateResults_[slot][i], 0, state.moved);
      for (std::size_t k = 0; k < state.old.size(); ++k)
        state.old[k] = (state.keep == 0 ? 0.0F : keep * state.old[k]) + scale * state.moved[k];
    }
    writeFloats(type, state.old, 0, bytes);
    for (const std::unique_ptr<Parameters>& other : others_)
      std::ranges::copy(bytes, other->bytes(state.parameter).begin());
  }
}

void Session::equalizeInstances() {
  if (!options_.instances || options_.instances->sum(changed_ ? 1 : 0) == 0) return;
  for (std::size_t i = 0; i < parameters_.count(); ++i) options_.instances->broadcast(parameters_.bytes(i));
  for (const NamedState& state : updater_->state()) options_.instances->broadcast(state.bytes);
  options_.instances->broadcast(std::as_writable_bytes(std::span(&steps_, 1)));
  updater_->weightsChanged();
  changed_ = false;
}

void Session::shareStates() {
  if (!options_.instances) return;
  for (const State& state : states_) options_.instances->broadcast(parameters_.bytes(state.parameter));
}

Status Session::trainStep(const Rows& rows, Keep keep, Results& results) {
  if (!updater_)
    return badInput("this model was made for inference; training needs an optimizer and gradients");
  PIPESCOPE_ASSIGN(microBatches_, countMicroBatches(rows));
  equalizeInstances();
  prepare(microBatches_, keep, results);
  if (!options_.lossScale.tensor.empty()) {
    const auto scale = static_cast<float>(updater_->lossScale().value());
    const bool there = program_.setConstant(options_.lossScale.tensor, std::as_bytes(std::span(&scale, 1)));
    PIPESCOPE_CHECK(there, "no constant " + options_.lossScale.tensor);
  }
  // A micro-batch reads what the one before has assigned.
  const std::size_t slots = updater_->slotsFor(assigns_ ? replicas() : microBatches_);
  while (!states_.empty() && stateResults_.size() < slots) stateResults_.push_back(zeros_);
  for (std::size_t first = 0; first < microBatches_; first += slots) {
    const std::size_t count = std::min(slots, microBatches_ - first);
    PIPESCOPE_TRY(runWave(rows, first, count, keep, results));
    PIPESCOPE_HOST_SPAN(span, "numerics", "update weights");
    updater_->accumulate(first, count, microBatches_, steps_ + 1);
    moveStates(first, count);
  }
  shareStates();
  ++steps_;
  return options_.checksFinite ? checkWeights() : Status();
}

Status Session::checkWeights() const {
  for (std::size_t i = 0; i < parameters_.count(); ++i) {
    const std::int64_t found = countNotFinite(parameters_.type(i).element, parameters_.bytes(i));
    if (found == 0) continue;
    return base::Error{
        base::ErrorKind::refused,
        fmt::format("Floating-point exception: update {} makes {} values of the weight {} infinite "
                    "or NaN.",
                    steps_, found, parameters_.name(i))};
  }
  return {};
}

Status Session::infer(const Rows& rows, Keep keep, Results& results) {
  if (updater_)
    return badInput(
        "this model was made for training; infer with one without gradients that takes over its weights");
  PIPESCOPE_ASSIGN(microBatches_, countMicroBatches(rows));
  prepare(microBatches_, keep, results);
  return runWave(rows, 0, microBatches_, keep, results);
}

}  // namespace pipescope::numerics
