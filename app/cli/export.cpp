// pipescope export converts a profile to formats of other programs.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <vector>

#include "app/cli/frame/command.h"
#include "app/cli/frame/progress_display.h"
#include "profiler/base/csv_formulas.h"
#include "profiler/base/files/output_file.h"
#include "profiler/base/printable.h"
#include "profiler/export/chakra.h"
#include "profiler/export/chrome.h"
#include "profiler/export/csv.h"
#include "profiler/export/gzip.h"
#include "profiler/export/perfetto.h"
#include "profiler/export/sqlite.h"
#include "profiler/export/svg.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::cli {
namespace {

struct ExportOptions {
  std::string profile, format, output, executable, table = "placement";
  bool steps = true, allCalls = false, overwrite = false, csvSafe = false;
  std::optional<std::int64_t> call;
};

bool isGzip(const std::string& path) {
  return path.ends_with(".gz");
}

base::FileKind kindOf(const ExportOptions& options) {
  if (options.format == "sqlite") return base::FileKind::database;
  if (options.format == "perfetto") return base::FileKind::perfettoTrace;
  if (options.format == "chakra") return base::FileKind::chakraTrace;
  if (options.format == "chrome") return base::FileKind::chromeTrace;
  return options.format == "svg" ? base::FileKind::svg : base::FileKind::csv;
}

/// Programs choose how to open a picture by the ending of its name.
bool namesAnotherPicture(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg" || ending == ".bmp" || ending == ".gif" ||
         ending == ".pdf" || ending == ".webp";
}

base::OutputRules rulesOf(const ExportOptions& options) {
  return {{options.profile}, options.overwrite, kOverwriteAdvice};
}

/// The call that --call names, otherwise the last one.
base::Result<model::RunId> chosenCall(const ExportOptions& options, const analysis::Catalog& catalog,
                                      const model::Executable& executable) {
  if (options.call) {
    PIPESCOPE_ASSIGN(const model::Run* call, catalog.findCall(executable, *options.call));
    return call->id;
  }
  const model::Run* last = catalog.lastRunOf(executable.id);
  if (last == nullptr)
    return base::badInput("Nothing has run in this executable, so there is no trace to export.");
  const std::vector<const model::Run*> calls = catalog.runsOf(executable.id);
  const auto number = std::find(calls.begin(), calls.end(), last) - calls.begin() + 1;
  if (calls.size() > 1) {
    std::fprintf(stderr, "Exporting call %td of %zu. --call selects another one, --all takes every call.\n",
                 number, calls.size());
  }
  return last->id;
}

base::Status writeText(const ExportOptions& options, const store::ProfileReader& reader,
                       const exporting::Writer& write, base::Progress& progress) {
  if (options.format == "csv") return exporting::exportCsv(reader, options.table, write, progress);
  PIPESCOPE_ASSIGN(const auto catalog, analysis::loadCatalog(reader));
  PIPESCOPE_ASSIGN(const model::Executable* executable, catalog->findExecutable(options.executable));
  if (options.format == "svg") return exporting::exportSvg(reader, *catalog, executable->id, write, progress);
  exporting::ChromeRequest request{reader, *catalog, executable->id, options.steps};
  if (!options.allCalls) {
    PIPESCOPE_ASSIGN(request.run, chosenCall(options, *catalog, *executable));
  }
  if (options.format == "perfetto") return exporting::exportPerfetto(request, write, progress);
  if (options.format == "chakra") return exporting::exportChakra(request, write, progress);
  return exporting::exportChrome(request, write, progress);
}

/// Lines of CSV end with \r\n, of which a terminal needs no \r.
std::string withoutReturns(std::string text) {
  for (std::size_t at = text.find("\r\n"); at != std::string::npos; at = text.find("\r\n", at))
    text.erase(at, 1);
  return text;
}

/// Compresses the text if the file's name ends in ".gz".
base::Status exportText(const ExportOptions& options, const store::ProfileReader& reader,
                        base::Progress& progress) {
  PIPESCOPE_ASSIGN(base::OutputFile file,
                   base::OutputFile::create(options.output, kindOf(options), rulesOf(options)));
  const bool shown = base::isStandardOutput(options.output) && isatty(STDOUT_FILENO) != 0;
  const exporting::Writer write = [&](std::string_view text) {
    if (options.format != "csv" || !(shown || options.csvSafe)) return file.write(text);
    const std::string safe = options.csvSafe ? base::withoutFormulas(text) : std::string(text);
    return file.write(shown ? base::printable(withoutReturns(safe)) : safe);
  };
  if (isGzip(options.output)) {
    exporting::GzipWriter gzip(base::gzipComment(kindOf(options)), write);
    PIPESCOPE_TRY(writeText(
        options, reader, [&](std::string_view text) { return gzip.write(text); }, progress));
    PIPESCOPE_TRY(gzip.finish());
  } else {
    PIPESCOPE_TRY(writeText(options, reader, write, progress));
  }
  return file.close();
}

base::Status runExport(const ExportOptions& options) {
  // A signal ends the export at once, so only somebody who looks on needs to hear of it.
  const std::unique_ptr<base::Progress> shown = makeProgress(isatty(STDERR_FILENO) != 0 ? "bar" : "off");
  base::Progress& progress = *shown;
  if (options.allCalls && options.call)
    return base::badInput("--call selects one call and --all every call; leave one of them out.");
  if (options.format == "sqlite" && isGzip(options.output))
    return base::badInput(
        "A database cannot be compressed, because programs could not open it then; choose a name without "
        ".gz.");
  if (options.format == "svg" && namesAnotherPicture(options.output))
    return base::badInput(
        "An SVG drawing would stand under the name of another kind of picture: choose a name that ends in "
        ".svg, "
        "or draw a page with pipescope-gui --screenshot.");
  PIPESCOPE_ASSIGN(const std::shared_ptr<store::ProfileReader> reader,
                   store::ProfileReader::open(options.profile));
  PIPESCOPE_TRY(base::checkOutput(options.output, kindOf(options), rulesOf(options)));
  const base::Status written =
      options.format == "sqlite"
          ? exporting::exportSqlite(*reader, options.output, progress, rulesOf(options))
          : exportText(options, *reader, progress);
  finishProgress(progress);
  return written;
}

/// An option that applies to some formats only.
struct Particular {
  const CLI::Option* option;
  std::vector<std::string> formats;
};

base::Status refuseOthers(const std::vector<Particular>& all, const std::string& format) {
  for (const auto& [option, formats] : all) {
    if (option->count() == 0 || std::find(formats.begin(), formats.end(), format) != formats.end()) continue;
    return base::badInput(fmt::format("{} means nothing for --to {}: leave it out, or export to {}.",
                                      option->get_name(), format, fmt::join(formats, " or ")));
  }
  return {};
}

std::function<int()> setUpExport(CLI::App& command) {
  auto options = std::make_shared<ExportOptions>();
  command.add_option("profile", options->profile, "Profile to export")->required();
  command
      .add_option(
          "--to", options->format,
          "chrome (for Perfetto and browsers), perfetto (smaller), chakra (execution trace for "
          "simulators), csv, sqlite or svg. chrome and perfetto hold passes, steps, transfers, waits "
          "and counters; perfetto rounds times to nanoseconds. chakra holds passes, collectives and messages "
          "that carry a pass's result, with stage, replica, micro-batch and iteration, but no steps within "
          "passes, no counters and no waits")
      ->required()
      ->check(CLI::IsMember({"chrome", "perfetto", "chakra", "csv", "sqlite", "svg"}));
  command
      .add_option("-o,--output", options->output,
                  "File to write; - is standard output, and a name that ends in .gz compresses every format "
                  "but sqlite")
      ->required();
  command.add_flag("--overwrite", options->overwrite, kOverwriteHelp);
  const std::vector<Particular> particular = {
      {command.add_option("--executable", options->executable,
                          "training (default), inference … (chrome, perfetto, chakra, svg)"),
       {"chrome", "perfetto", "chakra", "svg"}},
      {command.add_option(
           "--call", options->call,
           "This call of the executable, from 1, instead of the last one (chrome, perfetto, chakra)"),
       {"chrome", "perfetto", "chakra"}},
      {command.add_flag("--all", options->allCalls, "Every call of the executable (chrome, perfetto)"),
       {"chrome", "perfetto"}},
      {command.add_option("--table", options->table, "Table to write (csv)")->capture_default_str(), {"csv"}},
      {command.add_flag("!--no-steps", options->steps,
                        "Passes only, without the steps in them (chrome, perfetto)"),
       {"chrome", "perfetto"}}};
  addCsvSafe(command, options->csvSafe);
  return [options, particular] {
    base::Status status = refuseOthers(particular, options->format);
    if (status.ok()) status = refuseCsvOptions(options->format, {{}, options->csvSafe});
    if (status.ok()) status = runExport(*options);
    return status.ok() ? kDone : fail(status.error());
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(export) {
  registry.add({"export", "Write a profile for other programs: Perfetto, spreadsheets, SQL, pictures",
                setUpExport, "pipescope export mnist.pop --to chrome -o trace.json"});
}

}  // namespace pipescope::cli
