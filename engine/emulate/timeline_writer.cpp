#include "engine/emulate/timeline_writer.h"

#include <algorithm>

namespace pipescope::emulate {

void TimelineWriter::place(int device, const SegmentRefs& segments, const Where& where) {
  DeviceClock& at = clock(device);
  for (const SegmentRef& segment : segments) {
    const Ticks start = at.free;
    at.free += segment.ticks;
    if (model::isComputePass(segment.pass)) {
      computed_.start = std::min(computed_.start, start);
      computed_.end = std::max(computed_.end, at.free);
      computed_.busy += segment.ticks;
    }
    if (!record_) continue;
    model::Placement row;
    row.segment = segment.id;
    row.device = ids_.devices[static_cast<std::size_t>(device)];
    row.start = start;
    row.end = at.free;
    row.run = run_;
    row.stage = where.stage;
    row.chunk = where.chunk;
    row.pass = segment.pass;
    row.microBatch = where.microBatch;
    row.iteration = where.iteration;
    row.slot = where.slot;
    at.last = recorder_.add(row);
  }
}

void TimelineWriter::wait(int device, Ticks until, model::WaitCause cause, model::PlacementId waitedFor,
                          int waitedForDevice, const Where& where) {
  DeviceClock& at = clock(device);
  if (until <= at.free) return;
  if (record_) {
    model::Wait row;
    row.device = ids_.devices[static_cast<std::size_t>(device)];
    row.start = at.free;
    row.end = until;
    row.cause = cause;
    row.waitedFor = waitedFor;
    if (waitedForDevice >= 0) row.waitedForDevice = ids_.devices[static_cast<std::size_t>(waitedForDevice)];
    row.run = run_;
    row.iteration = where.iteration;
    row.stage = at.stage;
    row.slot = where.slot;
    recorder_.add(row);
  }
  at.free = until;
}

void TimelineWriter::transfer(const BoundaryFlow& flow, Ticks start, Ticks end, model::PlacementId source,
                              const Where& where) {
  if (!record_ || end <= start) return;
  model::Transfer row;
  row.fromLane = flow.fromLane;
  row.toLane = flow.toLane;
  row.link = flow.link;
  row.kind = flow.kind;
  row.bytes = flow.bytes;
  row.start = start;
  row.end = end;
  row.from = source;
  row.run = run_;
  row.iteration = where.iteration;
  row.microBatch = where.microBatch;
  row.slot = where.slot;
  recorder_.add(row);
}

void TimelineWriter::occupied(int device, Ticks until) {
  if (until > clock(device).free) clock(device).free = until;
}

void TimelineWriter::count(model::CounterId counter, Ticks time, double value) {
  if (record_) recorder_.add(model::CounterSample{counter, time, run_, value});
}

}  // namespace pipescope::emulate
