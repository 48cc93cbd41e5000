#include "app/run/execute/generate.h"

#include <fmt/format.h>

#include <vector>

#include "app/run/execute/run.h"
#include "profiler/record/host_span.h"

namespace pipescope::app {
namespace {

class GenerationRun : public ExecutableRun {
 public:
  GenerationRun(const RunSetup& setup, const Generation& generation)
      : setup_(setup), generation_(generation) {}

  base::Status prepare() override {
    for (std::size_t i = 0; i <= generation_.steps.size(); ++i) {
      PIPESCOPE_ASSIGN(auto executable, run::ModelExecutable::create(setup_.program, i));
      executables_.push_back(std::move(executable));
    }
    return {};
  }

  base::Status perform(RunContext& context, std::shared_ptr<const run::WeightValues>&) override {
    PIPESCOPE_HOST_SPAN(span, "run", "generate");
    const base::Timebase timebase{setup_.program->compilation().system->devices().front().ticksPerSecond};
    const auto call = [&](std::size_t executable, std::int64_t token) {
      return callOf(context, executable, token);
    };
    PIPESCOPE_ASSIGN(
        const std::vector<model::Outcome> outcomes,
        generate(generation_, setup_.program->executables().front().rowsPerCall(), timebase, call));
    for (const model::Outcome& outcome : outcomes)
      context.device.addOutcome(0, outcome.name, outcome.unit, outcome.basis, outcome.value);
    return {};
  }

 private:
  base::Result<model::Run> callOf(RunContext& context, std::size_t executable, std::int64_t token) {
    PIPESCOPE_TRY(run::checkCancelled(context.progress));
    context.progress.report(static_cast<double>(token) / static_cast<double>(generation_.answer),
                            fmt::format("token {}/{}", token, generation_.answer));
    const std::string name = token == 1 ? "prompt, token 1" : fmt::format("token {}", token);
    PIPESCOPE_ASSIGN(const run::CallResult result,
                     executables_[executable]->call(context.device, {name}, context.progress));
    context.result.emulatedSeconds = context.device.seconds(result.run.end);
    return result.run;
  }

  RunSetup setup_;
  Generation generation_;
  std::vector<std::unique_ptr<run::ModelExecutable>> executables_;
};

}  // namespace

std::unique_ptr<ExecutableRun> makeGeneration(const RunSetup& setup, const Generation& generation) {
  return std::make_unique<GenerationRun>(setup, generation);
}

}  // namespace pipescope::app
