#include "app/run/execute/infer.h"

#include <fmt/format.h>

#include "app/run/execute/inference_runner.h"
#include "app/run/io/weights_file.h"

namespace pipescope::app {
namespace {

void addOutcome(RunContext& context, std::size_t executable, const InferenceRunner::Score& score,
                const char* untrained, RunResult& result) {
  if (score.rows == 0) return;
  const std::string dropped =
      score.available > score.rows
          ? fmt::format("; the last {} fill no call and were dropped", score.available - score.rows)
          : "";
  const std::string basis =
      fmt::format("{} of {} test rows{}{}", score.rows, score.available, dropped, untrained);
  const model::ExecutableId id = context.recorded.executables[executable].id;
  if (score.accuracy)
    context.recorder.add(model::Outcome{id, "test_accuracy", "fraction", basis, *score.accuracy});
  result.testAccuracy = score.accuracy;
}

}  // namespace

base::Status runInference(RunContext& context, std::size_t executable,
                          const std::optional<numerics::Parameters>& weights, RunResult& result) {
  InferenceRunner runner(context, executable, result);
  PIPESCOPE_TRY(runner.prepare());
  const char* untrained = weights ? "" : "; weights are untrained";
  if (numerics::Session* session = runner.session()) {
    const std::string& file = context.configuration.text("execution.load_weights");
    if (weights) {
      PIPESCOPE_TRY(session->parameters().assignFrom(*weights));
    } else if (!file.empty()) {
      PIPESCOPE_TRY(loadWeights(file, *session));
      untrained = "; weights were loaded";
    }
  }
  const double begin = context.compilation.executables.size() > 1 ? 0.9 : 0.0;
  const auto report = [&](double done, const std::string& what) {
    context.progress.report(begin + (1 - begin) * done, what);
  };
  PIPESCOPE_ASSIGN(const InferenceRunner::Score score, runner.pass("inference", 0, report));
  addOutcome(context, executable, score, untrained, result);
  return {};
}

}  // namespace pipescope::app
