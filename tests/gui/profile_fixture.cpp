#include "profile_fixture.h"

#include <fmt/format.h>
#include <algorithm>

#include "fixture_writer.h"

namespace pipescope::testing {
namespace {

using model::LaneRole;
using model::Pass;
using model::StepKind;
using model::WaitCause;

constexpr std::int64_t kClock = 1'330'000'000, kTiles = 1472;
constexpr std::int64_t kCallTicks = 26'600, kSyncTicks = 480;

struct StageDescription {
  const char* blocks;
  std::vector<std::string> operations;
  std::int64_t forward, backward, update;
  const char* tensor;
  const char* shape;
  std::int64_t bytes;
};

const std::vector<StageDescription>& stageDescriptions() {
  static const std::vector<StageDescription> all = {
      {"B1",
       {"layer1/conv", "layer1/pool", "layer1/relu"},
       41'200,
       78'300,
       9'100,
       "layer1/relu/output",
       "40x10x12x12 float32",
       230'400},
      {"B2",
       {"layer2/conv", "layer2/pool", "layer2/relu"},
       66'900,
       131'400,
       11'800,
       "layer2/relu/output",
       "40x20x4x4 float32",
       51'200},
      {"B3",
       {"layer3/linear", "layer3/relu"},
       22'400,
       45'700,
       24'600,
       "layer3/relu/output",
       "40x256 float32",
       40'960},
      {"B4", {"layer4/linear", "softmax", "loss"}, 18'700, 30'100, 6'200, "", "", 0}};
  return all;
}

}  // namespace

ProfileFixture::Writer::Writer(const FixtureOptions& options) : options_(options), recorder_(*profile) {
  if (!options_.imported) host_ = std::make_unique<FixtureHost>(recorder_);
  addSystem();
  addConfiguration();
  clocks_.resize(static_cast<std::size_t>(options_.stages));
  training_ = addExecutable(true);
  if (options_.inference) inference_ = addExecutable(false);
  loss_ = recorder_.add(model::Counter{{}, training_.id, {}, "loss", ""});
  for (int i = 0; i < options_.runs; ++i) addRun(training_);
  if (options_.inference) addRun(inference_);
  if (host_ && options_.finish) host_->addTraining();
  addOutcomes();
}

void ProfileFixture::Writer::addSystem() {
  const int count = options_.stages;
  recorder_.add(model::Target{options_.fixed ? "fixed" : "pod4", options_.fixed ? "fixed" : "ipu",
                              options_.fixed ? "Costs given by the configuration"
                                             : "POD4: one M2000, four Mk2 IPUs at 1.33 GHz, direct attach",
                              count, count,
                              options_.fixed ? model::TickMeaning::cost : model::TickMeaning::clockCycle});
  for (int d = 0; d < count; ++d) {
    model::Device device;
    device.kind = options_.fixed ? "fixed" : "mk2";
    device.name = (options_.fixed ? "D" : "IPU") + std::to_string(d);
    device.ticksPerSecond = options_.fixed ? 1'000'000 : kClock;
    device.units = options_.fixed ? 1 : kTiles;
    device.unitName = options_.fixed ? "device" : "tile";
    devices_.push_back(recorder_.add(device));
    auto& lanes = lanes_.emplace_back();
    for (const LaneRole role : {LaneRole::compute, LaneRole::exchange, LaneRole::host}) {
      lanes[role] = recorder_.add(model::Lane{{},
                                              devices_.back(),
                                              device.name + " " + model::toString(role),
                                              role,
                                              model::ClockDomain::emulated});
    }
    if (!options_.fixed && !options_.imported)
      memory_.push_back(recorder_.add(
          model::MemorySpace{{}, devices_.back(), "tile_memory", kTiles, Bytes(638'976), Bytes(212'992)}));
  }
  for (int d = 0; d + 1 < count; ++d) {
    links_[{d, d + 1}] = recorder_.add(model::Link{{},
                                                   devices_[static_cast<std::size_t>(d)],
                                                   devices_[static_cast<std::size_t>(d + 1)],
                                                   "IPU-Link",
                                                   58e9});
    links_[{d + 1, d}] = recorder_.add(model::Link{{},
                                                   devices_[static_cast<std::size_t>(d + 1)],
                                                   devices_[static_cast<std::size_t>(d)],
                                                   "IPU-Link",
                                                   58e9});
  }
}

void ProfileFixture::Writer::addConfiguration() {
  recorder_.add(model::Property{"tool_version", "0.1.0"});
  recorder_.add(model::Property{"created_utc", "2024-05-17T09:30:00Z"});
  recorder_.add(model::Property{"command_line", "pipescope run samples/mnist/pipelined.toml"});
  recorder_.add(model::Property{"device_model", "ipu-mk2 1"});
  if (options_.imported) recorder_.add(model::Property{"imported_from", "trace.json"});
  if (!options_.fixed) {
    recorder_.add(
        model::Property{"figure.peak_fp32", "62.65 TFLOP/s; grade X; tiles x multiply-adds x 2 x clock"});
    recorder_.add(
        model::Property{"band.mk2.convolution.cycles",
                        "56 points, |ln| median 0.065, p90 0.172, bias -0.061; against Poplar's IPU Model"});
    recorder_.add(
        model::Property{"band.mk2.fully connected.cycles",
                        "32 points, |ln| median 0.032, p90 0.122, bias -0.012; against Poplar's IPU Model"});
  }
  const std::vector<std::array<const char*, 3>> rows = {{"model.builder", "\"mnist\"", "file"},
                                                        {"execution.precision", "\"float32\"", "default"},
                                                        {"options.strategy", "\"pipelined\"", "file"},
                                                        {"options.schedule", "\"popart\"", "default"},
                                                        {"options.recompute", "\"pipeline\"", "default"},
                                                        {"training.micro_batch_size", "40", "file"},
                                                        {"training.gradient_accumulation", "10", "file"},
                                                        {"training.device_iterations", "10", "file"},
                                                        {"training.epochs", "3", "flag"},
                                                        {"training.optimizer", "\"adamw\"", "file"},
                                                        {"training.learning_rate", "0.001", "file"},
                                                        {"training.output_mode", "\"final\"", "default"},
                                                        {"inference.micro_batch_size", "8", "file"},
                                                        {"inference.device_iterations", "100", "file"},
                                                        {"data.source", "\"digits\"", "default"},
                                                        {"data.shuffle", "true", "default"},
                                                        {"data.seed", "42", "environment"},
                                                        {"system.name", "\"pod4\"", "file"},
                                                        {"record.level", "\"steps\"", "default"}};
  for (const auto& row : rows) recorder_.add(model::ConfigurationEntry{row[0], row[1], row[2]});
  recorder_.add(model::Diagnostic{
      model::Severity::warning,
      "imbalance",
      "Stage 1 on IPU1 takes 1.9 times the mean of the stages; the others wait for it in every cycle.",
      {},
      {}});
  recorder_.add(model::Diagnostic{
      model::Severity::info, "data", "MNIST was not found; generated digits are used instead.", {}, {}});
}

FixtureExecutable ProfileFixture::Writer::addExecutable(bool training) {
  FixtureExecutable executable;
  executable.training = training;
  model::Executable row;
  row.name = training ? "training" : "inference";
  row.kind = training ? model::ExecutableKind::training : model::ExecutableKind::inference;
  row.strategy = "pipelined";
  row.schedule = "popart";
  row.scheduleKind = model::ScheduleKind::barrier;
  row.recompute = training ? "pipeline" : "none";
  row.stages = options_.stages;
  row.microBatchSize = training ? 40 : 8;
  row.microBatches = training ? options_.microBatches : 20;
  row.deviceIterations = training ? options_.iterations : 20;
  executable.slots =
      static_cast<int>(row.microBatches) + (training ? 2 * options_.stages - 2 : options_.stages - 1);
  executable.id = recorder_.add(row);
  executable.stages.resize(static_cast<std::size_t>(options_.stages));
  for (int s = 0; s < options_.stages; ++s) addStage(executable, s);
  for (int d = 0; d < options_.stages; ++d) {
    if (options_.fixed) continue;
    model::Segment sync;
    sync.executable = executable.id;
    sync.device = devices_[static_cast<std::size_t>(d)];
    sync.lane = lanes_[static_cast<std::size_t>(d)][LaneRole::exchange];
    sync.pass = Pass::sync;
    sync.name = "external sync";
    sync.ticks = Ticks(kSyncTicks);
    executable.sync.push_back({recorder_.add(sync), sync.ticks, Pass::sync});
    addStep(executable.sync.back().id, d, executable.id, StepKind::sync, "external sync", 0, kSyncTicks);
  }
  if (!options_.fixed && !options_.imported) {
    for (int d = 0; d < options_.stages; ++d) addMemory(executable, d);
  }
  return executable;
}

void ProfileFixture::Writer::addStage(FixtureExecutable& executable, int stage) {
  const StageDescription& from =
      stageDescriptions()[static_cast<std::size_t>(stage) % stageDescriptions().size()];
  const int n = options_.stages;
  const std::int64_t scale = options_.fixed ? 25 : 1;  // 41,200 cycles become 1.03 cost units
  const std::int64_t factor = executable.training ? 5 : 1;
  const std::int64_t forward = from.forward * scale * factor / 5, backward = from.backward * scale,
                     update = from.update * scale;
  StageWork& work = executable.stages[static_cast<std::size_t>(stage)];
  const bool last = stage == n - 1;
  if (stage == 0 && !options_.fixed)
    work.hostIn.push_back(
        addSegment(executable, stage, Pass::hostIn, {"images"}, options_.slowHost ? 250'000 : 5'120));
  if (last && executable.training && !options_.fixed)
    work.hostIn.push_back(addSegment(executable, stage, Pass::hostIn, {"labels"}, 1'400));
  work.forward.push_back(addSegment(executable, stage, Pass::forward, from.operations, forward));
  if (executable.training) {
    if (!last)
      work.recompute.push_back(addSegment(executable, stage, Pass::recompute, from.operations, forward));
    work.backward.push_back(addSegment(executable, stage, Pass::backward, from.operations, backward));
    work.update.push_back(addSegment(executable, stage, Pass::update, {"optimizer/adamw"}, update));
    facts.forwardTicks.push_back(forward);
    facts.backwardTicks.push_back(backward);
    facts.recomputeTicks.push_back(last ? 0 : forward);
    facts.updateTicks.push_back(update);
  } else if (last && !options_.fixed) {
    work.hostOut.push_back(addSegment(executable, stage, Pass::hostOut, {"logits"}, 1'750));
  }
  model::Stage row{executable.id, stage, devices_[static_cast<std::size_t>(stage)], from.blocks, 0, Bytes(0)};
  if (executable.training && !last) {
    row.stashEntries = 2 * (n - 1 - stage) + 1;
    row.stashBytesPerEntry =
        Bytes(stage == 0 ? 125'440 : stageDescriptions()[static_cast<std::size_t>(stage - 1) % 4].bytes);
  }
  recorder_.add(row);
  if (last) return;
  const Ticks ticks(from.bytes * kClock / 58'000'000'000 * scale + 300);
  recorder_.add(model::Boundary{executable.id, stage, stage + 1, model::TransferKind::activation, from.tensor,
                                from.shape, Bytes(from.bytes), ticks});
  if (executable.training) {
    recorder_.add(model::Boundary{executable.id, stage + 1, stage, model::TransferKind::gradient,
                                  std::string(from.tensor) + "/gradient", from.shape, Bytes(from.bytes),
                                  ticks});
  }
}

SegmentRef ProfileFixture::Writer::addSegment(const FixtureExecutable& executable, int stage, Pass pass,
                                              const std::vector<std::string>& operations,
                                              std::int64_t ticks) {
  model::Segment row;
  row.executable = executable.id;
  row.device = devices_[static_cast<std::size_t>(stage)];
  const bool host = pass == Pass::hostIn || pass == Pass::hostOut;
  row.lane = lanes_[static_cast<std::size_t>(stage)][host ? LaneRole::host : LaneRole::compute];
  row.stage = stage;
  row.pass = pass;
  row.name = fmt::format("stage {} {}", stage, model::toString(pass));
  row.ticks = Ticks(ticks);
  const model::SegmentId id = recorder_.add(row);
  if (!options_.fixed) addSteps(id, stage, executable, pass, operations, ticks);
  return {id, row.ticks, pass};
}

void ProfileFixture::Writer::addSteps(model::SegmentId segment, int device,
                                      const FixtureExecutable& executable, Pass pass,
                                      const std::vector<std::string>& operations, std::int64_t ticks) {
  struct Part {
    const char* name;
    StepKind kind;
    double weight;
  };
  std::vector<Part> parts;
  if (pass == Pass::hostIn || pass == Pass::hostOut) {
    parts = {{"StreamCopyBegin", StepKind::sync, 1},
             {"StreamCopyMid", StepKind::streamCopy, 8},
             {"StreamCopyEnd", StepKind::sync, 1}};
  } else {
    parts = {{"PreArrange", StepKind::exchange, 2}, {"Sync", StepKind::sync, .3},
             {"Convolve", StepKind::compute, 14},   {"Exchange", StepKind::exchange, 3},
             {"Reduce", StepKind::compute, 4},      {"Sync", StepKind::sync, .3},
             {"AddBias", StepKind::compute, 2}};
  }
  double total = 0;
  std::vector<double> weights;
  for (std::size_t o = 0; o < operations.size(); ++o) {
    const double heavy = o == 0 ? 4.0 : 1.0;
    for (const Part& part : parts)
      weights.push_back(part.weight * (part.kind == StepKind::compute ? heavy : 1.0)),
          total += weights.back();
  }
  // The forward pass runs the operations in order, the backward pass in reverse.
  std::vector<std::string> order = operations;
  const bool reversed = pass == Pass::backward;
  if (reversed) std::reverse(order.begin(), order.end()), std::reverse(weights.begin(), weights.end());
  std::vector<model::OperatorId> operators;
  for (const std::string& operation : order) {
    const bool host = pass == Pass::hostIn || pass == Pass::hostOut;
    const std::string kind = operation.find("conv") != std::string::npos     ? "Conv"
                             : operation.find("linear") != std::string::npos ? "Gemm"
                                                                             : "Elementwise";
    operators.push_back(host ? model::OperatorId()
                             : recorder_.add(model::Operator{{},
                                                             executable.id,
                                                             name(operation),
                                                             kind,
                                                             device,
                                                             pass,
                                                             static_cast<double>(ticks) * 900,
                                                             Bytes(ticks * 60)}));
  }
  // Each forward operation reads what the one before it made.
  for (std::size_t i = 0; pass == Pass::forward && i < operators.size(); ++i) {
    model::OperatorId& before = lastForward_[executable.id.value];
    if (before.valid())
      recorder_.add(model::Edge{executable.id, before, operators[i], name(order[i] + "/input"),
                                "40x" + std::to_string(i + 1) + " float32",
                                Bytes(160 * (static_cast<int>(i) + 1))});
    before = operators[i];
  }
  std::int64_t at = 0;
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Part& part = parts[reversed ? parts.size() - 1 - i % parts.size() : i % parts.size()];
    sum += weights[i];
    const std::int64_t end =
        i + 1 == weights.size() ? ticks : static_cast<std::int64_t>(static_cast<double>(ticks) * sum / total);
    const std::string prefix = pass == Pass::backward ? "gradient/" : std::string();
    addStep(segment, device, executable.id, part.kind, prefix + order[i / parts.size()] + "/" + part.name, at,
            end - at, operators[i / parts.size()]);
    at = end;
  }
}

void ProfileFixture::Writer::addStep(model::SegmentId segment, int device, model::ExecutableId executable,
                                     StepKind kind, const std::string& path, std::int64_t offset,
                                     std::int64_t ticks, model::OperatorId op) {
  const char* type = "OnTileExecute";
  LaneRole lane = LaneRole::compute;
  if (kind == StepKind::exchange) type = "DoExchange", lane = LaneRole::exchange;
  if (kind == StepKind::sync) type = "Sync", lane = LaneRole::exchange;
  if (kind == StepKind::streamCopy) type = "StreamCopyMid", lane = LaneRole::host;
  model::Step step;
  step.segment = segment;
  step.lane = lanes_[static_cast<std::size_t>(device)][lane];
  step.offset = Ticks(offset);
  step.ticks = Ticks(ticks);
  step.kind = kind;
  step.program = program(executable, device, type, path, op);
  step.activeUnits = kind == StepKind::compute ? 900 + static_cast<std::int64_t>(random_() % 572) : kTiles;
  step.maxTicks = Ticks(ticks);
  step.minTicks = Ticks(ticks * 3 / 5);
  step.meanTicks =
      static_cast<double>(ticks) * 0.84 * static_cast<double>(step.activeUnits) / static_cast<double>(kTiles);
  if (kind == StepKind::exchange) step.bytesIn = step.bytesOut = Bytes(ticks * 2'900);
  if (kind == StepKind::streamCopy) step.bytesIn = Bytes(ticks * 6);
  recorder_.add(step);
  addTiles(step);
  ++steps_;
}

/// Records the active tiles in sixteen groups. The first group works for the whole step, the last the least.
void ProfileFixture::Writer::addTiles(const model::Step& step) {
  constexpr std::int64_t kGroups = 16;
  if (!options_.tiles || step.kind != StepKind::compute) return;
  for (std::int64_t group = 0; group < kGroups; ++group) {
    model::StepUnits row;
    row.segment = step.segment;
    row.step = steps_;
    row.firstUnit = step.activeUnits * group / kGroups;
    row.unitCount = step.activeUnits * (group + 1) / kGroups - row.firstUnit;
    row.ticks = Ticks(step.maxTicks.count -
                      (step.maxTicks - step.minTicks).count * ((group * 7) % kGroups) / (kGroups - 1));
    if (row.ticks.count > 0) recorder_.add(row);
  }
}

model::DebugContextId ProfileFixture::Writer::name(const std::string& path) {
  if (const auto found = names_.find(path); found != names_.end()) return found->second;
  const std::size_t slash = path.rfind('/');
  const model::DebugContextId parent =
      slash == std::string::npos ? model::DebugContextId() : name(path.substr(0, slash));
  const std::string own = slash == std::string::npos ? path : path.substr(slash + 1);
  return names_[path] = recorder_.add(model::DebugContext{{}, parent, own, "operator"});
}

model::ProgramId ProfileFixture::Writer::program(model::ExecutableId executable, int device,
                                                 const std::string& kind, const std::string& path,
                                                 model::OperatorId op) {
  const std::string key = fmt::format("{} {} {} {} {}", executable.value, device, kind, path, op.value);
  if (const auto found = programs_.find(key); found != programs_.end()) return found->second;
  return programs_[key] = recorder_.add(model::Program{
             {}, {}, executable, devices_[static_cast<std::size_t>(device)], kind, name(path), op});
}

void ProfileFixture::Writer::addRun(const FixtureExecutable& executable) {
  model::Run run;
  run.executable = executable.id;
  run.name = fmt::format("{} {}", executable.training ? "training call" : "inference call", ++runs_);
  run.start = now_;
  run.samples = executable.training ? 40LL * options_.microBatches * options_.iterations : 160;
  const model::RunId id(runs_ - 1);
  for (Clock& clock : clocks_) clock = {now_, {}};
  const std::int64_t call = options_.fixed ? 500'000 : kCallTicks;
  for (int d = 0; d < options_.stages; ++d) wait(d, now_ + Ticks(call), WaitCause::host, {}, -1, id, -1, -1);
  for (int i = 0; i < (executable.training ? options_.iterations : 1); ++i) {
    flush(executable, id, i);
    for (int s = 0; executable.training && s < options_.stages; ++s)
      place(s, executable.stages[static_cast<std::size_t>(s)].update, id, s, -1, i, -1);
  }
  const auto slowest = std::max_element(clocks_.begin(), clocks_.end(),
                                        [](const Clock& a, const Clock& b) { return a.free < b.free; });
  const Clock end = *slowest;
  for (int d = 0; d < options_.stages; ++d)
    wait(d, end.free, WaitCause::drain, end.last, static_cast<int>(slowest - clocks_.begin()), id,
         options_.iterations - 1, -1);
  now_ = end.free;
  run.end = now_;
  run.wallStartNs = runs_ * 900'000'000LL;
  run.wallEndNs = run.wallStartNs + 850'000'000LL;
  recorder_.add(run);
  if (host_) host_->addCall(run.wallStartNs / 1'000'000, run.wallEndNs / 1'000'000);
  if (executable.training) recorder_.add(model::CounterSample{loss_, now_, id, 2.3 / (1 + runs_)});
}

bool ProfileFixture::Writer::runSlot(const FixtureExecutable& executable, model::RunId run, int iteration,
                                     int slot, int device) {
  const int n = options_.stages, g = executable.training ? options_.microBatches : 20;
  const StageWork& work = executable.stages[static_cast<std::size_t>(device)];
  const int forward = slot - device, backward = slot - (2 * n - 2 - device);
  bool any = false;
  if (forward >= 0 && forward < g) {
    place(device, work.hostIn, run, device, forward, iteration, slot);
    place(device, work.forward, run, device, forward, iteration, slot);
    any = true;
  }
  if (executable.training && backward >= 0 && backward < g) {
    place(device, work.recompute, run, device, backward, iteration, slot);
    place(device, work.backward, run, device, backward, iteration, slot);
    any = true;
  }
  if (forward >= 0 && forward < g) place(device, work.hostOut, run, device, forward, iteration, slot);
  return any;
}

void ProfileFixture::Writer::flush(const FixtureExecutable& executable, model::RunId run, int iteration) {
  for (int slot = 0; slot < executable.slots; ++slot) {
    int slowest = 0;
    std::vector<bool> worked;
    for (int d = 0; d < options_.stages; ++d) {
      worked.push_back(runSlot(executable, run, iteration, slot, d));
      if (clocks_[static_cast<std::size_t>(d)].free > clocks_[static_cast<std::size_t>(slowest)].free)
        slowest = d;
    }
    const Clock last = clocks_[static_cast<std::size_t>(slowest)];
    for (int d = 0; d < options_.stages; ++d) {
      WaitCause cause = WaitCause::slowerStage;
      if (!worked[static_cast<std::size_t>(d)]) cause = slot < d ? WaitCause::fill : WaitCause::drain;
      wait(d, last.free, cause, last.last, slowest, run, iteration, slot);
    }
    exchange(executable, run, iteration, slot, slowest);
  }
}

void ProfileFixture::Writer::exchange(const FixtureExecutable& executable, model::RunId run, int iteration,
                                      int slot, int slowest) {
  const int n = options_.stages;
  for (int d = 0; d < n && !executable.sync.empty(); ++d)
    place(d, {executable.sync[static_cast<std::size_t>(d)]}, run, -1, -1, iteration, slot);
  const Ticks start = clocks_[static_cast<std::size_t>(slowest)].free;
  Ticks end = start;
  std::vector<Ticks> until(static_cast<std::size_t>(n), start);
  const auto send = [&](int from, int to, model::TransferKind kind, int microBatch) {
    const std::int64_t bytes = stageDescriptions()[static_cast<std::size_t>(std::min(from, to)) % 4].bytes;
    const Ticks ticks(options_.fixed ? 100'000 : bytes * kClock / 58'000'000'000 + 300);
    model::Transfer row;
    row.fromLane = lanes_[static_cast<std::size_t>(from)][LaneRole::exchange];
    row.toLane = lanes_[static_cast<std::size_t>(to)][LaneRole::exchange];
    row.link = links_.at({from, to});
    row.kind = kind;
    row.bytes = Bytes(bytes);
    row.start = start;
    row.end = start + ticks;
    row.from = clocks_[static_cast<std::size_t>(from)].last;
    row.run = run;
    row.iteration = iteration;
    row.microBatch = microBatch;
    row.slot = slot;
    recorder_.add(row);
    end = std::max(end, row.end);
    for (const int d : {from, to})
      until[static_cast<std::size_t>(d)] = std::max(until[static_cast<std::size_t>(d)], row.end);
  };
  const int g = executable.training ? options_.microBatches : 20;
  const auto inRange = [&](int microBatch) { return microBatch >= 0 && microBatch < g ? microBatch : -1; };
  for (int d = 0; d + 1 < n; ++d) send(d, d + 1, model::TransferKind::activation, inRange(slot - d));
  for (int d = n - 1; executable.training && d > 0; --d)
    send(d, d - 1, model::TransferKind::gradient, inRange(slot - (2 * n - 2 - d)));
  for (int d = 0; d < n; ++d) {
    Clock& clock = clocks_[static_cast<std::size_t>(d)];
    clock.free = std::max(clock.free, until[static_cast<std::size_t>(d)]);
    wait(d, end, WaitCause::exchange, clock.last, d, run, iteration, slot);
  }
}

void ProfileFixture::Writer::place(int device, const std::vector<SegmentRef>& segments, model::RunId run,
                                   int stage, int microBatch, int iteration, int slot) {
  Clock& clock = clocks_[static_cast<std::size_t>(device)];
  for (const SegmentRef& segment : segments) {
    model::Placement row;
    row.segment = segment.id;
    row.device = devices_[static_cast<std::size_t>(device)];
    row.start = clock.free;
    clock.free += segment.ticks;
    row.end = clock.free;
    row.run = run;
    row.stage = stage;
    row.pass = segment.pass;
    row.microBatch = microBatch;
    row.iteration = iteration;
    row.slot = slot;
    clock.last = recorder_.add(row);
  }
}

void ProfileFixture::Writer::wait(int device, Ticks until, WaitCause cause, model::PlacementId waitedFor,
                                  int waitedForDevice, model::RunId run, int iteration, int slot) {
  Clock& clock = clocks_[static_cast<std::size_t>(device)];
  if (until <= clock.free) return;
  model::Wait row;
  row.device = devices_[static_cast<std::size_t>(device)];
  row.start = clock.free;
  row.end = until;
  row.cause = cause;
  row.waitedFor = waitedFor;
  if (waitedForDevice >= 0) row.waitedForDevice = devices_[static_cast<std::size_t>(waitedForDevice)];
  row.run = run;
  row.iteration = iteration;
  row.stage = device;
  row.slot = slot;
  recorder_.add(row);
  clock.free = until;
}

void ProfileFixture::Writer::addOutcomes() {
  if (options_.fixed || !options_.outcomes) return;
  recorder_.add(model::Outcome{training_.id, "final_loss", "",
                               "rows returned by the last call (output mode final)", 0.0412});
  recorder_.add(model::Outcome{training_.id, "training_accuracy", "",
                               "rows returned by the last call (output mode final)", 0.9875});
  recorder_.add(model::Outcome{{},
                               "test_accuracy",
                               "",
                               "9,600 of 10,000 test samples (12 calls of 800; the rest is dropped)",
                               0.9773});
  recorder_.add(model::Outcome{{},
                               "host_samples_per_second",
                               "samples/s",
                               "wall clock of the training calls",
                               15'230,
                               model::OutcomeKind::emulator});
}

ProfileFixture::ProfileFixture(const FixtureOptions& options) : writer_(std::make_unique<Writer>(options)) {
  const bool done = options.finish ? writer_->recorder().finish(model::ProfileState::complete).ok()
                                   : writer_->recorder().commit().ok();
  PIPESCOPE_CHECK(done, "memory takes every row");
}
ProfileFixture::~ProfileFixture() = default;

std::shared_ptr<record::MemoryProfile> ProfileFixture::profile() const {
  return writer_->profile;
}
const FixtureFacts& ProfileFixture::facts() const {
  return writer_->facts;
}

void ProfileFixture::addTrainingRun() {
  writer_->addRun(writer_->training());
  PIPESCOPE_CHECK(writer_->recorder().commit().ok(), "memory takes every row");
}

void ProfileFixture::finish(model::ProfileState state, const std::string& reason) {
  PIPESCOPE_CHECK(writer_->recorder().finish(state, reason).ok(), "memory takes every row");
}

}  // namespace pipescope::testing
