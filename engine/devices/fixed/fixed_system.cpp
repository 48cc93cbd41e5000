#include "engine/devices/fixed/fixed_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/devices/core/family.h"
#include "profiler/base/byte_text.h"
#include "profiler/base/number_text.h"

namespace pipescope::devices {
namespace {

Ticks ticksOf(double units) {
  return Ticks(std::llround(units * static_cast<double>(kFixedTicksPerUnit)));
}

class FixedSystem : public System {
 public:
  FixedSystem(const FixedCosts& costs, int devices) : costs_(costs) {
    const double units = costs.unitSeconds > 0 ? 1 / costs.unitSeconds : 1;  // of a second
    for (int i = 0; i < devices; ++i) {
      devices_.push_back({.kind = "fixed",
                          .name = fmt::format("Device {}", i),
                          .ticksPerSecond = std::llround(units * static_cast<double>(kFixedTicksPerUnit)),
                          .units = 1,
                          .unitName = "unit",
                          .lanes = {model::LaneRole::compute, model::LaneRole::exchange}});
      if (holdsAnything()) devices_.back().memory = {{"memory", 1, Bytes(capacity()), {}}};
    }
    for (int i = 0; i + 1 < devices; ++i) {
      links_.push_back(linkBetween(i, i + 1));
      links_.push_back(linkBetween(i + 1, i));
    }
  }

  std::string family() const override { return "fixed"; }
  SystemFacts facts() const override {
    const bool times = costs_.unitSeconds > 0;
    return {.deviceNoun = "device",
            .tickNoun = times ? "" : "cost units",
            .costsGiven = true,
            .costsAreTimes = times};
  }
  std::string name() const override { return "fixed"; }
  std::string description() const override { return "devices whose costs the configuration states"; }
  const std::vector<DeviceInfo>& devices() const override { return devices_; }
  const std::vector<LinkInfo>& links() const override { return links_; }

  std::vector<Figure> figures() const override {
    return {
        {"timebase", base::groupedText(kFixedTicksPerUnit), "ticks per cost unit", "exact", "definition"}};
  }

  base::Result<LoweredDevice> lower(const std::vector<const compile::StageIr*>& stages) const override {
    LoweredDevice lowered;
    for (const compile::StageIr* stage : stages) {
      lowered.device = stage->mesh.chip(0, stage->place);
      if (stage->index >= static_cast<int>(costs_.stages.size())) {
        return base::badInput(
            fmt::format("Stage {} has no costs: add a [[fixed.stages]] entry for it.", stage->index));
      }
      const FixedStageCost& cost = costs_.stages[static_cast<std::size_t>(stage->index)];
      const auto begins = [&](double work, int from) {
        return work > 0
                   ? ticksOf(costs_.launch + (comesFrom(stages, stage->index, from) ? costs_.receive : 0))
                   : Ticks(0);
      };
      addPass(lowered, stage->index, model::Pass::forward,
              begins(cost.forward, stage->index - 1) + ticksOf(cost.forward));
      addPass(lowered, stage->index, model::Pass::recompute, ticksOf(cost.recompute));
      const Ticks backward = ticksOf(cost.backward), weight = ticksOf(costs_.splitBackward ? cost.weight : 0);
      addPass(lowered, stage->index, model::Pass::backward,
              begins(cost.backward, stage->index + 1) + backward - weight);
      addPass(lowered, stage->index, model::Pass::weightGradient,
              weight.count > 0 ? ticksOf(costs_.launch) + weight : weight);
      if (stage->mesh.replicas > 1 && cost.backward > 0)
        addPass(lowered, stage->index, model::Pass::collective, ticksOf(costs_.collective));
      addPass(lowered, stage->index, model::Pass::update, ticksOf(cost.update));
    }
    if (holdsAnything()) addMemory(lowered, stages);
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
  /// True if the input of a stage of these, which share a device, comes from stage `from` on another device.
  bool comesFrom(const std::vector<const compile::StageIr*>& stages, int stage, int from) const {
    const int inPipe = static_cast<int>(costs_.stages.size()) / costs_.pipes;
    if (from < 0 || from / inPipe != stage / inPipe || from >= static_cast<int>(costs_.stages.size()))
      return false;
    return std::none_of(stages.begin(), stages.end(),
                        [from](const compile::StageIr* own) { return own->index == from; });
  }
  bool holdsAnything() const {
    return std::any_of(costs_.stages.begin(), costs_.stages.end(),
                       [](const FixedStageCost& stage) { return stage.holds > 0 || stage.stashed > 0; });
  }
  /// Memory of each device. Without a bound it is as large as all that the stages hold.
  std::int64_t capacity() const {
    if (costs_.memory > 0) return costs_.memory;
    std::int64_t all = 0;
    for (const FixedStageCost& stage : costs_.stages) all += stage.holds + stage.stashed;
    return all;
  }

  void addMemory(LoweredDevice& lowered, const std::vector<const compile::StageIr*>& stages) const {
    LoweredMemory memory;
    std::int64_t address = 0;
    std::map<std::string, std::int64_t> byCategory;
    const auto add = [&](int stage, const char* what, const char* category, std::int64_t bytes) {
      if (bytes <= 0) return;
      memory.variables.push_back({.name = fmt::format("stage{}/{}", stage, what),
                                  .category = category,
                                  .bytes = Bytes(bytes),
                                  .maxUnitBytes = Bytes(bytes),
                                  .alwaysLive = true,
                                  .stage = stage,
                                  .units = {{0, 1, Bytes(bytes), address}}});
      address += bytes;
      byCategory[category] += bytes;
    };
    for (const compile::StageIr* stage : stages) {
      const FixedStageCost& cost = costs_.stages[static_cast<std::size_t>(stage->index)];
      add(stage->index, "state", "weight", cost.holds);
      add(stage->index, "stash", "stash", cost.stashed);
    }
    for (const auto& [category, bytes] : byCategory)
      memory.units.push_back({category, "memory", true, 0, 1, Bytes(bytes)});
    if (address > capacity())
      memory.overflow.push_back(fmt::format("{} needs {}, but fixed.memory is {}.",
                                            devices_[static_cast<std::size_t>(lowered.device)].name,
                                            base::byteText(address), base::byteText(capacity())));
    lowered.memory.push_back(std::move(memory));
  }

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
