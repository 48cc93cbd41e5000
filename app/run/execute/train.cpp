#include "app/run/execute/train.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/run/execute/inference_runner.h"
#include "app/run/io/data_source.h"
#include "app/run/io/host_memory.h"
#include "app/run/io/weights_file.h"
#include "app/run/request/optimizer_choice.h"
#include "app/run/request/training_options.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::app {
namespace {

class Training {
 public:
  Training(RunContext& context, std::size_t executable, RunResult& result)
      : context_(context),
        index_(executable),
        facts_(context.recorded.executables[executable].facts),
        result_(result) {}

  base::Status run(std::optional<numerics::Parameters>& weights) {
    epochs_ = configuration().integer("training.epochs");
    PIPESCOPE_ASSIGN(needs_, dataNeeds(graph(), facts_.microBatchSize));
    needs_.callRows = shape().rows() * configuration().integer("data.instances");
    PIPESCOPE_TRY(prepareValidation());
    if (!configuration().boolean("execution.numerics")) return emulateOnly();
    context_.progress.report(0, "preparing data");
    PIPESCOPE_ASSIGN(const auto dataset, openData(configuration(), data::Split::train, needs_,
                                                  context_.progress, context_.executor));
    PIPESCOPE_TRY(makeSession(*dataset));
    PIPESCOPE_TRY(makeLoader(dataset));
    addCounters();
    const auto begun = wallNow(context_);
    PIPESCOPE_TRY(callAll());
    addOutcomes(wallNow(context_) - begun);
    PIPESCOPE_TRY(compareReplicas());
    const std::string& file = configuration().text("execution.save_weights");
    if (file.ends_with(".npz")) PIPESCOPE_TRY(saveWeights(file, *session_));
    weights = session_->parameters();
    return {};
  }

 private:
  const config::Configuration& configuration() const { return context_.configuration; }
  const graph::Graph& graph() const { return *context_.compilation.executables[index_].graph; }
  data::BatchShape shape() const {
    return {facts_.microBatchSize, facts_.iterations, facts_.microBatches,
            facts_.replicas / facts_.inputGroup};
  }

  /// Validation uses the executable after the training executable. It is the inference executable, or one
  /// compiled for validation only.
  base::Status prepareValidation() {
    interval_ = configuration().integer("training.validation_interval");
    if (interval_ == 0) return {};
    validation_.emplace(context_, index_ + 1, result_);
    PIPESCOPE_TRY(validation_->prepare());
    return {};
  }

  base::Status validate(std::int64_t epoch) {
    if (interval_ == 0 || epoch % interval_ != 0) return {};
    if (session_) PIPESCOPE_TRY(validation_->session()->parameters().assignFrom(session_->parameters()));
    const auto report = [&](double, const std::string& what) {
      context_.progress.report(fraction_, fmt::format("epoch {}/{}  {}", epoch, epochs_, what));
    };
    PIPESCOPE_ASSIGN(const InferenceRunner::Score score, validation_->pass("validation", epoch, report));
    const auto add = [&](std::optional<model::CounterId>& counter, const char* name, const char* unit,
                         const std::optional<double>& value) {
      if (!value) return;
      if (!counter)
        counter = context_.recorder.add(
            model::Counter{{}, context_.recorded.executables[index_].id, {}, name, unit});
      context_.recorder.add(model::CounterSample{*counter, last_.end, last_.id, *value});
    };
    add(validationLoss_, "validation_loss", "", score.loss);
    add(validationAccuracy_, "validation_accuracy", "fraction", score.accuracy);
    return {};
  }

  base::Status emulateOnly() {
    PIPESCOPE_ASSIGN(const std::int64_t samples, countData(configuration(), data::Split::train, needs_,
                                                           context_.progress, context_.executor));
    const std::int64_t calls = samples / (shape().rows() * configuration().integer("data.instances"));
    if (calls == 0) return tooFewSamples(samples);
    for (std::int64_t call = 0; call < calls * epochs_; ++call) {
      PIPESCOPE_TRY(checkCancelled(context_.progress));
      report(call, calls, "");
      PIPESCOPE_ASSIGN(const model::Run run,
                       emulateCall(context_, index_, name(call, calls), shape().rows(), 0, 0));
      last_ = run;
      if ((call + 1) % calls == 0) PIPESCOPE_TRY(validate((call + 1) / calls));
    }
    addEmulatedTime();
    return {};
  }

  base::Error tooFewSamples(std::int64_t samples) const {
    return base::badInput(
        fmt::format("One training call takes {} samples (micro-batch {} × accumulation {} × device "
                    "iterations {}{}), but there are only {}.",
                    shape().rows(), facts_.microBatchSize, facts_.microBatches, facts_.iterations,
                    shape().replicas > 1 ? fmt::format(" × {} replicas", shape().replicas) : "", samples));
  }

  base::Status makeSession(const data::Dataset& dataset) {
    PIPESCOPE_ASSIGN(auto optimizer, chooseOptimizer(configuration()));
    PIPESCOPE_ASSIGN(feeder_, Feeder::create(needs_, dataset));
    if (needs_.classes > 0 && needs_.classes < dataset.classes()) {
      return base::badInput(
          fmt::format("The model's last layer has {} outputs, but {} has {} classes: give it one for each.",
                      needs_.classes, dataset.description(), dataset.classes()));
    }
    PIPESCOPE_ASSIGN(numerics::SessionOptions options, trainingOptions(configuration()));
    options.replicas = facts_.replicas;
    options.inputGroup = facts_.inputGroup;
    options.ownWeights = configuration().boolean("training.check_replicas");
    PIPESCOPE_TRY(checkHostMemory(graph(), 0));
    PIPESCOPE_ASSIGN(session_, numerics::Session::create(graph(), ops::standardOperators(),
                                                         std::move(optimizer), context_.executor, options));
    PIPESCOPE_TRY(checkHostMemory(graph(), session_->arenaBytes()));
    scores_ = scoreShape(graph(), facts_.microBatchSize, feeder_->labelsPerRow());
    scores_.ignored = configuration().integer("training.ignore_index");
    if (const std::string& file = configuration().text("execution.load_weights"); !file.empty())
      PIPESCOPE_TRY(loadWeights(file, *session_));
    return {};
  }

  /// Epochs and the learning-rate schedule continue where the loaded weights stopped.
  base::Status makeLoader(const std::shared_ptr<const data::Dataset>& dataset) {
    const std::int64_t parts = configuration().integer("data.instances");
    const std::int64_t updates = dataset->size() / (shape().rows() * parts) * facts_.iterations,
                       done = session_->steps();
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

  void addCounters() {
    const auto add = [&](const char* name, const char* unit) {
      return context_.recorder.add(
          model::Counter{{}, context_.recorded.executables[index_].id, {}, name, unit});
    };
    loss_ = add("loss", "");
    accuracy_ = add("accuracy", "fraction");
    rate_ = add("learning_rate", "");
    if (scalesLoss(configuration())) scale_ = add("loss_scale", "");
    if (configuration().real("training.clip_norm") > 0) norm_ = add("gradient_norm", "");
  }

  base::Status callAll() {
    const std::int64_t calls = loader_->callsPerEpoch();
    for (std::int64_t call = 0;; ++call) {
      PIPESCOPE_TRY(checkCancelled(context_.progress));
      PIPESCOPE_ASSIGN(const std::optional<data::Batch> batch, loader_->next(context_.progress));
      if (!batch) return {};
      if (call == 0) report(0, calls, "");
      PIPESCOPE_TRY(callOnce(*batch, call, calls));
    }
  }

  base::Status callOnce(const data::Batch& batch, std::int64_t call, std::int64_t calls) {
    const std::int64_t wallStart = wallNow(context_);
    CallMetrics metrics(facts_, scores_);
    const std::int64_t rows = facts_.rows();
    MetricsLine line;
    for (std::int64_t iteration = 0; iteration < facts_.iterations; ++iteration) {
      PIPESCOPE_TRY(checkCancelled(context_.progress));
      line.learningRate = rates_->at(session_->steps());
      line.lossScale = session_->updater()->lossScale().value();
      session_->optimizer()->setLearningRate(*line.learningRate);
      PIPESCOPE_TRY(session_->trainStep(feeder_->rows(batch, iteration * rows, rows), metrics.keep(iteration),
                                        results_));
      if (!results_.lossesFinite()) return notFinite(call, calls, iteration);
      metrics.add(iteration, results_, feeder_->labels());
    }
    PIPESCOPE_ASSIGN(
        last_, emulateCall(context_, index_, name(call, calls), batch.rows, wallStart, wallNow(context_)));
    samples_ += batch.rows;
    basis_ = metrics.basis();
    line.loss = finalLoss_ = metrics.loss();
    line.accuracy = finalAccuracy_ = metrics.accuracy();
    if (norm_) line.gradientNorm = session_->updater()->gradientNorm();
    if (!scale_) line.lossScale.reset();
    PIPESCOPE_TRY(addMetrics(line, call, calls, batch.rows));
    std::string shown = finalLoss_ ? fmt::format("loss {:.4f}", *finalLoss_) : "";
    if (finalAccuracy_) shown += fmt::format("  accuracy {:.2f} %", *finalAccuracy_ * 100);
    report(call + 1, calls, shown);
    return (call + 1) % calls == 0 ? validate((call + 1) / calls) : base::Status();
  }

  /// The learning rate and the loss scale are those of the last update of the call.
  base::Status addMetrics(MetricsLine& line, std::int64_t call, std::int64_t calls, std::int64_t rows) {
    const auto sample = [&](const std::optional<model::CounterId>& counter,
                            const std::optional<double>& value) {
      if (counter && value)
        context_.recorder.add(model::CounterSample{*counter, last_.end, last_.id, *value});
    };
    sample(loss_, line.loss);
    sample(accuracy_, line.accuracy);
    sample(rate_, line.learningRate);
    sample(scale_, line.lossScale);
    sample(norm_, line.gradientNorm);
    line.kind = "training";
    line.epoch = call / calls + 1;
    line.call = call % calls + 1;
    line.updates = session_->steps();
    line.samples = rows;
    return context_.metrics->add(line);
  }

  /// Replicas start with equal weights and get equal sums, so their weights must end with equal bits.
  base::Status compareReplicas() {
    if (!configuration().boolean("training.check_replicas")) return {};
    const std::vector<std::uint64_t> hashes = session_->replicaHashes();
    const auto equal = std::count(hashes.begin(), hashes.end(), hashes.front());
    context_.recorder.add(model::Outcome{context_.recorded.executables[index_].id,
                                         "replicas_with_equal_weights", "replicas",
                                         "hashes of all weights after training", static_cast<double>(equal)});
    if (equal == static_cast<std::ptrdiff_t>(hashes.size())) return {};
    return base::internalError(
        fmt::format("{} of {} replicas have other weights than the first after training.",
                    static_cast<std::ptrdiff_t>(hashes.size()) - equal, hashes.size()));
  }

  base::Error notFinite(std::int64_t call, std::int64_t calls, std::int64_t iteration) const {
    return base::refused(
        fmt::format("The loss is not a number in epoch {}, call {}, iteration {}: training has diverged. "
                    "Lower training.learning_rate (now {}), or look at the data. "
                    "The profile holds what ran before.",
                    call / calls + 1, call % calls + 1, iteration + 1,
                    context_.configuration.real("training.learning_rate")));
  }

  std::string name(std::int64_t call, std::int64_t calls) const {
    return fmt::format("training epoch {} call {}", call / calls + 1, call % calls + 1);
  }

  void report(std::int64_t done, std::int64_t calls, const std::string& shown) {
    const std::int64_t now = std::max<std::int64_t>(done - 1, 0);  // the call that has just finished
    const bool both = context_.compilation.executables.size() > 1;
    const double fraction = static_cast<double>(done) / static_cast<double>(calls * epochs_);
    fraction_ = fraction * (both ? 0.9 : 1.0);
    context_.progress.report(
        fraction_, fmt::format("epoch {}/{}  call {}/{}{}{}", now / calls + 1, epochs_, now % calls + 1,
                               calls, shown.empty() ? "" : "  ", shown));
  }

  void addEmulatedTime() {
    result_.emulatedSeconds = base::toSeconds(
        last_.end, base::Timebase{context_.compilation.system->devices().front().ticksPerSecond});
  }

  void addOutcomes(std::int64_t wallNs) {
    const model::ExecutableId id = context_.recorded.executables[index_].id;
    if (finalLoss_)
      context_.recorder.add(
          model::Outcome{id, "final_loss", "", "last training call: " + basis_, *finalLoss_});
    if (finalAccuracy_)
      context_.recorder.add(
          model::Outcome{id, "final_accuracy", "fraction", "last training call: " + basis_, *finalAccuracy_});
    result_.hostSamplesPerSecond =
        static_cast<double>(samples_) / std::max(1e-9, static_cast<double>(wallNs) * 1e-9);
    context_.recorder.add(model::Outcome{id, "host_samples_per_second", "samples/s",
                                         "all training calls, on the host that emulated them",
                                         result_.hostSamplesPerSecond, model::OutcomeKind::emulator});
    result_.finalLoss = finalLoss_;
    addEmulatedTime();
  }

  RunContext& context_;
  std::size_t index_;
  const emulate::ExecutableFacts& facts_;
  RunResult& result_;
  DataNeeds needs_;
  ScoreShape scores_;
  std::int64_t epochs_ = 1, samples_ = 0, interval_ = 0;
  double fraction_ = 0;  ///< finished share of the work that the progress shows
  std::unique_ptr<numerics::Session> session_;
  std::optional<InferenceRunner> validation_;
  std::optional<Feeder> feeder_;
  std::optional<LearningRates> rates_;
  std::unique_ptr<data::Loader> loader_;
  numerics::Results results_;
  std::optional<model::CounterId> loss_, accuracy_, rate_, scale_, norm_, validationLoss_,
      validationAccuracy_;
  model::Run last_;
  std::string basis_;
  std::optional<double> finalLoss_, finalAccuracy_;
};

}  // namespace

base::Status runTraining(RunContext& context, std::size_t executable,
                         std::optional<numerics::Parameters>& weights, RunResult& result) {
  return Training(context, executable, result).run(weights);
}

}  // namespace pipescope::app
