// pipescope diff compares two profiles. It prints the changed options first and then the changes of the
// parts, which add up to the whole change.
#include <filesystem>

#include "app/cli/frame/command.h"
#include "profiler/base/files/output_file.h"
#include "profiler/export/html/html.h"
#include "profiler/sections/diff/diff_section.h"
#include "profiler/sections/frame/schema.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::cli {
namespace {

struct DiffOptions {
  std::string before, after, executable, format = "text";
  CsvOptions csv;
  int most = 20;
  bool schema = false, overwrite = false;
  std::string output = "-";
};

struct Side {
  std::shared_ptr<store::ProfileReader> reader;
  std::shared_ptr<const analysis::Catalog> catalog;
  model::ExecutableId executable;
};

base::Result<Side> openSide(const std::string& path, const std::string& executable) {
  Side side;
  PIPESCOPE_ASSIGN(side.reader, store::ProfileReader::open(path));
  PIPESCOPE_ASSIGN(side.catalog, analysis::loadCatalog(*side.reader));
  PIPESCOPE_ASSIGN(const model::Executable* found, side.catalog->findExecutable(executable));
  side.executable = found->id;
  return side;
}

/// Writes the page to its file. Returns what is left to print: the page itself if it goes to standard output.
base::Result<std::string> page(const DiffOptions& options, const Side& before, const Side& after) {
  const auto name = [](const std::string& path) { return std::filesystem::path(path).filename().string(); };
  figures::useMinusSign(true);  // people read pages
  PIPESCOPE_ASSIGN(std::string made,
                   exporting::htmlComparison({*before.reader, *before.catalog, before.executable},
                                             {*after.reader, *after.catalog, after.executable},
                                             name(options.before), name(options.after)));
  if (base::isStandardOutput(options.output)) return made;
  PIPESCOPE_ASSIGN(
      base::OutputFile file,
      base::OutputFile::create(options.output, base::FileKind::report,
                               {{options.before, options.after}, options.overwrite, kOverwriteAdvice}));
  PIPESCOPE_TRY(file.write(made));
  PIPESCOPE_TRY(file.close());
  return std::string();
}

base::Result<std::string> runDiff(const DiffOptions& options) {
  if (options.schema) {
    PIPESCOPE_ASSIGN(const std::string schema, sections::schemaOfDiff());
    return schema + "\n";
  }
  if (options.after.empty())
    return base::badInput("Name the two profiles to compare: pipescope diff BEFORE AFTER.");
  PIPESCOPE_TRY(refuseCsvOptions(options.format, options.csv));
  const base::OutputRules rules{{options.before, options.after}, options.overwrite, kOverwriteAdvice};
  const bool html = options.format == "html";
  if (html) PIPESCOPE_TRY(base::checkOutput(options.output, base::FileKind::report, rules));
  if (!html && (options.output != "-" || options.overwrite))
    return base::badInput(
        "-o and --overwrite are for --format html; other formats go to standard output: redirect it with > "
        "FILE.");
  PIPESCOPE_ASSIGN(const Side before, openSide(options.before, options.executable));
  PIPESCOPE_ASSIGN(const Side after, openSide(options.after, options.executable));
  if (html) return page(options, before, after);
  PIPESCOPE_ASSIGN(const analysis::Diff found,
                   analysis::diff({*before.reader, *before.catalog, before.executable},
                                  {*after.reader, *after.catalog, after.executable}));
  const bool text = options.format == "text";
  PIPESCOPE_ASSIGN(const sections::Section section,
                   sections::diffSection({*before.reader, *before.catalog, before.executable},
                                         {*after.reader, *after.catalog, after.executable}, found,
                                         {text ? options.most : 0, !text}));
  if (options.format == "json") return sections::toJson(section) + "\n";
  if (options.format == "csv") return csvOf(section, options.csv);
  return sections::toText(section);
}

std::function<int()> setUpDiff(CLI::App& command) {
  auto options = std::make_shared<DiffOptions>();
  command.add_option("before", options->before, "Profile to compare with");
  command.add_option("after", options->after, "Profile to compare");
  command.add_option("--executable", options->executable, "training (default), inference …");
  command
      .add_option("--most", options->most,
                  "Rows of each table in text; 0: all. A table has more if the sum of the rest would "
                  "otherwise be its largest row")
      ->capture_default_str();
  command.add_option("--format", options->format, "text, json, csv (one table) or html (a web page)")
      ->check(CLI::IsMember({"text", "json", "csv", "html"}))
      ->capture_default_str();
  command.add_option("-o,--output", options->output, "With --format html: the file; - for standard output")
      ->capture_default_str();
  command.add_flag("--overwrite", options->overwrite, "Also replace a file of another kind");
  addCsvOptions(command, options->csv, "With --format csv: the table to write");
  command.add_flag("--schema", options->schema, "Print the JSON Schema of the comparison instead");
  return [options] {
    const base::Result<std::string> text = runDiff(*options);
    return text.ok() ? print(*text) : fail(text.error());
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(diff) {
  registry.add({"diff", "Show what changed between two profiles: the step, its stages, operations, memory",
                setUpDiff, "pipescope diff sharded.pop pipelined.pop"});
}

}  // namespace pipescope::cli
