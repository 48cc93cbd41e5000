// pipescope plan finds the best split of a model into stages.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>

#include "app/cli/frame/between.h"
#include "app/cli/frame/command.h"
#include "app/cli/frame/environment.h"
#include "app/cli/frame/key_flags.h"
#include "app/cli/frame/model_source.h"
#include "app/cli/frame/progress_display.h"
#include "app/cli/plan_dimensions_report.h"
#include "app/cli/plan_frameworks.h"
#include "app/cli/plan_model_report.h"
#include "app/cli/plan_report.h"
#include "app/plan/dimension_plan.h"
#include "app/plan/plan_request.h"
#include "app/plan/plan_variants.h"
#include "app/plan/planned_fixed.h"
#include "app/plan/stage_settings.h"
#include "app/run/request/configuration_keys.h"
#include "app/run/request/instance_launch.h"
#include "engine/numerics/instance_module.h"
#include "engine/numerics/thread_pool.h"
#include "engine/schedules/schedule.h"
#include "profiler/base/files/output_file.h"

namespace pipescope::cli {
namespace {

struct PlanOptions {
  ModelSource source;
  std::string profile, output, write, start, format = "text", bandwidth, memory, schedule = "1f1b",
                                             progress = "bar";
  std::vector<std::string> vary;
  std::int64_t samples = 0;                        ///< of a weight update
  std::map<std::string, std::string> values = {};  ///< of keys that have a flag here, by flag
  int stages = 0, microBatches = 0, chunks = 0, devices = 0;
  std::int64_t microBatchSize = 1;
  bool overwrite = false, present = false, sequence = false;
};

/// A number of bytes with a unit or without one: "16e9", "16 GB", "16GiB", "12.5GB/s".
base::Result<double> bytesOf(const std::string& text, const char* flag) {
  const char *begin = text.data(), *end = begin + text.size();
  double value = 0;
  const auto read = std::from_chars(begin, end, value);
  std::string unit(read.ptr, end);
  if (const std::size_t first = unit.find_first_not_of(' '); first != std::string::npos) unit.erase(0, first);
  if (unit.ends_with("/s") && std::string_view(flag) == "--bandwidth") unit.resize(unit.size() - 2);
  if (unit.ends_with('B')) unit.pop_back();
  const bool binary = unit.size() == 2 && unit.ends_with('i');
  const std::string_view prefixes = "kMGTP";
  const std::size_t power = unit.empty() ? 0 : prefixes.find(unit.front() == 'K' ? 'k' : unit.front()) + 1;
  const bool known = unit.empty() || (power > 0 && (unit.size() == 1 || binary));
  value *= std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power));
  if (read.ec != std::errc() || !known || !std::isfinite(value) || value < 1 || value > 9e18) {
    return base::badInput(
        fmt::format("{} must be a number of bytes{} of at least 1, such as 16e9 or 16GB, but is \"{}\".",
                    flag, std::string_view(flag) == "--bandwidth" ? " per second" : "", text));
  }
  return value;
}

base::Result<plan::CostRequest> costRequest(const PlanOptions& options, const CLI::App& command) {
  plan::CostRequest request;
  if (options.microBatches == 0) {
    for (const char* flag : {"--schedule", "--chunks", "--output"}) {
      if (command.count(flag) == 0) continue;
      return base::badInput(fmt::format(
          "{} needs --micro-batches: without them there is no weight update, only the longest stage.",
          std::string_view(flag) == "--output" ? "-o" : flag));
    }
  }
  request.stages = options.stages;
  request.microBatches = options.microBatches;
  request.schedule = options.schedule;
  request.chunks = options.chunks;
  if (!options.bandwidth.empty()) {
    PIPESCOPE_ASSIGN(request.bandwidth, bytesOf(options.bandwidth, "--bandwidth"));
  }
  if (!options.memory.empty()) {
    PIPESCOPE_ASSIGN(const double bytes, bytesOf(options.memory, "--memory"));
    request.memory = static_cast<std::int64_t>(bytes);
  }
  return request;
}

base::Status writePlan(const PlanOptions& options, const std::string& input, const std::string& toml) {
  const base::OutputRules rules{{input}, options.overwrite, kOverwriteAdvice};
  PIPESCOPE_ASSIGN(base::OutputFile file,
                   base::OutputFile::create(options.output, base::FileKind::plan, rules));
  PIPESCOPE_TRY(file.write(toml));
  return file.close();
}

FrameworkSplit frameworkSplit(const ProfilePlan& planned) {
  FrameworkSplit split;
  for (const plan::StageCost& stage : planned.best.stages) {
    split.layers.emplace_back();
    for (std::size_t i = stage.first; i < stage.first + stage.count; ++i)
      split.layers.back().push_back(planned.layers.layers[i].id);
    split.devices.push_back(stage.place);
    if (stage.first > 0) split.starts.push_back(split.layers.back().front());
  }
  if (planned.request.microBatches > 0) split.schedule = planned.request.schedule;
  return split;
}

/// Layers that are computed again together; 0: none is.
std::int64_t recomputedLayers(const plan::SplitPlan& split) {
  if (split.tried.recompute == "none" || split.tried.recompute == "selective") return 0;
  if (split.tried.recompute == "checkpoints") return 1;
  std::size_t most = 1;
  for (const std::vector<std::string>& blocks : split.blocks) {
    const auto layers = std::ranges::count_if(
        blocks, [](const std::string& block) { return !block.empty() && std::isdigit(block.back()) != 0; });
    most = std::max(most, static_cast<std::size_t>(layers));
  }
  return static_cast<std::int64_t>(most);
}

/// Nothing in inference: the frameworks' options are about training.
base::Result<std::optional<FrameworkRun>> frameworkRun(const app::ConfigurationPlan& planned) {
  PIPESCOPE_ASSIGN(const config::Configuration c, app::resolvedConfiguration(planned.best.configuration));
  if (c.text("execution.mode") == "inference") return std::optional<FrameworkRun>();
  const plan::TriedPlan& tried = planned.best.plan.best.tried;
  FrameworkRun run;
  run.tensor = c.integer("execution.tensor_parallel");
  run.sequence = c.boolean("execution.sequence_parallel");
  run.context = c.integer("execution.context_parallel");
  run.exchangesHeads = c.text("execution.context_exchange") == "heads";
  run.experts = c.integer("execution.expert_parallel");
  for (const plan::TriedStage& stage : tried.stages)
    run.places = std::max<std::int64_t>(run.places, stage.place + 1);
  run.replicas = tried.replicas / run.experts;
  run.microBatchSize = tried.microBatchSize;
  run.microBatches = tried.microBatches;
  run.zero = c.boolean("execution.shard_weights")        ? 3
             : c.boolean("execution.shard_accumulators") ? 2
             : c.boolean("execution.shard_optimizer")    ? 1
                                                         : 0;
  run.recomputedLayers = recomputedLayers(planned.best.plan.best);
  run.recomputesScores = tried.recompute == "selective";
  run.precision = c.text("execution.precision");
  return std::optional(run);
}

base::Result<FrameworkSplit> frameworkSplit(const app::ConfigurationPlan& planned) {
  const plan::SplitPlan& best = planned.best.plan.best;
  FrameworkSplit split{best.blocks, best.cuts, {}, best.tried.schedule};
  PIPESCOPE_ASSIGN(split.run, frameworkRun(planned));
  for (const plan::TriedStage& stage : best.tried.stages) split.devices.push_back(stage.place);
  for (std::size_t s = 1; s < best.blocks.size(); ++s) split.starts[s - 1] = best.blocks[s].front();
  return split;
}

base::Result<std::string> planProfile(const PlanOptions& options, const CLI::App& command) {
  for (const char* flag : {"--builder", "--system", "--training", "--inference", "--devices", "--vary",
                           "--set", "--start", "--present", "--tensor-parallel", "--sequence-parallel",
                           "--replication-factor", "--zero", "--recompute", "--global-batch-size"}) {
    if (command.count(flag) == 0) continue;
    return base::badInput(
        fmt::format("{} belongs to a configuration, but --profile plans from costs.", flag));
  }
  if (options.stages == 0) return base::badInput("--profile needs --stages N, the number of stages to plan.");
  ProfilePlan planned;
  planned.file = options.profile;
  planned.samplesPerMicroBatch = options.microBatchSize;
  PIPESCOPE_ASSIGN(planned.request, costRequest(options, command));
  PIPESCOPE_ASSIGN(planned.layers, plan::readLayerProfile(options.profile));
  if (!options.output.empty()) {
    PIPESCOPE_TRY(base::checkOutput(options.output, base::FileKind::plan,
                                    {{options.profile}, options.overwrite, kOverwriteAdvice}));
  }
  catchInterrupts();
  const std::unique_ptr<base::Progress> progress = makeProgress(options.progress);
  base::Result<plan::CostPlan> best = plan::planCosts(planned.layers, planned.request, *progress);
  finishProgress(*progress);
  if (!best.ok()) return best.error();
  planned.best = std::move(best).value();
  if (!options.output.empty()) {
    PIPESCOPE_TRY(
        writePlan(options, options.profile, app::plannedToml(planned.best, planned.layers, options.profile)));
  }
  if (!options.write.empty()) return writeForFramework(options.write, frameworkSplit(planned));
  return options.format == "json" ? toJson(planned) : toText(planned);
}

/// If `pipescope poprun` started this process, its instances share the search. Otherwise null.
base::Result<std::shared_ptr<const numerics::Instances>> planInstances(
    const config::Configuration& configuration) {
  PIPESCOPE_ASSIGN(const std::optional<app::Launch> launch, app::launchOf([](const char* name) {
                     return static_cast<const char*>(std::getenv(name));
                   }));
  std::shared_ptr<const numerics::Instances> instances;
  if (!launch) return instances;
  PIPESCOPE_ASSIGN(instances, numerics::joinInstances());
  PIPESCOPE_TRY(app::compareInstances(*instances, configuration));
  return instances;
}

/// Frameworks that divide a model by its layers have no words for a cut within one. Megatron and torchtitan
/// number the layers and keep what is around them at the ends.
plan::CutLevel cutLevelOf(const std::string& framework) {
  if (framework.empty() || framework == "poptorch") return plan::CutLevel::anywhere;
  return framework == "deepspeed" ? plan::CutLevel::blocks : plan::CutLevel::numberedBlocks;
}

std::size_t threadsOf(const config::Configuration& configuration) {
  const std::int64_t threads = configuration.integer("execution.threads");
  return threads > 0 ? static_cast<std::size_t>(threads) : numerics::ThreadPool::hardwareThreads();
}

/// Compiles and emulates the configuration as it is.
base::Result<std::string> showPresent(const PlanOptions& options, const CLI::App& command,
                                      const config::Configuration& configuration) {
  for (const char* flag : {"--devices", "--vary", "--start", "--output", "--overwrite", "--write"}) {
    if (command.count(flag) == 0) continue;
    return base::badInput(fmt::format(
        "{} is about a plan that is searched, but --present searches none: leave one of them out.",
        std::string_view(flag) == "--output" ? "-o" : flag));
  }
  numerics::ThreadPool pool(threadsOf(configuration));
  PIPESCOPE_ASSIGN(const app::PresentPlan present, app::presentPlan(configuration, pool));
  return options.format == "json" ? toJson(present) : toText(present, options.source.name());
}

/// The flags of keys that the user typed, by key. Places of a pipeline are fixed apart.
std::map<std::string, std::string> typedKeys(const PlanOptions& options, const CLI::App& command) {
  std::map<std::string, std::string> keys;
  for (const auto& [flag, key] :
       {std::pair{"--tensor-parallel", "execution.tensor_parallel"}, std::pair{"--zero", "execution.zero"},
        std::pair{"--recompute", "execution.recompute"},
        std::pair{"--replication-factor", "training.replication_factor"}}) {
    if (command.count(flag) > 0) keys[key] = options.values.at(flag);
  }
  if (command.count("--sequence-parallel") > 0) keys["execution.sequence_parallel"] = "true";
  if (command.count("--schedule") > 0) keys["execution.schedule"] = options.schedule;
  if (command.count("--chunks") > 0) keys["execution.chunks"] = std::to_string(options.chunks);
  if (command.count("--micro-batch-size") > 0)
    keys["training.micro_batch_size"] = std::to_string(options.microBatchSize);
  return keys;
}

/// Prints the plan in the way that the options ask for.
template <class Planned>
base::Result<std::string> shownPlan(const PlanOptions& options, const app::ConfigurationPlan& plain,
                                    const Planned& planned) {
  if (!options.output.empty())
    PIPESCOPE_TRY(writePlan(options, options.source.file, app::plannedToml(plain, options.source.name())));
  if (!options.write.empty()) {
    PIPESCOPE_ASSIGN(const FrameworkSplit split, frameworkSplit(plain));
    return writeForFramework(options.write, split);
  }
  return options.format == "json" ? toJson(planned) : toText(planned, options.source.name());
}

base::Result<std::string> planAllDimensions(const PlanOptions& options, const CLI::App& command,
                                            const config::Configuration& configuration,
                                            std::vector<app::PlanChoice> choices) {
  app::DimensionRequest request;
  request.choices = std::move(choices);
  request.framework = options.write;
  if (options.samples > 0) request.samples = options.samples;
  const plan::CutLevel level = cutLevelOf(options.write);
  request.level = level == plan::CutLevel::anywhere ? plan::CutLevel::blocks : level;
  config::Configuration given = configuration;
  for (const auto& [key, value] : typedKeys(options, command)) {
    if (key == "training.replication_factor") {
      request.fixed[key] = value;
    } else {
      PIPESCOPE_TRY(given.setText(key, value, config::Origin::flag));
    }
  }
  if (options.stages > 0) request.fixed["execution.stages"] = std::to_string(options.stages);
  if (options.devices > 0)
    PIPESCOPE_TRY(given.set("system.devices", std::int64_t{options.devices}, config::Origin::flag));
  catchInterrupts();
  const std::unique_ptr<base::Progress> progress = makeProgress(options.progress);
  numerics::ThreadPool pool(threadsOf(given));
  const base::Result<app::DimensionPlan> planned = app::planDimensions(given, request, pool, *progress);
  finishProgress(*progress);
  if (!planned.ok()) return planned.error();
  return shownPlan(options, app::asConfigurationPlan(planned->proposals.front()), *planned);
}

/// The flags that fix a dimension set keys where the plan does not search all dimensions.
base::Status setTypedKeys(const PlanOptions& options, const CLI::App& command,
                          config::Configuration& configuration) {
  if (options.samples > 0) {
    return base::badInput(
        "--global-batch-size belongs to a plan over all dimensions, but the configuration says how many "
        "stages or devices there are: set training.gradient_accumulation instead.");
  }
  if (options.stages > 0 && !configuration.tables("stages").empty()) {
    return base::badInput(
        fmt::format("--stages {0} contradicts the [[stages]] of the configuration: --vary stages={0} plans "
                    "so many instead.",
                    options.stages));
  }
  if (options.stages > 0)
    PIPESCOPE_TRY(configuration.set("execution.stages", std::int64_t{options.stages}, config::Origin::flag));
  for (const auto& [key, value] : typedKeys(options, command))
    PIPESCOPE_TRY(configuration.setText(key, value, config::Origin::flag));
  return {};
}

base::Result<std::string> planFile(const PlanOptions& options, const CLI::App& command) {
  for (const char* flag : {"--micro-batches", "--bandwidth", "--memory"}) {
    if (command.count(flag) == 0) continue;
    return base::badInput(
        fmt::format("{} belongs to --profile. For a configuration, --set KEY=VALUE sets a key and --vary KEY "
                    "lets the plan choose it.",
                    flag));
  }
  PIPESCOPE_ASSIGN(config::Configuration configuration, configurationOf(options.source, "plan"));
  std::vector<app::PlanChoice> choices;
  for (const std::string& text : options.vary) {
    PIPESCOPE_ASSIGN(app::PlanChoice choice, app::planChoice(text));
    choices.push_back(std::move(choice));
  }
  if (!options.output.empty()) {
    PIPESCOPE_TRY(base::checkOutput(options.output, base::FileKind::plan,
                                    {{options.source.file}, options.overwrite, kOverwriteAdvice}));
  }
  PIPESCOPE_ASSIGN(const std::shared_ptr<const numerics::Instances> instances, planInstances(configuration));
  const bool ofStages =
      std::ranges::find(choices, app::kStageProportion, &app::PlanChoice::key) != choices.end();
  if (!options.present && options.start.empty() && !instances && !ofStages &&
      app::asksForDimensions(configuration))
    return planAllDimensions(options, command, configuration, std::move(choices));
  PIPESCOPE_TRY(setTypedKeys(options, command, configuration));
  if (options.present) return showPresent(options, command, configuration);
  if (options.devices > 0)
    PIPESCOPE_TRY(configuration.set("system.devices", std::int64_t{options.devices}, config::Origin::flag));
  const bool speaks = instances == nullptr || instances->index() == 0;
  catchInterrupts();
  const std::unique_ptr<base::Progress> progress = makeProgress(speaks ? options.progress : "off");
  numerics::ThreadPool pool(threadsOf(configuration));
  const plan::CutLevel level = cutLevelOf(options.write);
  const base::Result<app::ConfigurationPlan> planned =
      app::planConfiguration(configuration, choices, options.start, pool, *progress, level, instances.get());
  finishProgress(*progress);
  if (!planned.ok()) return planned.error();
  if (instances != nullptr) numerics::leaveInstances();
  if (!speaks) return std::string();
  return shownPlan(options, *planned, *planned);
}

/// The flags that fix a dimension. The others of them belong to plans from costs, too.
void addDimensionOptions(CLI::App& command, PlanOptions& options) {
  for (const auto& [flag, key] :
       {std::pair{"--tensor-parallel", "execution.tensor_parallel"}, std::pair{"--zero", "execution.zero"},
        std::pair{"--recompute", "execution.recompute"},
        std::pair{"--replication-factor", "training.replication_factor"}}) {
    const config::Key& described = *app::configurationKeys().find(key);
    command.add_option(flag, options.values[flag], flagHelp(described))->type_name(flagType(described));
  }
  command.add_flag("--sequence-parallel", options.sequence,
                   flagHelp(*app::configurationKeys().find("execution.sequence_parallel")));
  command
      .add_option("--global-batch-size", options.samples,
                  "Samples of a weight update, over all replicas, for a plan over all dimensions. Without, "
                  "those of the configuration, or two for each chip")
      ->check(between(1, 1'000'000'000));
}

void addConfigurationOptions(CLI::App& command, PlanOptions& options) {
  command.add_option("config", options.source.file,
                     "Configuration (TOML) or model (ONNX) that is to be divided; not needed with --builder. "
                     "If it says nothing of stages, devices and replicas, the plan chooses all dimensions: "
                     "tensor ranks, stages, replicas, ZeRO, recompute, micro-batch and schedule");
  command
      .add_option("--devices", options.devices,
                  "Devices to use. The plan then also chooses the number of stages; replicas take the rest")
      ->check(between(1, 4096));
  command
      .add_option("--vary", options.vary,
                  "A key that the plan may choose: --vary schedule tries the usual values, --vary "
                  "micro_batch_size=2,4,8 or 1..64*2 these, --vary stages.available_memory_proportion sets "
                  "it for each stage, and --vary checkpoints chooses for each stage which results it keeps. "
                  "The samples of a weight update stay the same; repeatable")
      ->allow_extra_args(false);
  command.add_option(
      "--start", options.start,
      "A plan to start from instead of [[stages]]: a pipeline layout of Megatron's (Ett|tt|ttL) or "
      "the parts of DeepSpeed's PipelineModule ([0, 3, 8]), or what --write prints for them");
  addModelOptions(command, options.source);
  command.add_flag(
      "--present", options.present,
      "Show the configuration as it is, without a search: the time and the memory of each stage");
  command.add_option("--progress", options.progress, "How to show progress on standard error")
      ->check(CLI::IsMember({"bar", "plain", "json", "off"}))
      ->capture_default_str();
}

void addProfileOptions(CLI::App& command, PlanOptions& options) {
  command.add_option("--profile", options.profile,
                     "Plan from measured costs: a layer profile of PipeDream's, or CSV with the columns id, "
                     "forward_ms, backward_ms, activation_bytes, parameter_bytes and, for a graph, inputs");
  command
      .add_option("--stages", options.stages,
                  "Stages to plan; of a plan over all dimensions: places of its pipeline")
      ->check(between(1, 1024));
  command
      .add_option("--micro-batches", options.microBatches,
                  "Micro-batches of a weight update. The plan then has the shortest update as emulated, with "
                  "fill and drain; without, the smallest longest stage")
      ->check(between(1, 100000));
  command
      .add_option(
          "--schedule", options.schedule,
          "The schedule, with --profile only together with --micro-batches: " + schedules::scheduleNames())
      ->capture_default_str();
  command
      .add_option("--chunks", options.chunks,
                  "Stages on each device, for schedules that take several; 0: as the schedule wants it")
      ->check(between(0, 64));
  command.add_option(
      "--bandwidth", options.bandwidth,
      "Bytes per second between neighbouring stages (12.5GB/s); every output that crosses a cut "
      "is paid there and back. Without, copies take no time");
  command.add_option("--memory", options.memory,
                     "Bytes of a device (16GB) for weights, their gradients, and the activations of all "
                     "micro-batches that are under way. Without, there is no limit");
  command.add_option("--micro-batch-size", options.microBatchSize, "Samples of a micro-batch")
      ->check(between(1, 1'000'000'000))
      ->capture_default_str();
}

std::function<int()> setUpPlan(CLI::App& command) {
  auto options = std::make_shared<PlanOptions>();
  addConfigurationOptions(command, *options);
  addDimensionOptions(command, *options);
  addProfileOptions(command, *options);
  command.add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command.add_option("-o,--output", options->output, "Configuration to write, which `pipescope run` runs");
  command.add_flag("--overwrite", options->overwrite, kOverwriteHelp);
  command
      .add_option("--write", options->write,
                  "Print the split in the words of a framework instead of the report: megatron, deepspeed or "
                  "torchtitan, for which stages begin with whole layers, or poptorch")
      ->check(CLI::IsMember(frameworkNames()));
  return [options, &command] {
    if (!options->profile.empty() && !options->source.file.empty()) {
      return fail(
          base::badInput("`pipescope plan` takes either a configuration or a layer profile: pipescope "
                         "plan CONFIG.toml, or pipescope plan --profile FILE --stages N."));
    }
    const base::Result<std::string> text =
        options->profile.empty() ? planFile(*options, command) : planProfile(*options, command);
    if (!text.ok()) return failAsTyped(text.error());
    return text->empty() ? static_cast<int>(kDone) : print(*text);
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(plan) {
  registry.add({"plan", "Find the best split of a model into stages, or over all dimensions", setUpPlan,
                "pipescope plan --profile vgg16.txt --stages 4 --micro-batches 8"});
}

}  // namespace pipescope::cli
