#pragma once
// Words in reports that depend on the emulated devices: the unit of times and the names of device parts.
#include <string>
#include <string_view>

#include "profiler/analysis/catalog.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::sections {

/// The unit in which reports show the ticks of a profile.
ShownTime shownTime(model::TickMeaning meaning, std::int64_t ticksPerSecond);

struct Words {
  ShownTime time;
  bool tiles = true;                  ///< true if a device consists of many units
  bool bytes = true;                  ///< false if transfers have costs but no sizes
  std::string exchange = "Exchange";  ///< heading for the time in which a device moves data within itself

  /// The heading of a column of times.
  const char* cycles() const { return time.isCycles() ? "Cycles" : "Time"; }
  /// The subject of a sentence about times: "cycles" or "times in µs".
  std::string cyclesOrTimes() const {
    return time.isCycles() ? "cycles" : std::string("times in ") + time.unit;
  }
  /// The basis of a table with times. It names the unit unless the unit is cycles.
  std::string basis(const std::string& what) const;
  /// The unit per `what`, such as "cycles per micro-batch" or "µs per micro-batch".
  std::string per(const char* what) const { return std::string(time.unit) + " per " + what; }
  /// Appends "sum over tiles" to `before` if a device consists of tiles.
  std::string overTiles(const std::string& before = "") const;
};
/// Chooses the words by the rows of the profile.
Words wordsOf(const analysis::Catalog& catalog);
/// Answer to what bounds devices whose engines mostly wait for the memory of the device, such as HBM.
inline constexpr const char* kMemoryBandwidth = "memory bandwidth";
/// Sentence of sections if no call is recorded.
inline constexpr const char* kNothingRan = "No call of this executable is recorded, so there are no times.";
/// Sentence of sections if the run was told to record no placements.
inline constexpr const char* kNothingPlaced =
    "The run recorded no placements, so there are no times of devices. Run with --record stages or steps.";
/// Sentence of sections about a trace without passes of stages.
inline constexpr const char* kNoPassesRecognised =
    "No passes of pipeline stages were recognised in the trace, so the figures of stages are empty. The "
    "sections kernels and collectives (page Recorded) show what accelerators did; import --rules names "
    "passes.";
/// Sentence of sections about a trace without slices.
inline constexpr const char* kNothingInTrace =
    "The trace holds no slices, only counters, marks or names, so there are no times of devices.";
/// Sentence of sections about this profile if nothing was placed.
inline const char* nothingPlaced(const analysis::Catalog& catalog) {
  return catalog.measured() ? kNothingInTrace : kNothingPlaced;
}
/// Sentence of sections if the run recorded placements but not the steps in them.
inline constexpr const char* kNoSteps =
    "The run recorded no steps, so nothing is known of what happens within a pass. Run with --record steps.";

/// The names of all causes of waits, kinds of steps, and lanes of a device: the same parts in every profile.
PartNames waitCauseNames();
PartNames stepKindNames();
PartNames laneNames();
/// The device's index and name, as tables show them. No device: no index, and the name "host".
Cell deviceIndexCell(model::DeviceId id);
Cell deviceNameCell(const analysis::Catalog& catalog, model::DeviceId id);
/// True if the configuration states time that the host takes, so that devices may wait for it.
bool hostTakesTime(const analysis::Catalog& catalog);
/// The host that bounds the emulated rate of an executable: its name, "stated by keys", or "no host stated".
/// Empty where times were measured or are given costs.
Cell hostCell(const analysis::Catalog& catalog, model::ExecutableKind kind);
/// The words for times in a unit other than the profile's own.
Words wordsFor(const ShownTime& time);

}  // namespace pipescope::sections
