#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>

#include "app/plan/plan_request.h"
#include "app/plan/stage_settings.h"
#include "profiler/base/files/file_kind.h"

namespace pipescope::app {
namespace {

using config::Configuration;
using config::Key;

/// Keys that say what the stages are; the plan says it instead.
bool saysStages(const std::string& path) {
  static const std::set<std::string> paths{"execution.stages", "execution.cuts",
                                           "execution.layers_per_stage"};
  return paths.contains(path);
}

std::string lineOf(const Key& key, const config::Value& value) {
  std::string text = config::toToml(key, value);
  // A relative path would start at the folder of the new file.
  if (key.path == "model.onnx" || key.path == "data.directory")
    text = config::toToml(std::filesystem::absolute(std::get<std::string>(value)).string());
  return fmt::format("{} = {}\n", config::lastPart(key.path), text);
}

/// The values that somebody gave, by table.
std::string tablesOf(const Configuration& c) {
  std::map<std::string, std::string> tables;
  std::vector<std::string> order;
  for (const Key& key : c.keys().all()) {
    if (key.path.find("[]") != std::string::npos || saysStages(key.path) || !c.given(key.path)) continue;
    const std::string table = key.path.substr(0, key.path.rfind('.'));
    if (!tables.contains(table)) order.push_back(table);
    tables[table] += lineOf(key, c.value(key.path));
  }
  std::string text;
  for (const std::string& table : order) text += fmt::format("\n[{}]\n{}", table, tables.at(table));
  return text;
}

/// The entries of the arrays of tables but [[stages]].
std::string arraysOf(const Configuration& c) {
  std::string text;
  std::set<std::string> seen;
  for (const Key& first : c.keys().all()) {
    const std::size_t brackets = first.path.find("[].");
    if (brackets == std::string::npos) continue;
    const std::string name = first.path.substr(0, brackets);
    if (name == "stages" || !seen.insert(name).second) continue;
    for (const config::Settings& entry : c.tables(name)) {
      text += fmt::format("\n[[{}]]\n", name);
      for (const Key& key : c.keys().all()) {
        if (!key.path.starts_with(name + "[].")) continue;
        const std::string own = key.path.substr(brackets + 3);
        if (entry.given(own)) text += lineOf(key, entry.value(own));
      }
    }
  }
  return text;
}

std::string stagesOf(const plan::SplitPlan& plan, const std::vector<std::string>& proportions) {
  std::string text;
  for (std::size_t s = 0; s < plan.blocks.size(); ++s) {
    text += fmt::format("\n[[stages]]\nblocks = {}\n", config::toToml(plan.blocks[s]));
    if (!plan.devices.empty()) text += fmt::format("device = {}\n", plan.devices[s]);
    if (s < proportions.size() && !proportions[s].empty())
      text += fmt::format("{} = {}\n", kProportionSetting, proportions[s]);
  }
  return text;
}

}  // namespace

std::string plannedToml(const ConfigurationPlan& planned, const std::string& source) {
  const Configuration& c = planned.best.configuration;
  std::string name = source;
  for (char& character : name) character = static_cast<unsigned char>(character) < 0x20 ? ' ' : character;
  const plan::SplitPlan& plan = planned.best.plan.best;
  std::string text = fmt::format("{} from {}.\n", base::kPlanTitle, name);
  std::string tables = tablesOf(c);
  if (plan.blocks.empty()) {
    const std::string cuts =
        plan.cuts.empty() ? "stages = 1\n" : fmt::format("cuts = {}\n", config::toToml(plan.cuts));
    const std::string heading = "\n[execution]\n";
    const std::size_t at = tables.find(heading);
    if (at == std::string::npos) {
      tables += heading + cuts;
    } else {
      tables.insert(at + heading.size(), cuts);
    }
  }
  return text + tables + arraysOf(c) + (plan.blocks.empty() ? "" : stagesOf(plan, planned.best.proportions));
}

}  // namespace pipescope::app
