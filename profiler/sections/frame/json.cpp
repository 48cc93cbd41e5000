#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "profiler/sections/frame/section.h"

namespace pipescope::sections {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string jsonNumber(double value) {
  return std::isfinite(value) ? plainNumber(value) : "null";
}

/// Writes objects and arrays with an indentation of two blanks.
class JsonWriter {
 public:
  void open(char bracket) {
    text_ += bracket;
    indent_ += 2;
    first_ = true;
  }
  void close(char bracket) {
    indent_ -= 2;
    if (!first_) newLine();
    text_ += bracket;
    first_ = false;
  }
  void next() {
    if (!first_) text_ += ',';
    newLine();
    first_ = false;
  }
  void key(const std::string& name) {
    next();
    text_ += quoted(name) + ": ";
  }
  void value(const std::string& json) { text_ += json; }
  std::string take() { return std::move(text_); }

 private:
  void newLine() { text_ += '\n' + std::string(indent_, ' '); }

  std::string text_;
  std::size_t indent_ = 0;
  bool first_ = true;
};

void writeCell(const Cell& cell, JsonWriter& json) {
  if (const auto* parts = std::get_if<Breakdown>(&cell)) {
    json.open('{');
    for (const auto& [name, amount] : *parts) {
      json.key(snakeCase(name));
      const auto* n = std::get_if<std::int64_t>(&amount);
      const auto* x = std::get_if<double>(&amount);
      json.value(n != nullptr ? std::to_string(*n) : x != nullptr ? jsonNumber(*x) : "null");
    }
    json.close('}');
  } else if (const auto* n = std::get_if<std::int64_t>(&cell)) {
    json.value(std::to_string(*n));
  } else if (const auto* x = std::get_if<double>(&cell)) {
    json.value(jsonNumber(*x));
  } else if (const auto* s = std::get_if<std::string>(&cell)) {
    json.value(quoted(*s));
  } else if (const auto* b = std::get_if<bool>(&cell)) {
    json.value(*b ? "true" : "false");
  } else {
    json.value("null");
  }
}

void writeTable(const SectionTable& table, JsonWriter& json) {
  json.open('[');
  for (const auto& row : table.rows) {
    json.next();
    json.open('{');
    for (std::size_t c = 0; c < row.size(); ++c) {
      json.key(table.columns[c].key);
      writeCell(row[c], json);
    }
    json.close('}');
  }
  json.close(']');
}

void writeSection(const Section& section, JsonWriter& json) {
  json.open('{');
  for (const Fact& fact : section.facts) {
    json.key(fact.key);
    writeCell(fact.value, json);
  }
  for (const SectionTable& table : section.tables) {
    json.key(table.key);
    writeTable(table, json);
  }
  json.key("remarks");
  json.open('[');
  for (const std::string& remark : section.remarks) {
    json.next();
    json.value(quoted(remark));
  }
  json.close(']');
  json.close('}');
}

bool isWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

}  // namespace

std::string snakeCase(const std::string& name) {
  std::string key;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    if (!isWordCharacter(name[i])) {
      if (!key.empty() && key.back() != '_') key += '_';
      continue;
    }
    const bool begins =
        std::isupper(c) != 0 && i > 0 && std::isupper(static_cast<unsigned char>(name[i - 1])) == 0;
    if (begins && !key.empty() && key.back() != '_') key += '_';
    key += static_cast<char>(std::tolower(c));
  }
  while (key.ends_with('_')) key.pop_back();
  return key;
}

std::string plainNumber(double value) {
  return fmt::format("{:.12g}", value == 0 ? 0.0 : value);  // −0 is written without its sign
}

std::string toJson(const Section& section) {
  JsonWriter json;
  writeSection(section, json);
  return json.take();
}

std::string toJson(const std::vector<Section>& sections) {
  JsonWriter json;
  json.open('{');
  for (const Section& section : sections) {
    json.key(section.name);
    writeSection(section, json);
  }
  json.close('}');
  return json.take();
}

}  // namespace pipescope::sections
