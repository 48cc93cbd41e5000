#pragma once
// A device family for tests. Its devices are on buses whose transfers slow each other down; costs and memory
// are given.
#include <functional>

#include "engine/devices/core/device_family.h"
#include "engine/emulate/emulator.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::tests {

using base::Bytes;
using base::Ticks;

class BusSystem : public devices::System {
 public:
  /// `busOf` returns the bus of a flow. Flows on one bus take turns, byte by byte, at one byte per tick. −1
  /// stands for a bus of its own that nothing slows down.
  BusSystem(int count, std::vector<std::int64_t> forward, std::vector<std::int64_t> backward,
            std::function<int(const devices::Flow&)> busOf)
      : forward_(std::move(forward)), backward_(std::move(backward)), busOf_(std::move(busOf)) {
    for (int i = 0; i < count; ++i)
      devices_.push_back({"test",
                          "Device " + std::to_string(i),
                          1,
                          1,
                          "unit",
                          {model::LaneRole::compute, model::LaneRole::exchange},
                          {{"memory", 1, Bytes(1 << 20), Bytes(0)}}});
  }
  std::string family() const override { return "test"; }
  devices::SystemFacts facts() const override { return {.deviceNoun = "device", .tickNoun = "cycles"}; }
  std::string name() const override { return "bus"; }
  std::string description() const override { return "devices on buses"; }
  const std::vector<devices::DeviceInfo>& devices() const override { return devices_; }
  const std::vector<devices::LinkInfo>& links() const override { return links_; }
  std::vector<devices::Figure> figures() const override { return {}; }

  base::Result<devices::LoweredDevice> lower(
      const std::vector<const compile::StageIr*>& stages) const override {
    devices::LoweredDevice lowered;
    devices::LoweredMemory memory;
    memory.variables.push_back({"weights", "weight", "", Bytes(1000), Bytes(1000), true, 0, {}});
    for (const compile::StageIr* stage : stages) {
      lowered.device = stage->place;
      const auto s = static_cast<std::size_t>(stage->index);
      memory.variables.push_back({"ring",
                                  "stash",
                                  "",
                                  stage->stashBytesPerEntry * stage->stashEntries,
                                  Bytes(0),
                                  true,
                                  stage->index,
                                  {}});
      const auto add = [&](model::Pass pass, std::int64_t ticks, std::int64_t peak) {
        if (ticks <= 0) return;
        devices::LoweredStep step;
        step.program = "OnTileExecute";
        step.name = std::to_string(stage->index) + model::toString(pass);
        step.ticks = Ticks(ticks);
        lowered.passes.push_back(
            {stage->index, pass, {}, {{step.name, model::LaneRole::compute, Ticks(ticks), {step}}}});
        memory.steps.push_back({step.name, step.program, pass, Bytes(peak), Bytes(peak)});
      };
      add(model::Pass::forward, forward_[s], 10);
      if (!backward_.empty()) add(model::Pass::backward, backward_[s], 20);
    }
    lowered.memory.push_back(memory);
    return lowered;
  }
  std::vector<Ticks> transferTicks(const std::vector<devices::Flow>& concurrent) const override {
    ++solved;
    std::vector<Ticks> ticks;
    for (const devices::Flow& flow : concurrent) {
      std::int64_t sum = 0;
      for (const devices::Flow& other : concurrent)
        sum += busOf_(flow) >= 0 && busOf_(other) == busOf_(flow) ? other.bytes.count : 0;
      ticks.emplace_back(busOf_(flow) < 0 ? flow.bytes.count : sum);
    }
    return ticks;
  }
  std::vector<std::int64_t> linksOf(const devices::Flow& flow) const override {
    return busOf_(flow) < 0 ? std::vector<std::int64_t>() : std::vector<std::int64_t>{busOf_(flow)};
  }
  Ticks syncTicks(int) const override { return Ticks(0); }
  Ticks callTicks() const override { return Ticks(0); }

  mutable int solved = 0;

 private:
  std::vector<std::int64_t> forward_, backward_;
  std::function<int(const devices::Flow&)> busOf_;
  std::vector<devices::DeviceInfo> devices_;
  std::vector<devices::LinkInfo> links_;
};

struct BusOptions {
  int iterations = 1, replicas = 1, calls = 1;
  bool recordAll = false;
  bool overlapIo = false;        ///< host copies run beside the compute
  emulate::HostModel host = {};  ///< seconds are ticks here
  std::vector<double> microBatchCosts = {};
};

/// Calls of a schedule on such devices, with one stage on each device and `bytes` on each boundary. `run` and
/// `computed` are those of the last call.
struct BusRun {
  record::MemoryProfile profile;
  clock::ComputeSpan computed;
  emulate::EmulatedExecutable executable;
  std::vector<model::Placement> placements;
  std::vector<model::Transfer> transfers;
  model::Run run;
};

inline void emulateOn(const BusSystem& system, const std::string& schedule, int stages, int microBatches,
                      bool training, std::int64_t bytes, emulate::RecordLevel level, BusRun& result,
                      const BusOptions& options = {}) {
  const int replicas = options.replicas;
  schedules::Shape shape{stages, microBatches, training, {}};
  for (int s = 0; s < stages; ++s) shape.placeOfStage.push_back(s);
  auto order = schedules::makeOrder(schedule, shape);
  PIPESCOPE_CHECK(order.ok(), "a schedule that can be");
  compile::ExecutableIr ir;
  ir.name = "test";
  ir.kind = training ? model::ExecutableKind::training : model::ExecutableKind::inference;
  ir.mesh.replicas = replicas;
  ir.mesh.places = stages;
  const graph::TensorType type{graph::ElementType::float32, {bytes / 4}};
  std::vector<devices::LoweredDevice> lowered;
  for (int s = 0; s < stages; ++s) {
    compile::StageIr stage;
    stage.index = stage.place = s;
    stage.stashEntries = order->stashEntries[static_cast<std::size_t>(s)];
    stage.stashBytesPerEntry = Bytes(stage.stashEntries > 0 ? 100 : 0);
    ir.stages.push_back(stage);
    if (s + 1 < stages) ir.boundaries.push_back({"x", type, s, s + 1, model::TransferKind::activation});
    if (training && s > 0) ir.boundaries.push_back({"dx", type, s, s - 1, model::TransferKind::gradient});
    lowered.push_back(*system.lower({&ir.stages.back()}));
  }
  emulate::ExecutableFacts facts;
  facts.schedule = schedule;
  facts.microBatches = microBatches;
  facts.iterations = facts.deviceIterations = options.iterations;
  facts.replicas = replicas;
  facts.recordAllReplicas = options.recordAll;
  facts.overlapIo = options.overlapIo;
  facts.host = options.host;
  facts.microBatchCosts = options.microBatchCosts;
  record::Recorder recorder(result.profile);
  emulate::SystemIds ids = emulate::recordSystem(recorder, system, stages * replicas);
  result.executable = emulate::recordExecutable(recorder, system, ids, ir, lowered, *order, facts, level);
  emulate::Emulator emulator(recorder, system, ids, level);
  for (int call = 0; call < options.calls; ++call) result.run = emulator.call(result.executable, {});
  result.computed = emulator.computed();
  PIPESCOPE_CHECK(recorder.finish(model::ProfileState::complete).ok(), "memory takes all");
  result.placements = **result.profile.rows<model::Placement>();
  result.transfers = **result.profile.rows<model::Transfer>();
}

}  // namespace pipescope::tests
