#include "app/run/interface/model_executable.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/run/interface/host_inputs.h"
#include "app/run/interface/returned_outputs.h"
#include "app/run/io/host_memory.h"
#include "app/run/io/weights_file.h"
#include "app/run/request/model_translation.h"
#include "app/run/request/onnx_choice.h"
#include "app/run/request/optimizer_choice.h"
#include "app/run/request/training_options.h"
#include "engine/numerics/values.h"
#include "engine/ops/standard_operators.h"
#include "profiler/record/host_span.h"

namespace pipescope::run {

using base::badInput;
using base::Result;
using base::Status;

struct WeightValues {
  numerics::Parameters parameters;
};

struct ModelExecutable::Impl {
  explicit Impl(const ExecutableInfo& info) : inputs(info) {}
  std::unique_ptr<numerics::Session> session;
  HostInputs inputs;
  numerics::Results results;
  std::string optimizer;
  std::map<std::string, double> settings;
  std::vector<std::map<std::string, double>> groups;  ///< settings of [[training.groups]]
};

ModelExecutable::ModelExecutable(std::shared_ptr<const CompiledModel> program, std::size_t index)
    : program_(std::move(program)), index_(index), impl_(std::make_unique<Impl>(info())) {}

ModelExecutable::~ModelExecutable() = default;

Status ModelExecutable::checkMemory(const CompiledModel& program, std::size_t index) {
  if (!program.computes()) return {};
  return app::checkHostMemory(*program.compilation().executables[index].graph, 0);
}

Result<std::unique_ptr<ModelExecutable>> ModelExecutable::create(std::shared_ptr<const CompiledModel> program,
                                                                 std::size_t index) {
  if (index >= program->executables().size())
    return badInput(fmt::format("The program has {} executables, so there is none with the number {}.",
                                program->executables().size(), index));
  std::unique_ptr<ModelExecutable> executable(new ModelExecutable(std::move(program), index));
  if (executable->program_->computes()) PIPESCOPE_TRY(executable->makeSession());
  return executable;
}

Status ModelExecutable::makeSession() {
  const config::Configuration& c = program_->configuration();
  const compile::CompiledExecutable& compiled = program_->compilation().executables[index_];
  const bool training = info().kind == model::ExecutableKind::training;
  PIPESCOPE_HOST_SPAN(span, "numerics", "prepare the model");
  PIPESCOPE_TRY(checkMemory(*program_, index_));
  PIPESCOPE_TRY(checkReturned());
  numerics::SessionOptions options = app::inferenceOptions(c);
  std::unique_ptr<optimizers::Optimizer> optimizer;
  if (training) {
    PIPESCOPE_ASSIGN(optimizer, app::chooseOptimizer(c));
    PIPESCOPE_ASSIGN(options, app::trainingOptions(c));
    options.ownWeights = c.boolean("training.check_replicas");
    impl_->optimizer = c.text("training.optimizer");
    impl_->settings = app::optimizerSettings(c);
    impl_->groups = app::groupSettings(c);
  }
  if (training) options.instances = program_->instances();
  options.replicas = info().replicas;
  options.inputGroup = info().inputGroup;
  PIPESCOPE_ASSIGN(impl_->session,
                   numerics::Session::create(*compiled.graph, ops::standardOperators(), std::move(optimizer),
                                             program_->threads(), options));
  return app::checkHostMemory(*compiled.graph, impl_->session->arenaBytes());
}

const ExecutableInfo& ModelExecutable::info() const {
  return program_->executables()[index_];
}

bool ModelExecutable::computes() const {
  return impl_->session != nullptr;
}

Status ModelExecutable::checkInputs(const std::vector<HostTensor>& inputs) const {
  return impl_->inputs.check(inputs);
}

Status ModelExecutable::checkDevice(const EmulatedDevice& device) const {
  if (device.program() != program_)
    return badInput(
        "The devices run another program than this executable's: create devices for its program.");
  if (device.isAttached()) return {};
  return badInput("The program is not attached to its devices: attach it before a call.");
}

Status ModelExecutable::compute(const CallRequest& request, const base::Progress& progress,
                                CallResult& result) {
  PIPESCOPE_TRY(checkInputs(request.inputs));
  const emulate::ExecutableFacts& facts = program_->hostFacts(index_);
  numerics::Session& session = *impl_->session;
  const bool training = session.updater() != nullptr;
  if (!request.learningRates.empty() &&
      (!training || static_cast<std::int64_t>(request.learningRates.size()) != facts.iterations)) {
    return badInput(fmt::format("The call has {} weight updates, but {} learning rates were given.",
                                training ? facts.iterations : 0, request.learningRates.size()));
  }
  ReturnedOutputs returned(facts, info(), app::ownOutputRules(program_->configuration()));
  for (std::int64_t iteration = 0; iteration < facts.iterations; ++iteration) {
    PIPESCOPE_TRY(checkCancelled(progress));
    if (!request.learningRates.empty()) {
      impl_->settings["learning_rate"] = request.learningRates[static_cast<std::size_t>(iteration)];
      setLearningRate(impl_->settings["learning_rate"]);
    }
    result.lossScale = lossScale();
    const numerics::Rows& rows = impl_->inputs.rows(request.inputs, iteration);
    const numerics::Keep keep = returned.keep(iteration);
    PIPESCOPE_TRY(training ? session.trainStep(rows, keep, impl_->results)
                           : session.infer(rows, keep, impl_->results));
    if (request.stopsIfDiverged && !allFinite()) {
      result.diverged = iteration;
      return {};
    }
    returned.add(iteration, impl_->results);
    PIPESCOPE_TRY(addWeights(request, result));
  }
  returned.finish(result);
  gatherLosses(result);
  return {};
}

Status ModelExecutable::checkReturned() const {
  for (const auto& [name, rule] : app::ownOutputRules(program_->configuration())) {
    const auto isNamed = [&name = name](const TensorInfo& output) { return output.name == name; };
    if (!std::ranges::any_of(info().outputs, isNamed))
      return badInput(
          fmt::format("[[model.returned]] names {}, but {} has no output of that name.", name, info().name));
  }
  return {};
}

Status ModelExecutable::addWeights(const CallRequest& request, CallResult& result) const {
  result.weights.resize(request.weights.size());
  for (std::size_t i = 0; i < request.weights.size(); ++i) {
    PIPESCOPE_ASSIGN(const HostTensor now, weight(request.weights[i]));
    OutputTensor& all = result.weights[i];
    if (all.bytes.empty()) {
      all = {request.weights[i], now.type, {}};
      all.type.shape.insert(all.type.shape.begin(), 0);
    }
    ++all.type.shape.front();
    all.bytes.insert(all.bytes.end(), now.bytes.begin(), now.bytes.end());
  }
  return {};
}

bool ModelExecutable::allFinite() const {
  const bool finite = impl_->results.lossesFinite();
  return isShared() ? program_->instances()->sum(finite ? 0 : 1) == 0 : finite;
}

void ModelExecutable::gatherLosses(CallResult& result) const {
  if (!isShared()) {
    result.allLosses = result.losses;
    return;
  }
  const std::vector<std::byte> gathered =
      program_->instances()->gather(std::as_bytes(std::span(result.losses)));
  const std::size_t each = result.losses.size(), width = static_cast<std::size_t>(info().replicas);
  const std::span<const float> all = numerics::valuesOf<float>(std::span<const std::byte>(gathered));
  result.allLosses.reserve(all.size());
  for (std::size_t step = 0; step < each; step += width) {
    for (std::size_t from = step; from < all.size(); from += each)
      result.allLosses.insert(result.allLosses.end(), all.begin() + static_cast<std::ptrdiff_t>(from),
                              all.begin() + static_cast<std::ptrdiff_t>(from + width));
  }
}

bool ModelExecutable::isShared() const {
  return program_->instances() != nullptr && info().kind == model::ExecutableKind::training;
}

double ModelExecutable::waitedSeconds() const {
  return isShared() ? program_->instances()->waitedSeconds() : 0;
}

/// The seconds of all instances. None if this process computes alone.
std::vector<double> ModelExecutable::gatherSeconds(double own) const {
  if (!isShared()) return {};
  const std::vector<std::byte> all = program_->instances()->gather(std::as_bytes(std::span(&own, 1)));
  std::vector<double> seconds(all.size() / sizeof(double));
  std::ranges::copy(all, std::as_writable_bytes(std::span(seconds)).begin());
  return seconds;
}

/// Calls that compute nothing take microseconds, so they are not measured one by one.
Result<model::Run> ModelExecutable::emulate(EmulatedDevice& device, const std::string& name,
                                            std::int64_t begun, std::int64_t ended) const {
  if (!computes()) return device.emulate(index_, name, begun, ended);
  PIPESCOPE_HOST_SPAN(span, "emulator", "emulate a call");
  return device.emulate(index_, name, begun, ended);
}

Result<CallResult> ModelExecutable::call(EmulatedDevice& device, const CallRequest& request,
                                         base::Progress& progress) {
  PIPESCOPE_TRY(checkDevice(device));
  CallResult result;
  std::int64_t begun = 0, ended = 0;
  std::vector<double> instanceSeconds;
  if (computes()) {
    begun = device.wallNow();
    const double waited = waitedSeconds();
    PIPESCOPE_HOST_SPAN(span, "numerics", "compute a call");
    PIPESCOPE_TRY(compute(request, progress, result));
    ended = device.wallNow();
    if (result.diverged) return result;
    instanceSeconds = gatherSeconds(static_cast<double>(ended - begun) * 1e-9 - (waitedSeconds() - waited));
  }
  PIPESCOPE_ASSIGN(result.run, emulate(device, request.name, begun, ended));
  device.addInstanceSeconds(index_, result.run, instanceSeconds);
  result.emulatedSeconds = device.seconds(result.run.end - result.run.start);
  return result;
}

Status ModelExecutable::needsWeights() const {
  if (computes()) return {};
  return badInput("The program computes no numbers, so it has no weights: set execution.numerics.");
}

std::vector<TensorInfo> ModelExecutable::weights() const {
  std::vector<TensorInfo> all;
  if (!computes()) return all;
  const numerics::Parameters& parameters = impl_->session->parameters();
  for (std::size_t i = 0; i < parameters.count(); ++i)
    all.push_back({parameters.name(i), parameters.type(i)});
  return all;
}

Result<HostTensor> ModelExecutable::weight(const std::string& name) const {
  PIPESCOPE_TRY(needsWeights());
  const numerics::Parameters& parameters = std::as_const(*impl_->session).parameters();
  const std::size_t index = parameters.find(name);
  if (index == parameters.count()) return badInput("The model has no weight \"" + name + "\".");
  return HostTensor{parameters.type(index), parameters.bytes(index)};
}

Status ModelExecutable::setWeight(const std::string& name, const HostTensor& value) {
  PIPESCOPE_ASSIGN(const HostTensor now, weight(name));
  const bool isSame = value.type == now.type;
  if (value.type.shape != now.type.shape || (!isSame && !numerics::isTrainable(value.type.element)) ||
      static_cast<std::int64_t>(value.bytes.size()) != value.type.bytes().count) {
    return badInput(fmt::format("Weight {} is {}, but {} was given.", name, graph::toString(now.type),
                                graph::toString(value.type)));
  }
  numerics::Parameters& parameters = impl_->session->parameters();
  const std::span<std::byte> to = parameters.bytes(parameters.find(name));
  if (isSame) {
    std::ranges::copy(value.bytes, to.begin());
  } else {
    std::vector<float> wide(static_cast<std::size_t>(value.type.elements()));
    numerics::readFloats(value.type.element, value.bytes, 0, wide);
    numerics::writeFloats(now.type.element, wide, 0, to);
  }
  impl_->session->weightsChanged();
  return {};
}

Result<std::shared_ptr<const WeightValues>> ModelExecutable::weightValues() const {
  PIPESCOPE_TRY(needsWeights());
  return std::make_shared<const WeightValues>(WeightValues{impl_->session->parameters()});
}

Status ModelExecutable::setWeights(const WeightValues& values) {
  PIPESCOPE_TRY(needsWeights());
  PIPESCOPE_TRY(impl_->session->parameters().assignFrom(values.parameters));
  impl_->session->weightsChanged();
  return {};
}

Status ModelExecutable::copyWeights(const ModelExecutable& from) {
  PIPESCOPE_TRY(needsWeights());
  PIPESCOPE_TRY(from.needsWeights());
  PIPESCOPE_TRY(impl_->session->parameters().assignFrom(from.impl_->session->parameters()));
  impl_->session->weightsChanged();
  return {};
}

std::vector<std::uint64_t> ModelExecutable::weightHashes() const {
  if (!computes()) return {};
  std::vector<std::uint64_t> own = impl_->session->replicaHashes();
  if (!isShared()) return own;
  const std::vector<std::byte> all = program_->instances()->gather(std::as_bytes(std::span(own)));
  own.resize(all.size() / sizeof(std::uint64_t));
  std::ranges::copy(all, std::as_writable_bytes(std::span(own)).begin());
  return own;
}

/// Groups keep the ratio of their rate to that of the other parameters.
void ModelExecutable::setLearningRate(double rate) {
  impl_->session->optimizer()->setLearningRate(rate);
  const double base = program_->configuration().real("training.learning_rate");
  const auto& groups = impl_->session->updater()->groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const double own = impl_->groups[i].at("learning_rate");
    groups[i].optimizer->setLearningRate(base > 0 ? own * (rate / base) : own);
  }
}

std::int64_t ModelExecutable::updates() const {
  return computes() ? impl_->session->steps() : 0;
}

const std::map<std::string, double>& ModelExecutable::optimizerSettings() const {
  return impl_->settings;
}

Status ModelExecutable::setOptimizer(const std::map<std::string, double>& changes) {
  return changeOptimizer(-1, changes);
}

Status ModelExecutable::setOptimizer(std::size_t group, const std::map<std::string, double>& changes) {
  if (group >= impl_->groups.size())
    return badInput(fmt::format("The program has {} parameter groups, so there is none with the number {}.",
                                impl_->groups.size(), group));
  return changeOptimizer(static_cast<int>(group), changes);
}

Status ModelExecutable::changeOptimizer(int group, const std::map<std::string, double>& changes) {
  PIPESCOPE_TRY(needsWeights());
  if (impl_->optimizer.empty()) return badInput("Inference has no optimizer.");
  const auto index = static_cast<std::size_t>(std::max(group, 0));
  std::map<std::string, double>& now = group < 0 ? impl_->settings : impl_->groups[index];
  std::map<std::string, double> settings = now;
  for (const auto& [name, value] : changes) settings[name] = value;
  PIPESCOPE_ASSIGN(auto optimizer, optimizers::createOptimizer(impl_->optimizer, settings));
  numerics::Updater& updater = *impl_->session->updater();
  PIPESCOPE_TRY(group < 0 ? updater.changeOptimizer(std::move(optimizer))
                          : updater.changeOptimizer(index, std::move(optimizer)));
  now = std::move(settings);
  return {};
}

Status ModelExecutable::setOptimizer(const std::string& weight,
                                     const std::map<std::string, double>& changes) {
  PIPESCOPE_TRY(needsWeights());
  if (impl_->optimizer.empty()) return badInput("Inference has no optimizer.");
  numerics::Updater& updater = *impl_->session->updater();
  const int group = updater.groupOf(weight);
  std::map<std::string, double> settings =
      group < 0 ? impl_->settings : impl_->groups[static_cast<std::size_t>(group)];
  for (const auto& [name, value] : changes) settings[name] = value;
  PIPESCOPE_ASSIGN(auto optimizer, optimizers::createOptimizer(impl_->optimizer, settings,
                                                               optimizers::SettingRanges::anyRateAndDecay));
  return updater.changeOptimizer(weight, std::move(optimizer));
}

double ModelExecutable::lossScale() const {
  return computes() && impl_->session->updater() ? impl_->session->updater()->lossScale().value() : 1;
}

Status ModelExecutable::setLossScale(double value) {
  PIPESCOPE_TRY(needsWeights());
  if (value == lossScale()) return {};
  if (!impl_->session->updater() || !app::scalesLoss(program_->configuration()))
    return badInput(
        "The loss scale cannot change, because the program was compiled without one: compile it with "
        "training.loss_scaling.");
  if (!(value > 0)) return badInput(fmt::format("The loss scale is {}, but must be above 0.", value));
  impl_->session->updater()->lossScale().restore(value);
  return {};
}

double ModelExecutable::gradientNorm() const {
  return computes() && impl_->session->updater() ? impl_->session->updater()->gradientNorm() : 0;
}

Status ModelExecutable::save(const std::string& path) const {
  PIPESCOPE_TRY(needsWeights());
  PIPESCOPE_HOST_SPAN(span, "data", "save weights");
  if (path.ends_with(".onnx"))
    return app::saveOnnxWeights(program_->configuration(), impl_->session->parameters(), path);
  return app::saveWeights(path, *impl_->session);
}

Status ModelExecutable::load(const std::string& path) {
  PIPESCOPE_TRY(needsWeights());
  PIPESCOPE_HOST_SPAN(span, "data", "load weights");
  return app::loadWeights(path, *impl_->session);
}

}  // namespace pipescope::run
