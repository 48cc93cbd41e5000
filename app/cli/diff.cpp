// pipescope diff: what changed between two profiles, options first, then parts that add up to the whole.
#include "profiler/analysis/pipeline/diff.h"

#include <algorithm>
#include <map>

#include "app/cli/command.h"
#include "profiler/sections/wording.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::cli {
namespace {

using sections::Cell;
using sections::Format;

struct DiffOptions {
  std::string before, after, executable, format = "text";
  int most = 20;
};

struct Side {
  std::shared_ptr<store::ProfileReader> reader;
  std::shared_ptr<const analysis::Catalog> catalog;
  model::ExecutableId executable;
};

base::Result<Side> open(const std::string& path, const std::string& executable) {
  Side side;
  PIPESCOPE_ASSIGN(side.reader, store::ProfileReader::open(path));
  PIPESCOPE_ASSIGN(side.catalog, analysis::loadCatalog(*side.reader));
  PIPESCOPE_ASSIGN(const model::Executable* found, side.catalog->findExecutable(executable));
  side.executable = found->id;
  return side;
}

sections::Table optionTable(const char* key, const char* title,
                            const std::vector<analysis::ChangedOption>& changed) {
  sections::Table table{key, title, "", {}, {}};
  table.columns = {{"name", "Name", Format::plain, ""},
                   {"before", "Before", Format::plain, ""},
                   {"after", "After", Format::plain, ""}};
  for (const auto& row : changed) table.rows.push_back({row.path, row.before, row.after});
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
    return sections::countsBefore(std::get<std::string>(a.front()), std::get<std::string>(b.front()));
  });
  return table;
}

/// The largest rows, and one for the rest, so that what is shown still adds up.
template <class Part, class Row>
void addLargest(sections::Table& table, const std::vector<Part>& parts, int most, Row&& row) {
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

/// Columns of a part's time: in ticks, and by the sample where calls have different numbers of samples. Text
/// then shows only these.
void addTimeColumns(sections::Table& table, const analysis::Diff& diff) {
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

std::string basisOf(const analysis::Diff& diff, const std::string& what) {
  return what + (diff.perSample() ? " ÷ its samples" : "") + "; changes add up to the total";
}

Cell index(std::int64_t n) {
  return n < 0 ? Cell() : Cell(n);
}

sections::Table passTable(const analysis::Diff& diff) {
  sections::Table table{
      "passes", "Time by what it goes to", basisOf(diff, "last call, critical path"), {}, {}};
  table.columns = {{"kind", "Pass", Format::plain, ""}};
  addTimeColumns(table, diff);
  for (const analysis::PassPart& part : diff.passes) {
    std::vector<Cell> row = {part.kind};
    addTimeCells(row, diff, part);
    table.rows.push_back(std::move(row));
  }
  return table;
}

sections::Table timeTable(const analysis::Diff& diff, int most) {
  sections::Table table{"time", "Time", basisOf(diff, "last call, critical path"), {}, {}};
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

sections::Table microBatchTable(const analysis::Diff& diff, int most) {
  sections::Table table{
      "micro_batches", "Time by micro-batch", "the same time; changes add up to the total", {}, {}};
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

sections::Table memoryTable(const analysis::Diff& diff, int most) {
  sections::Table table{"memory", "Memory", "sum over units, without gaps", {}, {}};
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

/// Devices of different families are not each other's; their memory is compared as a whole.
sections::Table categoryTable(const analysis::Diff& diff) {
  sections::Table table{"memory_by_category", "Memory", "all devices of one replica, without gaps", {}, {}};
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

void addFacts(const analysis::Diff& diff, sections::Section& section) {
  section.facts = {{"clock_hz", "Ticks per second", diff.ticksPerSecond, Format::count, "of all cycles below",
                    !diff.perSample()},
                   {"before_cycles", "Call before", diff.before, Format::ticks, "span of the last call"},
                   {"after_cycles", "Call after", diff.after, Format::ticks, "span of the last call"},
                   {"delta_cycles", "Change", diff.after - diff.before, Format::ticks, "after − before",
                    !diff.perSample()}};
  if (!diff.perSample()) return;
  const double before = diff.secondsPerSampleBefore(diff.before),
               after = diff.secondsPerSampleAfter(diff.after);
  const auto rate = [](double seconds) { return seconds > 0 ? Cell(1 / seconds) : Cell(); };
  for (const sections::Fact& fact :
       {sections::Fact{"before_samples", "Samples of the call before", diff.samplesBefore, Format::count,
                       "all replicas"},
        {"after_samples", "Samples of the call after", diff.samplesAfter, Format::count, "all replicas"},
        {"before_devices", "Devices before", diff.devicesBefore, Format::count, "that hold a stage"},
        {"after_devices", "Devices after", diff.devicesAfter, Format::count, "that hold a stage"},
        {"before_samples_per_second", "Rate before", rate(before), Format::rate, "samples ÷ call"},
        {"after_samples_per_second", "Rate after", rate(after), Format::rate, "samples ÷ call"},
        {"before_seconds_per_sample", "Time of a sample before", before, Format::seconds, "call ÷ samples"},
        {"after_seconds_per_sample", "Time of a sample after", after, Format::seconds, "call ÷ samples"},
        {"delta_seconds_per_sample", "Change by the sample", after - before, Format::seconds,
         "after − before"}})
    section.facts.push_back(fact);
}

/// `text`: without tables that say nothing to people here.
sections::Section makeSection(const analysis::Diff& diff, const analysis::Catalog& catalog, int most,
                              bool text) {
  sections::Section section{"diff", "Difference", {}, {}, {}};
  section.tables = {optionTable("versions", "Versions", diff.versions),
                    optionTable("options", "Options", diff.options)};
  if (diff.perSample() || diff.families) section.tables.push_back(passTable(diff));
  section.tables.push_back(timeTable(diff, most));
  // Micro-batches of calls that have other numbers of samples are not the same ones.
  if (!text || !diff.perSample()) section.tables.push_back(microBatchTable(diff, most));
  if (diff.families) section.tables.push_back(categoryTable(diff));
  if (!text || !diff.families) section.tables.push_back(memoryTable(diff, most));
  addFacts(diff, section);
  if (diff.families) {
    section.remarks.push_back(
        "The devices are of different families: parts are matched by the model's operators, whatever stage "
        "and device "
        "they are on. Each family has categories of memory of its own: an IPU's variables are weights, "
        "activations "
        "and optimizer state together.");
  }
  if (diff.perSample()) {
    section.remarks.push_back(
        "The calls have different numbers of samples: times are divided by them. A pipeline's critical path "
        "goes "
        "through one stage at a time, so its parts say what limits the call, not what all devices do.");
  }
  if (diff.versions.empty() && diff.options.empty()) section.remarks.push_back("The options are the same.");
  if (diff.time.empty()) section.remarks.push_back("No part of the time differs.");
  sections::showTicksIn(section, sections::tickUnitOf(diff.ticksPerSecond, catalog.target.family == "fixed"));
  return section;
}

base::Result<std::string> runDiff(const DiffOptions& options) {
  PIPESCOPE_ASSIGN(const Side before, open(options.before, options.executable));
  PIPESCOPE_ASSIGN(const Side after, open(options.after, options.executable));
  PIPESCOPE_ASSIGN(const analysis::Diff found,
                   analysis::diff({*before.reader, *before.catalog, before.executable},
                                  {*after.reader, *after.catalog, after.executable}));
  const bool text = options.format == "text";
  const sections::Section section = makeSection(found, *after.catalog, text ? options.most : 0, text);
  if (options.format == "json") return sections::toJson(section) + "\n";
  return options.format == "csv" ? sections::toCsv(section) : sections::toText(section);
}

std::function<int()> setUpDiff(CLI::App& command) {
  auto options = std::make_shared<DiffOptions>();
  command.add_option("before", options->before, "Profile to compare with")->required();
  command.add_option("after", options->after, "Profile to compare")->required();
  command.add_option("--executable", options->executable, "training (default), inference …");
  command.add_option("--most", options->most, "Rows of each table in text; 0: all")->capture_default_str();
  command.add_option("--format", options->format, "text, json or csv")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->capture_default_str();
  return [options] {
    const base::Result<std::string> text = runDiff(*options);
    return text.ok() ? print(*text) : fail(text.error());
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(diff) {
  registry.add({"diff", "Show what changed between two profiles, adding up to the whole", setUpDiff});
}

}  // namespace pipescope::cli
