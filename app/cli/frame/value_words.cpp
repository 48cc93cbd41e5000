#include "app/cli/frame/value_words.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "app/cli/frame/usage.h"
#include "app/run/request/configuration_keys.h"
#include "engine/builders/builder.h"
#include "engine/devices/system_registry.h"
#include "engine/schedules/schedule.h"
#include "profiler/replay/change.h"

namespace pipescope::cli {
namespace {

/// Options whose texts are neither files nor words that are known beforehand. Other texts are taken for
/// files.
constexpr std::array<std::string_view, 25> kFreeTexts = {"--table",
                                                         "--bandwidth",
                                                         "--memory",
                                                         "--host",
                                                         "--mpi-global-args",
                                                         "--mpi-local-args",
                                                         "--fail-if",
                                                         "--assume",
                                                         "--frozen",
                                                         "--checkpoints",
                                                         "--float8-except",
                                                         "--float32-operators",
                                                         "--micro-batch-costs",
                                                         "--forward",
                                                         "--backward",
                                                         "--weight",
                                                         "--pareto",
                                                         "--largest",
                                                         "--smallest",
                                                         "--knee",
                                                         "--ranks",
                                                         "--as-instance",
                                                         "--update-partition",
                                                         "--reset-partition",
                                                         "--remove-partition"};

/// Keys that have one value, each with what comes after it.
std::vector<std::string> keysWith(const char* end) {
  std::vector<std::string> words;
  for (const config::Key& key : app::configurationKeys().all()) {
    if (key.path.find('[') == std::string::npos) words.push_back(key.path + end);
  }
  return words;
}

/// Keys that a replay can change, without those that name a stage or a link.
std::vector<std::string> changes() {
  std::vector<std::string> words;
  for (const replay::ChangeKind& kind : replay::changeKinds()) {
    const std::string_view key = kind.key;
    if (std::ranges::none_of(key, [](char c) { return c >= 'A' && c <= 'Z'; }))
      words.emplace_back(std::string(key) + "=");
  }
  return words;
}

std::vector<std::string> builderNames() {
  std::vector<std::string> names;
  for (const auto& [name, definition] : builders::builderRegistry().definitions()) names.push_back(name);
  return names;
}

std::vector<std::string> helpTopics(const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::App* each : command.get_parent()->get_subcommands([](const CLI::App*) { return true; }))
    words.push_back(each->get_name());
  for (std::string& path : keysWith("")) words.push_back(std::move(path));
  for (std::string& builder : builderNames()) words.push_back(std::move(builder));
  for (const config::Key& key : app::configurationKeys().all()) {
    for (const std::string& flag : key.flags) words.push_back("--" + flag);
  }
  return words;
}

std::vector<std::string> scheduleNames() {
  std::vector<std::string> names;
  for (const schedules::ScheduleDefinition& each : schedules::scheduleRegistry().all())
    names.push_back(each.name);
  return names;
}

/// The words of options that do not list them.
ValueWords wordsNamed(const CLI::App& command, const std::string& name) {
  if (command.get_name() == "help" && name == "topic") return {helpTopics(command)};
  if (command.get_name() == "devices" && name == "name") return {devices::knownSystems()};
  if (name == "--system") return {devices::knownSystems()};
  if (name == "--builder") return {builderNames()};
  if (name == "--schedule") return {scheduleNames()};
  if (name == "--executable") return {{"training", "validation", "inference"}};
  if (name == "--set" && command.get_name() == "what-if") return {changes(), false, true};
  if (name == "--set") return {keysWith("="), false, true};
  if (name == "--vary") return {keysWith("="), false, true};
  return {};
}

}  // namespace

ValueWords valueWords(const CLI::App& command, const CLI::Option& option) {
  if (std::vector<std::string> listed = wordsOf(option); !listed.empty()) return {std::move(listed)};
  const std::string name = option.get_name(option.get_positional());
  if (ValueWords found = wordsNamed(command, name); !found.words.empty()) return found;
  const bool isFree = std::ranges::find(kFreeTexts, name) != kFreeTexts.end() || name.starts_with("--vipu-");
  return {{}, placeholderOf(option) == "TEXT" && !isFree};
}

}  // namespace pipescope::cli
