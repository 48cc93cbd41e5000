#include "engine/devices/fixed/fixed_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/devices/core/family.h"
#include "profiler/base/number_text.h"

namespace pipescope::devices {
namespace {

Ticks ticksOf(double units) {
  return Ticks(std::llround(units * static_cast<double>(kFixedTicksPerUnit)));
}

class FixedSystem : public System {
 public:
  FixedSystem(const FixedCosts& costs, int devices) : costs_(costs) {
    for (int i = 0; i < devices; ++i) {
      devices_.push_back({.kind = "fixed",
                          .name = fmt::format("Device {}", i),
                          .ticksPerSecond = kFixedTicksPerUnit,
                          .units = 1,
                          .unitName = "unit",
                          .lanes = {model::LaneRole::compute, model::LaneRole::exchange}});
    }
    for (int i = 0; i + 1 < devices; ++i) {
      links_.push_back(linkBetween(i, i + 1));
      links_.push_back(linkBetween(i + 1, i));
    }
  }

  std::string family() const override { return "fixed"; }
  SystemFacts facts() const override {
    return {.deviceNoun = "device", .tickNoun = "cost units", .costsGiven = true};
  }
  std::string name() const override { return "fixed"; }
  std::string description() const override { return "devices whose costs the configuration states"; }
  const std::vector<DeviceInfo>& devices() const override { return devices_; }
  const std::vector<LinkInfo>& links() const override { return links_; }

  std::vector<Figure> figures() const override {
    return {
        {"timebase", base::groupedText(kFixedTicksPerUnit), "ticks per cost unit", "exact", "definition"}};
  }

  base::Result<LoweredDevice> lower(const std::vector<const compile::StagePlan*>& stages) const override {
    LoweredDevice lowered;
    for (const compile::StagePlan* stage : stages) {
      lowered.device = stage->mesh.chip(0, stage->place);
      if (stage->index >= static_cast<int>(costs_.stages.size())) {
        return base::badInput(
            fmt::format("Stage {} has no costs: add a [[fixed.stages]] entry for it.", stage->index));
      }
      const FixedStageCost& cost = costs_.stages[static_cast<std::size_t>(stage->index)];
      addPass(lowered, stage->index, model::Pass::forward, ticksOf(cost.forward));
      addPass(lowered, stage->index, model::Pass::recompute, ticksOf(cost.recompute));
      const Ticks backward = ticksOf(cost.backward), weight = ticksOf(costs_.splitBackward ? cost.weight : 0);
      addPass(lowered, stage->index, model::Pass::backward, backward - weight);
      addPass(lowered, stage->index, model::Pass::weightGradient, weight);
      if (stage->mesh.replicas > 1 && cost.backward > 0)
        addPass(lowered, stage->index, model::Pass::collective, ticksOf(costs_.collective));
      addPass(lowered, stage->index, model::Pass::update, ticksOf(cost.update));
    }
    return lowered;
  }

  std::vector<Ticks> transferTicks(const std::vector<Flow>& concurrent) const override {
    std::vector<Ticks> ticks;
    for (const Flow& flow : concurrent) {
      const double sent = costs_.bandwidth > 0 ? static_cast<double>(flow.bytes.count) / costs_.bandwidth : 0;
      ticks.push_back(ticksOf(costs_.exchange + sent));
    }
    return ticks;
  }
  /// Flows use no links, because the cost of an exchange is given, whatever else is under way.
  std::vector<std::int64_t> linksOf(const Flow&) const override { return {}; }
  /// The costs know no ways, so each pair of devices has a link of its own.
  std::vector<LinkInfo> route(int from, int to) const override { return {linkBetween(from, to)}; }
  Ticks syncTicks(int) const override { return Ticks(0); }
  Ticks callTicks() const override { return ticksOf(costs_.call); }

 private:
  static LinkInfo linkBetween(int from, int to) {
    return {.from = from, .to = to, .name = fmt::format("{} to {}", from, to)};
  }

  static void addPass(LoweredDevice& lowered, int stage, model::Pass pass, Ticks ticks) {
    if (ticks.count <= 0) return;
    const std::string layer = fmt::format("stage{}", stage),
                      name = fmt::format("{}/{}", layer, model::toString(pass));
    LoweredStep step;
    step.program = pass == model::Pass::collective ? "GlobalExchange" : "Compute";
    step.name = name;
    step.op = 0;
    step.ticks = step.minTicks = step.maxTicks = ticks;
    step.meanTicks = static_cast<double>(ticks.count);
    step.activeUnits = 1;
    if (pass == model::Pass::collective) step.lane = model::LaneRole::exchange;
    lowered.passes.push_back(
        {.stage = stage,
         .pass = pass,
         // The forward operator has the name of the stage, so that the other passes count as its own.
         .operators = {{.name = pass == model::Pass::forward ? layer : name,
                        .kind = "Fixed",
                        .block = layer}},
         .segments = {{.name = name, .lane = step.lane, .ticks = ticks, .steps = {step}}}});
  }

  FixedCosts costs_;
  std::vector<DeviceInfo> devices_;
  std::vector<LinkInfo> links_;
};

}  // namespace

std::shared_ptr<const System> makeFixedSystem(const FixedCosts& costs, int devices) {
  return std::make_shared<FixedSystem>(costs, devices);
}

namespace {

/// The system without costs, which `pipescope devices` describes. A run makes its own with makeFixedSystem.
base::Result<std::shared_ptr<const System>> makeWithoutCosts(const SystemRequest& request,
                                                             const SystemOptions&) {
  PIPESCOPE_TRY(FigureReader(request.chip).status());
  const std::int64_t devices = std::max<std::int64_t>(request.devices, 1) * request.boxes;
  return makeFixedSystem({}, static_cast<int>(devices));
}

}  // namespace

PIPESCOPE_REGISTER_FAMILY(fixed) {
  registry.add("fixed", {.deviceNoun = "device", .costsGiven = true, .make = makeWithoutCosts});
}

}  // namespace pipescope::devices
