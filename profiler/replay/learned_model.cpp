#include "profiler/replay/learned_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/pipeline/counters.h"
#include "profiler/analysis/rows_of_run.h"
#include "profiler/replay/learned_passes.h"
#include "profiler/replay/planned_order.h"
#include "profiler/replay/shared_compute.h"

namespace pipescope::replay {
namespace {

using model::Pass;

double meanOf(const std::vector<double>& values) {
  return values.empty()
             ? 0
             : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Works of the passes of one kind on one stage.
struct Works {
  std::vector<double> all;    ///< of all micro-batches and iterations
  std::vector<double> means;  ///< of each iteration
  std::vector<double> more;   ///< of each iteration: the pass at its edge, less the mean of the others
};

LearnedCost costOfWorks(Works& works) {
  if (works.all.empty()) return {};
  std::ranges::sort(works.all);
  const auto at = [&](double share) {
    return works
        .all[static_cast<std::size_t>(std::lround(share * static_cast<double>(works.all.size() - 1)))];
  };
  return {middleOf(works.means), at(0.1), at(0.9)};
}

/// Delays of passes against what they needed, in seconds.
struct Delays {
  std::vector<double> local;   ///< behind the pass before, without an input from another device
  std::vector<double> ready;   ///< the same, where the input had come before
  std::vector<double> waited;  ///< behind the end of the pass on another device that made the input
  std::vector<std::pair<double, double>> waitedBytes;  ///< bytes of the input and the same delay
};

/// The passes of an iteration by place, and what each one waits for in others.
class PassesOfPlaces {
 public:
  PassesOfPlaces(const LearnedIteration& iteration, const LearnedModel& model)
      : model_(model), places_(static_cast<std::size_t>(model.places)) {
    for (const LearnedPass& pass : iteration.passes) {
      std::vector<const LearnedPass*>& own = places_[static_cast<std::size_t>(placeOf(pass.stage))];
      at_[{pass.stage, pass.microBatch, pass.pass}] = {&pass, own.size()};
      own.push_back(&pass);
    }
  }

  const std::vector<std::vector<const LearnedPass*>>& places() const { return places_; }
  int placeOf(int stage) const { return model_.stages[static_cast<std::size_t>(stage)].place; }

  /// End of the pass on another device that made the input; none: there is no such pass.
  std::optional<double> inputOf(const LearnedPass& pass) const {
    const auto* const maker = neighbour(pass, -1);
    return maker == nullptr ? std::nullopt : std::optional(maker->first->end);
  }

  /// Returns the time at which the device that needs the result of the pass ends its work before that.
  /// Returns nothing if no other device needs the result, and minus infinity if the device has done nothing
  /// before in the iteration.
  std::optional<double> receiverFree(const LearnedPass& pass) const {
    const auto* const reader = neighbour(pass, 1);
    if (reader == nullptr) return std::nullopt;
    const auto& [own, index] = *reader;
    const std::vector<const LearnedPass*>& all = places_[static_cast<std::size_t>(placeOf(own->stage))];
    for (std::size_t i = index; i-- > 0;)
      // A recomputation belongs to the same task as its backward pass.
      if (all[i]->pass != Pass::recompute || all[i]->microBatch != own->microBatch) return all[i]->end;
    return -std::numeric_limits<double>::infinity();
  }

 private:
  using Found = std::pair<const LearnedPass*, std::size_t>;  ///< a pass and its index at its place

  /// The pass of the same micro-batch on another device that makes the input of this one (−1) or reads its
  /// result (1).
  const Found* neighbour(const LearnedPass& pass, int direction) const {
    const bool forward = pass.pass == Pass::forward;
    if (!forward && pass.pass != Pass::backward) return nullptr;
    const int stage = pass.stage + (forward ? direction : -direction);
    if (stage < 0 || stage >= static_cast<int>(model_.stages.size()) || placeOf(stage) == placeOf(pass.stage))
      return nullptr;
    const auto found = at_.find({stage, pass.microBatch, pass.pass});
    return found == at_.end() ? nullptr : &found->second;
  }

  const LearnedModel& model_;
  std::vector<std::vector<const LearnedPass*>> places_;
  std::map<std::tuple<int, int, Pass>, Found> at_;
};

/// Collects the times of all iterations by stage and by place.
class Gathered {
 public:
  Gathered(const std::vector<LearnedIteration>& iterations, LearnedModel& model)
      : iterations_(iterations), model_(model) {}

  void addStages() {
    const std::size_t stages = model_.stages.size();
    std::vector<std::map<Pass, Works>> works(stages);
    std::vector<std::vector<double>> updates(stages), collectives(stages);
    for (const LearnedIteration& iteration : iterations_) {
      std::vector<std::map<Pass, std::vector<double>>> own(stages);
      for (const LearnedPass& pass : iteration.passes)
        own[static_cast<std::size_t>(pass.stage)][pass.pass].push_back(pass.work);
      for (std::size_t s = 0; s < stages; ++s) {
        updates[s].push_back(iteration.updates[s]);
        collectives[s].push_back(iteration.collectives[s]);
        for (auto& [pass, all] : own[s]) addIteration(pass, std::move(all), works[s][pass]);
      }
    }
    double begin = 0;
    for (std::size_t s = 0; s < stages; ++s) {
      LearnedStage& stage = model_.stages[s];
      stage.forward = costOfWorks(works[s][Pass::forward]);
      stage.recompute = costOfWorks(works[s][Pass::recompute]);
      stage.backward = costOfWorks(works[s][Pass::backward]);
      const LearnedCost weight = costOfWorks(works[s][Pass::weightGradient]);
      stage.weight = weight.usual;
      stage.backward = {stage.backward.usual + weight.usual, stage.backward.least + weight.least,
                        stage.backward.most + weight.most};
      // Work behind the last backward pass, such as a sum of gradients, happens once in an iteration.
      const double last = middleOf(works[s][Pass::backward].more);
      stage.update = middleOf(updates[s]) + (last > kNotable * stage.backward.usual ? last : 0);
      stage.collective = middleOf(collectives[s]);
      // The first passes of the devices follow each other, so their delays add up.
      if (firstOfPlace(s)) begin += middleOf(works[s][Pass::forward].more);
    }
    model_.begin = std::max(0.0, begin);
  }

  /// Passes tell whether sends block if the pass before them sent to a device that was still computing when
  /// this one could have begun: do they begin only when that device is free?
  void addBlockingSends() {
    constexpr double kNotableDelay = 0.05;  // of the mean pass: shorter delays may be launches or transfers
    constexpr std::size_t kFewest = 3;
    constexpr double kMost = 0.9;
    std::size_t telling = 0, blocked = 0;
    for (const LearnedIteration& iteration : iterations_) {
      double sum = 0;
      for (const LearnedPass& pass : iteration.passes) sum += pass.end - pass.start;
      const double notable = kNotableDelay * sum / static_cast<double>(iteration.passes.size());
      const PassesOfPlaces passes(iteration, model_);
      for (const auto& place : passes.places()) {
        for (std::size_t i = 1; i < place.size(); ++i) {
          const auto free = passes.receiverFree(*place[i - 1]);
          const double could = std::max(place[i - 1]->end, passes.inputOf(*place[i]).value_or(0));
          if (!free || *free < could + 2 * notable) continue;
          ++telling;
          if (place[i]->start > *free - notable) ++blocked;
        }
      }
    }
    if (telling < kFewest && model_.places > 1)
      model_.remarks.push_back(
          "No device sent to one that was still computing while it could have gone on, so it is not known "
          "whether sends block: fixed.blocking_sends is false.");
    model_.blockingSends =
        telling >= kFewest && static_cast<double>(blocked) >= kMost * static_cast<double>(telling);
  }

  void addDelays() {
    Delays delays;
    std::vector<double> local, ready;  // means of the iterations
    for (const bool estimated : {false, true}) {
      // Inputs count as there in time if they arrived as late as usual and still before the pass could begin.
      const double usual = estimated ? middleOf(delays.waited) : 0;
      delays = {};
      local.clear();
      ready.clear();
      for (const LearnedIteration& iteration : iterations_) {
        const std::size_t locals = delays.local.size(), readies = delays.ready.size();
        addDelaysOf(iteration, usual, delays);
        if (delays.local.size() > locals)
          local.push_back(
              meanOf({delays.local.begin() + static_cast<std::ptrdiff_t>(locals), delays.local.end()}));
        if (delays.ready.size() > readies)
          ready.push_back(
              meanOf({delays.ready.begin() + static_cast<std::ptrdiff_t>(readies), delays.ready.end()}));
      }
    }
    constexpr std::size_t kFewest = 3;
    if (delays.local.size() >= kFewest) model_.launch = std::max(0.0, middleOf(local));
    if (model_.blockingSends)
      model_.receive = 0;  // A message moves only while its receiver waits.
    else if (delays.ready.size() >= kFewest)
      model_.receive = std::max(0.0, middleOf(ready) - model_.launch);
    else
      model_.remarks.push_back(
          "No pass had its input before its device was free, so it is not known whether a device can compute "
          "while it receives: fixed.receive is 0.");
    addLinks(delays);
  }

  void addInFlight(const std::vector<bool>& splits) {
    const std::size_t stages = model_.stages.size();
    std::vector<std::map<std::size_t, std::int64_t>> live(static_cast<std::size_t>(model_.places)),
        most(live.size());
    std::vector<std::int64_t> count(live.size(), 0), largest(live.size(), 0);
    for (const LearnedPass& pass : iterations_.front().passes) {
      const auto s = static_cast<std::size_t>(pass.stage);
      const auto p = static_cast<std::size_t>(model_.stages[s].place);
      if (pass.pass == Pass::forward) {
        ++live[p][s];
        if (++count[p] > largest[p]) {
          largest[p] = count[p];
          most[p] = live[p];
        }
      } else if (pass.pass == (splits[s] ? Pass::weightGradient : Pass::backward)) {
        --live[p][s];
        --count[p];
      }
    }
    for (std::size_t s = 0; s < stages; ++s)
      model_.stages[s].inFlight = most[static_cast<std::size_t>(model_.stages[s].place)][s];
  }

  void addBetween() {
    std::vector<double> gaps;
    for (std::size_t i = 1; i < iterations_.size(); ++i) {
      if (iterations_[i].number == iterations_[i - 1].number + 1 && !iterations_[i].passes.empty())
        gaps.push_back(iterations_[i].passes.front().start - iterations_[i - 1].end);
    }
    model_.betweenIterations = std::max(0.0, middleOf(gaps));
  }

 private:
  static constexpr double kNotable = 0.05;

  /// The first forward pass and the last backward pass of an iteration count apart.
  static void addIteration(Pass pass, std::vector<double> all, Works& works) {
    std::ranges::copy(all, std::back_inserter(works.all));
    constexpr std::size_t kFewest = 4;
    if (all.size() >= kFewest && (pass == Pass::forward || pass == Pass::backward)) {
      const auto edge = pass == Pass::forward ? all.begin() : all.end() - 1;
      const double own = *edge;
      all.erase(edge);
      works.more.push_back(own - meanOf(all));
    }
    works.means.push_back(meanOf(all));
  }

  bool firstOfPlace(std::size_t stage) const {
    for (std::size_t s = 0; s < stage; ++s)
      if (model_.stages[s].place == model_.stages[stage].place) return false;
    return true;
  }

  std::int64_t bytesOfInput(const LearnedPass& pass) const {
    const int sender = pass.pass == Pass::forward ? pass.stage - 1 : pass.stage;
    return model_.stages[static_cast<std::size_t>(sender)].sends;
  }
  static void addWaited(double delay, std::int64_t bytes, Delays& delays) {
    delays.waited.push_back(delay);
    if (bytes > 0) delays.waitedBytes.emplace_back(static_cast<double>(bytes), delay);
  }

  /// Adds delays for blocking sends: a message moves when its sender and its receiver have both reached it,
  /// and passes wait for that.
  void addBlockedDelaysOf(const PassesOfPlaces& passes, Delays& delays) const {
    for (const auto& place : passes.places()) {
      for (std::size_t i = 0; i < place.size(); ++i) {
        const LearnedPass& pass = *place[i];
        const auto made = passes.inputOf(pass);
        if (i == 0 && !made) continue;
        const auto taken = i > 0 ? passes.receiverFree(*place[i - 1]) : std::nullopt;
        constexpr double kNever = -std::numeric_limits<double>::infinity();
        const double could =
            std::max({i > 0 ? place[i - 1]->end : kNever, made.value_or(kNever), taken.value_or(kNever)});
        if (pass.start < could) continue;  // clocks that do not fit
        if (!made && !taken)
          delays.local.push_back(pass.start - could);
        else
          addWaited(pass.start - could, made ? bytesOfInput(pass) : 0, delays);
      }
    }
  }

  void addDelaysOf(const LearnedIteration& iteration, double usual, Delays& delays) const {
    const PassesOfPlaces passes(iteration, model_);
    if (model_.blockingSends) return addBlockedDelaysOf(passes, delays);
    std::map<int, double> free;
    for (const LearnedPass& pass : iteration.passes) {
      const int place = passes.placeOf(pass.stage);
      const auto before = free.find(place);
      const auto made = passes.inputOf(pass);
      if (made && *made > pass.start) continue;  // clocks that do not fit
      const bool arrived = !made || (before != free.end() && *made + usual <= before->second);
      if (before != free.end() && arrived && pass.start >= before->second)
        (made ? delays.ready : delays.local).push_back(pass.start - before->second);
      if (made && (before == free.end() || *made >= before->second))
        addWaited(pass.start - *made, bytesOfInput(pass), delays);
      free[place] = std::max(before == free.end() ? pass.end : before->second, pass.end);
    }
  }

  void addLinks(const Delays& delays) {
    const double before = model_.launch + model_.receive;
    if (delays.waited.empty() && model_.places > 1)
      model_.remarks.push_back("No device waited for another one, so transfers are taken to need no time.");
    std::set<double> sizes;
    std::vector<double> slopes;
    for (const auto& [bytes, delay] : delays.waitedBytes) sizes.insert(bytes);
    if (sizes.size() > 1) {
      // Theil and Sen: the median of the slopes between the medians of each size.
      std::map<double, std::vector<double>> bySize;
      for (const auto& [bytes, delay] : delays.waitedBytes) bySize[bytes].push_back(delay);
      for (auto a = bySize.begin(); a != bySize.end(); ++a)
        for (auto b = std::next(a); b != bySize.end(); ++b)
          slopes.push_back((middleOf(b->second) - middleOf(a->second)) / (b->first - a->first));
    }
    const double slope = middleOf(slopes);
    if (slope > 0) {
      std::vector<double> latencies;
      for (const auto& [bytes, delay] : delays.waitedBytes) latencies.push_back(delay - slope * bytes);
      model_.bytesPerSecond = 1 / slope;
      model_.exchange = std::max(0.0, middleOf(latencies) - before);
      return;
    }
    model_.exchange = std::max(0.0, middleOf(delays.waited) - before);
    if (model_.exchange > 0)
      model_.remarks.push_back(
          "The messages do not differ in length, or their length is not stated, so latency and bandwidth "
          "cannot be told apart: fixed.exchange holds both.");
  }

  const std::vector<LearnedIteration>& iterations_;
  LearnedModel& model_;
};

base::Status addStagesOf(const analysis::Catalog& catalog, const model::Executable& executable,
                         LearnedModel& model) {
  std::map<model::DeviceId, int> places;
  std::int32_t expected = 0;
  for (const model::Stage* stage : catalog.stagesOf(executable.id)) {
    if (stage->index != expected++)
      return base::badInput(
          "The profile does not hold the passes of all stages, so the pipeline cannot be learned: import the "
          "traces of all ranks of a replica together.");
    LearnedStage& own = model.stages.emplace_back();
    own.place = places.emplace(stage->device, static_cast<int>(places.size())).first->second;
  }
  if (model.stages.empty())
    return base::badInput("The profile has no pipeline stages, so there is nothing to learn.");
  if (catalog.pipesOf(executable.id) > 1)
    return base::badInput(
        "The run sends micro-batches through two pipes (dualpipe), of which each device holds stages: learn "
        "from a run with another schedule.");
  model.places = static_cast<int>(places.size());
  for (const model::Boundary& boundary : catalog.boundaries) {
    if (boundary.executable == executable.id && boundary.kind == model::TransferKind::activation &&
        boundary.fromStage >= 0 && boundary.fromStage < static_cast<int>(model.stages.size()))
      model.stages[static_cast<std::size_t>(boundary.fromStage)].sends += boundary.bytes.count;
  }
  return {};
}

/// Takes what the stages send from the recorded messages where no boundary states it.
base::Status addMessages(const model::ProfileSource& source, const analysis::Catalog& catalog,
                         const model::Run& run, const std::vector<model::DeviceId>& devices,
                         LearnedModel& model) {
  std::map<std::pair<int, int>, std::vector<double>> bytes;  // by places
  const auto placeOf = [&](model::LaneId lane) {
    return static_cast<int>(std::ranges::find(devices, catalog.deviceOf(lane)) - devices.begin());
  };
  PIPESCOPE_TRY(analysis::forEachRowOfRun<model::Transfer>(source, run, [&](const model::Transfer& message) {
    if (message.kind == model::TransferKind::activation && message.bytes.count > 0)
      bytes[{placeOf(message.fromLane), placeOf(message.toLane)}].push_back(
          static_cast<double>(message.bytes.count));
  }));
  for (std::size_t s = 0; s + 1 < model.stages.size(); ++s) {
    const auto found = bytes.find({model.stages[s].place, model.stages[s + 1].place});
    if (model.stages[s].sends == 0 && found != bytes.end())
      model.stages[s].sends = std::llround(middleOf(found->second));
  }
  return {};
}

/// Most memory of each device: what a compiler planned, or what a trace counted.
base::Status addMemory(const model::ProfileSource& source, const analysis::Catalog& catalog,
                       model::ExecutableId executable, const std::vector<model::DeviceId>& devices,
                       base::Progress& progress, LearnedModel& model) {
  model.memory.resize(devices.size());
  const auto note = [&](model::DeviceId device, std::int64_t bytes) {
    const auto place = static_cast<std::size_t>(std::ranges::find(devices, device) - devices.begin());
    if (place < devices.size() && bytes > 0)
      model.memory[place] = std::max(model.memory[place].value_or(0), bytes);
  };
  if (!catalog.measured()) {
    PIPESCOPE_ASSIGN(const analysis::Memory memory, analysis::memory(source, catalog, executable));
    for (const analysis::DeviceMemory& device : memory.devices)
      note(model::DeviceId(device.index), device.total.count);
    std::vector<std::int64_t> stash;
    for (const model::Stage* stage : catalog.stagesOf(executable))
      stash.push_back(stage->stashBytesPerEntry.count);
    if (memory.devices.empty()) return {};
    if (std::ranges::all_of(stash, [](std::int64_t bytes) { return bytes == 0; }))
      model.remarks.push_back(
          "The profile does not say what a micro-batch keeps until its backward pass, so the memory is that "
          "of "
          "the recorded schedule, whatever schedule the configuration runs with.");
    model.stash = std::move(stash);
    return {};
  }
  analysis::CounterRequest request;
  request.executable = executable;
  request.ofWhole = false;
  request.mostPoints = 1;
  PIPESCOPE_ASSIGN(const std::vector<analysis::CounterSeries> all,
                   analysis::counterSeries(source, catalog, request, progress));
  for (const char* name : {"reserved memory", "allocated memory"}) {
    for (const analysis::CounterSeries& series : all)
      if (series.counter.name == name) note(series.counter.device, std::llround(series.largest));
    if (std::ranges::any_of(model.memory, [](const auto& bytes) { return bytes.has_value(); })) break;
  }
  return {};
}

void addSchedule(const model::ProfileSource& source, const analysis::Catalog& catalog,
                 const model::Executable& executable, const Schedules* schedules, LearnedModel& model) {
  if (!catalog.measured()) {
    model.schedule = executable.schedule;
    model.followed = true;
    return;
  }
  const auto comparison = comparePlan(source, catalog, executable.id, {}, schedules);
  if (!comparison.ok()) return;
  model.schedule = comparison->name;
  model.followed = comparison->passes > 0 && comparison->atPlace == comparison->passes;
  if (!model.followed)
    model.remarks.push_back(
        fmt::format("{:.0f} % of the recorded passes have the place that {} gives them, which fits best.",
                    100.0 * static_cast<double>(comparison->atPlace) /
                        static_cast<double>(std::max<std::int64_t>(1, comparison->passes)),
                    comparison->name));
}

/// True if devices of the schedule wait for each other at barriers, where no send blocks.
bool hasBarriers(const model::Executable& executable, const Schedules* schedules, const LearnedModel& model) {
  if (schedules == nullptr || model.schedule.empty()) return false;
  OrderRequest request;
  request.schedule = model.schedule;
  request.stages = static_cast<int>(model.stages.size());
  request.microBatches = model.microBatches;
  request.training = executable.kind == model::ExecutableKind::training;
  for (const LearnedStage& stage : model.stages) request.placeOfStage.push_back(stage.place);
  const base::Result<clock::Order> order = schedules->make(request);
  return order.ok() && order->progression == model::ScheduleKind::barrier;
}

/// Learns whether devices share cores where nobody says it, and takes that out of the works of passes.
base::Status addSharing(const analysis::Catalog& catalog, const model::Executable& executable, double cores,
                        std::vector<LearnedIteration>& iterations, LearnedModel& model) {
  if (cores > 0 && (!catalog.measured() || model.replicas > 1))
    return base::badInput(
        "--cores is about recorded processes of one replica, but the profile " +
        std::string(catalog.measured() ? "has several replicas" : "comes from an emulation") +
        ": leave it out.");
  if (!catalog.measured()) {
    const std::string given = catalog.property(fmt::format("replay.{}.shared_compute", executable.id.value));
    model.sharedCompute = base::numberOf(given).value_or(0);
    return {};
  }
  if (model.replicas > 1) return {};
  std::vector<int> placeOfStage;
  for (const LearnedStage& stage : model.stages) placeOfStage.push_back(stage.place);
  model.sharedCompute = cores > 0 ? cores : sharedCompute(iterations, placeOfStage);
  if (model.sharedCompute <= 0) return {};
  removeSharing(model.sharedCompute, placeOfStage, iterations);
  if (cores > 0) return {};
  model.remarks.push_back(fmt::format(
      "Passes take longer while other devices compute, as processes do that share cores. They are equally "
      "long if {} devices compute at full speed at the same time: fixed.shared_compute.",
      model.sharedCompute));
  return {};
}

}  // namespace

base::Result<LearnedModel> learnModel(const model::ProfileSource& source, const analysis::Catalog& catalog,
                                      model::ExecutableId id, const Schedules* schedules,
                                      base::Progress& progress, double cores) {
  const model::Executable* executable = catalog.executable(id);
  const model::Run* run = catalog.lastRunOf(id);
  if (executable == nullptr || run == nullptr)
    return base::badInput("The profile holds no call, so there is nothing to learn from.");
  LearnedModel model;
  model.microBatches = static_cast<int>(executable->microBatches);
  model.replicas = static_cast<int>(std::max<std::int64_t>(1, executable->replicas));
  PIPESCOPE_TRY(addStagesOf(catalog, *executable, model));
  std::vector<model::DeviceId> devices(static_cast<std::size_t>(model.places));
  for (const model::Stage* stage : catalog.stagesOf(id))
    devices[static_cast<std::size_t>(model.stages[static_cast<std::size_t>(stage->index)].place)] =
        stage->device;
  PIPESCOPE_TRY(addMessages(source, catalog, *run, devices, model));
  PIPESCOPE_ASSIGN(std::vector<LearnedIteration> iterations, learnedIterations(source, catalog, id));
  model.warmUp = removeWarmUp(iterations);
  model.steady = static_cast<int>(iterations.size());
  std::vector<double> lengths;
  for (const LearnedIteration& iteration : iterations) lengths.push_back(iteration.length());
  model.step = middleOf(lengths);
  PIPESCOPE_TRY(addSharing(catalog, *executable, cores, iterations, model));
  Gathered gathered(iterations, model);
  gathered.addStages();
  addSchedule(source, catalog, *executable, schedules, model);
  if (catalog.measured())
    gathered.addBlockingSends();
  else
    model.blockingSends = !catalog.property(fmt::format("replay.{}.blocking_sends", id.value)).empty();
  if (hasBarriers(*executable, schedules, model)) model.blockingSends = false;
  if (executable->kind == model::ExecutableKind::training && model.microBatches == 1)
    model.remarks.push_back(
        "The recorded run has one micro-batch, so that its costs hold no additions of gradients over "
        "micro-batches: "
        "with several, backward passes take longer than the configuration says.");
  gathered.addDelays();
  std::vector<bool> splits;
  for (const LearnedStage& stage : model.stages) splits.push_back(stage.weight > 0);
  gathered.addInFlight(splits);
  gathered.addBetween();
  PIPESCOPE_TRY(addMemory(source, catalog, id, devices, progress, model));
  return model;
}

}  // namespace pipescope::replay
