#include "engine/emulate/timeline_writer.h"

namespace pipescope::emulate {

void TimelineWriter::place(int device, const SegmentRefs& segments, const Where& where) {
  DeviceClock& at = clock(device);
  for (const SegmentRef& segment : segments) {
    const Ticks start = at.free;
    at.free += segment.ticks;
    if (!record_) continue;
    model::Placement row;
    row.segment = segment.id;
    row.device = ids_.devices[static_cast<std::size_t>(device)];
    row.start = start;
    row.end = at.free;
    row.run = run_;
    row.stage = where.stage;
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

void TimelineWriter::transfer(int from, int to, model::TransferKind kind, Bytes bytes, Ticks start, Ticks end,
                              model::PlacementId source, const Where& where) {
  if (!record_ || end <= start) return;
  model::Transfer row;
  row.fromLane = ids_.lanes[static_cast<std::size_t>(from)].at(model::LaneRole::exchange);
  row.toLane = ids_.lanes[static_cast<std::size_t>(to)].at(model::LaneRole::exchange);
  if (const auto link = ids_.links.find({from, to}); link != ids_.links.end()) row.link = link->second;
  row.kind = kind;
  row.bytes = bytes;
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
