#pragma once
// A command of `pipescope`: one file each, found by the build.
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "profiler/base/result.h"

namespace pipescope::cli {

/// Exit statuses of every program.
enum Exit : int { kDone = 0, kAnswerIsNo = 1, kBadInput = 2, kInternalFault = 3 };
int exitStatus(base::ErrorKind kind);

struct Command {
  std::string name, doc;
  /// Declares options on the sub-command and returns what runs once they are parsed; that returns the exit
  /// status. Errors go to standard error through fail().
  std::function<std::function<int()>(CLI::App&)> setUp;
};

class CommandRegistry {
 public:
  void add(Command command) { commands_.push_back(std::move(command)); }
  const std::vector<Command>& all() const { return commands_; }

 private:
  std::vector<Command> commands_;
};
void registerCommands(CommandRegistry& registry);

/// Prints "pipescope: <sentence>" on standard error and returns the error's exit status.
int fail(const base::Error& error);
/// The program's own command line, as typed but for quoting: what a profile keeps of its origin.
const std::string& commandLine();
/// Writes to standard output; a full disk or closed pipe is an error like any other.
int print(const std::string& text);

}  // namespace pipescope::cli

#define PIPESCOPE_REGISTER_COMMAND(name) void register_##name(CommandRegistry& registry)
