#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "profiler/import/recognise/recorded_pass.h"

namespace pipescope::importing {

/// Turns the times of a trace, in picoseconds, into those of the profile.
struct TraceClock {
  std::int64_t zero = 0;  ///< the time that becomes 0
  double drift = 0;       ///< seconds that the clock falls behind in each second
  std::size_t group = 0;  ///< clocks of different groups have nothing in common

  std::int64_t common(std::int64_t time) const {
    const std::int64_t since = time - zero;
    return drift == 0 ? since : since + std::llround(drift * static_cast<double>(since));
  }
};

/// Corrections of the clocks of traces, so that nothing is used before it was made.
struct ClockAlignment {
  /// Picoseconds to add to the times of each trace. The first trace of each group keeps its clock.
  std::vector<std::int64_t> offsets;
  /// Drift of each clock against the first one, as TraceClock::drift, to be applied after the offset.
  std::vector<double> drifts;
  /// Half of the widest range of offsets that is possible between two traces that are compared directly.
  std::int64_t uncertainty = 0;
  /// Number of facts that bound the offsets, and of those that contradict the result.
  std::int64_t pairs = 0, contradictions = 0;
  /// The group of each trace, from 0. Facts relate the clocks within a group, but not those of two groups.
  std::vector<std::size_t> groups;
  std::size_t groupCount() const {
    return groups.empty() ? 0 : *std::max_element(groups.begin(), groups.end()) + 1;
  }
};

/// Facts that relate the clocks.
enum class ClockFacts {
  messages,  ///< passes and messages
  all,       ///< collectives, too
  guessed,   ///< collectives on hosts whose members the trace does not state count, too
};

/// Aligns the clocks of traces by what one of them makes and another one uses:
/// - a pass begins after the pass of the neighbouring stage that made its input has ended;
/// - a receive ends after its send began;
/// - no rank leaves a collective before every rank has entered it.
/// Each fact bounds the difference of two clocks from one side. The middle of the range is taken. Where no
/// constant offset satisfies all facts, the clocks drift: the offset is then a line through the middles of
/// the ranges over time, of least squares, weighted by 1 ÷ width². With several ranges around a circle of
/// traces the offsets are those of least squares, with the same weights. What is guessed must be dropped if
/// anything contradicts the result.
///
/// The events are those of each trace, in the trace's own clock, completed by inferEvents().
ClockAlignment alignClocks(const std::vector<RecordedEvents>& traces, ClockFacts facts = ClockFacts::all);

/// Number of these facts that would be used before they were made if these offsets were added.
std::int64_t contradictionsOf(const std::vector<RecordedEvents>& traces,
                              const std::vector<std::int64_t>& offsets,
                              ClockFacts facts = ClockFacts::messages);

/// True if with these offsets two traces share several collectives, and each of them is over on one of the
/// two before it begins on the other. Single ones prove nothing, because the root of a broadcast need not
/// wait. Traces of different training steps share none.
bool collectivesAreApart(const std::vector<RecordedEvents>& traces, const std::vector<std::int64_t>& offsets);

}  // namespace pipescope::importing
