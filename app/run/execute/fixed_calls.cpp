#include "app/run/execute/fixed_calls.h"

#include <fmt/format.h>

#include "app/run/execute/run.h"

namespace pipescope::app {

base::Status runFixed(RunContext& context) {
  const std::int64_t calls = context.configuration.integer("fixed.calls");
  for (std::int64_t call = 0; call < calls; ++call) {
    PIPESCOPE_TRY(checkCancelled(context.progress));
    context.progress.report(static_cast<double>(call) / static_cast<double>(calls),
                            fmt::format("call {} of {}", call + 1, calls));
    PIPESCOPE_ASSIGN(const model::Run run,
                     emulateCall(context, 0, fmt::format("call {}", call + 1), 0, 0, 0));
    context.result.emulatedUnits = base::toSeconds(
        run.end, base::Timebase{context.compilation.system->devices().front().ticksPerSecond});
  }
  return {};
}

}  // namespace pipescope::app
