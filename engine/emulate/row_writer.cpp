#include "engine/emulate/row_writer.h"

namespace pipescope::emulate {

RowWriter::RowWriter(record::Recorder& recorder, const EmulatedExecutable& executable, model::RunId run)
    : recorder_(recorder), executable_(executable), run_(run) {
  for (const ReplicaPart& part : executable.parts) live_.emplace_back(recorder, executable, part, run);
}

model::PlacementId RowWriter::placed(int replica, int place, const clock::Piece& piece, Ticks start,
                                     const clock::WorkOf& work) {
  model::Placement row;
  row.segment = piece.segment;
  row.device = deviceId(replica, place);
  row.start = start;
  row.end = start + piece.ticks;
  row.run = run_;
  row.replica = executable_.call.replicas[static_cast<std::size_t>(replica)].number;
  row.stage = work.stage;
  row.chunk = work.stage < 0 ? 0 : executable_.chunkOfStage[static_cast<std::size_t>(work.stage)];
  row.pass = piece.pass;
  row.microBatch = work.microBatch;
  row.iteration = work.iteration;
  row.slot = work.slot;
  return recorder_.add(row);
}

void RowWriter::waited(const clock::Wait& wait) {
  model::Wait row;
  row.device = deviceId(wait.replica, wait.place);
  row.start = wait.start;
  row.end = wait.end;
  row.cause = wait.cause;
  row.waitedFor = wait.waitedFor;
  if (wait.waitedForPlace >= 0) row.waitedForDevice = deviceId(wait.waitedForReplica, wait.waitedForPlace);
  row.run = run_;
  row.iteration = wait.work.iteration;
  row.stage = wait.stage;
  row.slot = wait.work.slot;
  recorder_.add(row);
}

void RowWriter::transferred(int replica, int flow, Ticks start, Ticks end, model::PlacementId from,
                            const clock::WorkOf& work) {
  const clock::Flow& sent =
      executable_.call.replicas[static_cast<std::size_t>(replica)].flows[static_cast<std::size_t>(flow)];
  model::Transfer row;
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
  recorder_.add(row);
}

void RowWriter::taskStarts(int replica, int place, const clock::Task& task, Ticks now) {
  if (task.pass == model::Pass::forward) live(replica).enter(place, task.stage, now);
}

void RowWriter::computeStarts(int replica, int place, int stage, model::Pass pass, Ticks now) {
  live(replica).during(place, stage, pass, now);
}

void RowWriter::taskEnds(int replica, int place, const clock::Task& task, Ticks now) {
  const model::Pass last =
      executable_.order().splitBackward ? model::Pass::weightGradient : model::Pass::backward;
  if (task.pass == last) live(replica).leave(place, task.stage, now);
  live(replica).after(place, now);
}

void RowWriter::flushEnds(int replica) {
  live(replica).finish();
}

}  // namespace pipescope::emulate
