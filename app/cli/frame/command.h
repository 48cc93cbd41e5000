#pragma once
// Declares what a command of `pipescope` needs. Each command is one file that the build finds by itself.
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::cli {

/// Exit statuses of all programs of the project.
enum Exit : int { kDone = 0, kAnswerIsNo = 1, kBadInput = 2, kInternalFault = 3 };
int exitStatus(base::ErrorKind kind);

struct Command {
  std::string name, doc;
  /// Declares the command's options and returns the function that runs after parsing. That function returns
  /// the exit status and reports errors through fail().
  std::function<std::function<int()>(CLI::App&)> setUp;
  /// A command line that shows what it is for. The help shows it.
  std::string example = {};
  /// Paragraphs that the help shows after the example.
  std::string guide = {};
};

class CommandRegistry {
 public:
  void add(Command command) { commands_.push_back(std::move(command)); }
  const std::vector<Command>& all() const { return commands_; }

 private:
  std::vector<Command> commands_;
};
void registerCommands(CommandRegistry& registry);

/// Prints "pipescope: <message>" on standard error and returns the error's exit status.
int fail(const base::Error& error);
/// Shortens the absolute paths of files below the current folder, unless a path was typed like that.
/// Libraries turn paths into absolute ones, and a message should name what was typed.
std::string withTypedPaths(std::string text);
/// The arguments after the program's name.
const std::vector<std::string>& arguments();
/// The command line of the program as it was typed, without quotes. A profile records it.
const std::string& commandLine();
/// The options of commands that write CSV.
struct CsvOptions {
  std::string table = {};  ///< table of the section; empty: the main one
  bool safe = false;       ///< spreadsheets take no cell for a formula
};
/// Adds --table with this help, and --csv-safe.
void addCsvOptions(CLI::App& command, CsvOptions& options, const char* helpOfTable);
void addCsvSafe(CLI::App& command, bool& safe);
/// One table of a section as CSV. If no table is named, a note on standard error lists the others.
base::Result<std::string> csvOf(const sections::Section& section, const CsvOptions& options);
/// Refuses the options for formats other than CSV.
base::Status refuseCsvOptions(const std::string& format, const CsvOptions& options);
/// Text of every command about its option --overwrite, in its help and where it refuses to replace a file.
inline constexpr const char* kOverwriteHelp =
    "Also replace a file of another kind. Without it, only files of the kind that is written, and empty "
    "files, are replaced";
inline constexpr const char* kOverwriteAdvice = "Choose another name, or pass --overwrite.";
/// Writes to standard output. A terminal gets control characters as escapes (base::printable). A full disk or
/// a closed pipe is reported like any other error.
int print(const std::string& text);

}  // namespace pipescope::cli

#define PIPESCOPE_REGISTER_COMMAND(name) void register_##name(CommandRegistry& registry)
