#pragma once
// Words that depend on the kind of device: sections are made in those of an IPU.
#include "profiler/sections/section.h"

namespace pipescope::sections {

/// How people read ticks: cycles, cost units of `fixed`, µs where a device's engines have clocks of their
/// own.
struct TickUnit {
  double ticks = 1;  ///< of the timebase, in one
  const char* word = "cycles";
};
TickUnit tickUnitOf(std::int64_t ticksPerSecond, bool fixed);
TickUnit tickUnitOf(const analysis::Catalog& catalog);
/// Text shows ticks in this unit; where it is µs, labels and headings say so.
void showTicksIn(Section& section, const TickUnit& unit);

/// Sets in what unit a section shows ticks and says so; leaves out what only devices of many tiles have.
void speakOfDevices(Section& section, const analysis::Catalog& catalog);

}  // namespace pipescope::sections
