#include "engine/config/key.h"

#include <fmt/format.h>

namespace pipescope::config {
namespace {

std::string tomlText(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

std::string_view lastPart(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
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

std::string toToml(const Key& key, const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value); number != nullptr && *number < 0) {
    const auto word = static_cast<std::size_t>(-1 - *number);
    if (key.type == KeyType::integer && word < key.choices.size()) return toToml(key.choices[word]);
  }
  return toToml(value);
}

}  // namespace pipescope::config
