#include "profiler/import/write/pipeline_rows.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "profiler/import/recognise/infer_events.h"
#include "profiler/import/recognise/infer_messages.h"
#include "profiler/import/recognise/place_ranks.h"
#include "profiler/import/write/recorded_waits.h"

namespace pipescope::importing {
namespace {

using base::Ticks;
using model::Pass;

/// Passes that a stage computes for a micro-batch.
bool isOfMicroBatch(const RecordedPass& pass) {
  return model::isComputePass(pass.pass) && pass.microBatch >= 0;
}

/// Passes that keep a device from computing something else. Collectives may run beside them.
bool occupies(const RecordedPass& pass) {
  return pass.stage >= 0 && (model::isComputePass(pass.pass) || pass.pass == Pass::update);
}

/// Writes how many ranks share a place, and along which axes.
void writeAxes(const std::map<PlaceRank, std::int32_t>& ranks, std::int32_t width,
               record::Recorder& recorder) {
  recorder.add(model::Property{"width.0", std::to_string(width)});
  std::string axes;
  for (const auto& [name, axis] : {std::pair("ep", &PlaceRank::expert), std::pair("cp", &PlaceRank::context),
                                   std::pair("tp", &PlaceRank::tensor)}) {
    std::set<std::string> own;
    for (const auto& [rank, number] : ranks) own.insert(rank.*axis);
    if (own.size() > 1)
      axes += (axes.empty() ? "" : " × ") + std::string(name) + " " + std::to_string(own.size());
  }
  recorder.add(model::Property{"axes.0", axes});
}

}  // namespace

void PipelineRows::numberIterations() {
  std::set<std::int64_t> numbers;
  for (const RecordedPass& pass : passes_)
    if (pass.step) numbers.insert(*pass.step);
  for (const std::int64_t number : numbers) {
    const auto next = static_cast<std::int32_t>(iterationNumbers_.size());
    iterationNumbers_[number] = next;
  }
  for (const RecordedPass& pass : passes_) iterations_.push_back(iterationOf(pass));
}

std::int32_t PipelineRows::iterationOf(const RecordedPass& pass) const {
  if (!pass.step) return iterationNumbers_.empty() && !coverage_.stepsUnknown ? 0 : -1;
  const auto found = iterationNumbers_.find(*pass.step);
  return found == iterationNumbers_.end() ? -1 : found->second;
}

PipelineRows::Key PipelineRows::keyOf(const RecordedPass& pass) const {
  return {copyOf(pass), iterationOf(pass), pass.microBatch, pass.stage, pass.pass};
}

void PipelineRows::indexPasses() {
  for (std::size_t i = 0; i < passes_.size(); ++i)
    if (occupies(passes_[i]) && isOfMicroBatch(passes_[i])) made_[keyOf(passes_[i])] = i;
}

void PipelineRows::assignStages() {
  // A weight update rarely names its stage; it is the one that its device computes.
  std::map<model::DeviceId, std::set<std::int32_t>> stagesOf;
  for (const RecordedPass& pass : passes_) {
    if (pass.stage >= 0) stagesOf[pass.device].insert(pass.stage);
    stages_ = std::max(stages_, pass.stage + 1);
  }
  stages_ = std::max(stages_, events_.stages);
  for (RecordedPass& pass : passes_) {
    const std::set<std::int32_t>& own = stagesOf[pass.device];
    // An update of several stages counts for the first of them.
    const bool known = own.size() == 1 || (pass.pass == Pass::update && !own.empty());
    if (pass.stage < 0 && known && pass.pass != Pass::other) pass.stage = *own.begin();
  }
}

void PipelineRows::numberReplicas() {
  // Shorter names come first, so that "10" comes after "9".
  std::set<std::pair<std::size_t, std::string>> names;
  for (const RecordedPass& pass : passes_) names.insert({pass.replica.size(), pass.replica});
  for (const auto& [size, name] : names) replicaNumbers_[name] = replicaCount_++;
  numberRanks();
  for (const RecordedPass& pass : passes_) replicas_.push_back(copyOf(pass));
}

/// Numbers the ranks of a place. A pass that states none is of the rank that its device computes for.
void PipelineRows::numberRanks() {
  std::set<std::tuple<std::size_t, std::size_t, std::size_t, PlaceRank>> ranks;
  for (const RecordedPass& pass : passes_) {
    if (!model::isComputePass(pass.pass) && pass.pass != Pass::update) continue;
    const PlaceRank& own = rankOfDevice_.try_emplace(pass.device, pass.rankOfPlace).first->second;
    ranks.insert({own.expert.size(), own.context.size(), own.tensor.size(), own});
  }
  for (const auto& entry : ranks) {
    const auto next = static_cast<std::int32_t>(rankNumbers_.size());
    rankNumbers_.emplace(std::get<PlaceRank>(entry), next);
  }
  width_ = std::max(static_cast<std::int32_t>(rankNumbers_.size()), 1);
}

/// The number of the copy of the pipeline: replica × ranks of a place + rank. −1: nobody knows the replica.
std::int32_t PipelineRows::copyOf(const RecordedPass& pass) const {
  const auto replica = replicaNumbers_.find(pass.replica);
  if (replica == replicaNumbers_.end()) return -1;
  const auto device = rankOfDevice_.find(pass.device);
  return replica->second * width_ + (device == rankOfDevice_.end() ? 0 : rankNumbers_.at(device->second));
}

void PipelineRows::writeExecutable(record::Recorder& recorder) const {
  model::Executable executable;
  executable.name = "trace";
  executable.kind = model::ExecutableKind::inference;
  executable.stages = stages_;
  executable.replicas = std::max(replicaCount_, 1);
  if (width_ > 1) writeAxes(rankNumbers_, width_, recorder);
  std::int32_t iterations = 0;
  std::map<std::int32_t, model::DeviceId> deviceOf;
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    const RecordedPass& pass = passes_[i];
    if (pass.pass == Pass::backward) executable.kind = model::ExecutableKind::training;
    // Without steps nobody knows how many micro-batches a step has.
    if (!coverage_.stepsUnknown)
      executable.microBatches = std::max<std::int64_t>(executable.microBatches, pass.microBatch + 1);
    iterations = std::max(iterations, iterations_[i] + 1);
    if (replicas_[i] == 0 && pass.stage >= 0) deviceOf.emplace(pass.stage, pass.device);
  }
  executable.deviceIterations = iterations;
  recorder.add(executable);
  for (const auto& [stage, device] : deviceOf)
    recorder.add(model::Stage{model::ExecutableId(0), stage, device, {}, 0, {}});
}

/// A device that computes several stages has a chunk of the model for each, in the order of the stages.
std::map<std::pair<model::DeviceId, std::int32_t>, std::int32_t> PipelineRows::chunksOfStages() const {
  std::map<std::pair<model::DeviceId, std::int32_t>, std::int32_t> chunks;
  for (const RecordedPass& pass : passes_)
    if (pass.stage >= 0) chunks[{pass.device, pass.stage}] = 0;
  model::DeviceId device;
  std::int32_t next = 0;
  for (auto& [place, chunk] : chunks) {
    next = place.first == device ? next + 1 : 0;
    device = place.first;
    chunk = next;
  }
  return chunks;
}

/// Collectives run beside the passes, and so do passes that overlap others: they keep the lane of their
/// thread.
void PipelineRows::assignLanes() {
  std::map<model::DeviceId, base::Ticks> ends;  // end of the last pass on the lane of passes
  for (RecordedPass& pass : passes_) {
    const auto lane = lanes_.find(pass.device);
    if (lane == lanes_.end() || pass.pass == Pass::collective) continue;
    if (pass.pass == Pass::other && pass.stage < 0) continue;
    const auto [end, first] = ends.try_emplace(pass.device, pass.end);
    if (!first && pass.start < end->second) continue;
    end->second = pass.end;
    pass.lane = lane->second;
  }
}

/// Writes a pass as one step.
void PipelineRows::writeStep(const RecordedPass& pass, model::SegmentId segment, record::Recorder& recorder) {
  if (!pass.program.valid()) return;
  model::Step step;
  step.segment = segment;
  step.activeUnits = 1;
  step.lane = pass.lane;
  step.kind = pass.kind;
  step.program = pass.program;
  step.ticks = step.minTicks = step.maxTicks = pass.end - pass.start;
  step.meanTicks = static_cast<double>(step.ticks.count);
  recorder.add(step);
}

base::Status PipelineRows::writePlacements(record::Recorder& recorder) {
  const auto chunks = chunksOfStages();
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    const RecordedPass& pass = passes_[i];
    model::Segment segment;
    segment.executable = model::ExecutableId(0);
    segment.device = pass.device;
    segment.lane = pass.lane;
    segment.stage = pass.stage;
    const auto chunk = chunks.find({pass.device, pass.stage});
    segment.chunk = chunk == chunks.end() ? 0 : chunk->second;
    segment.pass = pass.pass;
    segment.name = pass.name;
    segment.ticks = pass.end - pass.start;
    model::Placement placement;
    placement.segment = recorder.add(segment);
    writeStep(pass, placement.segment, recorder);
    placement.device = pass.device;
    placement.start = pass.start;
    placement.end = pass.end;
    placement.run = model::RunId(0);
    placement.replica = replicas_[i];
    placement.stage = pass.stage;
    placement.chunk = segment.chunk;
    placement.pass = pass.pass;
    placement.microBatch = pass.microBatch;
    placement.iteration = iterations_[i];
    recorder.add(placement);
    PIPESCOPE_TRY(recorder.commitIfDue(true));
  }
  return {};
}

void PipelineRows::addMessages(std::vector<model::Transfer>& transfers) {
  const std::vector<RecordedPass>&sends = events_.sends, &receives = events_.receives;
  const auto counts = [&](const RecordedPass& side, bool sending) {
    // Traces hold receives of the first stage and sends of the last one that carry nothing.
    const bool towardsEnd = (side.pass == Pass::forward) == sending;
    return !side.statesPass || side.stage != (towardsEnd ? stages_ - 1 : 0);
  };
  if (events_.leavesOutMessages()) coverage_.messages = coverage_.leftOutMessages = events_.messages;
  std::vector<bool> paired(receives.size(), false);
  for (const RecordedPass& send : sends) coverage_.messages += counts(send, true) ? 1 : 0;
  for (const RecordedPass& receive : receives) coverage_.messages += counts(receive, false) ? 1 : 0;
  for (const auto& [from, to] : pairMessages(sends, receives)) {
    const RecordedPass &send = sends[from], &receive = receives[to];
    coverage_.pairedMessages += 2;
    paired[to] = true;
    const Key consumer = keyOf(receive);
    inputs_.insert({consumer, {from, to}});
    Key key = consumer;
    std::get<3>(key) += receive.pass == Pass::forward ? -1 : 1;
    model::Transfer transfer;
    transfer.fromLane = send.lane;
    transfer.toLane = receive.lane;
    const bool forward = receive.statesPass ? receive.pass == Pass::forward : send.rank < receive.rank;
    transfer.kind = forward ? model::TransferKind::activation : model::TransferKind::gradient;
    // Nothing moves before both sides are there. A receive without a length only states when all had arrived.
    transfer.start = receive.end > receive.start ? std::max(send.start, receive.start) : send.start;
    transfer.end = std::max(receive.end, transfer.start);
    const auto producer = made_.find(key);
    if (producer != made_.end()) transfer.from = placementOf(producer->second);
    transfer.run = model::RunId(0);
    transfer.iteration = std::get<1>(consumer);
    transfer.microBatch = receive.microBatch;
    transfer.bytes = std::max(send.bytes, receive.bytes);
    transfers.push_back(transfer);
  }
  // Messages may have only a receive, such as those from ranks whose traces are missing.
  for (std::size_t i = 0; i < receives.size(); ++i)
    if (const RecordedPass& side = receives[i];
        !paired[i] && side.statesPass && side.microBatch >= 0 && side.statesPosting && counts(side, false))
      inputs_.insert({keyOf(side), {std::nullopt, i}});
}

void PipelineRows::addCollectives(std::vector<model::Transfer>& transfers) {
  // Members of a collective: the same group, name and iteration, and the same number among those of their
  // device.
  using Group = std::tuple<std::string, std::string, std::int32_t>;
  std::map<std::pair<Group, model::DeviceId>, std::int32_t> numbers;
  std::map<std::string, std::set<model::DeviceId>> devices;
  std::map<std::pair<Group, std::int32_t>, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    const RecordedPass& pass = passes_[i];
    if (pass.pass != Pass::collective || pass.group.empty()) continue;
    const Group group(pass.group, pass.name, iterations_[i]);
    members[{group, numbers[{group, pass.device}]++}].push_back(i);
    devices[pass.group].insert(pass.device);
  }
  // A group of which the trace holds one rank only has nothing to match.
  for (const RecordedPass& pass : passes_)
    coverage_.collectives += pass.pass == Pass::collective && devices[pass.group].size() > 1 ? 1 : 0;
  const auto byDevice = occupyingPasses();
  for (const auto& [group, list] : members) {
    if (list.size() < 2) continue;
    std::vector<CollectiveMember> collective;
    for (const std::size_t i : list)
      collective.push_back({passes_[i].device, passes_[i].start, passes_[i].end});
    // The passes are ordered by start.
    const Ticks arrived = passes_[list.back()].start;
    if (const auto before = lastBefore(collective, byDevice))
      for (const std::size_t i : list) lastBefore_[static_cast<std::ptrdiff_t>(i)] = {*before, arrived};
    coverage_.matchedCollectives += static_cast<std::int64_t>(list.size());
    // The passes are ordered by start, so all wait for the last one of the list.
    const RecordedPass& last = passes_[list.back()];
    for (const std::size_t i : list) {
      if (i == list.back()) continue;
      model::Transfer transfer;
      transfer.fromLane = last.lane;
      transfer.toLane = passes_[i].lane;
      transfer.kind = model::TransferKind::collective;
      transfer.start = std::min(last.start, passes_[i].end);
      transfer.end = passes_[i].end;
      transfer.from = placementOf(list.back());
      transfer.run = model::RunId(0);
      transfer.iteration = iterations_[i];
      transfers.push_back(transfer);
    }
  }
}

std::map<model::DeviceId, std::vector<std::size_t>> PipelineRows::occupyingPasses() const {
  // Passes in the order of starts, as all passes are.
  std::map<model::DeviceId, std::vector<std::size_t>> byDevice;
  for (std::size_t i = 0; i < passes_.size(); ++i)
    if (occupies(passes_[i])) byDevice[passes_[i].device].push_back(i);
  return byDevice;
}

/// The pass before a collective of the rank that was last to arrive, because the others wait for it whatever
/// held it up. Where ranks arrive at the same time, the pass that ended last, of those of the latest
/// iteration.
std::optional<std::size_t> PipelineRows::lastBefore(const std::vector<CollectiveMember>& members,
                                                    const PassesByDevice& byDevice) const {
  Ticks arrival(INT64_MIN);
  for (const CollectiveMember& member : members) arrival = std::max(arrival, member.start);
  std::optional<std::size_t> latest;
  for (const CollectiveMember& member : members) {
    if (member.start + kTimeResolution < arrival) continue;
    const auto own = byDevice.find(member.device);
    if (own == byDevice.end()) continue;
    const auto after = std::partition_point(own->second.begin(), own->second.end(),
                                            [&](std::size_t i) { return passes_[i].start < member.start; });
    if (after == own->second.begin()) continue;
    const std::size_t before = *std::prev(after);
    const auto order = [&](std::size_t pass) { return std::pair(iterations_[pass], passes_[pass].end); };
    if (!latest || order(before) > order(*latest)) latest = before;
  }
  return latest;
}

/// True if the collective runs within one pass of its device, such as those of tensor-parallel layers.
bool PipelineRows::isPartOfPass(const CollectiveMember& member, const PassesByDevice& byDevice) const {
  const auto own = byDevice.find(member.device);
  if (own == byDevice.end()) return false;
  const auto after = std::partition_point(own->second.begin(), own->second.end(),
                                          [&](std::size_t i) { return passes_[i].start <= member.start; });
  return after != own->second.begin() && passes_[*std::prev(after)].end >= member.end;
}

/// The collectives that devices may wait for.
std::vector<RecordedCollective> PipelineRows::takeCollectives() {
  std::vector<RecordedCollective> collectives;
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    const RecordedPass& pass = passes_[i];
    if (pass.pass != Pass::collective) continue;
    const auto before = lastBefore_.find(static_cast<std::ptrdiff_t>(i));
    RecordedCollective collective{pass.device, pass.start, pass.end, std::nullopt, pass.start};
    if (before != lastBefore_.end()) std::tie(collective.lastBefore, collective.arrived) = before->second;
    collectives.push_back(collective);
  }
  const auto byDevice = occupyingPasses();
  kernelCollectives_.take([&](const std::vector<CollectiveMember>& members) {
    if (std::ranges::all_of(members, [&](const auto& member) { return isPartOfPass(member, byDevice); }))
      return;
    const auto before = lastBefore(members, byDevice);
    // Without passes nothing waits.
    const Ticks arrived = members.back().start;  // they are ordered by start
    for (const auto& [device, start, end] : members)
      if (byDevice.contains(device)) collectives.push_back({device, start, end, before, arrived});
  });
  std::ranges::stable_sort(collectives, {}, &RecordedCollective::start);
  return collectives;
}

std::vector<PassInput> PipelineRows::passesOfInputs() const {
  std::vector<PassInput> inputs(passes_.size());
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    const RecordedPass& pass = passes_[i];
    if (pass.pass != Pass::forward && pass.pass != Pass::backward) continue;
    const Key key = keyOf(pass);
    Key before = key;
    std::get<3>(before) += pass.pass == Pass::forward ? -1 : 1;
    const auto producer = made_.find(before);
    if (producer != made_.end() && passes_[producer->second].device != pass.device)
      inputs[i].producer = producer->second;
    const auto message = inputs_.find(key);
    if (message == inputs_.end() || !occupies(pass)) continue;
    inputs[i].send = message->second.first;  // none: not known
    inputs[i].receive = message->second.second;
  }
  return inputs;
}

std::int64_t PipelineRows::devicesWithStage() const {
  std::set<model::DeviceId> devices;
  for (const RecordedPass& pass : passes_)
    if (pass.stage >= 0) devices.insert(pass.device);
  return static_cast<std::int64_t>(devices.size());
}

base::Status PipelineRows::writeTransfers(record::Recorder& recorder) {
  std::vector<model::Transfer> transfers;
  addMessages(transfers);
  addCollectives(transfers);
  std::stable_sort(transfers.begin(), transfers.end(),
                   [](const auto& a, const auto& b) { return a.start < b.start; });
  for (const model::Transfer& transfer : transfers) {
    recorder.add(transfer);
    PIPESCOPE_TRY(recorder.commitIfDue(true));
  }
  return {};
}

/// Gives proposed passes their lanes and what they are called.
void PipelineRows::completeProposed(record::Recorder& recorder) {
  std::map<std::pair<model::DeviceId, Pass>, model::ProgramId> programs;
  for (RecordedPass& pass : passes_) {
    if (!model::isComputePass(pass.pass)) continue;
    pass.lane = lanes_[pass.device];
    model::ProgramId& program = programs[{pass.device, pass.pass}];
    if (!program.valid()) {
      model::Program row;
      row.executable = model::ExecutableId(0);
      row.device = pass.device;
      row.kind = "proposed";
      row.debugContext = recorder.add(model::DebugContext{{}, {}, pass.name, "trace"});
      program = recorder.add(row);
    }
    pass.program = program;
  }
}

base::Status PipelineRows::write(record::Recorder& recorder) {
  const Inferred inferred = inferEvents(events_, &clockGroups_);
  inferPlaceRanks(events_, kernelCollectives_);
  coverage_.inferredStages = inferred.stages;
  coverage_.unplacedPasses = inferred.unplaced;
  coverage_.inferredMessages = inferred.messages;
  coverage_.proposedPasses = inferred.proposed;
  coverage_.inferredChunks = inferred.chunks;
  coverage_.dividedPasses = inferred.divided;
  coverage_.inferredSteps = inferred.steps;
  coverage_.stepsUnknown = inferred.stepsUnknown;
  if (inferred.proposed > 0) completeProposed(recorder);
  std::sort(passes_.begin(), passes_.end(), [](const RecordedPass& a, const RecordedPass& b) {
    return std::tie(a.start, a.device, a.lane) < std::tie(b.start, b.device, b.lane);
  });
  numberIterations();
  assignStages();
  assignLanes();
  numberReplicas();
  writeExecutable(recorder);
  firstPlacement_ = recorder.added<model::Placement>();
  PIPESCOPE_TRY(writePlacements(recorder));
  indexPasses();
  PIPESCOPE_TRY(writeTransfers(recorder));
  return writeRecordedWaits({passes_, events_.sends, events_.receives, iterations_, firstPlacement_,
                             takeCollectives(), passesOfInputs(), clockGroups_},
                            recorder);
}

}  // namespace pipescope::importing
