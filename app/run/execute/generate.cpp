#include "app/run/execute/generate.h"

#include <fmt/format.h>

#include <vector>

#include "app/run/execute/run.h"
#include "profiler/base/number_text.h"
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
    PIPESCOPE_ASSIGN(const model::Run prompt, call(context, 0, "prompt, token 1"));
    model::Run last = prompt;
    std::int64_t token = 2;
    for (std::size_t i = 0; i < generation_.steps.size(); ++i) {
      for (std::int64_t step = 0; step < generation_.steps[i].count; ++step, ++token) {
        PIPESCOPE_TRY(run::checkCancelled(context.progress));
        context.progress.report(static_cast<double>(token) / static_cast<double>(generation_.answer),
                                fmt::format("token {}/{}", token, generation_.answer));
        PIPESCOPE_ASSIGN(last, call(context, i + 1, fmt::format("token {}", token)));
      }
    }
    addOutcomes(context, prompt, last);
    return {};
  }

 private:
  base::Result<model::Run> call(RunContext& context, std::size_t executable, const std::string& name) {
    PIPESCOPE_ASSIGN(const run::CallResult result,
                     executables_[executable]->call(context.device, {name}, context.progress));
    context.result.emulatedSeconds = context.device.seconds(result.run.end);
    return result.run;
  }

  void addOutcomes(const RunContext& context, const model::Run& prompt, const model::Run& last) const {
    const auto seconds = [&](base::Ticks ticks) { return context.device.seconds(ticks); };
    const std::int64_t samples = setup_.program->executables().front().rowsPerCall();
    const std::string basis =
        fmt::format("{} prompts of {} tokens, {} new tokens each", base::groupedText(samples),
                    base::groupedText(generation_.prompt), base::groupedText(generation_.answer));
    context.device.addOutcome(0, "time_to_first_token", "s", basis, seconds(prompt.end - prompt.start));
    if (generation_.answer > 1) {
      context.device.addOutcome(0, "time_per_token", "s", basis,
                                seconds(last.end - prompt.end) / static_cast<double>(generation_.answer - 1));
    }
    context.device.addOutcome(
        0, "output_tokens_per_second", "tokens/s", basis,
        static_cast<double>(samples * generation_.answer) / seconds(last.end - prompt.start));
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
