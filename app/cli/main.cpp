#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

#include "app/cli/frame/allocator.h"
#include "app/cli/frame/command.h"
#include "app/cli/frame/help_format.h"
#include "app/cli/frame/progress_display.h"
#include "app/cli/frame/usage.h"
#include "app/run/orders/replay_schedules.h"
#include "engine/config/suggestion.h"
#include "profiler/base/files/temporary_name.h"
#include "profiler/base/machine.h"
#include "profiler/base/printable.h"
#include "profiler/base/version.h"
#include "profiler/sections/replays.h"
#include "profiler/store/format.h"

namespace pipescope::cli {

int exitStatus(base::ErrorKind kind) {
  switch (kind) {
    case base::ErrorKind::badInput:
    case base::ErrorKind::io:
      return kBadInput;
    case base::ErrorKind::refused:
    case base::ErrorKind::machine:
      return kAnswerIsNo;
    case base::ErrorKind::cancelled:
      return interruptStatus();
    case base::ErrorKind::internal:
      return kInternalFault;
  }
  return kInternalFault;
}

namespace {

/// A message as a sentence: libraries also give ones that begin with a small letter or end without a stop. A
/// first word that is a name (a path, a key, an option) or was typed stays as it is.
std::string asSentence(std::string message) {
  if (message.empty()) return message;
  const std::string first = message.substr(0, message.find_first_of(" :,;"));
  const bool isWord = std::all_of(first.begin(), first.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  const bool wasTyped = std::find(arguments().begin(), arguments().end(), first) != arguments().end();
  if (isWord && !wasTyped && message[first.size()] == ' ')
    message.front() = static_cast<char>(message.front() - 'a' + 'A');
  const bool stops = std::string_view(".?!:").find(message.back()) != std::string_view::npos;
  return stops ? message : message + ".";
}

void replaceAll(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace

std::string withTypedPaths(std::string text) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const std::string folder = fs::current_path(failed).string(), here = folder + "/";
  if (failed || here == "//") return text;
  bool absolute = false;
  for (const std::string& argument : arguments()) {
    const std::string value = argument.starts_with("-") ? argument.substr(argument.find('=') + 1) : argument;
    absolute = absolute || value.starts_with(here);
    if (!value.starts_with("../")) continue;
    const fs::path whole = fs::absolute(value, failed).lexically_normal();
    if (!failed) replaceAll(text, whole.string(), value);
  }
  if (absolute) return text;
  replaceAll(text, here, "");
  for (const char* end : {":", ",", " "}) replaceAll(text, " " + folder + end, std::string(" .") + end);
  return text;
}

int fail(const base::Error& error) {
  std::fprintf(stderr, "pipescope: %s\n",
               base::printable(base::shortWords(asSentence(withTypedPaths(error.message)))).c_str());
  return exitStatus(error.kind);
}

int print(const std::string& given) {
  const std::string text = isatty(STDOUT_FILENO) != 0 ? base::printable(given) : given;
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

std::vector<std::string>& keptArguments() {
  static std::vector<std::string> all;
  return all;
}

std::string& keptCommandLine() {
  static std::string line;
  return line;
}

/// Fails if the first word is not a command. CLI11 would only report that a command is missing.
base::Status checkCommand(int argc, char** argv, const CommandRegistry& registry) {
  if (argc < 2 || argv[1][0] == '-') return {};
  std::vector<std::string> known;
  for (const Command& command : registry.all()) {
    if (command.name == argv[1]) return {};
    known.push_back(command.name);
  }
  const std::string rest = config::suggestion(argv[1], known);
  return base::badInput(std::string("There is no command \"") + argv[1] + "\"" + rest +
                        (rest.ends_with("?") ? " `pipescope --help` lists all." : "."));
}

int runMain(int argc, char** argv) {
  // `help --epochs` asks about the flag; the parser would take it for an option of help.
  if (argc > 2 && std::string_view(argv[1]) == "help") {
    const std::string_view topic(argv[2]);
    const bool own = topic == "--man" || topic.starts_with("--completions") || topic == "--help";
    if (topic.starts_with("--") && !own) argv[2] += 2;
  }
  for (int i = 1; i < argc; ++i) keptArguments().emplace_back(argv[i]);
  for (int i = 0; i < argc; ++i)
    keptCommandLine() += (i == 0 ? "" : " ") + std::string(i == 0 ? "pipescope" : argv[i]);
  CLI::App app(
      "Runs models across emulated accelerators, records profiles, and reports what holds a pipeline up.",
      "pipescope");
  app.formatter(std::make_shared<HelpFormat>());
  app.footer(
      "`pipescope COMMAND --help` shows the options of a command, `pipescope help KEY` a configuration key "
      "or "
      "flag.");
  app.set_version_flag("--version", base::versionText(store::formatName(store::kUserVersion)));
  app.require_subcommand(1);
  sections::setSchedules(app::replaySchedules());
  CommandRegistry registry;
  registerCommands(registry);
  if (const base::Status known = checkCommand(argc, argv, registry); !known.ok()) return fail(known.error());
  // The options of all commands are only declared for what reads them all. They take as long as a small
  // report.
  const std::string_view called = argc > 1 ? argv[1] : "";
  const bool readsAll = called.empty() || called.front() == '-' || called == "help";
  std::vector<std::pair<CLI::App*, std::function<int()>>> commands;
  for (const Command& command : registry.all()) {
    CLI::App* sub = app.add_subcommand(command.name, command.doc);
    if (!readsAll && command.name != called) continue;
    commands.emplace_back(sub, command.setUp(*sub));
    for (CLI::Option* option :
         sub->get_options([](CLI::Option* one) { return one->get_items_expected_max() == 0; }))
      option->disable_flag_override();  // --no-numerics=false would be ignored
    if (!command.example.empty())
      sub->footer("Example:\n  " + command.example + (command.guide.empty() ? "" : "\n\n" + command.guide));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // the help or the version was asked for
      std::ostringstream text, none;
      app.exit(error, text, none);
      return print(text.str());
    }
    return fail(base::badInput(usageSentence(error, app, arguments())));
  }
  for (const auto& [sub, action] : commands) {
    if (sub->parsed()) return action();
  }
  return kBadInput;
}

}  // namespace

const std::vector<std::string>& arguments() {
  return keptArguments();
}

const std::string& commandLine() {
  return keptCommandLine();
}

}  // namespace pipescope::cli

namespace {

/// Opens the standard streams that the caller has closed. Otherwise the first file that is opened, such as a
/// profile, would become one of them and receive messages. Reading finds nothing, and messages vanish. What
/// is printed cannot be written, as before, because an answer that nobody gets is an error.
void openClosedStreams() {
  for (const auto& [stream, mode] : {std::pair(STDIN_FILENO, O_RDONLY), std::pair(STDOUT_FILENO, O_RDONLY),
                                     std::pair(STDERR_FILENO, O_WRONLY)}) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    const int opened = open("/dev/null", mode);
    if (opened >= 0 && opened != stream) close(opened);
  }
}

}  // namespace

int main(int argc, char** argv) {
  pipescope::cli::makeArenas();
  openClosedStreams();
  pipescope::base::setCheckHandler(pipescope::cli::onBrokenInvariant);
  std::signal(SIGXFSZ,
              SIG_IGN);  // A file that reaches the limit of its size is then reported like a full disk.
  pipescope::base::endOnMachineTrouble("pipescope", pipescope::cli::kAnswerIsNo);
  pipescope::base::removeTemporaryFilesOnSignals();
  try {
    return pipescope::cli::runMain(argc, argv);
  } catch (const std::exception& error) {
    if (const auto trouble = pipescope::base::machineTrouble(error)) return pipescope::cli::fail(*trouble);
    std::fprintf(stderr, "pipescope: internal fault: %s\n", error.what());
    return pipescope::cli::kInternalFault;
  }
}
