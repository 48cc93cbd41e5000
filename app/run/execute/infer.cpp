#include "app/run/execute/infer.h"

#include <fmt/format.h>

#include "app/run/execute/inference_runner.h"
#include "app/run/execute/run.h"
#include "profiler/base/number_text.h"

namespace pipescope::app {
namespace {

class Inference : public ExecutableRun {
 public:
  Inference(const RunSetup& setup, std::size_t executable)
      : setup_(setup), index_(executable), runner_(setup, executable) {}

  /// If something is trained first, the model is made after that, because both would take memory.
  base::Status prepare() override {
    PIPESCOPE_TRY(runner_.prepare());
    if (isAfterTraining()) return {};
    PIPESCOPE_TRY(runner_.makeExecutable());
    const std::string& file = setup_.configuration().text("execution.load_weights");
    if (!runner_.executable().computes() || file.empty()) return {};
    untrained_ = "; weights were loaded";
    return runner_.executable().load(file);
  }

  base::Status perform(RunContext& context, std::shared_ptr<const run::WeightValues>& trained) override {
    if (isAfterTraining()) PIPESCOPE_TRY(runner_.makeExecutable());
    if (runner_.executable().computes() && trained) PIPESCOPE_TRY(runner_.executable().setWeights(*trained));
    const double begin = isAfterTraining() ? 0.9 : 0.0;
    const auto report = [&](double done, const std::string& what) {
      context.progress.report(begin + (1 - begin) * done, what);
    };
    PIPESCOPE_ASSIGN(const InferenceRunner::Score score, runner_.pass(context, "inference", 0, report));
    addOutcome(context, score, trained ? "" : untrained_);
    return {};
  }

 private:
  bool isAfterTraining() const { return index_ > 0; }

  void addOutcome(RunContext& context, const InferenceRunner::Score& score, const char* untrained) const {
    if (score.rows == 0) return;
    const std::string dropped = score.available > score.rows
                                    ? fmt::format("; the last {} fill no call and were dropped",
                                                  base::groupedText(score.available - score.rows))
                                    : "";
    const std::string basis = fmt::format("{} of {} test samples{}{}", base::groupedText(score.rows),
                                          base::groupedText(score.available), dropped, untrained);
    if (score.accuracy)
      context.device.addOutcome(index_, "test_accuracy", "fraction", basis, *score.accuracy);
    context.result.testAccuracy = score.accuracy;
  }

  RunSetup setup_;
  std::size_t index_;
  InferenceRunner runner_;
  const char* untrained_ = "; weights are untrained";
};

}  // namespace

std::unique_ptr<ExecutableRun> makeInference(const RunSetup& setup, std::size_t executable) {
  return std::make_unique<Inference>(setup, executable);
}

}  // namespace pipescope::app
