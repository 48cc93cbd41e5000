#pragma once
// Source lines of recorded work, where a tracer has recorded the functions of a program with their lines.
#include <optional>
#include <string>
#include <string_view>

#include "profiler/analysis/timeline/trace.h"

namespace pipescope::analysis {

struct SourceLine {
  std::string file, function;
  std::int64_t line = 0;
  friend bool operator==(const SourceLine&, const SourceLine&) = default;
};

/// The line in a name such as "train.py(12): train_step", as PyTorch's profiler writes it with stacks.
std::optional<SourceLine> sourceLineIn(std::string_view name);

/// The line of the user's program at a time on a host thread of a device, or else that of a library. `lane`:
/// one lane of the thread. Nothing if no function with a line runs there, or its steps are not loaded.
std::optional<SourceLine> sourceLineAt(const Trace& trace, const Catalog& catalog, model::LaneId lane,
                                       Ticks time);

/// The line that started the work of a lane at this time: of the launch that an arrow joins with it, or of
/// the host thread itself.
std::optional<SourceLine> sourceLineOf(const Trace& trace, const Catalog& catalog, model::LaneId lane,
                                       Ticks start);

}  // namespace pipescope::analysis
