#pragma once
// The rows of a timeline. Each device has a group of rows with its passes, its steps and its transfers.
#include <set>
#include <string>
#include <vector>

#include "profiler/analysis/timeline/name_uses.h"
#include "profiler/geometry/timeline/timeline_model.h"

namespace pipescope::geometry {

enum class RowKind {
  activity,  ///< passes and waits of a track
  flame,     ///< one level of the name path of steps
  flat,      ///< steps of one lane
  transfer,  ///< transfers with one peer, in one direction
  counter,   ///< a value over time
  tiles,     ///< work of every tile in each step
  wall,      ///< calls from the host, with their wall time
};

/// Indices of the groups that belong to no device.
inline constexpr int kWholeRun = -1, kHost = -2;

enum class StepRows { flame, flat, none };

struct TimelineOptions {
  bool byMicroBatch = false;
  StepRows steps = StepRows::flame;
  bool transfers = true;
  std::set<int> collapsed;  ///< devices that show only their passes and waits
  bool counters = true;
  bool tiles = false;
  int counterHeight = 26, tilesHeight = 72;  ///< pixels
  std::set<int> hidden;                      ///< devices that are not shown
  std::vector<int> order;                ///< devices that come first, in this order; the others follow them
  std::set<int> pinned;                  ///< devices that stay visible above the others
  std::set<std::string> pinnedCounters;  ///< counters of the whole run that stay visible above all devices
  /// True to show only the first of many devices that do the same, with the number of the others.
  bool foldAlike = true;
  bool byStage = false;  ///< devices with stages come first, in the order of stages
  /// Query whose steps stand out: everything else is dimmed unless the query is empty.
  analysis::NameQuery find;
  friend bool operator==(const TimelineOptions&, const TimelineOptions&) = default;
};

struct TimelineRow {
  RowKind kind = RowKind::activity;
  int device = 0, track = 0;
  int lane = 0;   ///< index of the flame, flat or transfer lane; of a counter, into TimelineModel::counters
  int level = 0;  ///< level within a flame lane
  int y = 0, height = 0;
  std::string label;
  std::string scale;  ///< ends of a counter's axis, such as "0–22.8 MiB"
};

struct TimelineGroup {
  int device = 0;  ///< kWholeRun, kHost
  int y = 0, height = 0;
  int firstRow = 0, rows = 0;
  std::string title, subtitle;
  bool collapsed = false;
};

struct TimelineLayout {
  std::vector<TimelineGroup> groups;  ///< sorted by y
  int pinned = 0;                     ///< height of the pinned groups at the top
  std::vector<TimelineRow> rows;      ///< sorted by y
  int height = 0;

  /// The index of the row at `y`; −1: between rows.
  int rowAt(int y) const;
  int groupAt(int y) const;
};

/// Heights in pixels. All transfer lanes of a device share `transfers` pixels, but each is at least
/// `transfer` high.
struct RowMetrics {
  int activity = 22, step = 15, transfer = 4, transfers = 12, rowGap = 1, groupGap = 8, counter = 26,
      tiles = 72, noTiles = 20;  ///< noTiles: a row that says that tiles were not recorded
};

/// Lowers the rows of steps, at most to kLowestStep, until all devices fit into `height` pixels. Returns the
/// given metrics if that is not enough. On a large screen, from kLargePicture pixels on, all rows become
/// taller instead, at most kMostGrowth times, while all devices fit.
inline constexpr int kLowestStep = 9, kLargePicture = 1'000;
inline constexpr double kMostGrowth = 1.8;
RowMetrics fitRows(const TimelineModel& model, const TimelineOptions& options, int height,
                   const RowMetrics& metrics = {});

/// Devices of a trace up to which none is left out because it is like another.
inline constexpr std::size_t kFewDevices = 16;

/// Returns for each device the number of others that it stands for.
std::vector<int> foldedDevices(const analysis::Trace& trace, const TimelineOptions& options);

/// The visible devices in their order.
std::vector<int> shownDevices(const analysis::Trace& trace, const TimelineOptions& options);

/// False if a track holds nothing but steps that belong to nothing known. The rows of steps show all of them,
/// so the track has no row of passes.
bool showsPasses(const analysis::TraceTrack& track, StepRows steps);

/// Gives each shown row of the model its place and height, in pixels from the top.
TimelineLayout layOutTimeline(const TimelineModel& model, const TimelineOptions& options,
                              const RowMetrics& metrics = {});

}  // namespace pipescope::geometry
