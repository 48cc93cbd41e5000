#include "engine/devices/fixed/fixed_system.h"

#include <fmt/format.h>

#include <cmath>

namespace pipescope::devices {
namespace {

Ticks ticksOf(double units) {
  return Ticks(std::llround(units * static_cast<double>(kFixedTicksPerUnit)));
}

class FixedSystem : public System {
 public:
  FixedSystem(const FixedCosts& costs, int devices) : costs_(costs) {
    for (int i = 0; i < devices; ++i) {
      devices_.push_back({"fixed",
                          fmt::format("Device {}", i),
                          kFixedTicksPerUnit,
                          1,
                          "unit",
                          {model::LaneRole::compute, model::LaneRole::exchange},
                          {}});
    }
    for (int i = 0; i + 1 < devices; ++i) {
      links_.push_back({i, i + 1, fmt::format("{} to {}", i, i + 1), 0});
      links_.push_back({i + 1, i, fmt::format("{} to {}", i + 1, i), 0});
    }
  }

  std::string family() const override { return "fixed"; }
  std::string name() const override { return "fixed"; }
  model::TickMeaning tickMeaning() const override { return model::TickMeaning::cost; }
  std::string description() const override { return "devices whose costs the configuration states"; }
  const std::vector<DeviceInfo>& devices() const override { return devices_; }
  const std::vector<LinkInfo>& links() const override { return links_; }

  std::vector<Figure> figures() const override {
    return {
        {"timebase", fmt::format("{}", kFixedTicksPerUnit), "ticks per cost unit", "exact", "definition"}};
  }

  base::Result<LoweredDevice> lower(const std::vector<const compile::StagePlan*>& stages) const override {
    LoweredDevice lowered;
    for (const compile::StagePlan* stage : stages) {
      lowered.device = stage->device;
      if (stage->index < 0 || stage->index >= static_cast<int>(costs_.stages.size())) {
        return base::badInput(
            fmt::format("Stage {} has no costs: add a [[fixed.stages]] entry for it.", stage->index));
      }
      const FixedStageCost& cost = costs_.stages[static_cast<std::size_t>(stage->index)];
      addPass(lowered, stage->index, model::Pass::forward, ticksOf(cost.forward));
      addPass(lowered, stage->index, model::Pass::recompute, ticksOf(cost.recompute));
      const Ticks backward = ticksOf(cost.backward), weight = ticksOf(costs_.splitBackward ? cost.weight : 0);
      addPass(lowered, stage->index, model::Pass::backward, backward - weight);
      addPass(lowered, stage->index, model::Pass::weightGradient, weight);
      if (stage->replication.replicas > 1 && cost.backward > 0)
        addPass(lowered, stage->index, model::Pass::collective, ticksOf(costs_.collective));
      addPass(lowered, stage->index, model::Pass::update, ticksOf(cost.update));
    }
    return lowered;
  }

  std::vector<Ticks> transferTicks(const std::vector<Flow>& concurrent) const override {
    return std::vector<Ticks>(concurrent.size(), ticksOf(costs_.exchange));
  }
  /// None: a boundary's cost is given, whatever else is under way.
  std::vector<std::int64_t> linksOf(const Flow&) const override { return {}; }
  Ticks syncTicks(int) const override { return Ticks(0); }
  Ticks callTicks() const override { return ticksOf(costs_.call); }

 private:
  static void addPass(LoweredDevice& lowered, int stage, model::Pass pass, Ticks ticks) {
    if (ticks.count <= 0) return;
    const std::string name = fmt::format("stage{}/{}", stage, model::toString(pass));
    LoweredStep step;
    step.program = "OnTileExecute";
    step.name = name;
    step.op = 0;
    step.ticks = step.minTicks = step.maxTicks = ticks;
    step.meanTicks = static_cast<double>(ticks.count);
    step.activeUnits = 1;
    if (pass == model::Pass::collective) step.lane = model::LaneRole::exchange;
    LoweredPass lowerPass{stage, pass, {{name, "Fixed", 0, Bytes(0)}}, {{name, step.lane, ticks, {step}}}};
    lowered.passes.push_back(std::move(lowerPass));
  }

  FixedCosts costs_;
  std::vector<DeviceInfo> devices_;
  std::vector<LinkInfo> links_;
};

}  // namespace

std::shared_ptr<const System> makeFixedSystem(const FixedCosts& costs, int devices) {
  return std::make_shared<FixedSystem>(costs, std::max(devices, 1));
}

}  // namespace pipescope::devices
