// pipescope diff compares two profiles. It prints the changed options first and then the changes of the
// parts, which add up to the whole change.
#include "app/cli/command.h"
#include "profiler/sections/diff_section.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::cli {
namespace {

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

base::Result<std::string> runDiff(const DiffOptions& options) {
  PIPESCOPE_ASSIGN(const Side before, open(options.before, options.executable));
  PIPESCOPE_ASSIGN(const Side after, open(options.after, options.executable));
  PIPESCOPE_ASSIGN(const analysis::Diff found,
                   analysis::diff({*before.reader, *before.catalog, before.executable},
                                  {*after.reader, *after.catalog, after.executable}));
  const bool text = options.format == "text";
  const sections::Section section =
      sections::diffSection(found, *after.catalog, {text ? options.most : 0, !text});
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
