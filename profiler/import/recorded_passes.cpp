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

/// Cuts a gap into parts during which a collective of the device runs, and the others. `passes` are ordered
/// by start.
template <class Part>
void cutByCollectives(std::span<const RecordedPass* const> collectives, Ticks from, Ticks to, Part part) {
  for (const RecordedPass* collective : collectives) {
    if (collective->start >= to) break;
    if (collective->end <= from) continue;
    if (collective->start > from) part(from, collective->start, false);
    const Ticks end = std::min(to, collective->end);
    part(std::max(from, collective->start), end, true);
    from = end;
  }
  if (from < to) part(from, to, false);
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
  std::map<std::int64_t, std::int32_t> iterationOf;
  for (const std::int64_t number : numbers) {
    const auto next = static_cast<std::int32_t>(iterationOf.size());
    iterationOf[number] = next;
  }
  for (const RecordedPass& pass : passes_)
    iterations_.push_back(pass.step ? iterationOf[*pass.step] : numbers.empty() ? 0 : -1);
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
  std::map<std::string, std::int32_t> numberOf;
  for (const auto& [size, name] : names) numberOf[name] = replicaCount_++;
  for (const RecordedPass& pass : passes_) replicas_.push_back(numberOf[pass.replica]);
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
  // The pass that makes the input of another: by replica, iteration, micro-batch, stage and pass.
  using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t, Pass>;
  std::map<Key, std::size_t> made;
  std::map<model::DeviceId, std::vector<std::size_t>> byDevice;
  std::map<std::int32_t, Ticks> iterationEnd;
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    const RecordedPass& pass = passes_[i];
    if (!occupies(pass)) continue;
    byDevice[pass.device].push_back(i);
    auto& end = iterationEnd[iterations_[i]];
    if (!isOfMicroBatch(pass)) continue;
    made[{replicas_[i], iterations_[i], pass.microBatch, pass.stage, pass.pass}] = i;
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
        wait.waitedFor = model::PlacementId(static_cast<std::int64_t>(*producer) + firstPlacement_);
        wait.waitedForDevice = passes_[*producer].device;
      }
      recorder.add(wait);
    };
    const auto add = [&](Ticks start, Ticks end, model::WaitCause cause, const std::size_t* producer) {
      if (end <= start) return;
      // Gaps come in the order of time, so what ended before this one is not needed again.
      while (!own.empty() && own.front()->end <= start) own = own.subspan(1);
      cutByCollectives(own, start, end, [&](Ticks partStart, Ticks partEnd, bool collective) {
        collective ? addPart(partStart, partEnd, model::WaitCause::collective, nullptr)
                   : addPart(partStart, partEnd, cause, producer);
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
      const auto found = made.find({replicas_[next], iterations_[next], pass.microBatch, stage, pass.pass});
      if (stage < 0 || found == made.end() || passes_[found->second].device == device) {
        add(from, pass.start, model::WaitCause::host, nullptr);
        continue;
      }
      const Ticks ready = std::clamp(passes_[found->second].end, from, std::max(from, pass.start));
      add(from, ready, newIteration ? model::WaitCause::fill : model::WaitCause::slowerStage, &found->second);
      add(ready, pass.start, model::WaitCause::exchange, &found->second);
    }
  }
}

void RecordedPasses::write(record::Recorder& recorder) {
  std::sort(passes_.begin(), passes_.end(), [](const RecordedPass& a, const RecordedPass& b) {
    return std::tie(a.start, a.device, a.lane) < std::tie(b.start, b.device, b.lane);
  });
  assignSteps(passes_, steps_);
  numberIterations();
  assignStages();
  numberReplicas();
  writeExecutable(recorder);
  firstPlacement_ = recorder.added<model::Placement>();
  writePlacements(recorder);
  writeWaits(recorder);
}

}  // namespace pipescope::importing
