#include "app/run/execute/train.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/run/execute/inference_runner.h"
#include "app/run/execute/run.h"
#include "app/run/io/data_source.h"
#include "app/run/request/training_options.h"
#include "engine/data/batch_order.h"
#include "profiler/base/number_text.h"
#include "profiler/record/host_span.h"

namespace pipescope::app {
namespace {

class Training : public ExecutableRun {
 public:
  Training(const RunSetup& setup, std::size_t executable)
      : setup_(setup), index_(executable), facts_(setup.program->hostFacts(executable)) {}

  base::Status prepare() override {
    epochs_ = configuration().integer("training.epochs");
    PIPESCOPE_ASSIGN(needs_, dataNeeds(graph(), facts_.microBatchSize));
    needs_.callRows = shape().rows() * configuration().integer("data.instances");
    PIPESCOPE_TRY(data::checkBatchShape(shape()));
    PIPESCOPE_TRY(prepareValidation());
    if (!computes()) {
      PIPESCOPE_ASSIGN(executable_, run::ModelExecutable::create(setup_.program, index_));
      PIPESCOPE_ASSIGN(const std::int64_t samples, countData(configuration(), data::DataSplit::train, needs_,
                                                             setup_.progress, setup_.program->threads()));
      return countCalls(samples, "");
    }
    setup_.progress.report(0, "preparing data");
    PIPESCOPE_TRY(run::ModelExecutable::checkMemory(*setup_.program, index_));
    PIPESCOPE_ASSIGN(const auto dataset, openData(configuration(), data::DataSplit::train, needs_,
                                                  setup_.progress, setup_.program->threads()));
    PIPESCOPE_TRY(countCalls(dataset->size(), ": " + dataset->description()));
    PIPESCOPE_TRY(makeExecutable(*dataset));
    return makeLoader(dataset);
  }

  base::Status perform(RunContext& context, std::shared_ptr<const run::WeightValues>& trained) override {
    context_ = &context;
    if (!computes()) return emulateOnly();
    addCounters();
    const std::int64_t begun = context.device.wallNow();
    PIPESCOPE_HOST_SPAN(span, "run", "training");
    PIPESCOPE_TRY(callAll());
    addOutcomes(context.device.wallNow() - begun);
    PIPESCOPE_TRY(compareReplicas());
    const std::string& file = configuration().text("execution.save_weights");
    if (!file.empty()) PIPESCOPE_TRY(executable_->save(file));
    PIPESCOPE_ASSIGN(trained, executable_->weightValues());
    // Later work needs the memory.
    executable_.reset();
    loader_.reset();
    validation_.reset();
    return {};
  }

 private:
  const config::Configuration& configuration() const { return setup_.configuration(); }
  bool computes() const { return setup_.program->computes(); }
  const graph::Graph& graph() const { return *setup_.program->compilation().executables[index_].graph; }
  data::BatchShape shape() const {
    return {facts_.microBatchSize, facts_.iterations, facts_.microBatches,
            facts_.replicas / facts_.inputGroup};
  }

  /// Validation uses the executable after the training executable. It is the inference executable, or one
  /// compiled for validation only.
  base::Status prepareValidation() {
    interval_ = configuration().integer("training.validation_interval");
    if (interval_ == 0) return {};
    validation_.emplace(setup_, index_ + 1);
    PIPESCOPE_TRY(validation_->prepare());
    return validation_->makeExecutable();
  }

  base::Status validate(std::int64_t epoch) {
    if (interval_ == 0 || epoch % interval_ != 0) return {};
    PIPESCOPE_HOST_SPAN(span, "run", "validation");
    if (computes()) PIPESCOPE_TRY(validation_->executable().copyWeights(*executable_));
    const auto report = [&](double, const std::string& what) {
      context_->progress.report(fraction_, fmt::format("epoch {}/{}  {}", epoch, epochs_, what));
    };
    PIPESCOPE_ASSIGN(const InferenceRunner::Score score,
                     validation_->pass(*context_, "validation", epoch, report));
    const auto add = [&](std::optional<model::CounterId>& counter, const char* name, const char* unit,
                         const std::optional<double>& value) {
      if (!value) return;
      if (!counter) counter = context_->device.addCounter(index_, name, unit);
      context_->device.addSample(*counter, last_, *value);
    };
    add(validationLoss_, "validation_loss", "", score.loss);
    add(validationAccuracy_, "validation_accuracy", "fraction", score.accuracy);
    return {};
  }

  base::Status emulateOnly() {
    PIPESCOPE_HOST_SPAN(span, "emulator", "emulate all calls");
    context_->device.planCalls(index_, calls_ * epochs_);
    for (std::int64_t call = 0; call < calls_ * epochs_; ++call) {
      PIPESCOPE_TRY(run::checkCancelled(context_->progress));
      report(call, calls_, "");
      PIPESCOPE_ASSIGN(const run::CallResult result,
                       executable_->call(context_->device, {name(call, calls_)}, context_->progress));
      last_ = result.run;
      if ((call + 1) % calls_ == 0) PIPESCOPE_TRY(validate((call + 1) / calls_));
    }
    addEmulatedTime();
    return {};
  }

  /// Sets the number of calls of an epoch. `from` ends the sentence about too few samples.
  base::Status countCalls(std::int64_t samples, const std::string& from) {
    const std::int64_t parts = configuration().integer("data.instances");
    calls_ = samples / (shape().rows() * parts);
    if (calls_ > 0) return {};
    return base::badInput(fmt::format(
        "One training call takes {} samples (micro-batch {} × accumulation {} × device "
        "iterations {}{}){}, but "
        "there are only {}{}. Lower one of these numbers, or give more samples.",
        base::groupedText(shape().rows()), facts_.microBatchSize, facts_.microBatches, facts_.iterations,
        shape().replicas > 1 ? fmt::format(" × {} replicas", shape().replicas) : "",
        parts > 1 ? fmt::format(" in each of {} instances", parts) : "", base::groupedText(samples), from));
  }

  base::Status makeExecutable(const data::Dataset& dataset) {
    PIPESCOPE_ASSIGN(feeder_, Feeder::create(needs_, dataset));
    if (needs_.classes > 0 && needs_.classes < dataset.classes()) {
      return base::badInput(
          fmt::format("The model's last layer has {} outputs, but {} has {} classes: give it one for each.",
                      needs_.classes, dataset.description(), dataset.classes()));
    }
    PIPESCOPE_ASSIGN(executable_, run::ModelExecutable::create(setup_.program, index_));
    scores_ = scoreShape(graph(), facts_.microBatchSize, feeder_->labelsPerRow());
    scores_.ignored = configuration().integer("training.ignore_index");
    const std::string& file = configuration().text("execution.load_weights");
    return file.empty() ? base::Status() : executable_->load(file);
  }

  /// Epochs and the learning-rate schedule continue where the loaded weights stopped.
  base::Status makeLoader(const std::shared_ptr<const data::Dataset>& dataset) {
    const std::int64_t updates = calls_ * facts_.iterations, done = executable_->updates();
    data::LoaderOptions options;
    options.shape = shape();
    options.seed = static_cast<std::uint64_t>(configuration().integer("execution.seed"));
    options.shuffle = configuration().boolean("training.shuffle");
    options.epochs = epochs_;
    options.partition = {configuration().integer("data.instances"), configuration().integer("data.instance")};
    options.firstEpoch = updates == 0 ? 0 : done / updates;
    PIPESCOPE_ASSIGN(loader_, data::Loader::create(dataset, options));
    PIPESCOPE_ASSIGN(rates_, LearningRates::create(configuration(), done, updates * epochs_, updates));
    return {};
  }

  /// True if the loss of a call is the mean over its only weight update.
  bool callIsIteration() const {
    using Mode = emulate::OutputRule::Mode;
    return facts_.iterations == 1 &&
           (facts_.output.mode == Mode::all || facts_.microBatches * facts_.replicas == 1);
  }

  void addCounters() {
    const auto add = [&](const char* name, const char* unit) {
      return context_->device.addCounter(index_, name, unit);
    };
    loss_ = add("loss", "");
    if (!callIsIteration()) iterationLoss_ = add("iteration_loss", "");
    accuracy_ = add("accuracy", "fraction");
    rate_ = add("learning_rate", "");
    if (scalesLoss(configuration())) scale_ = add("loss_scale", "");
    if (configuration().real("training.clip_norm") > 0) norm_ = add("gradient_norm", "");
  }

  base::Status callAll() {
    const std::int64_t calls = loader_->callsPerEpoch();
    context_->device.planCalls(index_, calls * epochs_);
    for (std::int64_t call = 0;; ++call) {
      PIPESCOPE_TRY(run::checkCancelled(context_->progress));
      PIPESCOPE_ASSIGN(const std::optional<data::Batch> batch, loader_->next(context_->progress));
      if (!batch) return {};
      if (call == 0) report(0, calls, "");
      PIPESCOPE_TRY(callOnce(*batch, call, calls));
      if ((call + 1) % calls == 0) PIPESCOPE_TRY(validate((call + 1) / calls));
    }
  }

  base::Status callOnce(const data::Batch& batch, std::int64_t call, std::int64_t calls) {
    run::CallRequest request{name(call, calls), feeder_->inputs(batch), {}, true};
    MetricsLine line;
    for (std::int64_t iteration = 0; iteration < facts_.iterations; ++iteration)
      request.learningRates.push_back(rates_->at(executable_->updates() + iteration));
    line.learningRate = request.learningRates.back();
    PIPESCOPE_ASSIGN(const run::CallResult result,
                     executable_->call(context_->device, request, context_->progress));
    if (result.diverged) return notFinite(call, calls, *result.diverged);
    PIPESCOPE_HOST_SPAN(span, "run", "metrics of a call");
    CallMetrics metrics(facts_, scores_);
    metrics.add(result, feeder_->labels(batch));
    if (const auto& instances = setup_.program->instances())
      metrics.addInstances(*instances, result.allLosses);
    last_ = result.run;
    samples_ += batch.rows;
    basis_ = metrics.basis();
    line.loss = finalLoss_ = metrics.loss();
    line.accuracy = finalAccuracy_ = metrics.accuracy();
    line.iterationLosses = iterationLosses(facts_, result.losses);
    if (norm_) line.gradientNorm = executable_->gradientNorm();
    if (scale_) line.lossScale = result.lossScale;
    PIPESCOPE_TRY(addMetrics(line, call, calls, batch.rows));
    std::string shown = finalLoss_ ? fmt::format("loss {:.4f}", *finalLoss_) : "";
    if (finalAccuracy_) shown += fmt::format("  accuracy {:.2f} %", *finalAccuracy_ * 100);
    report(call + 1, calls, shown);
    return {};
  }

  /// The learning rate and the loss scale are those of the last update of the call.
  base::Status addMetrics(MetricsLine& line, std::int64_t call, std::int64_t calls, std::int64_t rows) {
    const auto sample = [&](const std::optional<model::CounterId>& counter,
                            const std::optional<double>& value) {
      if (counter && value) context_->device.addSample(*counter, last_, *value);
    };
    sample(loss_, line.loss);
    if (iterationLoss_ && !line.iterationLosses.empty())
      context_->device.addIterationSamples(*iterationLoss_, last_, line.iterationLosses);
    sample(accuracy_, line.accuracy);
    sample(rate_, line.learningRate);
    sample(scale_, line.lossScale);
    sample(norm_, line.gradientNorm);
    line.kind = "training";
    line.epoch = call / calls + 1;
    line.call = call % calls + 1;
    line.updates = executable_->updates();
    line.samples = rows;
    return context_->metrics.add(line);
  }

  /// Replicas start with equal weights and get equal sums, so their weights must end with equal bits.
  base::Status compareReplicas() {
    if (!configuration().boolean("training.check_replicas") && !setup_.program->instances()) return {};
    const std::vector<std::uint64_t> hashes = executable_->weightHashes();
    const auto equal = std::count(hashes.begin(), hashes.end(), hashes.front());
    context_->device.addOutcome(index_, "replicas_with_equal_weights", "replicas",
                                "hashes of all weights after training", static_cast<double>(equal));
    if (equal == static_cast<std::ptrdiff_t>(hashes.size())) return {};
    return base::internalError(
        fmt::format("{} of {} replicas have other weights than the first after training.",
                    static_cast<std::ptrdiff_t>(hashes.size()) - equal, hashes.size()));
  }

  base::Error notFinite(std::int64_t call, std::int64_t calls, std::int64_t iteration) const {
    return base::refused(fmt::format(
        "The loss is not a number in epoch {}, call {}, iteration {}: training has diverged. "
        "Lower training.learning_rate (now {}), or look at the data.",
        call / calls + 1, call % calls + 1, iteration + 1, configuration().real("training.learning_rate")));
  }

  std::string name(std::int64_t call, std::int64_t calls) const {
    return fmt::format("training epoch {} call {}", call / calls + 1, call % calls + 1);
  }

  void report(std::int64_t done, std::int64_t calls, const std::string& shown) {
    const std::int64_t now = std::max<std::int64_t>(done - 1, 0);  // the call that has just finished
    const bool both = context_->program->executables().size() > 1;
    const double fraction = static_cast<double>(done) / static_cast<double>(calls * epochs_);
    fraction_ = fraction * (both ? 0.9 : 1.0);
    context_->progress.report(
        fraction_, fmt::format("epoch {}/{}  call {}/{}{}{}", now / calls + 1, epochs_, now % calls + 1,
                               calls, shown.empty() ? "" : "  ", shown));
  }

  void addEmulatedTime() { context_->result.emulatedSeconds = context_->device.seconds(last_.end); }

  void addOutcomes(std::int64_t wallNs) {
    run::EmulatedDevice& device = context_->device;
    if (finalLoss_) device.addOutcome(index_, "final_loss", "", "last training call: " + basis_, *finalLoss_);
    if (finalAccuracy_)
      device.addOutcome(index_, "final_accuracy", "fraction", "last training call: " + basis_,
                        *finalAccuracy_);
    context_->result.hostSamplesPerSecond =
        static_cast<double>(samples_ * configuration().integer("execution.instances")) /
        std::max(1e-9, static_cast<double>(wallNs) * 1e-9);
    device.addOutcome(index_, "host_samples_per_second", "samples/s",
                      "all training calls, on the host that emulated them",
                      context_->result.hostSamplesPerSecond, model::OutcomeKind::emulator);
    context_->result.finalLoss = finalLoss_;
    addEmulatedTime();
  }

  RunSetup setup_;
  RunContext* context_ = nullptr;  ///< set while it runs
  std::size_t index_;
  const emulate::ExecutableFacts& facts_;
  DataNeeds needs_;
  ScoreShape scores_;
  std::int64_t epochs_ = 1, calls_ = 0, samples_ = 0, interval_ = 0;
  double fraction_ = 0;  ///< finished share of the work that the progress shows
  std::unique_ptr<run::ModelExecutable> executable_;
  std::optional<InferenceRunner> validation_;
  std::optional<Feeder> feeder_;
  std::optional<LearningRates> rates_;
  std::unique_ptr<data::Loader> loader_;
  std::optional<model::CounterId> loss_, iterationLoss_, accuracy_, rate_, scale_, norm_, validationLoss_,
      validationAccuracy_;
  model::Run last_;
  std::string basis_;
  std::optional<double> finalLoss_, finalAccuracy_;
};

}  // namespace

std::unique_ptr<ExecutableRun> makeTraining(const RunSetup& setup, std::size_t executable) {
  return std::make_unique<Training>(setup, executable);
}

}  // namespace pipescope::app
