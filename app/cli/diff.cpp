// pipescope diff: what changed between two profiles, options first, then parts that add up to the whole.
#include "profiler/analysis/diff.h"

#include "app/cli/command.h"
#include "profiler/sections/section.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::cli {
namespace {

using sections::Cell;
using sections::Format;

struct Options {
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

sections::Table optionTable(const char* key, const char* title, const std::vector<analysis::ChangedOption>& changed) {
  sections::Table table{key, title, "", {}, {}};
  table.columns = {{"name", "Name", Format::plain, ""}, {"before", "Before", Format::plain, ""}, {"after", "After", Format::plain, ""}};
  for (const auto& row : changed) table.rows.push_back({row.path, row.before, row.after});
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

sections::Table timeTable(const analysis::Diff& diff, int most) {
  sections::Table table{"time", "Time", "last call, critical path; changes add up to the total", {}, {}};
  table.columns = {{"kind", "Part", Format::plain, ""},          {"operation", "Operation", Format::plain, ""},
                   {"pass", "Pass", Format::plain, ""},          {"stage", "Stage", Format::plain, ""},
                   {"device", "Device", Format::plain, ""},      {"micro_batches_before", "Micro-batches", Format::count, ""},
                   {"micro_batches_after", "after", Format::count, ""}, {"before_cycles", "Before", Format::ticks, ""},
                   {"after_cycles", "After", Format::ticks, ""}, {"delta_cycles", "Change", Format::ticks, ""}};
  const auto index = [](std::int64_t n) { return n < 0 ? Cell() : Cell(n); };
  addLargest(table, diff.time, most, [&](const analysis::TimePart& part) -> std::vector<Cell> {
    return {part.kind, part.operation, part.pass, index(part.stage), index(part.device), part.microBatchesBefore,
            part.microBatchesAfter, part.before, part.after, part.delta()};
  });
  return table;
}

sections::Table microBatchTable(const analysis::Diff& diff, int most) {
  sections::Table table{"micro_batches", "Time by micro-batch", "the same time; changes add up to the total", {}, {}};
  table.columns = {{"micro_batch", "Micro-batch", Format::plain, ""}, {"before_cycles", "Before", Format::ticks, ""},
                   {"after_cycles", "After", Format::ticks, ""}, {"delta_cycles", "Change", Format::ticks, ""}};
  addLargest(table, diff.microBatches, most, [&](const analysis::MicroBatchPart& part) -> std::vector<Cell> {
    return {part.microBatch < 0 ? Cell(std::string("none")) : Cell(std::int64_t{part.microBatch}), part.before, part.after,
            part.delta()};
  });
  return table;
}

sections::Table memoryTable(const analysis::Diff& diff, int most) {
  sections::Table table{"memory", "Memory", "sum over units, without gaps", {}, {}};
  table.columns = {{"device", "Device", Format::plain, ""}, {"category", "Category", Format::plain, ""},
                   {"before_bytes", "Before", Format::bytes, ""}, {"after_bytes", "After", Format::bytes, ""},
                   {"delta_bytes", "Change", Format::bytes, ""}};
  addLargest(table, diff.memory, most, [&](const analysis::MemoryPart& part) -> std::vector<Cell> {
    return {part.device, part.category, part.before, part.after, part.delta()};
  });
  return table;
}

sections::Section makeSection(const analysis::Diff& diff, int most) {
  sections::Section section{"diff", "Difference", {}, {}, {}};
  section.tables = {optionTable("versions", "Versions", diff.versions), optionTable("options", "Options", diff.options),
                    timeTable(diff, most), microBatchTable(diff, most), memoryTable(diff, most)};
  section.facts = {{"clock_hz", "Ticks per second", diff.ticksPerSecond, Format::count, "of all cycles below"},
                   {"before_cycles", "Call before", diff.before, Format::ticks, "span of the last call"},
                   {"after_cycles", "Call after", diff.after, Format::ticks, "span of the last call"},
                   {"delta_cycles", "Change", diff.after - diff.before, Format::ticks, "after − before"}};
  if (diff.versions.empty() && diff.options.empty()) section.remarks.push_back("The options are the same.");
  if (diff.time.empty()) section.remarks.push_back("No part of the time differs.");
  return section;
}

base::Result<std::string> run(const Options& options) {
  PIPESCOPE_ASSIGN(const Side before, open(options.before, options.executable));
  PIPESCOPE_ASSIGN(const Side after, open(options.after, options.executable));
  PIPESCOPE_ASSIGN(const analysis::Diff found,
                   analysis::diff({*before.reader, *before.catalog, before.executable},
                                  {*after.reader, *after.catalog, after.executable}));
  const sections::Section section = makeSection(found, options.format == "text" ? options.most : 0);
  if (options.format == "json") return sections::toJson(section) + "\n";
  return options.format == "csv" ? sections::toCsv(section) : sections::toText(section);
}

std::function<int()> setUp(CLI::App& command) {
  auto options = std::make_shared<Options>();
  command.add_option("before", options->before, "Profile to compare with")->required();
  command.add_option("after", options->after, "Profile to compare")->required();
  command.add_option("--executable", options->executable, "training (default), inference …");
  command.add_option("--most", options->most, "Rows of each table in text; 0: all")->capture_default_str();
  command.add_option("--format", options->format, "text, json or csv")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->capture_default_str();
  return [options] {
    const base::Result<std::string> text = run(*options);
    return text.ok() ? print(*text) : fail(text.error());
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(diff) {
  registry.add({"diff", "Show what changed between two profiles, adding up to the whole", setUp});
}

}  // namespace pipescope::cli
