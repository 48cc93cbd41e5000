// pipescope learn makes a configuration of a recorded run, which other schedules, depths and links can be
// emulated with.
#include <fmt/format.h>

#include "app/cli/frame/command.h"
#include "app/run/learn/learned_configuration.h"
#include "profiler/base/files/output_file.h"
#include "profiler/sections/replays.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::cli {
namespace {

constexpr const char* kLearnGuide =
    R"(The file that -o names is an ordinary configuration, so that other settings can be tried:

  pipescope run model.toml -o same.pop
  pipescope run model.toml --schedule interleaved-1f1b --set execution.chunks=2 -o chunks.pop
  pipescope run model.toml --set fixed.places=4 --gradient-accumulation 32 -o half.pop
  pipescope run model.toml --set fixed.exchange=0.1 -o links.pop
  pipescope learn run.pop --cores 2 -o model.toml
  pipescope run model.toml --set fixed.places=4 -o four.pop

With --cores, four processes that share two cores slow each other, whether two or four of them were recorded.

Costs are medians over the steady iterations, of the means over the micro-batches of each. The iterations
before the first one that lasts at most 5 % longer than the median of all are warm-up and do not count.)";

struct LearnOptions {
  std::string profile, executable, output, format = "text";
  CsvOptions csv;
  std::vector<std::int64_t> layers;
  double cores = 0;
  bool overwrite = false;
};

base::Status learn(const LearnOptions& options) {
  PIPESCOPE_TRY(refuseCsvOptions(options.format, options.csv));
  const base::OutputRules rules{{options.profile}, options.overwrite, kOverwriteAdvice};
  if (!options.output.empty()) PIPESCOPE_TRY(base::checkOutput(options.output, base::FileKind::plan, rules));
  PIPESCOPE_ASSIGN(const auto reader, store::ProfileReader::open(options.profile));
  PIPESCOPE_ASSIGN(const auto catalog, analysis::loadCatalog(*reader));
  PIPESCOPE_ASSIGN(const model::Executable* executable, catalog->findExecutable(options.executable));
  base::SilentProgress progress;
  PIPESCOPE_ASSIGN(const replay::LearnedModel learned,
                   replay::learnModel(*reader, *catalog, executable->id, sections::knownSchedules(), progress,
                                      options.cores));
  PIPESCOPE_ASSIGN(const app::LearnedLayers layers, app::layersOfStages(learned, options.layers));
  const std::string toml = app::learnedToml(learned, layers, options.profile);
  PIPESCOPE_ASSIGN(const double step, app::stepOfLearned(toml));
  if (!options.output.empty()) {
    PIPESCOPE_ASSIGN(base::OutputFile file,
                     base::OutputFile::create(options.output, base::FileKind::plan, rules));
    PIPESCOPE_TRY(file.write(toml));
    PIPESCOPE_TRY(file.close());
  }
  const sections::Section section = app::learnedSection(learned, layers, step);
  PIPESCOPE_ASSIGN(const std::string text, options.format == "csv" ? csvOf(section, options.csv)
                                           : options.format == "json"
                                               ? base::Result<std::string>(sections::toJson(section) + "\n")
                                               : base::Result<std::string>(sections::toText(section)));
  print(text);
  return {};
}

std::function<int()> setUpLearn(CLI::App& command) {
  auto options = std::make_shared<LearnOptions>();
  command.add_option("profile", options->profile, "Profile of the run, such as an imported trace")
      ->required();
  command.add_option("-o,--output", options->output, "Configuration to write (TOML)");
  command
      .add_option("--layers", options->layers,
                  "Number of layers of the model, or of each stage, as 8,8,6,6. Without it each stage can be "
                  "divided into equal parts")
      ->delimiter(',');
  command
      .add_option(
          "--cores", options->cores,
          "Cores that all devices of a recorded run shared, as processes of one machine. Without it, it is "
          "found out where more of them ran than there were cores")
      ->check(CLI::Range(1.0, 1e6));
  command.add_option("--executable", options->executable, "training (default), inference …");
  command.add_flag("--overwrite", options->overwrite, kOverwriteHelp);
  command.add_option("--format", options->format, "text, json or csv (one table)")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->capture_default_str();
  addCsvOptions(command, options->csv, "With --format csv: the table to write");
  return [options] {
    const base::Status status = learn(*options);
    return status.ok() ? kDone : fail(status.error());
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(learn) {
  registry.add({"learn", "Make a configuration of a recorded run, for other schedules, depths and links",
                setUpLearn, "pipescope learn run.pop --layers 64 -o model.toml", kLearnGuide});
}

}  // namespace pipescope::cli
