#include "app/run/execute/fixed_calls.h"

#include <fmt/format.h>

#include "app/run/execute/run.h"
#include "profiler/record/host_span.h"

namespace pipescope::app {

base::Status runFixed(RunContext& context) {
  const std::int64_t calls = context.configuration().integer("fixed.calls");
  const bool costs = context.configuration().text("fixed.unit").empty();
  PIPESCOPE_HOST_SPAN(span, "emulator", "emulate all calls");
  PIPESCOPE_ASSIGN(const auto executable, run::ModelExecutable::create(context.program, 0));
  for (std::int64_t call = 0; call < calls; ++call) {
    PIPESCOPE_TRY(run::checkCancelled(context.progress));
    context.progress.report(static_cast<double>(call) / static_cast<double>(calls),
                            fmt::format("call {} of {}", call + 1, calls));
    PIPESCOPE_ASSIGN(const run::CallResult result,
                     executable->call(context.device, {fmt::format("call {}", call + 1)}, context.progress));
    (costs ? context.result.emulatedUnits : context.result.emulatedSeconds) =
        context.device.seconds(result.run.end);
  }
  return {};
}

}  // namespace pipescope::app
