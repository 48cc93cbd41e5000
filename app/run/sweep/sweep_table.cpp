#include "app/run/sweep/sweep_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "profiler/base/files/output_file.h"
#include "profiler/sections/frame/csv_text.h"
#include "profiler/sections/frame/sweep_file.h"

namespace pipescope::app {
namespace {

using sections::Cell;
using sections::CsvTable;
using sections::Format;
using sections::readCsv;
using Json = nlohmann::ordered_json;

constexpr const char* kHash = sections::kSweepHash;
constexpr const char* kProfile = sections::kSweepProfile;
constexpr const char* kTrouble = "trouble";  // exchanged between processes only: no table has it

/// A value of a key as a number, if it is one, so that JSON and CSV give its type.
Cell valueCell(const std::string& text) {
  const Json parsed = Json::parse(text, nullptr, false);
  if (parsed.is_number_integer()) return parsed.get<std::int64_t>();
  if (parsed.is_number_float()) return parsed.get<double>();
  if (parsed.is_boolean()) return parsed.get<bool>();
  return text;
}

Json jsonOf(const Cell& cell) {
  if (const auto* n = std::get_if<std::int64_t>(&cell)) return *n;
  if (const auto* x = std::get_if<double>(&cell)) return std::isfinite(*x) ? Json(*x) : Json();
  if (const auto* b = std::get_if<bool>(&cell)) return *b;
  if (const auto* s = std::get_if<std::string>(&cell)) return *s;
  return {};
}

Cell cellOf(const Json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_boolean()) return value.get<bool>();
  return {};
}

std::string textOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void readRow(const Json& object, SweepRow& row) {
  for (const figures::Figure* figure : sections::sweepFigures()) {
    const auto found = object.find(figure->key);
    if (found != object.end()) row.figures.values[figure->key] = cellOf(*found);
  }
  row.figures.note = textOf(object, "note");
  row.error = textOf(object, "error");
  row.profile = textOf(object, kProfile);
  row.trouble = textOf(object, kTrouble);
  row.done = row.trouble.empty();
}

/// A row of a CSV file as an object. Cells are numbers, truth values, or texts.
Json objectOf(const CsvTable& table, std::size_t row) {
  Json object = Json::object();
  for (std::size_t i = 0; i < table.headings.size(); ++i) {
    const std::string& text = table.rows[row][i];
    object[table.headings[i]] = text.empty() ? Json() : jsonOf(valueCell(text));
  }
  // A hash may look like a number.
  for (std::size_t i = 0; i < table.headings.size(); ++i) {
    if (table.headings[i] == kHash) object[kHash] = table.rows[row][i];
  }
  return object;
}

base::Result<std::vector<Json>> objectsIn(const std::string& file) {
  std::vector<Json> objects;
  PIPESCOPE_ASSIGN(const TableFormat format, formatOfTable(file));
  if (format == TableFormat::csv) {
    PIPESCOPE_ASSIGN(const CsvTable table, readCsv(file));
    if (std::ranges::find(table.headings, kHash) == table.headings.end()) {
      return base::badInput(fmt::format(
          "{} exists and is a table, but not one of a sweep; it is left untouched. Choose another name.",
          file));
    }
    for (std::size_t row = 0; row < table.rows.size(); ++row) objects.push_back(objectOf(table, row));
    return objects;
  }
  std::ifstream stream(file, std::ios::binary);
  const Json whole = Json::parse(stream, nullptr, false);
  if (!whole.is_object() || !whole.contains("sweep") || !whole["sweep"].is_array())
    return base::badInput(file +
                          " is damaged: it is no table of a sweep. Remove it, or choose another name.");
  for (const Json& object : whole["sweep"]) objects.push_back(object);
  return objects;
}

}  // namespace

std::optional<double> figureOf(const SweepRow& row, const figures::Figure& figure) {
  if (!row.done) return std::nullopt;
  const Cell cell = row.figures.of(figure.key);
  if (const auto* b = std::get_if<bool>(&cell)) return *b ? 1.0 : 0.0;
  return figures::numberIn(cell);
}

sections::Section sweepSection(const SweepTable& table, const std::vector<const SweepRow*>& rows) {
  sections::Section section{"sweep", "Sweep", {}, {}, {}};
  section.facts = {{"sweep_of", "Sweep of", table.name, Format::plain, "name of the model"},
                   {"combinations", "Combinations", static_cast<std::int64_t>(table.rows.size()),
                    Format::count, "of the values of all varied keys"}};
  sections::SectionTable list{"sweep", "Combinations", "emulated; one row each", {}, {}};
  for (const VariedKey& key : table.keys)
    list.columns.push_back({key.key, std::string(config::lastPart(key.key)), Format::plain, "varied"});
  for (const figures::Figure* figure : sections::sweepFigures()) {
    list.columns.push_back(sections::sweepColumn(*figure));
    list.columns.back().inText =
        std::ranges::any_of(rows, [&](const SweepRow* row) { return figureOf(*row, *figure).has_value(); });
  }
  const bool remarks = std::ranges::any_of(
      rows, [](const SweepRow* row) { return !row->error.empty() || !row->figures.note.empty(); });
  list.columns.push_back({"note", "Remark", Format::plain, "where it does not fit", remarks});
  list.columns.push_back({"error", "", Format::plain, "why it cannot run", false});
  const bool profiles = std::ranges::any_of(rows, [](const SweepRow* row) { return !row->profile.empty(); });
  if (profiles) list.columns.push_back({kProfile, "", Format::plain, "file of the profile", false});
  list.columns.push_back({kHash, "", Format::plain, "of the configuration and the version", false});
  for (const SweepRow* row : rows) {
    std::vector<Cell> cells;
    for (const std::string& value : row->values) cells.push_back(valueCell(value));
    for (const figures::Figure* figure : sections::sweepFigures())
      cells.push_back(row->figures.of(figure->key));
    cells.push_back(row->figures.note.empty() ? Cell() : Cell(row->figures.note));
    cells.push_back(row->error.empty() ? Cell() : Cell(row->error));
    if (profiles) cells.push_back(row->profile.empty() ? Cell() : Cell(row->profile));
    cells.emplace_back(row->hash);
    list.rows.push_back(std::move(cells));
  }
  section.tables.push_back(std::move(list));
  return section;
}

sections::Section sweepSection(const SweepTable& table) {
  std::vector<const SweepRow*> rows;
  for (const SweepRow& row : table.rows) {
    if (row.done) rows.push_back(&row);
  }
  return sweepSection(table, rows);
}

std::string rowToJson(const SweepRow& row) {
  Json object = Json::object();
  for (const figures::Figure* figure : sections::sweepFigures())
    object[figure->key] = jsonOf(row.figures.of(figure->key));
  object["note"] = row.figures.note;
  object["error"] = row.error;
  object[kProfile] = row.profile;
  if (!row.trouble.empty()) object[kTrouble] = row.trouble;
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool rowFromJson(const std::string& text, SweepRow& row) {
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) return false;
  readRow(object, row);
  return true;
}

base::Result<TableFormat> formatOfTable(const std::string& file) {
  if (file.ends_with(".csv")) return TableFormat::csv;
  if (file.ends_with(".json")) return TableFormat::json;
  if (base::isStandardOutput(file))
    return base::badInput(
        "The table in a file is read again when a sweep is resumed, so it cannot be standard output: name a "
        "file, or leave -o out and print the table with --format csv or --format json.");
  return base::badInput(fmt::format(
      "{}: the name of a sweep's table must end with .csv or .json, which says its format.", file));
}

base::FileKind kindOf(TableFormat format) {
  return format == TableFormat::csv ? base::FileKind::csv : base::FileKind::sweep;
}

base::Status writeTable(const SweepTable& table, const std::string& file, const base::OutputRules& rules) {
  PIPESCOPE_ASSIGN(const TableFormat format, formatOfTable(file));
  const sections::Section section = sweepSection(table);
  std::string text;
  if (format == TableFormat::csv) {
    PIPESCOPE_ASSIGN(text, sections::toCsv(section, "sweep"));
  } else {
    text = sections::toJson(section) + "\n";
  }
  PIPESCOPE_ASSIGN(base::OutputFile out, base::OutputFile::create(file, kindOf(format), rules));
  PIPESCOPE_TRY(out.write(text));
  return out.close();
}

base::Result<std::int64_t> resumeFrom(const std::string& file, SweepTable& table) {
  std::error_code failed;
  if (!std::filesystem::exists(file, failed) || std::filesystem::file_size(file, failed) == 0) return 0;
  PIPESCOPE_ASSIGN(const std::vector<Json> objects, objectsIn(file));
  std::unordered_map<std::string, const Json*> known;
  for (const Json& object : objects) {
    if (object.is_object()) known.emplace(textOf(object, kHash), &object);
  }
  std::int64_t taken = 0;
  for (SweepRow& row : table.rows) {
    const auto found = known.find(row.hash);
    if (found == known.end()) continue;
    readRow(*found->second, row);
    ++taken;
  }
  return taken;
}

}  // namespace pipescope::app
