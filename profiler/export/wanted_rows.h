#pragma once
// Reads the rows that an export for viewers of traces asks for, block by block.
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "profiler/analysis/host/host_alignment.h"
#include "profiler/analysis/host/host_timeline.h"
#include "profiler/export/chrome.h"
#include "profiler/export/recorded_work.h"
#include "profiler/model/source.h"

namespace pipescope::exporting {

class WantedRows {
 public:
  WantedRows(const ChromeRequest& request, base::Progress& progress)
      : request_(request), progress_(progress) {
    const model::Executable* executable = request.catalog.executable(request.executable);
    if (request.run || executable == nullptr) return;
    std::int64_t before = 0;
    for (const model::Run* call : request.catalog.runsOf(request.executable)) {
      iterationsBefore_[call->id] = before;
      before += executable->deviceIterations;
    }
  }

  /// Calls visit(row) for every row of the table, until visit() fails or the user stops the export.
  template <class Row, class Visit>
  base::Status each(Visit&& visit) const {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, request_.source.blocks<Row>());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (progress_.cancelled()) return base::cancelled("Exporting was stopped.");
      PIPESCOPE_ASSIGN(const model::Rows<Row> block, request_.source.block<Row>(b));
      for (const Row& row : *block) PIPESCOPE_TRY(visit(row));
    }
    return {};
  }

  /// Calls visit(counter, sample, device) for every sample of the wanted calls that a viewer can draw. The
  /// device is one whose clock dates the sample. A recorded run's queue of launches is left out, because the
  /// import counts the launches itself.
  template <class Visit>
  base::Status eachCounterSample(Visit&& visit) const {
    PIPESCOPE_ASSIGN(const model::Rows<model::Counter> rows, request_.source.rows<model::Counter>());
    const base::IdVector<model::CounterId, model::Counter> counters(*rows);
    return each<model::CounterSample>([&](const model::CounterSample& row) -> base::Status {
      const model::Counter* counter = counters.find(row.counter);
      if (counter == nullptr || !std::isfinite(row.value)) return {};
      if (counter->executable != request_.executable || !has(row.run)) return {};
      if (request_.catalog.measured() && counter->name == kLaunchCounter) return {};
      return visit(*counter, row, counter->device.valid() ? counter->device : model::DeviceId(0));
    });
  }

  /// True for the call of the request. If it asks for all calls: true for those of its executable, and for
  /// calls that the profile does not know.
  bool has(model::RunId call) const {
    if (request_.run) return call == *request_.run;
    const model::Run* known = request_.catalog.runs.find(call);
    return known == nullptr || known->executable == request_.executable;
  }

  /// The number of an iteration within the export, which goes on from one call to the next. Below 0: none.
  template <class Row>  // a placement, a transfer or a wait
  std::int64_t iterationOf(const Row& row) const {
    const auto before = iterationsBefore_.find(row.run);
    return row.iteration < 0 || before == iterationsBefore_.end() ? row.iteration
                                                                  : before->second + row.iteration;
  }
  /// Actions of the host, with the alignment that puts them beside the wanted calls.
  struct Host {
    std::shared_ptr<const analysis::HostTimeline> timeline;
    analysis::HostAlignment alignment;
    std::int64_t size() const {
      return alignment.empty() ? 0
                               : static_cast<std::int64_t>(timeline->spanCount() + timeline->eventCount());
    }
  };
  /// A span or an event of the host.
  struct HostPart {
    std::string lane;  ///< "main (wall clock)"
    bool isEvent = false;
    const analysis::HostLabel& words;
    base::Ticks wallStart, wallEnd;  ///< nanoseconds since HostTimeline::zero; equal for an event
    base::Ticks start, end;          ///< range in the time of the devices
  };
  /// Calls visit(HostPart) for all that has a time on the devices: lane by lane, the spans of a lane before
  /// its events, and a span before those in it.
  template <class Visit>
  static base::Status eachHostPart(const Host& host, Visit&& visit) {
    if (host.alignment.empty()) return {};
    for (const analysis::HostLane& lane : host.timeline->lanes) {
      const std::string name = lane.title() + " (wall clock)";
      const auto visitPart = [&](bool isEvent, std::int32_t label, base::Ticks start,
                                 base::Ticks end) -> base::Status {
        const auto place = host.alignment.onDevices(start, end);
        if (!place) return {};
        const analysis::HostLabel& words = host.timeline->names[static_cast<std::size_t>(label)];
        return visit(HostPart{name, isEvent, words, start, end, place->first, place->second});
      };
      for (const analysis::HostItem& span : lane.spans)
        PIPESCOPE_TRY(visitPart(false, span.name, span.start, span.end));
      for (const analysis::HostMark& event : lane.events)
        PIPESCOPE_TRY(visitPart(true, event.name, event.time, event.time));
    }
    return {};
  }
  base::Result<Host> host() const {
    PIPESCOPE_ASSIGN(const auto timeline, analysis::hostTimeline(request_.source, progress_));
    std::vector<model::Run> calls;
    for (const model::Run& run : request_.catalog.runs) {
      if (has(run.id)) calls.push_back(run);
    }
    return Host{timeline, analysis::HostAlignment(std::move(calls), timeline->zero)};
  }

 private:
  const ChromeRequest& request_;
  base::Progress& progress_;
  std::map<model::RunId, std::int64_t> iterationsBefore_;  // iterations before each call, if all are exported
};

}  // namespace pipescope::exporting
