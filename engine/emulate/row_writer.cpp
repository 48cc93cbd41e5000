#include "engine/emulate/row_writer.h"

namespace pipescope::emulate {

RowWriter::RowWriter(record::Recorder& recorder, const EmulatedExecutable& executable, model::RunId run)
    : recorder_(recorder), executable_(executable), run_(run) {
  for (std::size_t r = 0; r < executable.parts.size(); ++r)
    replicas_.push_back({executable.call.replicas[r], {recorder, executable, executable.parts[r], run}});
}

model::PlacementId RowWriter::placed(int replica, int place, const clock::Piece& piece, Ticks start,
                                     const clock::WorkOf& work) {
  auto& [costs, live] = of(replica);
  if (model::isComputePass(piece.pass)) live.during(place, work.stage, piece.pass, start);
  model::Placement& row = recorder_.append<model::Placement>();
  row.segment = piece.segment;
  row.device = costs.devices[static_cast<std::size_t>(place)];
  row.start = start;
  row.end = start + piece.ticks;
  row.run = run_;
  row.replica = costs.number;
  row.stage = work.stage;
  row.chunk = work.stage < 0 ? 0 : executable_.chunkOfStage[static_cast<std::size_t>(work.stage)];
  row.pass = piece.pass;
  row.microBatch = work.microBatch;
  row.iteration = work.iteration;
  row.slot = work.slot;
  return row.id;
}

void RowWriter::waited(const clock::Wait& wait) {
  model::Wait& row = recorder_.append<model::Wait>();
  row.device = of(wait.replica).costs.devices[static_cast<std::size_t>(wait.place)];
  row.start = wait.start;
  row.end = wait.end;
  row.cause = wait.cause;
  row.waitedFor = wait.waitedFor;
  if (wait.waitedForPlace >= 0)
    row.waitedForDevice =
        of(wait.waitedForReplica).costs.devices[static_cast<std::size_t>(wait.waitedForPlace)];
  row.run = run_;
  row.iteration = wait.work.iteration;
  row.stage = wait.stage;
  row.slot = wait.work.slot;
}

void RowWriter::transferred(int replica, int flow, Ticks start, Ticks end, model::PlacementId from,
                            const clock::WorkOf& work) {
  const clock::Flow& sent = of(replica).costs.flows[static_cast<std::size_t>(flow)];
  model::Transfer& row = recorder_.append<model::Transfer>();
  row.fromLane = sent.fromLane;
  row.toLane = sent.toLane;
  row.link = sent.link;
  row.kind = sent.kind;
  row.bytes = sent.bytes;
  row.start = start;
  row.end = end;
  row.from = from;
  row.run = run_;
  row.iteration = work.iteration;
  row.microBatch = work.microBatch;
  row.slot = work.slot;
}

void RowWriter::forwardStarts(int replica, int place, const clock::Task& task, Ticks now) {
  of(replica).live.enter(place, task.stage, now);
}

void RowWriter::taskEnds(int replica, int place, const clock::Task& task, Ticks now) {
  const model::Pass last =
      executable_.order().splitBackward ? model::Pass::weightGradient : model::Pass::backward;
  if (task.pass == last) of(replica).live.leave(place, task.stage, now);
  of(replica).live.after(place, now);
}

void RowWriter::flushEnds(int replica) {
  of(replica).live.finish();
}

}  // namespace pipescope::emulate
