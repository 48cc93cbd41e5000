#include "profiler/import/recorded_passes.h"

#include <algorithm>
#include <set>
#include <span>
#include <tuple>

namespace pipescope::importing {
namespace {

using base::Ticks;
using model::Pass;

/// Passes that a stage computes for a micro-batch.
bool isOfMicroBatch(const RecordedPass& pass) {
  return model::isComputePass(pass.pass) && pass.microBatch >= 0;
}

/// Where the input of a pass comes from: the stage before for a forward pass, the stage behind for a backward
/// pass. −1: from the host, or from the same device.
std::int32_t producerOf(const RecordedPass& pass, std::int32_t stages) {
  if (pass.pass == Pass::forward) return pass.stage - 1;
  if (pass.pass == Pass::backward && pass.stage + 1 < stages) return pass.stage + 1;
  return -1;
}

/// Passes that keep a device from computing something else. Collectives may run beside them.
bool occupies(const RecordedPass& pass) {
  return pass.stage >= 0 && (model::isComputePass(pass.pass) || pass.pass == Pass::update);
}

/// The collectives of each device, ordered by start.
using Collectives = std::map<model::DeviceId, std::vector<const RecordedPass*>>;

Collectives collectivesOf(const std::vector<RecordedPass>& passes) {
  Collectives collectives;
  for (const RecordedPass& pass : passes)
    if (pass.pass == Pass::collective) collectives[pass.device].push_back(&pass);
  return collectives;
}

/// Cuts a gap into parts during which a collective of the device runs, and the others, which get the
/// collective that starts at their end. `passes` are ordered by start.
template <class Part>
void cutByCollectives(std::span<const RecordedPass* const> collectives, Ticks from, Ticks to, Part part) {
  for (const RecordedPass* collective : collectives) {
    if (collective->start >= to) break;
    if (collective->end <= from) continue;
    if (collective->start > from) part(from, collective->start, false, collective);
    const Ticks end = std::min(to, collective->end);
    part(std::max(from, collective->start), end, true, collective);
    from = end;
  }
  if (from < to) part(from, to, false, nullptr);
}

}  // namespace

void assignSteps(std::vector<RecordedPass>& passes, const std::vector<RecordedStep>& steps) {
  std::map<model::DeviceId, std::vector<const RecordedStep*>> byDevice;
  for (const RecordedStep& step : steps) byDevice[step.device].push_back(&step);
  for (auto& [device, list] : byDevice)
    std::sort(list.begin(), list.end(), [](const auto* a, const auto* b) { return a->start < b->start; });
  for (RecordedPass& pass : passes) {
    const auto& list = byDevice[pass.device];
    const auto after =
        std::upper_bound(list.begin(), list.end(), pass.start,
                         [](Ticks time, const RecordedStep* step) { return time < step->start; });
    if (!pass.step && after != list.begin() && (*std::prev(after))->end >= pass.end)
      pass.step = (*std::prev(after))->step;
  }
}

void RecordedPasses::numberIterations() {
  std::set<std::int64_t> numbers;
  for (const RecordedPass& pass : passes_)
    if (pass.step) numbers.insert(*pass.step);
  for (const std::int64_t number : numbers) {
    const auto next = static_cast<std::int32_t>(iterationNumbers_.size());
    iterationNumbers_[number] = next;
  }
  for (const RecordedPass& pass : passes_) iterations_.push_back(iterationOf(pass));
}

std::int32_t RecordedPasses::iterationOf(const RecordedPass& pass) const {
  if (!pass.step) return iterationNumbers_.empty() ? 0 : -1;
  const auto found = iterationNumbers_.find(*pass.step);
  return found == iterationNumbers_.end() ? -1 : found->second;
}

RecordedPasses::Key RecordedPasses::keyOf(const RecordedPass& pass) const {
  const auto replica = replicaNumbers_.find(pass.replica);
  return {replica == replicaNumbers_.end() ? -1 : replica->second, iterationOf(pass), pass.microBatch,
          pass.stage, pass.pass};
}

void RecordedPasses::indexPasses() {
  for (std::size_t i = 0; i < passes_.size(); ++i)
    if (occupies(passes_[i]) && isOfMicroBatch(passes_[i])) made_[keyOf(passes_[i])] = i;
}

void RecordedPasses::assignStages() {
  // A weight update rarely names its stage; it is the one that its device computes.
  std::map<model::DeviceId, std::set<std::int32_t>> stagesOf;
  for (const RecordedPass& pass : passes_) {
    if (pass.stage >= 0) stagesOf[pass.device].insert(pass.stage);
    stages_ = std::max(stages_, pass.stage + 1);
  }
  for (RecordedPass& pass : passes_)
    if (pass.stage < 0 && stagesOf[pass.device].size() == 1) pass.stage = *stagesOf[pass.device].begin();
}

void RecordedPasses::numberReplicas() {
  // By length first, so that "10" comes after "9".
  std::set<std::pair<std::size_t, std::string>> names;
  for (const RecordedPass& pass : passes_) names.insert({pass.replica.size(), pass.replica});
  for (const auto& [size, name] : names) replicaNumbers_[name] = replicaCount_++;
  for (const RecordedPass& pass : passes_) replicas_.push_back(replicaNumbers_[pass.replica]);
}

void RecordedPasses::writeExecutable(record::Recorder& recorder) const {
  model::Executable executable;
  executable.name = "trace";
  executable.kind = model::ExecutableKind::inference;
  executable.stages = stages_;
  executable.replicas = std::max(replicaCount_, 1);
  std::int32_t iterations = 0;
  std::map<std::int32_t, model::DeviceId> deviceOf;
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    const RecordedPass& pass = passes_[i];
    if (pass.pass == Pass::backward) executable.kind = model::ExecutableKind::training;
    executable.microBatches = std::max<std::int64_t>(executable.microBatches, pass.microBatch + 1);
    iterations = std::max(iterations, iterations_[i] + 1);
    if (replicas_[i] == 0 && pass.stage >= 0) deviceOf.emplace(pass.stage, pass.device);
  }
  executable.deviceIterations = iterations;
  recorder.add(executable);
  for (const auto& [stage, device] : deviceOf)
    recorder.add(model::Stage{model::ExecutableId(0), stage, device, {}, 0, {}});
}

void RecordedPasses::writePlacements(record::Recorder& recorder) {
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    const RecordedPass& pass = passes_[i];
    model::Segment segment;
    segment.executable = model::ExecutableId(0);
    segment.device = pass.device;
    segment.lane = pass.lane;
    segment.stage = pass.stage;
    segment.pass = pass.pass;
    segment.name = pass.name;
    segment.ticks = pass.end - pass.start;
    model::Placement placement;
    placement.segment = recorder.add(segment);
    // What a pass consists of is not known, so it is one step.
    if (pass.program.valid()) {
      model::Step step;
      step.segment = placement.segment;
      step.lane = pass.lane;
      step.ticks = step.minTicks = step.maxTicks = segment.ticks;
      step.meanTicks = static_cast<double>(segment.ticks.count);
      step.kind = pass.kind;
      step.program = pass.program;
      step.activeUnits = 1;
      recorder.add(step);
    }
    placement.device = pass.device;
    placement.start = pass.start;
    placement.end = pass.end;
    placement.run = model::RunId(0);
    placement.replica = replicas_[i];
    placement.stage = pass.stage;
    placement.pass = pass.pass;
    placement.microBatch = pass.microBatch;
    placement.iteration = iterations_[i];
    recorder.add(placement);
  }
}

void RecordedPasses::writeWaits(record::Recorder& recorder) {
  std::map<model::DeviceId, std::vector<std::size_t>> byDevice;
  std::map<std::int32_t, Ticks> iterationEnd;
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    const RecordedPass& pass = passes_[i];
    if (!occupies(pass)) continue;
    byDevice[pass.device].push_back(i);
    auto& end = iterationEnd[iterations_[i]];
    if (!isOfMicroBatch(pass)) continue;
    end = std::max(end, pass.end);
  }
  Collectives collectives = collectivesOf(passes_);
  for (auto& [device, list] : byDevice) {
    std::span<const RecordedPass* const> own = collectives[device];
    std::sort(list.begin(), list.end(),
              [&](std::size_t a, std::size_t b) { return passes_[a].start < passes_[b].start; });
    model::Wait wait;
    wait.device = device;
    wait.run = model::RunId(0);
    const auto addPart = [&](Ticks start, Ticks end, model::WaitCause cause, const std::size_t* producer) {
      if (end <= start) return;
      wait.start = start;
      wait.end = end;
      wait.cause = cause;
      wait.waitedFor = {};
      wait.waitedForDevice = {};
      if (producer != nullptr) {
        wait.waitedFor = placementOf(*producer);
        wait.waitedForDevice = passes_[*producer].device;
      }
      recorder.add(wait);
    };
    const auto add = [&](Ticks start, Ticks end, model::WaitCause cause, const std::size_t* producer) {
      if (end <= start) return;
      // Gaps come in the order of time, so what ended before this one is not needed again.
      while (!own.empty() && own.front()->end <= start) own = own.subspan(1);
      using Collective = const RecordedPass*;
      cutByCollectives(own, start, end, [&](Ticks partStart, Ticks partEnd, bool runs, Collective following) {
        // Before a collective a device may wait for the rank that was last to finish what comes before it.
        const auto late =
            following == nullptr ? lastBefore_.end() : lastBefore_.find(following - passes_.data());
        const bool waits = late != lastBefore_.end() && passes_[late->second].device != device;
        if (runs || waits) {
          addPart(partStart, partEnd, model::WaitCause::collective, waits ? &late->second : nullptr);
        } else {
          addPart(partStart, partEnd, cause, producer);
        }
      });
    };
    Ticks busyUntil(INT64_MIN);
    for (std::size_t k = 0; k + 1 < list.size(); ++k) {
      const std::size_t before = list[k], next = list[k + 1];
      const RecordedPass &last = passes_[before], &pass = passes_[next];
      busyUntil = std::max(busyUntil, last.end);  // passes may overlap
      Ticks from = busyUntil;
      wait.iteration = iterations_[next];
      wait.stage = pass.stage;
      const bool newIteration = iterations_[before] != iterations_[next];
      if (newIteration) {
        // Until the other devices end the last iteration, this device drains.
        const Ticks drained = std::min(iterationEnd[iterations_[before]], pass.start);
        wait.iteration = iterations_[before];
        add(from, drained, model::WaitCause::drain, nullptr);
        from = std::max(from, drained);
        wait.iteration = iterations_[next];
      }
      const std::int32_t stage = producerOf(pass, stages_);
      const auto found = made_.find({replicas_[next], iterations_[next], pass.microBatch, stage, pass.pass});
      if (stage < 0 || found == made_.end() || passes_[found->second].device == device) {
        add(from, pass.start, model::WaitCause::host, nullptr);
        continue;
      }
      const Ticks ready = std::clamp(passes_[found->second].end, from, std::max(from, pass.start));
      add(from, ready, newIteration ? model::WaitCause::fill : model::WaitCause::slowerStage, &found->second);
      add(ready, pass.start, model::WaitCause::exchange, &found->second);
    }
  }
}

void RecordedPasses::addMessages(std::vector<model::Transfer>& transfers) {
  std::map<Key, const RecordedPass*> sent;
  const auto counts = [&](const RecordedPass& side, bool sends) {
    // Traces hold receives of the first stage and sends of the last one that carry nothing.
    const bool towardsEnd = (side.pass == Pass::forward) == sends;
    return side.stage != (towardsEnd ? stages_ - 1 : 0);
  };
  for (const RecordedPass& send : sends_) {
    sent[keyOf(send)] = &send;
    coverage_.messages += counts(send, true) ? 1 : 0;
  }
  for (const RecordedPass& receive : receives_) {
    coverage_.messages += counts(receive, false) ? 1 : 0;
    Key key = keyOf(receive);
    std::get<3>(key) += receive.pass == Pass::forward ? -1 : 1;
    const auto send = sent.find(key);
    if (send == sent.end()) continue;
    coverage_.pairedMessages += 2;
    model::Transfer transfer;
    transfer.fromLane = send->second->lane;
    transfer.toLane = receive.lane;
    transfer.kind =
        receive.pass == Pass::forward ? model::TransferKind::activation : model::TransferKind::gradient;
    // Nothing moves before both sides are there.
    transfer.start = std::max(send->second->start, receive.start);
    transfer.end = std::max(receive.end, transfer.start);
    const auto producer = made_.find(key);
    if (producer != made_.end()) transfer.from = placementOf(producer->second);
    transfer.run = model::RunId(0);
    transfer.iteration = std::get<1>(key);
    transfer.microBatch = receive.microBatch;
    transfers.push_back(transfer);
  }
}

void RecordedPasses::addCollectives(std::vector<model::Transfer>& transfers) {
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
    noteLastBefore(list, byDevice);
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

std::map<model::DeviceId, std::vector<std::size_t>> RecordedPasses::occupyingPasses() const {
  std::map<model::DeviceId, std::vector<std::size_t>> byDevice;  // in the order of starts, as all passes are
  for (std::size_t i = 0; i < passes_.size(); ++i)
    if (occupies(passes_[i])) byDevice[passes_[i].device].push_back(i);
  return byDevice;
}

void RecordedPasses::noteLastBefore(const std::vector<std::size_t>& members,
                                    const std::map<model::DeviceId, std::vector<std::size_t>>& byDevice) {
  std::optional<std::size_t> latest;
  for (const std::size_t member : members) {
    const auto own = byDevice.find(passes_[member].device);
    if (own == byDevice.end()) continue;
    const auto after = std::partition_point(own->second.begin(), own->second.end(), [&](std::size_t i) {
      return passes_[i].start < passes_[member].start;
    });
    if (after == own->second.begin()) continue;
    const std::size_t before = *std::prev(after);
    if (iterations_[before] == iterations_[member] && (!latest || passes_[before].end > passes_[*latest].end))
      latest = before;
  }
  if (!latest) return;
  for (const std::size_t member : members) lastBefore_[static_cast<std::ptrdiff_t>(member)] = *latest;
}

void RecordedPasses::writeTransfers(record::Recorder& recorder) {
  std::vector<model::Transfer> transfers;
  addMessages(transfers);
  addCollectives(transfers);
  std::stable_sort(transfers.begin(), transfers.end(),
                   [](const auto& a, const auto& b) { return a.start < b.start; });
  for (const model::Transfer& transfer : transfers) recorder.add(transfer);
}

void RecordedPasses::write(record::Recorder& recorder) {
  std::sort(passes_.begin(), passes_.end(), [](const RecordedPass& a, const RecordedPass& b) {
    return std::tie(a.start, a.device, a.lane) < std::tie(b.start, b.device, b.lane);
  });
  for (auto* passes : {&passes_, &sends_, &receives_}) assignSteps(*passes, steps_);
  numberIterations();
  assignStages();
  numberReplicas();
  writeExecutable(recorder);
  firstPlacement_ = recorder.added<model::Placement>();
  writePlacements(recorder);
  indexPasses();
  writeTransfers(recorder);
  writeWaits(recorder);
}

}  // namespace pipescope::importing
