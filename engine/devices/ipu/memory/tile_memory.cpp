#include "engine/devices/ipu/memory/tile_memory.h"

#include <algorithm>

#include "engine/devices/ipu/code/code_sizes.h"
#include "engine/devices/ipu/memory/overflow_text.h"
#include "engine/devices/ipu/memory/tile_layout.h"
#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {
namespace {

std::int64_t valueOn(const TileRuns& runs, std::int64_t tile) {
  for (const TileRun& run : runs) {
    if (tile >= run.first && tile < run.first + run.count) return run.value;
  }
  return 0;
}

/// Bytes of a tensor on each tile from tile 0 on.
TileRuns shareOf(const Chip& chip, std::int64_t elements, std::int64_t elementBytes) {
  return transformed(spreadEvenly(chip, elements, elementBytes),
                     [&](std::int64_t n) { return n * elementBytes; });
}

/// Raises each peak to at least the bytes of its tile. Returns the most bytes of a tile.
std::int64_t raised(std::vector<std::int64_t>& peaks, const std::vector<std::int64_t>& bytes) {
  std::int64_t most = 0;
  auto peak = peaks.begin();
  for (const std::int64_t now : bytes) {
    most = std::max(most, now);
    *peak = std::max(*peak, now);
    ++peak;
  }
  return most;
}

const std::string& unitCategoryOf(const LoweredVariable& variable) {
  return variable.unitCategory.empty() ? variable.category : variable.unitCategory;
}

}  // namespace

TileMemory::TileMemory(const Chip& chip, std::int64_t ioTiles) : chip_(chip), whole_(chip) {
  whole_.tiles += ioTiles;
}

std::int32_t TileMemory::addStep(std::string name, const ProgramStep& step, model::Pass pass) {
  steps_.push_back({std::move(name), step.program, pass, {}, {}});
  return steps() - 1;
}

void TileMemory::add(Variable variable) {
  const Spread spread = spreadOf(variable.runs);
  variable.row.bytes = Bytes(spread.total);
  variable.row.maxUnitBytes = Bytes(spread.most);
  variables_.push_back(std::move(variable));
}

std::size_t TileMemory::addTensor(const std::string& name, const std::string& category,
                                  const std::string& shape, std::int64_t elements, std::int64_t elementBytes,
                                  bool alwaysLive, bool constant, int stage) {
  Variable variable;
  variable.row.name = name;
  variable.row.category = category;
  variable.row.shape = shape;
  variable.row.alwaysLive = alwaysLive;
  variable.row.stage = stage;
  variable.row.unitCategory = constant ? "constant" : "variable";
  const TileRuns share = shareOf(chip_, elements, elementBytes);
  variable.start = nextTile_;
  variable.elementBytes = elementBytes;
  variable.runs = rotated(share, nextTile_, chip_.tiles);
  nextTile_ = (nextTile_ + spreadOf(share).active) % chip_.tiles;
  add(std::move(variable));
  return variables_.size() - 1;
}

void TileMemory::addAlwaysLive(const std::string& name, const std::string& category, const TileRuns& bytes,
                               int stage) {
  if (spreadOf(bytes).total == 0) return;
  Variable variable;
  variable.row.name = name;
  variable.row.category = category;
  variable.row.alwaysLive = true;
  variable.row.stage = stage;
  variable.runs = bytes;
  add(std::move(variable));
}

void TileMemory::addStreamBuffer(const std::string& name, const TileRuns& bytes, int stage) {
  Variable variable;
  variable.row.name = name;
  variable.row.category = "stream_buffer";
  variable.row.unitCategory = "variable";
  variable.row.alwaysLive = true;
  variable.row.stage = stage;
  variable.runs = bytes;
  add(std::move(variable));
}

void TileMemory::addVertices(const std::string& name, const ProgramStep& step, int stage) {
  for (const LoweredVertex& use : step.vertices) {
    Code& code = code_[use.type];
    if (chip_.compilesCode) code.bytes = std::max(code.bytes, use.codeBytes);
    code.tiles.resize(static_cast<std::size_t>(whole_.tiles));
    for (const TileRun& run : step.cycles) {
      for (std::int64_t tile = run.first; tile < run.first + run.count; ++tile)
        code.tiles[static_cast<std::size_t>(tile)] = true;
    }
    const auto each = [&](std::int64_t bytes) {
      return transformed(step.cycles, [bytes](std::int64_t cycles) { return cycles > 0 ? bytes : 0; });
    };
    addUse(use, step.cycles);
    addAlwaysLive(name, "vertexInstanceState", each(use.stateBytes), stage);
    addAlwaysLive(name, "vertexFieldData", each(use.fieldBytes), stage);
  }
}

void TileMemory::addUse(const LoweredVertex& use, const TileRuns& cycles) {
  const std::size_t own = vertices_.size();
  for (const TileRun& run : cycles) {
    if (run.value <= 0) continue;
    if (vertices_.size() > own && vertices_.back().firstUnit + vertices_.back().unitCount == run.first) {
      vertices_.back().unitCount += run.count;
    } else {
      vertices_.push_back(
          {steps() - 1, use.type, run.first, run.count, 1, {}, Bytes(use.stateBytes), Bytes(use.fieldBytes)});
    }
  }
}

void TileMemory::addTemporary(const std::string& name, const Temporary& temporary, std::int32_t firstStep,
                              int stage) {
  Variable variable;
  variable.row.name = name;
  variable.row.category = "temporary";
  variable.row.stage = stage;
  variable.runs = temporary.bytes;
  variable.row.place = temporary.place;
  variable.row.lives.push_back({firstStep + static_cast<std::int32_t>(temporary.first),
                                firstStep + static_cast<std::int32_t>(temporary.end)});
  add(std::move(variable));
}

void TileMemory::addLife(std::size_t variable, std::int32_t first, std::int32_t end) {
  if (first < end) variables_[variable].row.lives.push_back({first, end});
}

void TileMemory::place(std::size_t variable, Temporary::Place place, const TileRuns& bytes) {
  Variable& moved = variables_[variable];
  if (place != Temporary::Place::anywhere) moved.row.place = place;
  const Spread spread = spreadOf(bytes);
  if (spread.total < moved.row.bytes.count) return;
  moved.runs = bytes;
  moved.row.bytes = Bytes(spread.total);
  moved.row.maxUnitBytes = Bytes(spread.most);
}

void TileMemory::spreadFrom(std::size_t variable, std::int64_t start) {
  Variable& moved = variables_[variable];
  moved.start = start;
  moved.runs = rotated(shareOf(chip_, moved.row.bytes.count / moved.elementBytes, moved.elementBytes), start,
                       chip_.tiles);
}

std::int64_t TileMemory::mostElements(std::size_t variable) const {
  return spreadOf(variables_[variable].runs).most / variables_[variable].elementBytes;
}

void TileMemory::layOut(std::size_t variable, const TileRuns& shares, std::int64_t start) {
  Variable& moved = variables_[variable];
  const std::int64_t whole = spreadOf(shares).total, grain = moved.elementBytes;
  const std::int64_t elements = moved.row.bytes.count / grain;
  if (whole == 0 || elements == 0) return;
  const auto share = [&](std::int64_t value) {
    return static_cast<std::int64_t>(static_cast<double>(elements) * static_cast<double>(value) /
                                     static_cast<double>(whole));
  };
  std::int64_t rest = elements;
  for (const TileRun& run : shares) rest -= run.count * share(run.value);
  // Fewer elements than tiles are left over, so each of the first tiles takes one more.
  TileRuns runs;
  for (const TileRun& run : shares) {
    if (run.value <= 0) continue;
    const std::int64_t larger = std::min(rest, run.count);
    rest -= larger;
    if (larger > 0) runs.push_back({run.first, larger, (share(run.value) + 1) * grain});
    if (larger < run.count && share(run.value) > 0)
      runs.push_back({run.first + larger, run.count - larger, share(run.value) * grain});
  }
  moved.runs = std::move(runs);
  moved.start = start;
  moved.row.maxUnitBytes = Bytes(spreadOf(moved.runs).most);
}

std::map<std::string, TileCategory> TileMemory::alwaysLiveByCategory() const {
  std::map<std::string, TileCategory> byCategory;
  for (const Variable& variable : variables_) {
    if (!variable.row.alwaysLive) continue;
    TileCategory& tiles = byCategory[unitCategoryOf(variable.row)];
    tiles.bytes.resize(static_cast<std::size_t>(whole_.tiles));
    tiles.wide.resize(static_cast<std::size_t>(whole_.tiles));
    addTo(tiles.bytes, variable.runs);
    if (variable.row.place == model::MemoryPlace::interleaved) addTo(tiles.wide, variable.runs);
  }
  return byCategory;
}

TilePeaks TileMemory::replay(LoweredMemory& memory) const {
  const auto tiles = static_cast<std::size_t>(whole_.tiles);
  struct Event {
    std::size_t variable;
    std::int64_t sign;
  };
  std::vector<std::vector<Event>> events(steps_.size() + 1);
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    for (const LifeSteps life : variables_[i].row.lives) {
      events[static_cast<std::size_t>(life.end)].push_back({i, -1});
      events[static_cast<std::size_t>(life.first)].push_back({i, 1});
    }
  }
  TilePeaks peaks(tiles);
  std::vector<std::int64_t> all(tiles), wide(tiles), own(tiles), another(tiles);
  std::int64_t total = 0, most = 0;
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    // Only what lives anew can make a peak higher, and few steps have something in a particular place.
    bool changed = false, moreWide = false, moreOwn = false, moreAnother = false;
    for (const Event& event : events[step]) {
      const Variable& variable = variables_[event.variable];
      total += event.sign * variable.row.bytes.count;
      addTo(all, variable.runs, event.sign);
      changed = true;
      const auto addWhere = [&](model::MemoryPlace place, std::vector<std::int64_t>& bytes, bool& more) {
        if (variable.row.place != place) return;
        addTo(bytes, variable.runs, event.sign);
        more = more || event.sign > 0;
      };
      addWhere(model::MemoryPlace::interleaved, wide, moreWide);
      addWhere(model::MemoryPlace::ownElement, own, moreOwn);
      addWhere(model::MemoryPlace::anotherElement, another, moreAnother);
    }
    if (changed) most = raised(peaks.all, all);
    if (moreWide) raised(peaks.wide, wide);
    if (moreOwn) raised(peaks.own, own);
    if (moreAnother) raised(peaks.another, another);
    memory.steps[step].notAlwaysLive = Bytes(total);
    memory.steps[step].maxUnitNotAlwaysLive = Bytes(most);
  }
  return peaks;
}

std::int32_t TileMemory::fullestStepOn(std::int64_t tile) const {
  std::vector<std::int64_t> change(steps_.size() + 1);
  for (const Variable& variable : variables_) {
    for (const LifeSteps life : variable.row.lives) {
      const std::int64_t bytes = valueOn(variable.runs, tile);
      change[static_cast<std::size_t>(life.first)] += bytes;
      change[static_cast<std::size_t>(life.end)] -= bytes;
    }
  }
  std::int64_t now = 0, most = 0;
  std::int32_t fullest = -1;
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    now += change[step];
    if (now <= most) continue;
    most = now;
    fullest = static_cast<std::int32_t>(step);
  }
  return fullest;
}

std::vector<TileContent> TileMemory::liveOn(std::int64_t tile, std::int32_t step) const {
  std::vector<TileContent> found;
  for (const Variable& variable : variables_) {
    const bool live = variable.row.alwaysLive ||
                      std::any_of(variable.row.lives.begin(), variable.row.lives.end(),
                                  [&](LifeSteps life) { return life.first <= step && step < life.end; });
    const std::int64_t bytes = valueOn(variable.runs, tile);
    if (live && bytes > 0)
      found.push_back({variable.row.name, variable.row.category, variable.row.alwaysLive, bytes});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const TileContent& a, const TileContent& b) { return a.bytes > b.bytes; });
  return found;
}

std::string TileMemory::describeOverflow(const std::string& deviceName, const TileLayout& layout) const {
  const std::int32_t fullest = fullestStepOn(layout.worstTile);
  return overflowText(whole_, deviceName, layout,
                      fullest < 0 ? "" : steps_[static_cast<std::size_t>(fullest)].name,
                      liveOn(layout.worstTile, fullest));
}

LoweredMemory TileMemory::finish(const std::string& deviceName) {
  for (const auto& [type, code] : code_) {
    std::vector<std::int64_t> bytes(code.tiles.size());
    for (std::size_t tile = 0; tile < bytes.size(); ++tile) bytes[tile] = code.tiles[tile] ? code.bytes : 0;
    addAlwaysLive(type, "vertexCode", toRuns(bytes), -1);
  }
  for (LoweredVertices& vertices : vertices_) vertices.code = Bytes(code_.at(vertices.type).bytes);
  if (chip_.stackBytes > 0) addAlwaysLive("stack", "stack", {{0, whole_.tiles, chip_.stackBytes}}, -1);
  LoweredMemory memory;
  memory.steps = steps_;
  const TilePeaks peaks = replay(memory);
  const TileLayout layout = layOutTiles(whole_, alwaysLiveByCategory(), peaks);
  memory.units = layout.units;
  memory.vertices = std::move(vertices_);
  if (layout.overflowingTiles > 0) memory.overflow.push_back(describeOverflow(deviceName, layout));
  memory.variables.reserve(variables_.size());
  for (Variable& variable : variables_) {
    for (const TileRun& run : variable.runs) {
      if (run.value > 0 && run.count > 0)
        variable.row.units.push_back({run.first, run.count, Bytes(run.value)});
    }
    memory.variables.push_back(std::move(variable.row));
  }
  return memory;
}

}  // namespace pipescope::devices::ipu
