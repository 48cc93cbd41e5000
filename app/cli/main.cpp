#include <cstdio>
#include <cstdlib>

#include "app/cli/command.h"
#include "profiler/base/version.h"

namespace pipescope::cli {

int exitStatus(base::ErrorKind kind) {
  switch (kind) {
    case base::ErrorKind::badInput:
    case base::ErrorKind::io:
      return kBadInput;
    case base::ErrorKind::refused:
    case base::ErrorKind::cancelled:
      return kAnswerIsNo;
    case base::ErrorKind::internal:
      return kInternalFault;
  }
  return kInternalFault;
}

int fail(const base::Error& error) {
  std::fprintf(stderr, "pipescope: %s\n", error.message.c_str());
  return exitStatus(error.kind);
}

int print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return kDone;
  return fail(base::ioError("Cannot write to standard output: the disk is full or the reader has gone."));
}

namespace {

[[noreturn]] void onBrokenInvariant(const std::string& sentence) {
  std::fprintf(stderr, "pipescope: internal fault: %s\nPlease report this with the command line.\n",
               sentence.c_str());
  std::_Exit(kInternalFault);
}

std::string& keptCommandLine() {
  static std::string line;
  return line;
}

/// Fails if the first word is not a command. CLI11 would only report that a command is missing.
base::Status checkCommand(int argc, char** argv, const CommandRegistry& registry) {
  if (argc < 2 || argv[1][0] == '-') return {};
  std::string known;
  for (const Command& command : registry.all()) {
    if (command.name == argv[1]) return {};
    known += (known.empty() ? "" : ", ") + command.name;
  }
  return base::badInput(std::string("There is no command \"") + argv[1] + "\"; known are " + known + ".");
}

int runMain(int argc, char** argv) {
  for (int i = 0; i < argc; ++i)
    keptCommandLine() += (i == 0 ? "" : " ") + std::string(i == 0 ? "pipescope" : argv[i]);
  CLI::App app("Runs models across emulated IPUs, records profiles, and reports what holds a pipeline up.",
               "pipescope");
  app.set_version_flag("--version", std::string("pipescope ") + base::version());
  app.require_subcommand(1);
  CommandRegistry registry;
  registerCommands(registry);
  if (const base::Status known = checkCommand(argc, argv, registry); !known.ok()) return fail(known.error());
  std::vector<std::pair<CLI::App*, std::function<int()>>> commands;
  for (const Command& command : registry.all()) {
    CLI::App* sub = app.add_subcommand(command.name, command.doc);
    commands.emplace_back(sub, command.setUp(*sub));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error);  // prints the help, the version or the error
    return status == 0 ? kDone : kBadInput;
  }
  for (const auto& [sub, action] : commands) {
    if (sub->parsed()) return action();
  }
  return kBadInput;
}

}  // namespace

const std::string& commandLine() {
  return keptCommandLine();
}

}  // namespace pipescope::cli

int main(int argc, char** argv) {
  pipescope::base::setCheckHandler(pipescope::cli::onBrokenInvariant);
  try {
    return pipescope::cli::runMain(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pipescope: internal fault: %s\n", error.what());
    return pipescope::cli::kInternalFault;
  }
}
