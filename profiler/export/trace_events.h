#pragma once
// The events that exports for viewers of traces consist of. Every such format shows the same events; it only
// writes them in its own way.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "profiler/analysis/pipeline/wait_axes.h"
#include "profiler/export/chrome.h"
#include "profiler/export/event_work.h"
#include "profiler/export/recorded_work.h"
#include "profiler/export/wanted_rows.h"

namespace pipescope::exporting {

__extension__ using Picoseconds = __int128;  // products of ticks and clocks

struct TraceSlice {
  std::int64_t process = 0, track = 0;
  std::string name, category;
  Picoseconds start = 0, end = 0;
  std::vector<std::pair<const char*, std::variant<std::int64_t, std::string>>> facts = {};
  std::int64_t flow = -1;  ///< number of the transfer that leads from one slice to another; −1: none
  bool flowEnds = false;
};

/// A format of viewers. Numbers of processes and tracks are unique in a file.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual base::Status process(std::int64_t number, const std::string& name) = 0;
  /// Describes a track before its first event. Tracks of a process stand in the order of `rank`.
  virtual base::Status track(std::int64_t number, std::int64_t process, const std::string& name,
                             int rank) = 0;
  virtual base::Status counterTrack(std::int64_t number, std::int64_t process, const std::string& name) = 0;
  /// Slices of a track do not overlap, but for those that contain each other.
  virtual base::Status slice(const TraceSlice& slice) = 0;
  virtual base::Status counter(std::int64_t track, std::int64_t process, const std::string& name,
                               Picoseconds time, double value) = 0;
};

/// Walks the rows of a profile block by block and makes events of them. A device is a process; its passes,
/// its lanes, its waits and what it sends to and receives from each other device are tracks.
class TraceEvents {
 public:
  TraceEvents(const ChromeRequest& request, base::Progress& progress)
      : request_(request), catalog_(request.catalog), rows_(request, progress), work_(request) {}

  /// Reads what has to be known before the first event. Keeps at most so many transfers, for a format that
  /// refuses more events.
  base::Status read(std::int64_t mostTransfers);
  /// Number of events, without waits and counters.
  base::Result<std::int64_t> size() const;
  base::Status write(TraceSink& sink);

 private:
  const model::Segment* wantedSegment(const model::Placement& row) const;
  base::Status readSteps();
  base::Status readTransfers(std::int64_t most);
  base::Status processes(TraceSink& sink) const;
  base::Result<std::int64_t> track(TraceSink& sink, std::int64_t process, const std::string& name, int rank);
  base::Result<std::int64_t> freeTrack(TraceSink& sink, std::int64_t process, const std::string& name,
                                       int rank, Picoseconds start, Picoseconds end);
  std::int64_t processOf(model::DeviceId device) const;
  std::int64_t processOfLane(model::LaneId id) const;
  model::DeviceId clockOf(const model::Transfer& row) const;
  std::string nameOfDevice(model::DeviceId device) const;
  std::string roleNameOf(model::LaneId lane) const;
  std::string trackNameOf(model::LaneId lane) const;
  const std::string& nameOf(model::ProgramId id, model::StepKind kind);
  Picoseconds picoseconds(base::Ticks ticks, model::DeviceId device) const;
  base::Status placement(TraceSink& sink, const model::Placement& row);
  base::Status pass(TraceSink& sink, const model::Placement& row, const model::Segment& segment);
  base::Status steps(TraceSink& sink, const model::Placement& row, const model::Segment& segment,
                     bool withoutPass);
  base::Status transfer(TraceSink& sink, const model::Transfer& row);
  base::Status wait(TraceSink& sink, const model::Wait& row);
  /// Reads what says along which axes waits for collectives run.
  base::Status readAwaited();
  std::optional<model::MeshAxis> axisOf(const model::Wait& row) const;
  base::Status counters(TraceSink& sink);
  base::Status hostParts(TraceSink& sink);

  const ChromeRequest& request_;
  const analysis::Catalog& catalog_;
  WantedRows rows_;
  EventWork work_;
  std::optional<WantedRows::Host> host_;  // read() sets it
  RecordedLaunches launches_;
  std::unordered_map<model::SegmentId, std::vector<model::Step>> steps_;
  std::vector<model::Transfer> transfers_;
  std::optional<analysis::WaitAxes> axes_;  // none: a recorded run
  std::unordered_map<model::PlacementId, analysis::AwaitedPlacement> awaited_;
  std::set<std::pair<model::DeviceId, int>> held_;                       // stages of each device
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> tracks_;  // keyed by process and name
  // End of the last slice of each of the tracks that share a name, by process and name.
  std::map<std::pair<std::int64_t, std::string>, std::vector<Picoseconds>> reached_;
  std::unordered_map<std::int64_t, std::string> names_;
};

}  // namespace pipescope::exporting
