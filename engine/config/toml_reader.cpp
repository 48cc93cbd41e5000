// Only this file includes toml++, which is slow to compile.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>

#include <toml++/toml.h>

#include "engine/config/configuration.h"
#include "engine/config/suggestion.h"
#include "profiler/base/files/text_file.h"
#include "profiler/base/files/toml_depth.h"
#include "profiler/base/printable.h"

namespace pipescope::config {
namespace {

std::string place(const std::string& file, const toml::node& node) {
  return node.source().begin.line > 0 ? fmt::format("{}:{}", file, node.source().begin.line) : file;
}

template <class T, class Get>
std::optional<Value> listOf(const toml::array& array, Get get) {
  std::vector<T> list;
  for (const toml::node& element : array) {
    const auto value = get(element);
    if (!value) return std::nullopt;
    list.push_back(*value);
  }
  return Value(std::move(list));
}

/// None if no key takes such a value (dates, nested lists, mixed lists).
std::optional<Value> toValue(const toml::node& node) {
  if (const auto* b = node.as_boolean()) return Value(b->get());
  if (const auto* n = node.as_integer()) return Value(static_cast<std::int64_t>(n->get()));
  if (const auto* x = node.as_floating_point()) return Value(x->get());
  if (const auto* s = node.as_string()) return Value(s->get());
  if (const auto* array = node.as_array()) {
    const bool texts = !array->empty() && array->front().is_string();
    if (texts)
      return listOf<std::string>(*array, [](const toml::node& n) { return n.value_exact<std::string>(); });
    return listOf<std::int64_t>(*array, [](const toml::node& n) { return n.value_exact<std::int64_t>(); });
  }
  return std::nullopt;
}

/// Reads a table of free names and whole numbers, for keys that take texts "name = value".
std::optional<Value> namedValues(const toml::table& table, const Key& key) {
  if (key.type != KeyType::texts || key.unit != "name = value") return std::nullopt;
  std::vector<std::string> entries;
  for (const auto& [name, node] : table) {
    const std::optional<Value> value = toValue(node);
    if (!value || (!std::holds_alternative<std::int64_t>(*value) &&
                   !std::holds_alternative<std::vector<std::int64_t>>(*value)))
      return std::nullopt;
    entries.push_back(fmt::format("{} = {}", name.str(), toToml(*value)));
  }
  return Value(std::move(entries));
}

std::string unknownKey(const KeyTable& keys, const std::string& path) {
  const std::string near = nearest(path, keys.paths());
  return fmt::format("{}{}", path.empty() ? "the key is missing" : "unknown key " + base::shortName(path),
                     near.empty() ? "; `pipescope run --help-keys` lists all keys."
                                  : fmt::format("; did you mean {}?", near));
}

}  // namespace

class TomlReader {
 public:
  TomlReader(Configuration& configuration, const std::string& file)
      : configuration_(configuration), keys_(configuration.keys()), file_(file) {}

  Status readTable(const toml::table& table, Settings& settings, const std::string& full,
                   const std::string& inner) {
    for (const auto& [name, node] : table) {
      const std::string fullPath = full + std::string(name.str()),
                        innerPath = inner + std::string(name.str());
      if (const toml::table* sub = node.as_table(); sub && isTable(fullPath)) {
        PIPESCOPE_TRY(readTable(*sub, settings, fullPath + ".", innerPath + "."));
      } else if (isArray(fullPath) && (node.is_array() || keys_.find(fullPath) == nullptr)) {
        PIPESCOPE_TRY(readArray(node, fullPath));
      } else {
        PIPESCOPE_TRY(readValue(node, settings, fullPath, innerPath));
      }
    }
    return {};
  }

 private:
  bool isTable(const std::string& path) const { return keys_.isTable(path); }
  bool isArray(const std::string& path) const { return isTable(path + "[]"); }
  /// The key for which a text in place of a table stands, as in host = "poptorch": a name that picks
  /// something, and so has a flag of the table's name. Null: there is none.
  const Key* nameOf(const std::string& table) const {
    const Key* name = keys_.find(table + ".name");
    return name != nullptr && std::ranges::find(name->flags, table) != name->flags.end() ? name : nullptr;
  }

  Status readArray(const toml::node& node, const std::string& path) {
    const toml::array* array = node.as_array();
    if (!array ||
        !std::all_of(array->begin(), array->end(), [](const toml::node& n) { return n.is_table(); })) {
      return base::badInput(
          fmt::format("{}: {} must be an array of tables: [[{}]].", place(file_, node), path, path));
    }
    std::vector<Settings>& entries = configuration_.tables_[path];
    for (const toml::node& element : *array) {
      Settings entry(keys_, path + "[].");
      PIPESCOPE_TRY(readTable(*element.as_table(), entry, path + "[].", ""));
      PIPESCOPE_TRY(checkRequired(element, entry, path + "[]."));
      entries.push_back(std::move(entry));
    }
    return {};
  }

  Status checkRequired(const toml::node& node, const Settings& entry, const std::string& prefix) {
    for (const Key& key : keys_.all()) {
      if (key.required && key.path.starts_with(prefix) && !entry.given(key.path.substr(prefix.size()))) {
        return base::badInput(fmt::format("{}: {} is missing: {}", place(file_, node), key.path, key.help));
      }
    }
    return {};
  }

  /// Names of tables as they stand in a file: [system], [[stages]].
  std::vector<std::string> tables() const {
    std::set<std::string> names;
    for (const Key& key : keys_.all()) {
      for (std::size_t dot = key.path.find('.'); dot != std::string::npos;
           dot = key.path.find('.', dot + 1)) {
        const std::string table = key.path.substr(0, dot);
        names.insert(table.ends_with("[]") ? table.substr(0, table.size() - 2) : table);
      }
    }
    return {names.begin(), names.end()};
  }

  std::string unknownTable(const std::string& path) const {
    const std::string near = nearest(path, tables());
    if (near.empty()) return unknownKey(keys_, path);
    return fmt::format("unknown table {}; did you mean {}?", path,
                       isArray(near) ? "[[" + near + "]]" : "[" + near + "]");
  }

  Status readValue(const toml::node& node, Settings& settings, const std::string& full,
                   const std::string& inner) {
    if (const Key* name = nameOf(full); name != nullptr && node.is_string())
      return readValue(node, settings, name->path, inner + ".name");
    if (isTable(full))
      return base::badInput(fmt::format("{}: {} is a table: write [{}] once, and its keys below it.",
                                        place(file_, node), full, full));
    if (keys_.find(full) == nullptr && (node.is_table() || node.is_array_of_tables()))
      return base::badInput(fmt::format("{}: {}", place(file_, node), unknownTable(full)));
    if (keys_.find(full) == nullptr)
      return base::badInput(fmt::format("{}: {}", place(file_, node), unknownKey(keys_, full)));
    std::optional<Value> value =
        node.is_table() ? namedValues(*node.as_table(), *keys_.find(full)) : toValue(node);
    if (!value) {
      return base::badInput(
          fmt::format("{}: {} must be {}.", place(file_, node), full, toString(keys_.find(full)->type)));
    }
    // A text of which true and false are choices may be written as a truth value.
    const std::vector<std::string>& choices = keys_.find(full)->choices;
    if (const bool* truth = std::get_if<bool>(&*value);
        truth != nullptr && std::ranges::find(choices, "true") != choices.end())
      value = Value(std::string(*truth ? "true" : "false"));
    if (const Status status = settings.set(inner, std::move(*value), Origin::file); !status.ok()) {
      return base::badInput(fmt::format("{}: {}", place(file_, node), status.error().message));
    }
    return {};
  }

  Configuration& configuration_;
  const KeyTable& keys_;
  const std::string& file_;
};

namespace {
/// Turns the exceptions of the library's parser into errors.
Result<toml::table> parseToml(std::string_view text, const std::string& file) {
  PIPESCOPE_TRY(base::checkTomlDepth(text, file));
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    return base::badInput(
        fmt::format("{}:{}: this is not TOML: {}.", file, error.source().begin.line, error.description()));
  }
}
}  // namespace

Result<Configuration> Configuration::parse(const KeyTable& keys, std::string_view text,
                                           const std::string& file) {
  PIPESCOPE_ASSIGN(const toml::table parsed, parseToml(text, file));
  Configuration configuration(keys);
  PIPESCOPE_TRY(TomlReader(configuration, file).readTable(parsed, configuration, "", ""));
  return configuration;
}

Result<Configuration> Configuration::read(const KeyTable& keys, const std::string& file) {
  PIPESCOPE_ASSIGN(const std::string text, base::readTextFile(file, "configuration"));
  PIPESCOPE_ASSIGN(Configuration configuration, parse(keys, text, file));
  // Relative paths start at the folder of the file, wherever the program runs.
  for (const char* path : {"model.onnx", "data.directory"}) {
    const std::filesystem::path given = configuration.text(path);
    if (given.empty() || given.is_absolute()) continue;
    const std::filesystem::path found = std::filesystem::path(file).parent_path() / given;
    PIPESCOPE_TRY(configuration.set(path, found.lexically_normal().string(), Origin::file));
  }
  return configuration;
}

namespace {

/// Reads a text as the value of a key that is no text. None if it is none.
std::optional<Value> valueOf(const std::string& text) {
  const Result<toml::table> parsed = parseToml(fmt::format("value = {}", text), "value");
  if (!parsed.ok() || parsed->size() != 1) return std::nullopt;
  return toValue(*parsed->get("value"));
}

std::optional<Value> valueOf(const Key& key, std::string_view given) {
  const std::string text(given);
  const bool isList = key.type == KeyType::integers || key.type == KeyType::texts;
  if (!isList) return valueOf(text);
  const std::size_t first = text.find_first_not_of(" \t");
  const bool bracketed = first != std::string::npos && text[first] == '[';
  std::optional<Value> value = bracketed ? valueOf(text) : std::nullopt;
  if (value) return value;
  // A pattern may begin with a bracket.
  if (key.type == KeyType::texts) return Value(std::vector<std::string>{text});
  return bracketed ? std::nullopt : valueOf("[" + text + "]");
}

/// A whole number, although it may be too large for one.
bool isDigits(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  constexpr std::size_t kMost = 300;  // fits into a double
  return !text.empty() && text.size() <= kMost && text.find_first_not_of("0123456789") == text.npos;
}

/// A number that people type and TOML does not know: .5, 5., 007, and a whole number that is too large for
/// one.
std::optional<Value> typedNumber(const Key& key, std::string_view text) {
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  const char* const end = digits.data() + digits.size();
  std::int64_t whole = 0;
  const bool integer = key.type == KeyType::integer && isDigits(text);
  if (integer && std::from_chars(digits.data(), end, whole).ec == std::errc()) return Value(whole);
  if (!integer && (key.type != KeyType::real || digits.find_first_of(".0123456789") == digits.npos))
    return std::nullopt;
  double number = 0;
  const auto [last, error] = std::from_chars(digits.data(), end, number);
  return error == std::errc() && last == end ? std::optional(Value(number)) : std::nullopt;
}

/// The array of tables that a path such as "stages[0].device" or "stages[].device" leads into; empty if it
/// leads into none.
std::string arrayOf(const KeyTable& keys, std::string_view path) {
  const std::size_t open = path.find('['), close = path.find(']');
  if (open == path.npos || close == path.npos || close < open) return {};
  std::string general(path.substr(0, open + 1));
  general += path.substr(close);
  return keys.find(general) == nullptr ? std::string() : general.substr(0, open);
}

}  // namespace

Status Configuration::setText(std::string_view path, std::string_view value, Origin origin) {
  const Key* key = keys().find(path);
  if (const std::string array = arrayOf(keys(), path); !array.empty()) {
    return base::badInput(
        fmt::format("{} belongs to an entry of [[{}]]: only a configuration file can set it.", path, array));
  }
  if (key == nullptr) return base::badInput(unknownKey(keys(), std::string(path)));
  const bool word = std::find(key->choices.begin(), key->choices.end(), value) != key->choices.end();
  if (key->type == KeyType::text || word) return set(path, std::string(value), origin);
  std::optional<Value> parsed = valueOf(*key, value);
  if (!parsed || std::holds_alternative<double>(*parsed)) {
    if (const std::optional<Value> typed = typedNumber(*key, value)) parsed = typed;
  }
  if (!parsed) {
    return base::badInput(fmt::format("{} is \"{}\", but it must be {}.", path, value, toString(key->type)));
  }
  return set(path, std::move(*parsed), origin);
}

Status Configuration::setTexts(std::string_view path, const std::vector<std::string>& values, Origin origin) {
  const Key* key = keys().find(path);
  const bool isList = key != nullptr && (key->type == KeyType::integers || key->type == KeyType::texts);
  if (!isList && values.size() > 1) {
    return base::badInput(fmt::format("{} is given {} times, but it takes one value: leave all but one out.",
                                      path, values.size()));
  }
  if (!isList || values.size() == 1) return setText(path, values.front(), origin);
  std::vector<std::string> texts;
  std::vector<std::int64_t> numbers;
  for (const std::string& each : values) {
    PIPESCOPE_TRY(setText(path, each, origin));
    const Value& part = value(path);
    if (const auto* list = std::get_if<std::vector<std::string>>(&part))
      texts.insert(texts.end(), list->begin(), list->end());
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&part))
      numbers.insert(numbers.end(), list->begin(), list->end());
  }
  if (key->type == KeyType::texts) return set(path, std::move(texts), origin);
  return set(path, std::move(numbers), origin);
}

}  // namespace pipescope::config
