#pragma once
// Makes the table of the longest idle stretches, and recognises the words with which users look for one
// ("longest gap of IPU2").
#include <optional>

#include "profiler/analysis/timeline/idle_stretches.h"
#include "profiler/sections/frame/section.h"
#include "views/shell/selection.h"

namespace pipescope::pages {

/// Number of stretches of each device and cause that the window keeps.
inline constexpr std::size_t kGapsOfEach = 100;

/// Gaps that a user wants to see; none: of every device, with every cause.
struct GapChoice {
  model::DeviceId device;
  std::optional<model::WaitCause> cause;
};

/// The chosen gaps of the executable's last call, the longest first.
std::vector<analysis::IdleStretch> chosenGaps(const analysis::IdleStretches& all, const GapChoice& choice);
/// These gaps as a table. Columns with the key "…_cycles" have ticks of device 0.
sections::SectionTable gapTable(const std::vector<analysis::IdleStretch>& gaps, std::int64_t all,
                                const analysis::Catalog& catalog, model::ExecutableId executable);

/// Reads words such as "gap", "longest gap of device 2", "wait IPU2", "idle"; none: the words mean something
/// else.
std::optional<GapChoice> gapWords(const QString& words, const analysis::Catalog& catalog);

/// The gap as what is selected on all pages.
shell::Selected subjectOf(const analysis::IdleStretch& gap);

}  // namespace pipescope::pages
