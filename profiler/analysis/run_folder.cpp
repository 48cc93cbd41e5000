#include "profiler/analysis/run_folder.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace pipescope::analysis {
namespace {

/// Options that name files or folders which the run reads.
constexpr std::array<std::string_view, 3> kPathsRead = {"model.onnx", "data.directory",
                                                        "execution.load_weights"};

/// The text within the quotes of a TOML string.
std::string withinTomlQuotes(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted;
}

}  // namespace

std::vector<model::ConfigurationEntry> optionsForAnyFolder(const Catalog& catalog) {
  std::vector<model::ConfigurationEntry> options = catalog.configuration;
  std::string folder = catalog.property("run_folder");
  if (folder.empty()) return options;
  if (!folder.ends_with('/')) folder += '/';
  for (model::ConfigurationEntry& row : options) {
    const bool isRead = std::ranges::find(kPathsRead, row.path) != kPathsRead.end();
    const bool isRelative = row.value.size() > 2 && row.value.starts_with('"') && row.value[1] != '/';
    if (isRead && isRelative) row.value.insert(1, withinTomlQuotes(folder));
  }
  return options;
}

}  // namespace pipescope::analysis
