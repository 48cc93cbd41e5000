#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "profiler/base/progress.h"
#include "profiler/import/align/clock_alignment.h"
#include "profiler/import/read/trace_data.h"
#include "profiler/import/recognise/recogniser.h"
#include "profiler/import/recognise/rules.h"
#include "profiler/import/write/pipeline_rows.h"
#include "profiler/model/rows.h"
#include "profiler/record/recorder.h"

namespace pipescope::importing {

/// Writes the rows of traces: a device for each accelerator or process, a lane for each level of a thread,
/// segments that are placed once, and the passes that the rules recognise.
class ProfileRows {
 public:
  ProfileRows(record::Recorder& recorder, const Rules& rules) : recorder_(recorder), rules_(rules) {}

  /// Writes all events of a trace, and recognises them if nobody has. Fails if the user stops the import.
  /// `devicePrefix` comes before the names of its devices.
  base::Status add(TraceData& trace, Recogniser& recogniser, const std::string& devicePrefix,
                   const TraceClock& clock, base::Executor* executor, base::Progress& progress);
  /// Writes what is known only after the last trace. `source` names the traces for people.
  /// `zero` is the time that became 0, in the clock of the first trace.
  base::Status end(const std::string& source, Picoseconds zero);

  std::int64_t slices() const { return slices_; }

 private:
  struct TraceRows;
  void addInferred();
  model::DeviceId addDevice(const std::string& name, const std::string& kind, std::size_t clockGroup);

  record::Recorder& recorder_;
  const Rules& rules_;
  PipelineRows passes_;
  std::set<model::LaneRole> titled_;              ///< roles whose title is recorded
  std::map<std::string, model::DeviceId> named_;  // devices that rules name
  /// Work that a trace states of a pass: stage, pass, FLOP, and bytes of operands.
  using StatedWork = std::tuple<std::int32_t, model::Pass, std::int64_t, std::int64_t>;
  std::map<StatedWork, model::OperatorId> works_;
  std::int64_t slices_ = 0, recognised_ = 0, devices_ = 0;
  std::int64_t launchesOnly_ = 0;            // passes whose work on an accelerator is not known
  std::int64_t ranks_ = 0, ranksOfRun_ = 0;  // traces that state how many ranks ran, and how many these were
  base::Ticks last_;
};

}  // namespace pipescope::importing
