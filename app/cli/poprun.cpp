// pipescope poprun starts several instances of a program with Open MPI, as Graphcore's PopRun does.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "app/cli/frame/between.h"
#include "app/cli/frame/command.h"
#include "app/cli/poprun_instance.h"
#include "app/cli/poprun_launch.h"
#include "profiler/base/files/output_file.h"
#include "profiler/base/files/text_file.h"
#include "profiler/base/nearest.h"

namespace pipescope::cli {
namespace {

struct PoprunOptions {
  PoprunRequest request;
  std::string hosts, asInstance, importFile, exportFile;
  std::string numa = "no", offline = "no", topology = "no";
  /// Options of V-IPU, which the emulated systems do not have.
  std::string partition, server, port, timeout, allocation, attempts, update, reset, remove;
};

using FlagsJson = nlohmann::ordered_json;

/// The flags that a configuration file of poprun holds, by name.
FlagsJson configurationOf(const PoprunRequest& r) {
  return {{"num-instances", r.instances},
          {"num-replicas", r.replicas},
          {"ipus-per-replica", r.ipusPerReplica},
          {"num-ilds", r.linkDomains},
          {"host", fmt::format("{}", fmt::join(r.hosts, ","))},
          {"hostfile", r.hostFile},
          {"executable-cache-path", r.executableCache},
          {"numa-aware", r.numaAware},
          {"only-output-from-instance", r.outputFrom},
          {"mpi-global-args", r.globalArguments},
          {"mpi-local-args", r.localArguments}};
}

/// Takes from a file what was not given as a flag.
base::Status importConfiguration(const CLI::App& command, PoprunOptions& options) {
  PIPESCOPE_ASSIGN(const std::string text, base::readTextFile(options.importFile, "launch configuration"));
  const FlagsJson json = FlagsJson::parse(text, nullptr, false);
  if (!json.is_object())
    return base::badInput(fmt::format("--import-config: {} is no JSON object.", options.importFile));
  PoprunRequest& r = options.request;
  const FlagsJson known = configurationOf(r);
  for (const auto& [name, value] : json.items()) {
    if (!known.contains(name) || known[name].type_name() != std::string(value.type_name()))
      return base::badInput(
          fmt::format("--import-config: {} has \"{}\", which is no flag of poprun or has another type.",
                      options.importFile, name));
    if (command.count("--" + name) > 0) continue;
    if (name == "num-instances") r.instances = value;
    if (name == "num-replicas") r.replicas = value;
    if (name == "ipus-per-replica") r.ipusPerReplica = value;
    if (name == "num-ilds") r.linkDomains = value;
    if (name == "host") options.hosts = value;
    if (name == "hostfile") r.hostFile = value;
    if (name == "executable-cache-path") r.executableCache = value;
    if (name == "numa-aware") options.numa = value.get<bool>() ? "yes" : "no";
    if (name == "only-output-from-instance") r.outputFrom = value;
    if (name == "mpi-global-args") r.globalArguments = value;
    if (name == "mpi-local-args") r.localArguments = value;
  }
  return {};
}

/// The words of the program may be files that it reads.
base::OutputRules rulesOfExport(const PoprunOptions& options) {
  base::OutputRules rules{{options.importFile, options.request.hostFile}, false, "Choose another name."};
  rules.inputs.insert(rules.inputs.end(), options.request.program.begin(), options.request.program.end());
  return rules;
}

base::Status exportConfiguration(const PoprunOptions& options) {
  PIPESCOPE_ASSIGN(
      base::OutputFile file,
      base::OutputFile::create(options.exportFile, base::FileKind::launchFlags, rulesOfExport(options)));
  PIPESCOPE_TRY(file.write(configurationOf(options.request).dump(2) + "\n"));
  return file.close();
}

/// "run CONFIG", "sweep CONFIG" and "plan CONFIG" are commands of this program, and a script needs Python.
std::vector<std::string> completeProgram(std::vector<std::string> program) {
  if (!program.empty() && program.front() == "--") program.erase(program.begin());
  if (program.empty()) return program;
  if (program.front() == "run" || program.front() == kSweep || program.front() == kPlan)
    program.insert(program.begin(), kOwnProgram);
  if (program.front().ends_with(".py")) program.insert(program.begin(), "python3");
  return program;
}

/// Options stand before the program, so a first word with a dash is an option that does not exist.
base::Status refuseUnknownOption(const CLI::App& command) {
  const std::vector<std::string> rest = command.remaining();
  if (rest.empty() || !rest.front().starts_with('-') || rest.front() == "--") return {};
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  const std::string word = rest.front().substr(0, rest.front().find('='));
  return base::badInput(fmt::format("poprun has no option {}{} See pipescope poprun --help.", word,
                                    base::didYouMean(word, known)));
}

base::Result<int> runPoprun(const CLI::App& command, PoprunOptions& options) {
  PoprunRequest& request = options.request;
  PIPESCOPE_TRY(refuseUnknownOption(command));
  request.program = completeProgram(command.remaining());
  if (!options.asInstance.empty())
    return runInstance(request.program, options.asInstance, request.outputFrom);
  if (!options.importFile.empty()) PIPESCOPE_TRY(importConfiguration(command, options));
  if (!options.exportFile.empty())
    PIPESCOPE_TRY(base::checkOutput(options.exportFile, base::FileKind::launchFlags, rulesOfExport(options)));
  PIPESCOPE_ASSIGN(request.hosts, expandHosts(options.hosts));
  request.numaAware = options.numa == "yes";
  request.offline = options.offline == "yes";
  PIPESCOPE_TRY(completePoprun(request));
  std::vector<std::string> unused;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() > 0 && option->get_group() == "V-IPU") unused.push_back(option->get_name());
  }
  if (!unused.empty())
    std::fprintf(stderr, "note: %s not used, because emulated systems need no V-IPU partition.\n",
                 fmt::format("{} {}", fmt::join(unused, ", "), unused.size() == 1 ? "is" : "are").c_str());
  if (!request.executableCache.empty())
    std::fprintf(stderr,
                 "note: --executable-cache-path has no effect: emulated devices need no executable, and each "
                 "start prepares the model in less time than it takes to trace or read it.\n");
  if (options.topology == "yes" && print(poprunTopology(request)) != kDone)
    return static_cast<int>(kBadInput);
  if (!options.exportFile.empty()) PIPESCOPE_TRY(exportConfiguration(options));
  return launchInstances(request);
}

void addPartitionFlags(CLI::App& command, PoprunOptions& options) {
  const auto add = [&](const char* names, std::string& value) {
    command.add_option(names, value, "Accepted and not used: emulated systems need no partition")
        ->group("V-IPU");
  };
  add("--vipu-partition", options.partition);
  add("--vipu-server-host", options.server);
  add("--vipu-server-port", options.port);
  add("--vipu-server-timeout", options.timeout);
  add("--vipu-allocation", options.allocation);
  add("--vipu-partition-attempts", options.attempts);
  add("--update-partition", options.update);
  add("--reset-partition", options.reset);
  add("--remove-partition", options.remove);
}

std::function<int()> setUpPoprun(CLI::App& command) {
  auto options = std::make_shared<PoprunOptions>();
  PoprunRequest& request = options->request;
  const auto positive = between(1, 4096);
  const auto yesNo = CLI::IsMember({"yes", "no"});
  command.add_option("--num-instances,-n", request.instances, "Processes")
      ->check(positive)
      ->capture_default_str();
  command.add_option("--num-replicas", request.replicas, "Replicas of all instances together")
      ->check(positive)
      ->capture_default_str();
  command.add_option("--ipus-per-replica", request.ipusPerReplica, "IPUs of one replica")
      ->check(positive)
      ->capture_default_str();
  command.add_option("--num-ilds", request.linkDomains, "IPU-Link domains; without it as many as needed");
  command.add_option("--host,-H", options->hosts, "Hosts, as a,b or host[0-2,4]; without it this host");
  command.add_option("--hostfile", request.hostFile, "File with hosts, in mpirun's form");
  command.add_option(
      "--executable-cache-path", request.executableCache,
      "Accepted without effect, as by Graphcore's IPU Model: emulated devices need no executable");
  command.add_option("--numa-aware", options->numa, "Bind each instance to a NUMA node")
      ->check(yesNo)
      ->capture_default_str();
  command
      .add_option("--print-topology", options->topology, "Print which instance has which replicas and IPUs")
      ->check(yesNo)
      ->capture_default_str();
  command.add_option("--only-output-from-instance", request.outputFrom,
                     "Show the output of this instance only");
  command.add_option("--offline-mode", options->offline, "Compile only; calls are refused")
      ->check(yesNo)
      ->capture_default_str();
  command.add_option("--mpi-global-args", request.globalArguments,
                     "Further arguments of mpirun, in one text");
  command.add_option("--mpi-local-args", request.localArguments,
                     "Further arguments of mpirun for the program, in one text");
  command.add_option("--import-config", options->importFile, "Take flags from a file of --export-config");
  command.add_option("--export-config", options->exportFile, "Write the flags to a file (JSON)");
  command.add_option("--as-instance", options->asInstance)->group("");
  addPartitionFlags(command, *options);
  command.prefix_command();
  return [options, &command]() -> int {
    const base::Result<int> status = runPoprun(command, *options);
    return status.ok() ? *status : fail(status.error());
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(poprun) {
  registry.add({"poprun", "Start several instances of the program behind the options over MPI", setUpPoprun,
                "pipescope poprun --num-instances 4 --num-replicas 4 --ipus-per-replica 4 run "
                "samples/mnist/pipelined.toml -o mnist.pop"});
}

}  // namespace pipescope::cli
