#include "profiler/sections/diff_section.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "profiler/sections/words.h"

namespace pipescope::sections {
namespace {

Table changedOptionTable(const char* key, const char* title,
                         const std::vector<analysis::ChangedOption>& changed) {
  Table table{key, title, "", {}, {}};
  table.columns = {{"name", "Name", Format::plain, ""},
                   {"before", "Before", Format::plain, ""},
                   {"after", "After", Format::plain, ""}};
  for (const auto& row : changed) table.rows.push_back({row.path, row.before, row.after});
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
    return countsBefore(std::get<std::string>(a.front()), std::get<std::string>(b.front()));
  });
  return table;
}

/// Adds the largest rows, and one row with the sum of the rest, so that the table still adds up.
template <class Part, class Row>
void addLargest(Table& table, const std::vector<Part>& parts, int most, Row&& row) {
  std::int64_t before = 0, after = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (most <= 0 || i < static_cast<std::size_t>(most)) {
      table.rows.push_back(row(parts[i]));
    } else {
      before += parts[i].before, after += parts[i].after;
    }
  }
  if (most <= 0 || parts.size() <= static_cast<std::size_t>(most)) return;
  Part rest{};
  rest.before = before, rest.after = after;
  table.rows.push_back(row(rest));
  table.rows.back().front() = std::string("the rest");
}

/// Adds columns for a part's time in ticks. When the calls have different numbers of samples, text shows the
/// time per sample instead.
void addTimeColumns(Table& table, const analysis::Diff& diff) {
  const bool ticks = !diff.perSample();
  table.columns.push_back({"before_cycles", "Before", Format::ticks, "", ticks});
  table.columns.push_back({"after_cycles", "After", Format::ticks, "", ticks});
  table.columns.push_back({"delta_cycles", "Change", Format::ticks, "", ticks});
  if (ticks) return;
  table.columns.push_back({"before_seconds_per_sample", "Before", Format::seconds, ""});
  table.columns.push_back({"after_seconds_per_sample", "After", Format::seconds, ""});
  table.columns.push_back({"delta_seconds_per_sample", "Change", Format::seconds, ""});
}

template <class Part>
void addTimeCells(std::vector<Cell>& row, const analysis::Diff& diff, const Part& part) {
  for (const std::int64_t ticks : {part.before, part.after, part.delta()}) row.emplace_back(ticks);
  if (!diff.perSample()) return;
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

Table diffPassTable(const analysis::Diff& diff, const Words& words) {
  Table table{"passes", "Where the time goes", diffBasis(diff, words, "last call, critical path"), {}, {}};
  table.columns = {{"kind", "Pass", Format::plain, ""}};
  addTimeColumns(table, diff);
  for (const analysis::PassPart& part : diff.passes) {
    std::vector<Cell> row = {part.kind};
    addTimeCells(row, diff, part);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table diffTimeTable(const analysis::Diff& diff, const Words& words, int most) {
  Table table{"time", "Time", diffBasis(diff, words, "last call, critical path"), {}, {}};
  table.columns = {{"kind", "Part", Format::plain, ""},
                   {"operation", "Operation", Format::plain, ""},
                   {"pass", "Pass", Format::plain, ""},
                   {"stage", "Stage", Format::plain, "", !diff.families},
                   {"device", "Device", Format::plain, "", !diff.families},
                   {"micro_batches_before", "Micro-batches", Format::count, ""},
                   {"micro_batches_after", "after", Format::count, ""}};
  addTimeColumns(table, diff);
  addLargest(table, diff.time, most, [&](const analysis::TimePart& part) {
    std::vector<Cell> row = {part.kind,
                             part.operation,
                             part.pass,
                             index(part.stage),
                             index(part.device),
                             part.microBatchesBefore,
                             part.microBatchesAfter};
    addTimeCells(row, diff, part);
    return row;
  });
  return table;
}

Table diffMicroBatchTable(const analysis::Diff& diff, const Words& words, int most) {
  Table table{"micro_batches",
              "Time by micro-batch",
              words.basis("the same time; changes add up to the total"),
              {},
              {}};
  table.columns = {{"micro_batch", "Micro-batch", Format::plain, ""},
                   {"before_cycles", "Before", Format::ticks, ""},
                   {"after_cycles", "After", Format::ticks, ""},
                   {"delta_cycles", "Change", Format::ticks, ""}};
  addLargest(table, diff.microBatches, most, [&](const analysis::MicroBatchPart& part) -> std::vector<Cell> {
    return {part.microBatch < 0 ? Cell(std::string("none")) : Cell(std::int64_t{part.microBatch}),
            part.before, part.after, part.delta()};
  });
  return table;
}

Table diffMemoryTable(const analysis::Diff& diff, int most) {
  Table table{"memory", "Memory", "sum over units, without gaps", {}, {}};
  table.columns = {{"device", "Device", Format::plain, ""},
                   {"category", "Category", Format::plain, ""},
                   {"before_bytes", "Before", Format::bytes, ""},
                   {"after_bytes", "After", Format::bytes, ""},
                   {"delta_bytes", "Change", Format::bytes, ""}};
  addLargest(table, diff.memory, most, [&](const analysis::MemoryPart& part) -> std::vector<Cell> {
    return {part.device, part.category, part.before, part.after, part.delta()};
  });
  return table;
}

/// Devices of different families have no counterparts, so their memory is compared as a whole.
Table diffCategoryTable(const analysis::Diff& diff) {
  Table table{"memory_by_category", "Memory", "all devices of one replica, without gaps", {}, {}};
  table.columns = {{"category", "Category", Format::plain, ""},
                   {"before_bytes", "Before", Format::bytes, ""},
                   {"after_bytes", "After", Format::bytes, ""},
                   {"delta_bytes", "Change", Format::bytes, ""}};
  std::map<std::string, analysis::MemoryPart> sums;
  analysis::MemoryPart all;
  for (const analysis::MemoryPart& part : diff.memory) {
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

void addDiffFacts(const analysis::Diff& diff, const Words& words, Section& section) {
  section.facts = {
      {"clock_hz", "Ticks per second", diff.ticksPerSecond, Format::count, "timebase of all times below",
       !diff.perSample()},
      {"before_cycles", words.timed("Call before"), diff.before, Format::ticks, "length of the last call"},
      {"after_cycles", words.timed("Call after"), diff.after, Format::ticks, "length of the last call"},
      {"delta_cycles", words.timed("Change"), diff.after - diff.before, Format::ticks, "after − before",
       !diff.perSample()}};
  if (!diff.perSample()) return;
  const double before = diff.secondsPerSampleBefore(diff.before),
               after = diff.secondsPerSampleAfter(diff.after);
  const auto rate = [](double seconds) { return seconds > 0 ? Cell(1 / seconds) : Cell(); };
  for (const Fact& fact :
       {Fact{"before_samples", "Samples of the call before", diff.samplesBefore, Format::count,
             "all replicas"},
        {"after_samples", "Samples of the call after", diff.samplesAfter, Format::count, "all replicas"},
        {"before_devices", "Devices before", diff.devicesBefore, Format::count, "that hold a stage"},
        {"after_devices", "Devices after", diff.devicesAfter, Format::count, "that hold a stage"},
        {"before_samples_per_second", "Rate before", rate(before), Format::rate, "samples ÷ call"},
        {"after_samples_per_second", "Rate after", rate(after), Format::rate, "samples ÷ call"},
        {"before_seconds_per_sample", "Time per sample before", before, Format::seconds, "call ÷ samples"},
        {"after_seconds_per_sample", "Time per sample after", after, Format::seconds, "call ÷ samples"},
        {"delta_seconds_per_sample", "Change per sample", after - before, Format::seconds, "after − before"}})
    section.facts.push_back(fact);
}

}  // namespace

Section diffSection(const analysis::Diff& diff, const analysis::Catalog& after, const DiffChoice& choice) {
  Section section{"diff", "Difference", {}, {}, {}};
  // Profiles with different timebases are compared in picoseconds.
  const bool converted = diff.ticksPerSecond != after.timebase({}).ticksPerSecond;
  const ShownTime time =
      shownTime(converted ? model::TickMeaning::time : after.target.tickMeaning, diff.ticksPerSecond);
  const Words words = wordsFor(time);
  section.ticksPerShownUnit = time.ticks;
  section.tables = {changedOptionTable("versions", "Versions", diff.versions),
                    changedOptionTable("options", "Options", diff.options)};
  if (diff.perSample() || diff.families) section.tables.push_back(diffPassTable(diff, words));
  section.tables.push_back(diffTimeTable(diff, words, choice.mostRows));
  // Micro-batches of calls with different numbers of samples do not correspond to each other.
  if (choice.all || !diff.perSample())
    section.tables.push_back(diffMicroBatchTable(diff, words, choice.mostRows));
  if (diff.families) section.tables.push_back(diffCategoryTable(diff));
  if (choice.all || !diff.families) section.tables.push_back(diffMemoryTable(diff, choice.mostRows));
  addDiffFacts(diff, words, section);
  if (diff.families) {
    section.remarks.push_back(
        "The devices are of different families. Parts are therefore matched by the model's operators, "
        "whatever "
        "stage and device they are on. Each family has its own categories of memory: variables of an IPU are "
        "weights, activations and optimizer state together.");
  }
  if (diff.perSample()) {
    section.remarks.push_back(
        "The calls have different numbers of samples, so times are divided by them. A pipeline's critical "
        "path "
        "goes through one stage at a time: its parts say what limits the call, not what all devices do.");
  }
  if (diff.versions.empty() && diff.options.empty()) section.remarks.push_back("The options are the same.");
  if (diff.time.empty()) section.remarks.push_back("No part of the time differs.");
  return section;
}

}  // namespace pipescope::sections
