#include "engine/config/configuration_help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/config/configuration.h"

namespace pipescope::config {
namespace {

std::string rangeText(const Key& key) {
  if (key.type == KeyType::integer && !key.choices.empty())
    return fmt::format("0 … {}, {}", key.most, fmt::join(key.choices, ", "));
  if (!key.choices.empty()) return fmt::format("{}", fmt::join(key.choices, ", "));
  if (key.type != KeyType::integer && key.type != KeyType::real && key.type != KeyType::integers) return "";
  const bool least = key.least > -std::numeric_limits<double>::infinity();
  const bool most = key.most < std::numeric_limits<double>::infinity();
  if (least && most) return fmt::format("{} … {}", key.least, key.most);
  if (least) return fmt::format("≥ {}", key.least);
  return most ? fmt::format("≤ {}", key.most) : "";
}

/// The default; where it depends on another key, by values of that: "adamw, lamb `0.01`; sgd `0.0`".
std::string defaultText(const Key& key) {
  if (key.required) return "required";
  if (key.chooser.empty()) return fmt::format("`{}`", toToml(key.fallback));
  std::vector<std::pair<std::string, std::string>> parts;  // default, choices that have it
  for (const auto& [choice, fallback] : key.fallbackOf) {
    const std::string text = toToml(fallback);
    const auto same = std::ranges::find(parts, text, &std::pair<std::string, std::string>::first);
    if (same == parts.end()) {
      parts.emplace_back(text, choice);
    } else {
      same->second += ", " + choice;
    }
  }
  std::string all;
  for (const auto& [text, choices] : parts)
    all += fmt::format("{}{} `{}`", all.empty() ? "" : "; ", choices, text);
  return all;
}

}  // namespace

std::string configurationHelp(const KeyTable& keys) {
  std::string page =
      "# Configuration\n\nOne TOML file. Precedence: default < file < environment < flag. Unknown keys are "
      "errors.\n"
      "This page is generated from the table of keys (`pipescope run --help-keys`).\n";
  std::string table;
  for (const Key& key : keys.all()) {
    const std::string owner = key.path.substr(0, key.path.rfind('.'));
    if (owner != table) {
      table = owner;
      const std::string heading =
          table.ends_with("[]") ? "[[" + table.substr(0, table.size() - 2) + "]]" : "[" + table + "]";
      page += fmt::format(
          "\n## `{}`\n\n| key | type | default | range | flag | meaning |\n|---|---|---|---|---|---|\n",
          heading);
    }
    std::string flags;
    for (const std::string& flag : key.flags) flags += (flags.empty() ? "`--" : ", `--") + flag + "`";
    page += fmt::format("| `{}` | {}{} | {} | {} | {} | {} |\n", lastPart(key.path), toString(key.type),
                        key.unit.empty() ? "" : ", " + key.unit, defaultText(key), rangeText(key), flags,
                        key.help);
  }
  page += "\nEvery key outside `[[…]]` can be set by an environment variable, as `" +
          environmentName("training.epochs") + "`, and by `--set key=value`.\n";
  return page;
}

}  // namespace pipescope::config
