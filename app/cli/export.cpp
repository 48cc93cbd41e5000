// pipescope export converts a profile to formats of other programs.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "app/cli/command.h"
#include "profiler/export/chrome.h"
#include "profiler/export/csv.h"
#include "profiler/export/gzip.h"
#include "profiler/export/sqlite.h"
#include "profiler/export/svg.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::cli {
namespace {

namespace fs = std::filesystem;

struct ExportOptions {
  std::string profile, format, output, executable, table = "placement";
  bool steps = true, allCalls = false;
  std::optional<std::int64_t> call;
};

bool isGzip(const std::string& path) {
  return path.ends_with(".gz");
}

/// A file that appears only when it is complete.
class OutputFile {
 public:
  static base::Result<OutputFile> create(const std::string& path) {
    OutputFile file;
    file.path_ = path;
    file.partial_ = path + ".partial";
    file.file_ = std::fopen(file.partial_.c_str(), "wb");
    if (file.file_ == nullptr)
      return base::ioError(path + " cannot be written: " + std::strerror(errno) +
                           "; choose another place with -o.");
    return file;
  }
  OutputFile() = default;
  OutputFile(OutputFile&& other) noexcept
      : path_(std::move(other.path_)),
        partial_(std::move(other.partial_)),
        file_(std::exchange(other.file_, nullptr)) {}
  OutputFile& operator=(OutputFile&& other) noexcept {
    std::swap(path_, other.path_), std::swap(partial_, other.partial_), std::swap(file_, other.file_);
    return *this;
  }
  ~OutputFile() {
    if (file_ == nullptr) return;
    std::fclose(file_);
    std::remove(partial_.c_str());
  }

  base::Status write(std::string_view text) {
    return std::fwrite(text.data(), 1, text.size(), file_) == text.size() ? base::Status() : full();
  }
  base::Status close() {
    const bool written = std::fclose(std::exchange(file_, nullptr)) == 0;
    std::error_code failed;
    if (written) fs::rename(partial_, path_, failed);
    if (written && !failed) return {};
    std::remove(partial_.c_str());
    return full();
  }

 private:
  base::Error full() const {
    return base::refused(path_ + " cannot be written to its end: " + std::strerror(errno) +
                         "; nothing is left there.");
  }
  std::string path_, partial_;
  std::FILE* file_ = nullptr;
};

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
  return exporting::exportChrome(request, write, progress);
}

/// Compresses the text if the file's name ends in ".gz".
base::Status exportText(const ExportOptions& options, const store::ProfileReader& reader,
                        base::Progress& progress) {
  PIPESCOPE_ASSIGN(OutputFile file, OutputFile::create(options.output));
  const exporting::Writer write = [&](std::string_view text) { return file.write(text); };
  if (isGzip(options.output)) {
    exporting::GzipWriter gzip(write);
    PIPESCOPE_TRY(writeText(
        options, reader, [&](std::string_view text) { return gzip.write(text); }, progress));
    PIPESCOPE_TRY(gzip.finish());
  } else {
    PIPESCOPE_TRY(writeText(options, reader, write, progress));
  }
  return file.close();
}

base::Status runExport(const ExportOptions& options) {
  base::SilentProgress progress;
  if (options.allCalls && options.call)
    return base::badInput("--call selects one call and --all every call; leave one of them out.");
  if (options.format == "sqlite" && isGzip(options.output))
    return base::badInput(
        "A database cannot be compressed, because programs could not open it then; choose a name without "
        ".gz.");
  PIPESCOPE_ASSIGN(const std::shared_ptr<store::ProfileReader> reader,
                   store::ProfileReader::open(options.profile));
  std::error_code failed;
  if (fs::equivalent(options.profile, options.output, failed))
    return base::badInput("-o names the profile itself; choose another file for the export.");
  if (options.format == "sqlite") return exporting::exportSqlite(*reader, options.output, progress);
  return exportText(options, *reader, progress);
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
  command.add_option("--to", options->format, "chrome (for Perfetto), csv, sqlite or svg")
      ->required()
      ->check(CLI::IsMember({"chrome", "csv", "sqlite", "svg"}));
  command
      .add_option("-o,--output", options->output,
                  "File to write; a name that ends in .gz compresses chrome, csv and svg")
      ->required();
  const std::vector<Particular> particular = {
      {command.add_option("--executable", options->executable,
                          "training (default), inference … (chrome, svg)"),
       {"chrome", "svg"}},
      {command.add_option("--call", options->call,
                          "This call of the executable, from 1, instead of the last one (chrome)"),
       {"chrome"}},
      {command.add_flag("--all", options->allCalls, "Every call of the executable (chrome)"), {"chrome"}},
      {command.add_option("--table", options->table, "Table to write (csv)")->capture_default_str(), {"csv"}},
      {command.add_flag("!--no-steps", options->steps, "Passes only, without the steps in them (chrome)"),
       {"chrome"}}};
  return [options, particular] {
    base::Status status = refuseOthers(particular, options->format);
    if (status.ok()) status = runExport(*options);
    return status.ok() ? kDone : fail(status.error());
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(export) {
  registry.add(
      {"export", "Write a profile for other programs: Perfetto, spreadsheets, SQL, pictures", setUpExport});
}

}  // namespace pipescope::cli
