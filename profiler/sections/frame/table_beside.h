#pragma once
// Shows the tables of two profiles as one: the figures of both, and their change.
#include "profiler/sections/frame/section.h"

namespace pipescope::sections {

/// Prefixes that withSource() puts before the keys of its columns.
inline constexpr const char *kSourceKey = "source_", *kDeltaKey = "delta_";

/// The table of the target with the figures of the source's table of the same kind. Rows are matched by their
/// names: the first columns that hold no figures, as few of them as tell the rows of both tables apart. Each
/// figure gets three columns: the source's (`source_KEY`), the target's (`KEY`), and the change
/// (`delta_KEY`). A table without figures gets a column of the source for each text that differs. The
/// target's rows keep their places; rows that only the source has follow them. A missing side has no value.
/// `ticks` converts the source's ticks to the target's; 0: their times say nothing about each other, so the
/// source has none.
SectionTable withSource(const SectionTable& target, const SectionTable& source, double ticks = 1);

/// The keys of the target's columns that have a column of the source beside them, in their order.
std::vector<std::string> comparedKeys(const SectionTable& merged);

}  // namespace pipescope::sections
