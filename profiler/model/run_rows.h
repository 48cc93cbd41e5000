#pragma once
// Rows of what ran: placements, transfers, waits, counters and what came of it.
#include <cstdint>
#include <string>

#include "profiler/model/row_declaration.h"

namespace pipescope::model {

struct Run {
  RunId id;
  ExecutableId executable;
  std::string name;
  Ticks start, end;
  std::int64_t samples = 0;
  std::int64_t wallStartNs = 0, wallEndNs = 0;
  PIPESCOPE_ROW("run", blocks, "One call from the host, in both clocks") {
    visit("id", row.id, "", "");
    visit("executable", row.executable, "", "");
    visit("name", row.name, "", "");
    visit("start", row.start, "ticks", "of device 0's timebase");
    visit("end", row.end, "ticks", "");
    visit("samples", row.samples, "samples", "rows consumed");
    visit("wall_start_ns", row.wallStartNs, "ns",
          "host clock, since the program's start; 0: nothing ran on the host");
    visit("wall_end_ns", row.wallEndNs, "ns", "");
  }
};

struct Placement {
  PlacementId id;
  SegmentId segment;
  DeviceId device;
  Ticks start, end;
  RunId run;
  std::int32_t replica = 0, stage = -1, chunk = 0;
  Pass pass = Pass::forward;
  std::int32_t microBatch = -1, iteration = -1, slot = -1;
  PIPESCOPE_ROW("placement", blocks, "A segment on a device at a time") {
    visit("id", row.id, "", "dense, ascending");
    visit("segment", row.segment, "", "");
    visit("device", row.device, "", "");
    visit("start", row.start, "ticks", "");
    visit("end", row.end, "ticks", "");
    visit("run", row.run, "", "");
    visit("replica", row.replica, "", "of an imported trace: replica × ranks of a place + rank");
    visit("stage", row.stage, "", "");
    visit("chunk", row.chunk, "", "");
    visit("pass", row.pass, "", "Pass");
    visit("micro_batch", row.microBatch, "", "of this iteration");
    visit("iteration", row.iteration, "", "device iteration within the run");
    visit("slot", row.slot, "", "pipeline cycle; −1 where the schedule has none");
  }
};

struct Transfer {
  TransferId id;
  LaneId fromLane, toLane;
  LinkId link;
  TransferKind kind = TransferKind::activation;
  Bytes bytes;
  Ticks start, end;
  PlacementId from;
  RunId run;
  std::int32_t iteration = -1, microBatch = -1, slot = -1;
  PIPESCOPE_ROW("transfer", blocks, "Bytes on their way between devices") {
    visit("id", row.id, "", "dense, ascending");
    visit("from_lane", row.fromLane, "", "");
    visit("to_lane", row.toLane, "", "");
    visit("link", row.link, "", "");
    visit("kind", row.kind, "", "TransferKind");
    visit("bytes", row.bytes, "B", "");
    visit("start", row.start, "ticks", "of the sending device");
    visit("end", row.end, "ticks", "");
    visit("from_placement", row.from, "", "what produced the bytes");
    visit("run", row.run, "", "");
    visit("iteration", row.iteration, "", "");
    visit("micro_batch", row.microBatch, "", "");
    visit("slot", row.slot, "", "");
  }
};

struct Wait {
  DeviceId device;
  Ticks start, end;
  WaitCause cause = WaitCause::fill;
  PlacementId waitedFor;
  DeviceId waitedForDevice;
  RunId run;
  std::int32_t iteration = -1, stage = -1, slot = -1;
  PIPESCOPE_ROW("wait", blocks, "A gap of a device and its cause") {
    visit("device", row.device, "", "");
    visit("start", row.start, "ticks", "");
    visit("end", row.end, "ticks", "");
    visit("cause", row.cause, "", "WaitCause");
    visit("waited_for", row.waitedFor, "", "the placement whose end bound it; none: the host");
    visit("waited_for_device", row.waitedForDevice, "", "");
    visit("run", row.run, "", "");
    visit("iteration", row.iteration, "", "");
    visit("stage", row.stage, "", "first stage of the waiting device");
    visit("slot", row.slot, "", "");
  }
};

struct Counter {
  CounterId id;
  ExecutableId executable;
  DeviceId device;
  std::string name, unit;
  PIPESCOPE_ROW("counter", plain, "A value over time") {
    visit("id", row.id, "", "");
    visit("executable", row.executable, "", "");
    visit("device", row.device, "", "none: of the whole run");
    visit("name", row.name, "", "loss, accuracy, stash_entries, live_bytes …");
    visit("unit", row.unit, "", "");
  }
};

struct CounterSample {
  CounterId counter;
  Ticks time;
  RunId run;
  double value = 0;
  PIPESCOPE_ROW("counter_sample", blocks, "The value of a counter from this time on") {
    visit("counter", row.counter, "", "");
    visit("time", row.time, "ticks", "of its device, or of device 0");
    visit("run", row.run, "", "");
    visit("value", row.value, "", "in the counter's unit");
  }
};

struct Outcome {
  ExecutableId executable;
  std::string name, unit, basis;
  double value = 0;
  OutcomeKind kind = OutcomeKind::result;
  PIPESCOPE_ROW("outcome", plain,
                "What a run achieved: final_loss, test_accuracy, host_samples_per_second …") {
    visit("executable", row.executable, "", "none: of the whole run");
    visit("name", row.name, "", "");
    visit("unit", row.unit, "", "");
    visit("basis", row.basis, "", "over what: e.g. 'rows returned by the last call (output mode final)'");
    visit("value", row.value, "", "");
    visit("kind", row.kind, "", "OutcomeKind");
  }
};

struct Diagnostic {
  Severity severity = Severity::info;
  std::string code, text;
  ExecutableId executable;
  DeviceId device;
  PIPESCOPE_ROW("diagnostic", plain, "Something a user should know") {
    visit("severity", row.severity, "", "");
    visit("code", row.code, "", "e.g. out_of_memory");
    visit("text", row.text, "", "a sentence");
    visit("executable", row.executable, "", "");
    visit("device", row.device, "", "");
  }
};

struct Note {
  std::int64_t id = 0;
  DeviceId device;
  Ticks start, end;
  std::string text;
  PIPESCOPE_ROW("note", plain, "What somebody wrote at a place of the trace") {
    visit("id", row.id, "", "");
    visit("device", row.device, "", "none: whole trace");
    visit("start", row.start, "ticks", "");
    visit("end", row.end, "ticks", "");
    visit("text", row.text, "", "");
  }
};

/// Summary of many rows that follow each other, as seen from afar. The store makes it while it writes
/// (pyramid.h): a node of level 1 stands for the next few rows of its lane, one of level n + 1 for eight of
/// level n.
struct LevelNode {
  LevelContent content = LevelContent::placements;
  std::int32_t level = 1;
  LaneId lane;
  std::int64_t owner = -1;
  Ticks start, end, busy;
  std::int64_t count = 0;
  std::int32_t dominant = 0;
  Ticks dominantTicks;
  PIPESCOPE_ROW("level_node", blocks,
                "Neighbouring rows of one lane taken together, for pictures from afar") {
    visit("content", row.content, "", "LevelContent: what the rows are");
    visit("level", row.level, "", "1: of rows; n + 1: of eight nodes of level n");
    visit("lane", row.lane, "", "placements: of the segment; transfers: the sender's; none: waits");
    visit("owner", row.owner, "", "device; of steps the segment");
    visit("start", row.start, "ticks", "of the first row; steps: within the segment");
    visit("end", row.end, "ticks", "largest end");
    visit("busy", row.busy, "ticks", "sum of the rows' lengths");
    visit("count", row.count, "", "rows");
    visit("dominant", row.dominant, "", "Pass, WaitCause, TransferKind or StepKind with most time");
    visit("dominant_ticks", row.dominantTicks, "ticks", "its time");
  }
};

}  // namespace pipescope::model
