#include "tests/conformance/ipu/layer_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/devices/core/device_files.h"
#include "engine/devices/ipu/stage_lowering.h"

namespace pipescope::conformance {
namespace {

using devices::LoweredDevice;

/// The share of a tile's memory that a product may take: the default of the tools.
constexpr double kProportion = 0.6;

std::int64_t cyclesOf(const LoweredDevice& device) {
  std::int64_t cycles = 0;
  for (const devices::LoweredPass& pass : device.passes) cycles += pass.ticks().count;
  return cycles;
}

/// True if the tool had its code compiled and so counted (PopLibs' tools: createTestDevice's compileIPUCode).
bool compilesCode(const std::string& tool) {
  return tool == "general_matrix_multiply" || tool == "single_conv_layer" || tool == "oct_conv_layer" ||
         tool == "embedding_layer";
}

/// Sums over the runs of equal tiles.
LayerFigures memoryOf(const LoweredDevice& device, std::int64_t tiles) {
  LayerFigures figures;
  std::vector<std::int64_t> perTile(static_cast<std::size_t>(tiles));
  for (const devices::UnitBytesRun& run : device.memory.front().units) {
    if (run.category != "gap") figures.totalBytes += run.bytes.count * run.unitCount;
    for (std::int64_t tile = run.firstUnit; tile < run.firstUnit + run.unitCount; ++tile)
      perTile[static_cast<std::size_t>(tile)] += run.bytes.count;
  }
  figures.maxTileBytes = *std::max_element(perTile.begin(), perTile.end());
  return figures;
}

}  // namespace

base::Result<LayerModel::Target*> LayerModel::target(const std::string& name, std::int64_t tiles, bool code) {
  // Poplar's names of its IPU Models, and the chips' own names.
  const std::map<std::string, std::string> chips{
      {"IpuModel1", "mk1"}, {"IpuModel2", "mk2"}, {"IpuModel21", "c600"}, {"mk1", "mk1"},
      {"mk2", "mk2"},       {"bow", "bow"},       {"c600", "c600"}};
  const auto chip = chips.find(name);
  if (chip == chips.end()) return base::badInput(fmt::format("target \"{}\" is not known", name));
  std::unique_ptr<Target>& slot = targets_[{name, tiles, code}];
  if (!slot) {
    PIPESCOPE_ASSIGN(const devices::FigureFile file, devices::DeviceFiles({}).chip(chip->second));
    slot = std::make_unique<Target>();
    PIPESCOPE_ASSIGN(slot->chip, devices::ipu::readChip(file));
    if (tiles > slot->chip.tiles) {
      const std::int64_t all = slot->chip.tiles;
      slot.reset();
      return base::badInput(
          fmt::format("option --tiles-per-ipu is {}, but {} has {} tiles", tiles, name, all));
    }
    if (tiles > 0) slot->chip.tiles = tiles;
    slot->chip.stackBytes = 0;  // the IPU Model counts none
    slot->chip.compilesCode = code;
    slot->planner = std::make_unique<devices::ipu::Planner>(slot->chip);
  }
  return slot.get();
}

base::Result<LoweredDevice> LayerModel::lower(const LayerRow& row, devices::ipu::Chip& chip) {
  PIPESCOPE_ASSIGN(const LayerPlan plan, planLayer(row));
  PIPESCOPE_ASSIGN(Target* const on, target(row.target, plan.tiles, compilesCode(row.tool)));
  chip = on->chip;
  const devices::ipu::IpuLoweringContext context{.chip = on->chip,
                                                 .planner = *on->planner,
                                                 .memoryProportion = kProportion,
                                                 .hostBytesPerSecond = on->chip.hostBytesPerSecond};
  return devices::ipu::lowerStages({&plan.stage}, "IPU0", context);
}

LayerResult LayerModel::emulate(const LayerRow& row) {
  LayerResult result;
  result.row = row;
  result.modelled = isModelled(row.tool);
  if (!result.modelled) return result;
  devices::ipu::Chip chip;
  const base::Result<LoweredDevice> device = lower(row, chip);
  if (!device) {
    result.fault = device.error().message;
    return result;
  }
  result.ours = memoryOf(*device, chip.tiles);
  result.ours.cycles = cyclesOf(*device);
  return result;
}

std::string LayerModel::plansOf(const LayerRow& row) {
  const base::Result<LayerPlan> plan = planLayer(row);
  if (!plan) return "";
  const base::Result<Target*> on = target(row.target, plan->tiles, compilesCode(row.tool));
  if (!on) return "";
  std::string text;
  for (const compile::PassIr& pass : plan->stage.passes) {
    for (const compile::IrOperator& op : pass.operators) {
      for (const ops::Work& work : op.work) {
        const auto* product = std::get_if<ops::Contraction>(&work.item);
        if (!product) continue;
        const base::Result<devices::ipu::ConvShape> shape = devices::ipu::shapeOf(*product, op.name);
        if (shape) text += op.name + ": " + (*on)->planner->plan(*shape, kProportion)->describe() + "\n";
      }
    }
  }
  return text;
}

std::string LayerModel::explain(const LayerRow& row) {
  devices::ipu::Chip chip;
  const base::Result<LoweredDevice> device = lower(row, chip);
  if (!device) return device.error().message + "\n";
  std::string text = plansOf(row);
  for (const devices::LoweredPass& pass : device->passes) {
    for (const devices::LoweredSegment& segment : pass.segments) {
      for (const devices::LoweredStep& step : segment.steps) {
        if (step.program == "Sync") continue;
        text += fmt::format("{:>9} {:>5} tiles  {:<14} {}\n", step.ticks.count, step.activeUnits,
                            step.program, step.name);
      }
    }
  }
  std::map<std::string, std::int64_t> categories;
  for (const devices::UnitBytesRun& run : device->memory.front().units)
    categories[run.category + (run.alwaysLive ? ", always live" : "")] += run.bytes.count * run.unitCount;
  for (const auto& [category, bytes] : categories) text += fmt::format("{:>12} B  {}\n", bytes, category);
  for (const devices::LoweredVariable& variable : device->memory.front().variables) {
    text += fmt::format("{:>12} B  {:>8} B/tile  {:<20} {}\n", variable.bytes.count,
                        variable.maxUnitBytes.count, variable.category, variable.name);
  }
  return text;
}

}  // namespace pipescope::conformance
