#include "profiler/sections/diff/diff_stages.h"

#include <algorithm>
#include <cctype>
#include <functional>

#include "profiler/sections/frame/column_text.h"
#include "profiler/sections/frame/figure_facts.h"

namespace pipescope::sections {
namespace {

using analysis::StageReport;

const StageReport* stageOf(const ComparedSide& side, std::size_t index) {
  const bool known = index < side.stages().stages.size() && side.stages().stages[index].recorded;
  return known ? &side.stages().stages[index] : nullptr;
}

std::size_t stageCount(const ComparedSide& before, const ComparedSide& after) {
  return std::max(before.stages().stages.size(), after.stages().stages.size());
}

/// The ticks of a stage, scaled to the comparison.
template <class Value>
Compared ofStage(const ComparedSide& before, const ComparedSide& after, std::size_t index, Value&& value) {
  return compared(before, after, [&](const ComparedSide& side) -> Wanted {
    const StageReport* stage = stageOf(side, index);
    if (stage == nullptr || !side.analyses.placed) return {};
    return value(*stage) * side.scale;
  });
}

double allWaits(const StageReport& stage) {
  double sum = 0;
  for (const auto& [cause, ticks] : stage.waits) sum += ticks;
  return sum;
}

struct StageQuantity {
  std::string key, name;
  std::function<double(const StageReport&)> value;
};

/// The key of a figure without its unit, which stands in the keys of the columns.
std::string withoutUnit(std::string_view key) {
  return std::string(key.substr(0, key.rfind('_')));
}

std::vector<StageQuantity> passQuantities(const ComparedSide& before, const ComparedSide& after) {
  const bool recomputes = figures::hasRecompute(before.stages()) || figures::hasRecompute(after.stages());
  std::vector<StageQuantity> all;
  for (const char* key : {"forward_cycles", "recompute_cycles", "backward_cycles", "busy_cycles",
                          "host_copies_cycles", "update_cycles"}) {
    const figures::StageFigure& figure = figures::stageFigure(key);
    const bool busy = std::string_view(key) == "busy_cycles";
    all.push_back(
        {withoutUnit(key), busy ? figures::busyLabel(recomputes) : figure.label,
         [&figure](const StageReport& s) { return figures::numberIn(figure.value(s)).value_or(0); }});
  }
  return all;
}

const std::vector<StageQuantity>& waitQuantities() {
  static const std::vector<StageQuantity> all = [] {
    std::vector<StageQuantity> made = {{"waits", "All waits", allWaits}};
    for (int c = 0; c <= static_cast<int>(model::WaitCause::update); ++c) {
      const auto cause = static_cast<model::WaitCause>(c);
      std::string name = model::toString(cause);
      const std::string key = "wait_" + snakeCase(name);
      name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
      made.push_back({key, name, [cause](const StageReport& stage) {
                        const auto found = stage.waits.find(cause);
                        return found == stage.waits.end() ? 0.0 : found->second;
                      }});
    }
    return made;
  }();
  return all;
}

/// True if the quantity of any stage is not 0.
bool isUsed(const ComparedSide& before, const ComparedSide& after, const StageQuantity& quantity) {
  for (std::size_t i = 0; i < stageCount(before, after); ++i) {
    if (ofStage(before, after, i, quantity.value).any()) return true;
  }
  return false;
}

constexpr const char* kBytesOfStage[] = {"always_live_bytes", "not_always_live_peak_bytes", "stash_bytes",
                                         "worst_tile_bytes"};

Compared stageBytes(const ComparedSide& before, const ComparedSide& after, std::size_t index,
                    const figures::StageFigure& bytes) {
  return compared(before, after, [&](const ComparedSide& side) -> Wanted {
    const StageReport* stage = stageOf(side, index);
    return stage == nullptr ? Wanted() : figures::numberIn(bytes.value(*stage));
  });
}

/// "12,337 → 23,245", or only the value if it is the same on both sides.
Cell arrowCell(const Compared& row, Format format, double ticksPerShownUnit) {
  if (!row.before && !row.after) return {};
  const std::string before = formatCell(comparedCell(row.before), format, ticksPerShownUnit),
                    after = formatCell(comparedCell(row.after), format, ticksPerShownUnit);
  return before == after ? after : before + " → " + after;
}

/// Bytes as integers.
Cell bytesCell(const Cell& cell) {
  const double* value = std::get_if<double>(&cell);
  return value == nullptr ? Cell() : Cell(static_cast<std::int64_t>(*value));
}

SectionTable stageTableOf(const char* key, const char* title, const std::string& basis, const char* unit,
                          Format format) {
  SectionTable table{key, title, basis, {}, {}};
  const auto column = [&](const char* when) { return std::string(when) + "_" + unit; };
  table.columns = {{"stage", "Stage", Format::index, ""},
                   {"quantity", "Key", Format::plain, "", false},
                   {"name", "What", Format::plain, ""},
                   {column("before"), "Before", format, ""},
                   {column("after"), "After", format, ""},
                   {column("delta"), "Change", format, "after − before"},
                   {"relative", "In percent", Format::fraction, "change ÷ before"}};
  return table;
}

/// Adds a column for each quantity that is not 0 everywhere. `value` compares a quantity of a stage.
template <class Quantity, class Value>
void addColumns(SectionTable& table, std::size_t stages, const Quantity& quantity, Format format,
                double ticksPerShownUnit, Value&& value) {
  std::vector<Compared> rows;
  for (std::size_t i = 0; i < stages; ++i) rows.push_back(value(i));
  if (std::none_of(rows.begin(), rows.end(), [](const Compared& row) { return row.any(); })) return;
  table.columns.push_back({quantity.key, quantity.name, Format::plain, ""});
  for (std::size_t i = 0; i < stages; ++i)
    table.rows[i].push_back(arrowCell(rows[i], format, ticksPerShownUnit));
}

SectionTable stageText(const char* key, const std::string& title, const std::string& basis,
                       std::size_t stages) {
  SectionTable table{key, title, basis, {}, {}};
  table.columns = {{"stage", "Stage", Format::index, ""}};
  for (std::size_t i = 0; i < stages; ++i) table.rows.push_back({static_cast<std::int64_t>(i)});
  return table;
}

}  // namespace

SectionTable diffSplitTable(const ComparedSide& before, const ComparedSide& after) {
  SectionTable table{"split", "The split into stages", "", {}, {}};
  table.columns = {{"stage", "Stage", Format::index, ""},
                   {"before_device", "Device", Format::index, "before"},
                   {"after_device", "after", Format::index, "Device after"},
                   {"before_blocks", "Blocks before", Format::list, ""},
                   {"after_blocks", "Blocks after", Format::list, ""}};
  for (std::size_t i = 0; i < stageCount(before, after); ++i) {
    const StageReport *one = stageOf(before, i), *other = stageOf(after, i);
    const auto device = [](const StageReport* stage) {
      return stage == nullptr ? Cell() : Cell(static_cast<std::int64_t>(stage->device));
    };
    const auto blocks = [](const StageReport* stage) {
      return stage == nullptr ? Cell() : Cell(stage->blocks);
    };
    table.rows.push_back(
        {static_cast<std::int64_t>(i), device(one), device(other), blocks(one), blocks(other)});
  }
  return table;
}

std::vector<SectionTable> diffStageTables(const ComparedSide& before, const ComparedSide& after,
                                          const Words& words) {
  SectionTable times =
      stageTableOf("stages", "Passes and waits of each stage",
                   words.per("micro-batch; update and waits per iteration"), "cycles", Format::ticks);
  SectionTable memory = stageTableOf("stage_memory", "Memory of each stage",
                                     "of the stage's device, one replica", "bytes", Format::bytes);
  for (std::size_t i = 0; i < stageCount(before, after); ++i) {
    const auto stage = static_cast<std::int64_t>(i);
    for (const auto& quantities : {passQuantities(before, after), waitQuantities()}) {
      for (const StageQuantity& quantity : quantities) {
        const Compared row = ofStage(before, after, i, quantity.value);
        addRowIf(times,
                 {stage, quantity.key, quantity.name, comparedCell(row.before), comparedCell(row.after),
                  row.delta(), row.relative()},
                 isUsed(before, after, quantity));
      }
    }
    for (const char* key : kBytesOfStage) {
      const figures::StageFigure& bytes = figures::stageFigure(key);
      const Compared row = stageBytes(before, after, i, bytes);
      addRowIf(memory,
               {stage, withoutUnit(key), bytes.label, bytesCell(comparedCell(row.before)),
                bytesCell(comparedCell(row.after)), bytesCell(row.delta()), row.relative()},
               row.before || row.after);
    }
  }
  return {std::move(times), std::move(memory)};
}

std::vector<SectionTable> diffStageTexts(const ComparedSide& before, const ComparedSide& after,
                                         const Words& words) {
  const std::size_t stages = stageCount(before, after);
  const std::string arrows = "before → after; ";
  SectionTable passes = stageText("passes", "Passes of each stage",
                                  arrows + words.per("micro-batch; update per iteration"), stages);
  SectionTable waits = stageText("waits", "Waits of each stage", arrows + words.per("iteration"), stages);
  SectionTable memory = stageText("stage_memory", "Memory of each stage",
                                  arrows + "of the stage's device, one replica", stages);
  const auto add = [&](SectionTable& table, const std::vector<StageQuantity>& quantities) {
    for (const StageQuantity& quantity : quantities)
      addColumns(table, stages, quantity, Format::ticks, words.time.ticks,
                 [&](std::size_t i) { return ofStage(before, after, i, quantity.value); });
  };
  add(passes, passQuantities(before, after));
  add(waits, waitQuantities());
  for (const char* key : kBytesOfStage) {
    const figures::StageFigure& bytes = figures::stageFigure(key);
    addColumns(memory, stages, StageQuantity{withoutUnit(key), bytes.label, {}}, Format::bytes, 1,
               [&](std::size_t i) { return stageBytes(before, after, i, bytes); });
  }
  std::vector<SectionTable> tables = {std::move(passes), std::move(waits), std::move(memory)};
  std::erase_if(tables, [](const SectionTable& table) { return table.columns.size() == 1; });
  return tables;
}

}  // namespace pipescope::sections
