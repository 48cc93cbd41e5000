#include "profiler/analysis/option_changes.h"

#include <re2/re2.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <sstream>

namespace pipescope::analysis {
namespace {

/// The names of a list such as ["embeddings", "layer4..5"], with one name for each number of a range.
std::vector<std::string> listedNames(const std::string& list) {
  static const re2::RE2 quoted("\"([^\"]*)\""), range("(.*?)([0-9]{1,9})\\.\\.([0-9]{1,9})(.*)");
  constexpr std::int64_t kMostNames = 4096;  // A damaged file may name any number.
  std::vector<std::string> names;
  re2::StringPiece rest(list);
  for (std::string name; re2::RE2::FindAndConsume(&rest, quoted, &name);) {
    std::string head, tail;
    std::int64_t first = 0, last = 0;
    if (!re2::RE2::FullMatch(name, range, &head, &first, &last, &tail) || last - first >= kMostNames) {
      names.push_back(name);
      continue;
    }
    for (; first <= last; ++first) names.push_back(head + std::to_string(first) + tail);
  }
  return names;
}

/// True for two spellings of one list, such as ["layer4..5"] and ["layer4", "layer5"].
bool sameList(const std::string& one, const std::string& other) {
  return one.starts_with('[') && other.starts_with('[') && listedNames(one) == listedNames(other) &&
         one.find('"') != std::string::npos;
}

using SameValue = std::function<bool(const std::string& path)>;

/// The entries that differ, apart from those that `isSame` takes for equal.
std::vector<ChangedOption> changes(const std::map<std::string, std::string>& before,
                                   const std::map<std::string, std::string>& after,
                                   const SameValue& isSame = {}) {
  std::vector<ChangedOption> found;
  for (const auto& [path, value] : before) {
    const auto other = after.find(path);
    if (other == after.end()) {
      found.push_back({path, value, ""});
    } else if (other->second != value && !sameList(value, other->second) && !(isSame && isSame(path))) {
      found.push_back({path, value, other->second});
    }
  }
  for (const auto& [path, value] : after) {
    if (!before.contains(path)) found.push_back({path, "", value});
  }
  return found;
}

std::map<std::string, std::string> versionsOf(const Catalog& catalog) {
  std::map<std::string, std::string> found = {{"system", catalog.target.name}};
  for (const char* key : {"tool_version", "device_model", "model"}) found[key] = catalog.property(key);
  return found;
}

/// The changes of a what-if that are no options, such as stages.1.forward, by their keys. Their values are
/// relative to the recorded run.
std::map<std::string, std::string> replayedWith(const Catalog& catalog) {
  std::map<std::string, std::string> found;
  std::istringstream changes(catalog.property("replayed_with"));
  for (std::string change; changes >> change;) {
    const std::size_t sign = change.find('=');
    if (sign == std::string::npos) continue;
    const std::string key = change.substr(0, sign);
    const bool isOption = std::any_of(catalog.configuration.begin(), catalog.configuration.end(),
                                      [&](const auto& entry) { return entry.path == key; });
    if (!isOption) found["what-if " + key] = change.substr(sign + 1);
  }
  return found;
}

std::map<std::string, std::string> optionsOf(const Catalog& catalog) {
  std::map<std::string, std::string> found;
  for (const model::ConfigurationEntry& row : catalog.configuration) found[row.path] = row.value;
  return found;
}

/// True if the option names the blocks of a stage, such as stages[2].blocks, and names the same ones in both
/// profiles: "encoder" stands for all blocks below it, and their order says nothing.
bool nameSameBlocks(const std::string& path, const Catalog& before, const Catalog& after) {
  static const re2::RE2 blocksOfStage("stages\\[([0-9]{1,9})\\]\\.blocks");
  std::int32_t index = -1;
  if (!re2::RE2::FullMatch(path, blocksOfStage, &index)) return false;
  const auto blocksOf = [index](const Catalog& catalog, model::ExecutableId executable) {
    std::set<std::string> blocks;
    for (const model::Stage* stage : catalog.stagesOf(executable)) {
      std::istringstream names(stage->index == index ? stage->blocks : "");
      for (std::string name; names >> name;) blocks.insert(name);
    }
    return blocks;
  };
  bool known = false;
  for (const model::Executable& one : before.executables) {
    for (const model::Executable& other : after.executables) {
      if (one.name != other.name) continue;
      const std::set<std::string> blocks = blocksOf(before, one.id);
      if (blocks != blocksOf(after, other.id)) return false;
      known = known || !blocks.empty();
    }
  }
  return known;
}

}  // namespace

std::vector<ChangedOption> changedVersions(const Catalog& before, const Catalog& after) {
  return changes(versionsOf(before), versionsOf(after));
}

std::vector<ChangedOption> changedOptions(const Catalog& before, const Catalog& after) {
  std::vector<ChangedOption> found = changes(replayedWith(before), replayedWith(after));
  // A recorded trace has no options. All those of the other profile would be listed as changes.
  if (before.configuration.empty() || after.configuration.empty()) return found;
  const std::vector<ChangedOption> options =
      changes(optionsOf(before), optionsOf(after),
              [&](const std::string& path) { return nameSameBlocks(path, before, after); });
  found.insert(found.end(), options.begin(), options.end());
  return found;
}

}  // namespace pipescope::analysis
