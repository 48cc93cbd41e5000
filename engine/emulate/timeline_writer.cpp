#include "engine/emulate/timeline_writer.h"

#include <algorithm>

namespace pipescope::emulate {

void TimelineWriter::place(int device, const SegmentRefs& segments, const WorkPlace& where) {
  for (const SegmentRef& segment : segments) place(device, segment, where);
}

void TimelineWriter::place(int device, const SegmentRef& segment, const WorkPlace& where) {
  DeviceClock& at = clock(device);
  const Ticks start = at.free;
  at.free += segment.ticks;
  if (model::isComputePass(segment.pass)) {
    computed_.start = std::min(computed_.start, start);
    computed_.end = std::max(computed_.end, at.free);
    computed_.busy += segment.ticks;
  }
  if (record_) at.last = recorder_.add(rowOf(device, segment, start, where));
  if (segment.pass == model::Pass::remote) return;
  at.ready = at.free;
  at.readyBy = at.last;
}

model::PlacementId TimelineWriter::placeOnOwnLane(int device, const SegmentRef& segment, Ticks start,
                                                  const WorkPlace& where) {
  return record_ ? recorder_.add(rowOf(device, segment, start, where)) : model::PlacementId();
}

model::Placement TimelineWriter::rowOf(int device, const SegmentRef& segment, Ticks start,
                                       const WorkPlace& where) const {
  model::Placement row;
  row.segment = segment.id;
  row.device = deviceId(device);
  row.start = start;
  row.end = start + segment.ticks;
  row.run = run_;
  row.replica = part_.replica;
  row.stage = where.stage;
  row.chunk = where.chunk;
  row.pass = segment.pass;
  row.microBatch = where.microBatch;
  row.iteration = where.iteration;
  row.slot = where.slot;
  return row;
}

void TimelineWriter::wait(int device, Ticks until, model::WaitCause cause, model::PlacementId waitedFor,
                          int waitedForDevice, const WorkPlace& where) {
  waitForReplica(device, until, cause, waitedFor,
                 waitedForDevice < 0 ? waitedForDevice : part_.firstDevice + waitedForDevice, where);
}

void TimelineWriter::waitForReplica(int device, Ticks until, model::WaitCause cause,
                                    model::PlacementId waitedFor, int systemDevice, const WorkPlace& where) {
  DeviceClock& at = clock(device);
  if (until <= at.free) return;
  if (record_) {
    model::Wait row;
    row.device = deviceId(device);
    row.start = at.free;
    row.end = until;
    row.cause = cause;
    row.waitedFor = waitedFor;
    if (systemDevice >= 0) row.waitedForDevice = ids_.devices[static_cast<std::size_t>(systemDevice)];
    row.run = run_;
    row.iteration = where.iteration;
    row.stage = at.stage;
    row.slot = where.slot;
    recorder_.add(row);
  }
  at.free = until;
}

void TimelineWriter::transfer(const BoundaryFlow& flow, Ticks start, Ticks end, model::PlacementId source,
                              const WorkPlace& where) {
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
  if (record_)
    recorder_.add(model::CounterSample{.counter = counter, .time = time, .run = run_, .value = value});
}

}  // namespace pipescope::emulate
