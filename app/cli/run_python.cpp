// pipescope run-python starts Python with a script that imports poptorch, popdist, pva or Lightning by these
// names.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "app/cli/frame/command.h"

namespace pipescope::cli {
namespace {

/// The folder of the Python package in a build tree, beside the program; empty: Python finds an installed
/// one.
std::string packageFolder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return "";
  const std::filesystem::path folder = program.parent_path() / "python";
  return std::filesystem::exists(folder / "pipescope" / "__init__.py", error) ? folder.string() : "";
}

std::vector<std::string> scriptWords(std::vector<std::string> words) {
  if (!words.empty() && words.front() == "--") words.erase(words.begin());
  return words;
}

int startPython(const std::string& python, const std::vector<std::string>& script) {
  if (script.empty())
    return fail(base::badInput("run-python needs a script: pipescope run-python script.py [arguments]."));
  if (script.front().starts_with('-'))
    return fail(base::badInput(fmt::format(
        "run-python has no option {}: options of Pipescope stand before the script, its own behind it.",
        script.front())));
  if (!std::filesystem::exists(script.front()))
    return fail(base::badInput(fmt::format("There is no file {}.", script.front())));
  if (std::filesystem::is_character_file(script.front()))
    return fail(base::badInput(fmt::format("{} is a device and no script.", script.front())));
  if (const std::string folder = packageFolder(); !folder.empty()) {
    const char* set = std::getenv("PYTHONPATH");
    const std::string path = set == nullptr || *set == '\0' ? folder : folder + ":" + set;
    setenv("PYTHONPATH", path.c_str(), 1);
  }
  std::vector<std::string> words = {python, "-m", "pipescope.run"};
  words.insert(words.end(), script.begin(), script.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  return fail(base::badInput(fmt::format("Cannot start {}: {}. Name Python's program with --python.", python,
                                         std::strerror(errno))));
}

std::function<int()> setUpRunPython(CLI::App& command) {
  auto python = std::make_shared<std::string>("python3");
  command.add_option("--python", *python, "Python's program, which must find PyTorch")->capture_default_str();
  command.prefix_command();
  return [python, &command]() -> int { return startPython(*python, scriptWords(command.remaining())); };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(run_python) {
  registry.add({"run-python", "Run a script of PopTorch or Lightning, unchanged, on emulated devices",
                setUpRunPython, "pipescope run-python train.py --epochs 2"});
}

}  // namespace pipescope::cli
