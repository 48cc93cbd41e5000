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

/// The default; if it depends on another key, by values of that: "adamw, lamb `0.01`; sgd `0.0`".
std::string defaultText(const Key& key) {
  if (key.required) return "required";
  if (key.chooser.empty()) return fmt::format("`{}`", toToml(key.fallback));
  std::vector<std::pair<std::string, std::string>> parts;  // default, choices that have it
  for (const auto& [choice, fallback] : key.fallbackOf) {
    if (std::ranges::find(key.variants, choice) != key.variants.end()) continue;
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

std::string withoutCode(std::string text) {
  std::erase(text, '`');
  return text;
}

std::string flagsOf(const Key& key) {
  std::string flags;
  for (const std::string& flag : key.flags) {
    flags += (flags.empty() ? "--" : ", --") + flag;
    if (key.type == KeyType::boolean) flags += ", --no-" + flag;
  }
  return flags;
}

/// The key as a line of a configuration, below the heading of its table.
std::string inFile(const Key& key) {
  const std::size_t dot = key.path.rfind('.');
  std::string table = key.path.substr(0, dot);
  table = table.ends_with("[]") ? "[[" + table.substr(0, table.size() - 2) + "]]" : "[" + table + "]";
  return fmt::format("{} {} = {}", table, lastPart(key.path), toToml(key.fallback));
}

}  // namespace

std::string wrapped(const std::string& text, std::size_t width, const std::string& indent) {
  std::string lines, line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, space - at);
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      lines += indent + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    at = space + 1;
  }
  return lines + indent + line + "\n";
}

namespace {

/// Breaks what follows a name of `indent` columns on its line into lines that begin below it.
std::string hanging(const std::string& text, std::size_t indent) {
  return wrapped(text, kHelpColumns - indent, std::string(indent, ' ')).substr(indent);
}

}  // namespace

std::string keyFacts(const Key& key) {
  std::string facts = toString(key.type);
  if (key.type == KeyType::text) facts = key.choices.empty() ? "a text" : "one of";
  if (!key.unit.empty()) facts += ", " + key.unit;
  const std::string range = rangeText(key);
  if (!range.empty()) facts += (key.type == KeyType::text ? " " : ", ") + range;
  if (key.required) return facts + "; required";
  const auto* text = std::get_if<std::string>(&key.fallback);
  const bool isEmpty = key.chooser.empty() && text != nullptr && text->empty();
  return facts + (isEmpty ? "; default none" : "; default " + withoutCode(defaultText(key)));
}

std::string keyHelp(const Key& key) {
  std::string page = fmt::format("{}\n{}\n", key.path, wrapped(key.help, kHelpWidth, "  "));
  const auto row = [&](const char* name, const std::string& value) {
    if (!value.empty()) page += fmt::format("  {:<12}{}", name, hanging(value, 14));
  };
  row("Type", toString(key.type));
  row("Unit", key.unit);
  row(key.choices.empty() ? "Range" : "Choices", rangeText(key));
  row("Default", withoutCode(defaultText(key)));
  row("Flag", flagsOf(key));
  const bool inArray = key.path.find("[]") != std::string::npos;
  row("Variable", inArray ? "" : environmentName(key.path));
  row("In a file", inFile(key));
  if (!inArray) row("Anywhere", fmt::format("--set {}=…", key.path));
  return page;
}

std::string choiceHelp(const KeyTable& keys, const std::string& choice) {
  std::string page, chooser;
  for (const Key& key : keys.all()) {
    const auto fallback = key.fallbackOf.find(choice);
    if (fallback == key.fallbackOf.end()) continue;
    if (key.chooser != chooser) {
      chooser = key.chooser;
      page += fmt::format("{}{} = {}\n  Its keys, with the defaults that they have here:\n",
                          page.empty() ? "" : "\n", chooser, choice);
    }
    // The texts of keys begin with the choices that have them: "bert, vit: …".
    std::string choices;
    for (const auto& [each, value] : key.fallbackOf)
      if (std::ranges::find(key.variants, each) == key.variants.end())
        choices += (choices.empty() ? "" : ", ") + each;
    const std::string own =
        key.help.starts_with(choices + ": ") ? key.help.substr(choices.size() + 2) : key.help;
    const std::string unit = key.unit.empty() ? "" : " " + key.unit;
    page += fmt::format("\n  {} = {}{}\n{}", key.path, toToml(fallback->second), unit,
                        wrapped(own, kHelpWidth, "    "));
  }
  return page;
}

std::string tableHelp(const KeyTable& keys, const std::string& table) {
  std::string name = table;
  std::erase_if(name, [](char c) { return c == '[' || c == ']'; });
  std::string page, heading;
  for (const Key& key : keys.all()) {
    const std::string own = key.path.substr(0, key.path.rfind('.'));
    const bool array = own == name + "[]";
    if (own != name && !array) continue;
    if (const std::string next = array ? "[[" + name + "]]" : "[" + name + "]"; next != heading) {
      page += (page.empty() ? "" : "\n") + next + "\n";
      heading = next;
    }
    page += "\n" + wrapped(fmt::format("{}: {}", lastPart(key.path), keyFacts(key)), kHelpWidth, "  ") +
            wrapped(key.help, kHelpWidth, "    ");
  }
  return page;
}

std::string valueHelp(const KeyTable& keys, const std::string& value) {
  std::string page;
  for (const Key& key : keys.all()) {
    if (std::ranges::find(key.choices, value) == key.choices.end()) continue;
    page += fmt::format("{}{} is a value of this key:\n\n{}", page.empty() ? "" : "\n", value, keyHelp(key));
  }
  return page;
}

std::vector<const Key*> keysMeant(const KeyTable& keys, std::string_view word) {
  if (const Key* key = keys.find(word)) return {key};
  while (word.starts_with("-")) word.remove_prefix(1);
  std::vector<const Key*> meant;
  for (const Key& key : keys.all()) {
    const bool positive = std::ranges::find(key.flags, word) != key.flags.end();
    const bool negative = key.type == KeyType::boolean && word.starts_with("no-") &&
                          std::ranges::find(key.flags, word.substr(3)) != key.flags.end();
    if (positive || negative || environmentName(key.path) == word) return {&key};
    if (lastPart(key.path) == word) meant.push_back(&key);
  }
  return meant;
}

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
