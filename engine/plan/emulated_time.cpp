#include "engine/plan/emulated_time.h"

#include <algorithm>
#include <map>
#include <optional>

#include "engine/emulate/emulator.h"
#include "engine/schedules/schedule.h"
#include "profiler/base/intervals.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::plan {
namespace {

/// The steps of a segment without their texts and units, and the collectives of its operators.
void keepCollectives(const devices::LoweredPass& pass, const devices::LoweredSegment& segment,
                     devices::LoweredPass& own, devices::LoweredSegment& kept) {
  const auto isCollective = [](const devices::LoweredStep& step) {
    return step.kind == model::StepKind::globalExchange && step.op >= 0;
  };
  if (segment.tied < 0 && std::ranges::none_of(segment.steps, isCollective)) return;
  own.operators.resize(pass.operators.size());
  for (std::size_t i = 0; i < pass.operators.size(); ++i) {
    if (!pass.operators[i].collective) continue;
    own.operators[i].name = pass.operators[i].name;
    own.operators[i].collective = pass.operators[i].collective;
  }
  for (const devices::LoweredStep& step : segment.steps) {
    devices::LoweredStep& copy = kept.steps.emplace_back();
    copy.kind = step.kind;
    copy.lane = step.lane;
    copy.op = step.op;
    copy.offset = step.offset;
    copy.ticks = step.ticks;
  }
}

/// The segments of a device without what they consist of, but for what their collectives do to links. Times
/// depend on nothing else.
devices::LoweredDevice lengthsOf(const devices::LoweredDevice& device) {
  devices::LoweredDevice lengths;
  lengths.device = device.device;
  for (const devices::LoweredPass& pass : device.passes) {
    devices::LoweredPass& own = lengths.passes.emplace_back();
    own.stage = pass.stage;
    own.pass = pass.pass;
    for (const devices::LoweredSegment& segment : pass.segments) {
      own.segments.push_back(
          {{}, segment.lane, segment.ticks, {}, segment.pass, segment.after, segment.tied});
      keepCollectives(pass, segment, own, own.segments.back());
    }
  }
  return lengths;
}

/// Collects when stages and transfers keep the places of the first replica busy in one call.
class BusyTimes : public clock::Sink {
 public:
  explicit BusyTimes(const clock::Call& call)
      : flows_(call.replicas.front().flows),
        placeOfStage_(call.placeOfStage),
        ofStage_(placeOfStage_.size()),
        working_(call.orders.front().places.size()),
        transfers_(working_.size()) {}

  model::PlacementId placed(int replica, int place, const clock::Piece& piece, base::Ticks start,
                            const clock::WorkOf& work) override {
    if (replica != 0) return {};
    const base::Ticks end = start + piece.ticks;
    working_[static_cast<std::size_t>(place)].add(start, end);
    // Sums of gradients, loads and stores of remote buffers around the update belong to it, and not to a
    // stage.
    const bool aside =
        piece.pass == model::Pass::update || piece.pass == model::Pass::sync ||
        ((piece.pass == model::Pass::collective || piece.pass == model::Pass::remote) && work.microBatch < 0);
    if (work.stage >= 0 && !aside) ofStage_[static_cast<std::size_t>(work.stage)].add(start, end);
    return {};
  }
  void transferred(int replica, int flow, base::Ticks start, base::Ticks end, model::PlacementId,
                   const clock::WorkOf&) override {
    if (replica != 0) return;
    const clock::Flow& sent = flows_[static_cast<std::size_t>(flow)];
    for (const int stage : {sent.fromStage, sent.toStage})
      transfers_[static_cast<std::size_t>(placeOfStage_[static_cast<std::size_t>(stage)])].add(start, end);
  }
  void waited(const clock::Wait&) override {}

  std::int64_t ofStage(std::size_t stage) const { return ofStage_[stage].unionLength().count; }
  /// The time in which transfers keep the place from computing.
  std::int64_t exchangeAlone(std::size_t place) const {
    return (transfers_[place].unionLength() - commonLength(transfers_[place], working_[place])).count;
  }

 private:
  const std::vector<clock::Flow>& flows_;
  const std::vector<int>& placeOfStage_;
  std::vector<base::Intervals> ofStage_, working_, transfers_;
};

/// If the host prepares samples at a limited rate, it has none ready when the first call begins, so that only
/// the second call is like all further ones, whose figures a profile of many calls shows.
bool waitsForSamples(const emulate::ExecutableFacts& facts) {
  return facts.host.samplesPerSecond(facts.replicas) > 0;
}

/// Emulates calls of an executable up to the settled one, and returns its length. The sink that
/// `makeSink(call)` returns, which may be null, gets the rows of that one.
template <class MakeSink>
base::Ticks settledTicks(const compile::Compilation& compilation, std::size_t executable,
                         const schedules::Order& order, const emulate::ExecutableFacts& facts,
                         MakeSink makeSink) {
  record::MemoryProfile nowhere;
  record::Recorder recorder(nowhere);
  constexpr auto kOff = emulate::RecordLevel::off;
  emulate::SystemIds ids =
      emulate::recordSystem(recorder, *compilation.system, compilation.devicesWithStages());
  const compile::CompiledExecutable& compiled = compilation.executables[executable];
  std::vector<devices::LoweredDevice> lengths;
  for (const devices::LoweredDevice& device : compiled.lowered) lengths.push_back(lengthsOf(device));
  const emulate::EmulatedExecutable emulated =
      emulate::recordExecutable(recorder, *compilation.system, ids, compiled.ir, lengths, order, facts, kOff);
  emulate::Emulator emulator(recorder, *compilation.system, ids, kOff);
  if (waitsForSamples(facts)) emulator.call(emulated, {});
  const model::Run run = emulator.call(emulated, {}, makeSink(emulated.call));
  return run.end - run.start;
}

base::Ticks settledTicks(const compile::Compilation& compilation, std::size_t executable,
                         const schedules::Order& order, const emulate::ExecutableFacts& facts) {
  return settledTicks(compilation, executable, order, facts, [](const clock::Call&) { return nullptr; });
}

/// Ticks of a call with so many micro-batches; nothing: the schedule refuses their number.
std::optional<double> ticksWith(const compile::Compilation& compilation, std::size_t executable,
                                std::int64_t microBatches) {
  const compile::CompiledExecutable& compiled = compilation.executables[executable];
  schedules::Shape shape;
  for (const compile::StageIr& stage : compiled.ir.stages) shape.placeOfStage.push_back(stage.place);
  shape.stages = static_cast<int>(shape.placeOfStage.size());
  shape.training = compiled.ir.kind == model::ExecutableKind::training;
  shape.microBatches = static_cast<int>(microBatches);
  const base::Result<schedules::Order> order = schedules::makeOrder(compiled.facts.schedule, shape);
  if (!order.ok()) return std::nullopt;
  emulate::ExecutableFacts facts = compiled.facts;
  facts.microBatches = microBatches;
  return static_cast<double>(settledTicks(compilation, executable, *order, facts).count);
}

}  // namespace

EmulatedCall emulatedCall(const compile::Compilation& compilation, std::size_t executable) {
  const compile::CompiledExecutable& compiled = compilation.executables[executable];
  std::optional<BusyTimes> busy;
  EmulatedCall call;
  call.ticks = settledTicks(compilation, executable, compiled.order, compiled.facts,
                            [&](const clock::Call& of) { return &busy.emplace(of); });
  // The micro-batches of one pipe go through each of its stages.
  const auto microBatches = std::max<std::int64_t>(
      1, compiled.facts.iterations *
             std::max<std::int64_t>(1, compiled.facts.microBatches / compiled.order.pipes));
  const bool barriers = compiled.order.progression != model::ScheduleKind::dependency;
  std::map<int, std::int64_t> stagesOn;
  for (const compile::StageIr& stage : compiled.ir.stages) ++stagesOn[stage.place];
  for (std::size_t s = 0; s < compiled.ir.stages.size(); ++s) {
    const int place = compiled.ir.stages[s].place;
    StageOccupancy& stage = call.stages.emplace_back();
    if (barriers)
      stage.exchange =
          busy->exchangeAlone(static_cast<std::size_t>(place)) / (microBatches * stagesOn[place]);
    stage.occupied = busy->ofStage(s) / microBatches + stage.exchange;
  }
  return call;
}

base::Ticks callTicks(const compile::Compilation& compilation, std::size_t executable) {
  const compile::CompiledExecutable& compiled = compilation.executables[executable];
  return settledTicks(compilation, executable, compiled.order, compiled.facts);
}

double steadyCallTicks(const compile::Compilation& compilation, std::size_t executable) {
  const compile::CompiledExecutable& compiled = compilation.executables[executable];
  const std::int64_t all = compiled.facts.microBatches;
  // Schedules accept multiples of the number of places, and pipelines are full after twice as many.
  const std::int64_t step = 2 * std::max<std::int64_t>(1, compiled.ir.mesh.places);
  const std::int64_t few = step + all % step, more = few + step;
  const bool alike = compiled.facts.microBatchCosts.empty() && compiled.order.pipes == 1;
  if (alike && 3 * (few + more) <= 2 * all) {
    const std::optional<double> first = ticksWith(compilation, executable, few),
                                second = ticksWith(compilation, executable, more);
    if (first && second)
      return *first + (*second - *first) * static_cast<double>(all - few) / static_cast<double>(step);
  }
  return static_cast<double>(callTicks(compilation, executable).count);
}

base::Result<base::Ticks> callTicks(const compile::FixedRun& run) {
  PIPESCOPE_ASSIGN(const compile::Compilation compilation, compile::compileFixed(run));
  return callTicks(compilation);
}

}  // namespace pipescope::plan
