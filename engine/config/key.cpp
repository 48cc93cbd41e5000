#include "engine/config/key.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/config/configuration.h"

namespace pipescope::config {
namespace {

/// Levenshtein distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

std::string_view lastPart(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

std::string tomlText(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

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

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t bestDistance = std::string::npos;
  for (const std::string& candidate : known) {
    // A key in the wrong table is as near as its own name.
    const std::size_t whole = distance(word, candidate);
    const std::size_t own = distance(lastPart(word), lastPart(candidate)) + 1;
    const std::size_t d = std::min(whole, own);
    if (d < bestDistance) {
      bestDistance = d;
      best = candidate;
    }
  }
  const std::size_t tolerance = std::max<std::size_t>(2, lastPart(word).size() / 2);
  return bestDistance <= tolerance ? best : std::string();
}

std::string toString(KeyType type) {
  static constexpr const char* names[] = {"true or false",    "a whole number",          "a number",
                                          "a text in quotes", "a list of whole numbers", "a list of texts"};
  return names[static_cast<std::size_t>(type)];
}

std::string toToml(const Value& value) {
  struct Writer {
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t n) const { return std::to_string(n); }
    std::string operator()(double x) const {
      std::string text = fmt::format("{}", x);
      return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
    }
    std::string operator()(const std::string& s) const { return tomlText(s); }
    std::string operator()(const std::vector<std::int64_t>& list) const {
      return fmt::format("[{}]", fmt::join(list, ", "));
    }
    std::string operator()(const std::vector<std::string>& list) const {
      std::string text;
      for (const std::string& s : list) text += (text.empty() ? "" : ", ") + tomlText(s);
      return "[" + text + "]";
    }
  };
  return std::visit(Writer(), value);
}

std::string configurationHelp() {
  std::string page =
      "# Configuration\n\nOne TOML file. Precedence: default < file < environment < flag. Unknown keys are "
      "errors.\n"
      "This page is generated from the table of keys (`pipescope run --help-keys`).\n";
  std::string table;
  for (const Key& key : keys()) {
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
    page += fmt::format("| `{}` | {}{} | `{}` | {} | {} | {} |\n", lastPart(key.path), toString(key.type),
                        key.unit.empty() ? "" : ", " + key.unit,
                        key.required ? "required" : toToml(key.fallback), rangeText(key), flags, key.help);
  }
  page += "\nEvery key outside `[[…]]` can be set by an environment variable, as `" +
          environmentName("training.epochs") + "`, and by `--set key=value`.\n";
  return page;
}

}  // namespace pipescope::config
