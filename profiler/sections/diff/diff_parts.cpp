#include "profiler/sections/diff/diff_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "profiler/analysis/model/operations.h"
#include "profiler/base/natural_order.h"
#include "profiler/sections/frame/reports.h"

namespace pipescope::sections {
namespace {

/// The number of rows to show: at most `most`, but as many more as it takes until the sum of the rest is no
/// larger than the largest row. `change` gives the change of a part; the parts are sorted by its size.
template <class Part, class Change>
std::size_t rowsToShow(const std::vector<Part>& parts, int most, Change&& change) {
  if (most <= 0) return parts.size();
  std::size_t count = std::min(parts.size(), static_cast<std::size_t>(most));
  double rest = 0, largest = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double size = change(parts[i]);
    largest = std::max(largest, std::abs(size));
    if (i >= count) rest += size;
  }
  while (count < parts.size() && std::abs(rest) > largest) rest -= change(parts[count++]);
  return count;
}

/// Adds the largest rows, and one row with the sum of the rest, so that the table still adds up. `restColumn`
/// is the column that says so.
template <class Part, class Row, class Change>
void addLargest(SectionTable& table, const std::vector<Part>& parts, int most, std::size_t restColumn,
                Row&& row, Change&& change) {
  const std::size_t count = rowsToShow(parts, most, change);
  std::int64_t before = 0, after = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i < count) {
      table.rows.push_back(row(parts[i]));
    } else {
      before += parts[i].before, after += parts[i].after;
    }
  }
  if (count == parts.size()) return;
  Part rest{};
  rest.before = before, rest.after = after;
  table.rows.push_back(row(rest));
  table.rows.back()[restColumn] = fmt::format("the rest ({})", parts.size() - count);
}

template <class Part>
double ticksOf(const Part& part) {
  return static_cast<double>(part.delta());
}

/// Adds columns for a part's time in ticks. When the calls have different numbers of samples, text shows the
/// time per sample instead.
void addTimeColumns(SectionTable& table, const analysis::Diff& diff) {
  const bool ticks = !diff.perSample();
  table.columns.push_back({"before_cycles", "Before", Format::ticks, "", ticks});
  table.columns.push_back({"after_cycles", "After", Format::ticks, "", ticks});
  table.columns.push_back({"delta_cycles", "Change", Format::ticks, "", ticks});
  table.columns.push_back({"before_seconds_per_sample", "Before", Format::seconds, "", !ticks});
  table.columns.push_back({"after_seconds_per_sample", "After", Format::seconds, "", !ticks});
  table.columns.push_back({"delta_seconds_per_sample", "Change", Format::seconds, "", !ticks});
}

template <class Part>
void addTimeCells(std::vector<Cell>& row, const analysis::Diff& diff, const Part& part) {
  for (const std::int64_t ticks : {part.before, part.after, part.delta()}) row.emplace_back(ticks);
  if (!diff.perSample()) {
    row.resize(row.size() + 3);
    return;
  }
  row.emplace_back(diff.secondsPerSampleBefore(part.before));
  row.emplace_back(diff.secondsPerSampleAfter(part.after));
  row.emplace_back(diff.changePerSample(part));
}

std::string diffBasis(const analysis::Diff& diff, const Words& words, const std::string& what) {
  return diff.perSample() ? what + " ÷ its samples; changes add up to the total"
                          : words.basis(what + "; changes add up to the total");
}

Cell index(std::int64_t n) {
  return n < 0 ? Cell() : Cell(n);
}

Cell wordsOrNone(const std::string& text) {
  return text.empty() ? Cell() : Cell(text);
}

/// An operation of the model and its time in both profiles, all passes and devices.
struct OperationPart {
  std::string name;
  std::int64_t before = 0, after = 0;  ///< ticks of the comparison
  std::int64_t delta() const { return after - before; }
};

}  // namespace

SectionTable changedOptionTable(const char* key, const char* title,
                                const std::vector<analysis::ChangedOption>& changed) {
  SectionTable table{key, title, "", {}, {}};
  table.columns = {{"name", "Name", Format::plain, ""},
                   {"before", "Before", Format::plain, ""},
                   {"after", "After", Format::plain, ""}};
  // A profile that does not have the option gets no value.
  const auto valueOf = [](const std::string& value) { return value.empty() ? Cell{} : Cell{value}; };
  for (const auto& row : changed) table.rows.push_back({row.path, valueOf(row.before), valueOf(row.after)});
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
    return countsBefore(std::get<std::string>(a.front()), std::get<std::string>(b.front()));
  });
  return table;
}

SectionTable diffPassTable(const analysis::Diff& diff, const Words& words) {
  SectionTable table{
      "passes", "Where the time goes", diffBasis(diff, words, "last call, critical path"), {}, {}};
  table.columns = {{"kind", "Pass", Format::plain, ""}};
  addTimeColumns(table, diff);
  for (const analysis::PassPart& part : diff.passes) {
    std::vector<Cell> row = {part.kind};
    addTimeCells(row, diff, part);
    table.rows.push_back(std::move(row));
  }
  return table;
}

SectionTable diffTimeTable(const analysis::Diff& diff, const Words& words, int most) {
  SectionTable table{"time",
                     "Kernels and copies on the critical path",
                     diffBasis(diff, words, "last call, critical path"),
                     {},
                     {}};
  const bool stages = !diff.families && !diff.splits;
  table.columns = {{"kind", "Part", Format::plain, ""},
                   {"operation", "Operation", Format::plain, ""},
                   {"pass", "Pass", Format::plain, ""},
                   {"stage", "Stage", Format::index, "", stages},
                   {"device", "Device", Format::index, "", stages},
                   {"micro_batches_before", "Micro-batches", Format::count, ""},
                   {"micro_batches_after", "after", Format::count, ""}};
  addTimeColumns(table, diff);
  const auto row = [&](const analysis::TimePart& part) {
    const bool one = !part.kind.empty();
    std::vector<Cell> cells = {wordsOrNone(part.kind),
                               wordsOrNone(part.operation),
                               wordsOrNone(part.pass),
                               index(part.stage),
                               index(part.device),
                               one ? Cell(part.microBatchesBefore) : Cell(),
                               one ? Cell(part.microBatchesAfter) : Cell()};
    addTimeCells(cells, diff, part);
    return cells;
  };
  addLargest(table, diff.time, most, 0, row, [&](const analysis::TimePart& part) {
    return diff.perSample() ? diff.changePerSample(part) : ticksOf(part);
  });
  return table;
}

SectionTable diffMicroBatchTable(const analysis::Diff& diff, const Words& words, int most) {
  SectionTable table{"micro_batches",
                     "Time by micro-batch",
                     words.basis("the same time; changes add up to the total"),
                     {},
                     {}};
  table.columns = {{"micro_batch", "Micro-batch", Format::index, "none: time of no micro-batch"},
                   {"before_cycles", "Before", Format::ticks, ""},
                   {"after_cycles", "After", Format::ticks, ""},
                   {"delta_cycles", "Change", Format::ticks, ""}};
  addLargest(
      table, diff.microBatches, most, 0,
      [](const analysis::MicroBatchPart& part) -> std::vector<Cell> {
        return {index(part.microBatch), part.before, part.after, part.delta()};
      },
      ticksOf<analysis::MicroBatchPart>);
  return table;
}

SectionTable diffMemoryTable(const analysis::Diff& diff, int most) {
  SectionTable table{"memory", "Memory", "sum over units, without gaps", {}, {}};
  table.columns = {{"device", "Index", Format::index, "Device index; none: the host", false},
                   {"device_name", "Device", Format::plain, "or its streaming memory"},
                   {"category", "Category", Format::term, ""},
                   {"before_bytes", "Before", Format::bytes, ""},
                   {"after_bytes", "After", Format::bytes, ""},
                   {"delta_bytes", "Change", Format::bytes, ""}};
  addLargest(
      table, diff.memory, most, 1,
      [](const analysis::MemoryChange& part) -> std::vector<Cell> {
        return {
            index(part.index), wordsOrNone(part.device), wordsOrNone(part.category), part.before, part.after,
            part.delta()};
      },
      ticksOf<analysis::MemoryChange>);
  return table;
}

/// Devices of different families have no counterparts, so their memory is compared as a whole.
SectionTable diffCategoryTable(const analysis::Diff& diff) {
  SectionTable table{
      "memory_by_category", "Memory by category", "all devices of one replica, without gaps", {}, {}};
  table.columns = {{"category", "Category", Format::term, ""},
                   {"before_bytes", "Before", Format::bytes, ""},
                   {"after_bytes", "After", Format::bytes, ""},
                   {"delta_bytes", "Change", Format::bytes, ""}};
  std::map<std::string, analysis::MemoryChange> sums;
  analysis::MemoryChange all;
  for (const analysis::MemoryChange& part : diff.memory) {
    sums[part.category].before += part.before, sums[part.category].after += part.after;
    all.before += part.before, all.after += part.after;
  }
  for (const auto& [category, part] : sums)
    table.rows.push_back({category, part.before, part.after, part.delta()});
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
    return std::abs(std::get<std::int64_t>(a[3])) > std::abs(std::get<std::int64_t>(b[3]));
  });
  table.rows.push_back({std::string("all"), all.before, all.after, all.delta()});
  return table;
}

base::Result<SectionTable> diffOperationTable(const Context& before, const Context& after,
                                              const analysis::Diff& diff, const Words& shown, int most) {
  std::map<std::string, OperationPart, base::NaturalLess> byName;
  for (const Context* side : {&before, &after}) {
    PIPESCOPE_ASSIGN(const auto made, operationsOf(*side));
    const analysis::Operations& found = *made;
    // An iteration of one side may have more micro-batches than one of the other side.
    const model::Executable* executable = side->catalog.executable(side->executable);
    const std::int64_t microBatches = executable == nullptr ? 1 : executable->microBatches;
    const double scale = static_cast<double>(diff.ticksPerSecond) /
                         static_cast<double>(side->catalog.timebase({}).ticksPerSecond) /
                         static_cast<double>(std::max<std::int64_t>(1, microBatches));
    for (const analysis::Operation& row : found.operations) {
      OperationPart& part = byName[row.name];
      part.name = row.name;
      (side == &before ? part.before : part.after) +=
          std::llround(static_cast<double>(row.cost.total().count) * scale);
    }
  }
  std::vector<OperationPart> parts;
  for (const auto& [name, part] : byName) {
    if (part.delta() != 0) parts.push_back(part);
  }
  std::stable_sort(parts.begin(), parts.end(), [](const OperationPart& a, const OperationPart& b) {
    return std::abs(a.delta()) > std::abs(b.delta());
  });
  SectionTable table{
      "operations",
      "Operations of the model",
      shown.per("micro-batch with its part of the update, all passes and devices of one replica"),
      {},
      {}};
  table.columns = {{"name", "Operation", Format::plain, "layer of origin"},
                   {"before_cycles", "Before", Format::ticks, ""},
                   {"after_cycles", "After", Format::ticks, ""},
                   {"delta_cycles", "Change", Format::ticks, "after − before"}};
  addLargest(
      table, parts, most, 0,
      [](const OperationPart& part) -> std::vector<Cell> {
        return {part.name, part.before, part.after, part.delta()};
      },
      ticksOf<OperationPart>);
  return table;
}

}  // namespace pipescope::sections
