#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "profiler/sections/frame/section.h"

namespace pipescope::sections {
namespace {

constexpr const char* kFacts = "facts";

std::string csvText(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csvNumber(double value) {
  return std::isfinite(value) ? plainNumber(value) : "";
}

std::string csvAmount(const Amount& amount) {
  if (const auto* n = std::get_if<std::int64_t>(&amount)) return std::to_string(*n);
  const auto* x = std::get_if<double>(&amount);
  return x == nullptr ? "" : csvNumber(*x);
}

/// A cell without a value is empty.
std::string csvCell(const Cell& cell) {
  if (const auto* n = std::get_if<std::int64_t>(&cell)) return std::to_string(*n);
  if (const auto* x = std::get_if<double>(&cell)) return csvNumber(*x);
  if (const auto* b = std::get_if<bool>(&cell)) return *b ? "true" : "false";
  const auto* s = std::get_if<std::string>(&cell);
  return s == nullptr ? "" : csvText(*s);
}

std::string factsCsv(const std::vector<Fact>& facts) {
  std::string text = "key,value\n";
  for (const Fact& fact : facts) {
    if (const auto* parts = std::get_if<Breakdown>(&fact.value)) {
      for (const auto& [name, amount] : *parts)
        text += fact.key + "." + snakeCase(name) + "," + csvAmount(amount) + "\n";
    } else {
      text += fact.key + "," + csvCell(fact.value) + "\n";
    }
  }
  return text;
}

/// The names of the parts of a column, in the order in which the rows mention them first.
std::vector<std::string> partsOf(const SectionTable& table, std::size_t column) {
  const PartNames& known = table.columns[column].parts;
  if (known != kAnyParts) return known;
  std::vector<std::string> names;
  for (const auto& row : table.rows) {
    const auto* parts = std::get_if<Breakdown>(&row[column]);
    for (const auto& [name, amount] : parts == nullptr ? Breakdown() : *parts) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::string partCsv(const Cell& cell, const std::string& wanted) {
  const auto* parts = std::get_if<Breakdown>(&cell);
  for (const auto& [name, amount] : parts == nullptr ? Breakdown() : *parts) {
    if (name == wanted) return csvAmount(amount);
  }
  return "";
}

std::string tableCsv(const SectionTable& table) {
  std::vector<std::vector<std::string>> parts;
  std::vector<std::string> fields;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const SectionColumn& column = table.columns[c];
    parts.push_back(partsOf(table, c));
    if (column.parts.empty()) fields.push_back(column.key);
    for (const std::string& part : parts.back()) fields.push_back(column.key + "." + snakeCase(part));
  }
  std::string text = fmt::format("{}\n", fmt::join(fields, ","));
  for (const auto& row : table.rows) {
    fields.clear();
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (table.columns[c].parts.empty()) fields.push_back(csvCell(row[c]));
      for (const std::string& part : parts[c]) fields.push_back(partCsv(row[c], part));
    }
    text += fmt::format("{}\n", fmt::join(fields, ","));
  }
  return text;
}

}  // namespace

std::vector<std::string> csvTables(const Section& section) {
  std::vector<std::string> names;
  if (!section.facts.empty()) names.emplace_back(kFacts);
  for (const SectionTable& table : section.tables) names.push_back(table.key);
  return names;
}

std::string mainTable(const Section& section) {
  const std::vector<std::string> names = csvTables(section);
  if (std::find(names.begin(), names.end(), section.name) != names.end()) return section.name;
  return names.empty() ? kFacts : names.front();
}

base::Result<std::string> toCsv(const Section& section, const std::string& table) {
  if (table == kFacts && !section.facts.empty()) return factsCsv(section.facts);
  for (const SectionTable& one : section.tables) {
    if (one.key == table) return tableCsv(one);
  }
  return base::badInput(fmt::format("There is no table \"{}\" in {}; its tables are {}.", table, section.name,
                                    fmt::join(csvTables(section), ", ")));
}

}  // namespace pipescope::sections
