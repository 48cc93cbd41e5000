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

template <class T>
Cell figureCell(const std::optional<T>& value) {
  return value ? Cell(*value) : Cell();
}

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

template <class T>
void readFigure(const Json& object, const char* key, std::optional<T>& value) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return;
  if constexpr (std::is_same_v<T, bool>) {
    if (found->is_boolean()) value = found->template get<bool>();
  } else {
    if (found->is_number()) value = found->template get<T>();
  }
}

std::string textOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void readRow(const Json& object, SweepRow& row) {
  VariantFigures& f = row.figures;
  readFigure(object, "fits", f.fits);
  readFigure(object, "samples_per_second", f.samplesPerSecond);
  readFigure(object, "step_time_us", f.stepTimeUs);
  readFigure(object, "imbalance", f.imbalance);
  readFigure(object, "bubble_fraction", f.bubbleFraction);
  readFigure(object, "memory_bytes", f.memoryBytes);
  readFigure(object, "memory_use", f.memoryUse);
  readFigure(object, "devices", f.devices);
  readFigure(object, "system_devices", f.systemDevices);
  readFigure(object, "samples_per_currency_unit", f.samplesPerCurrencyUnit);
  f.note = textOf(object, "note");
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

const std::vector<SweepFigure>& sweepFigures() {
  using Get = Cell (*)(const VariantFigures&);
  static const std::map<std::string_view, Get> cells = {
      {"fits", [](const VariantFigures& f) { return figureCell(f.fits); }},
      {"samples_per_second", [](const VariantFigures& f) { return figureCell(f.samplesPerSecond); }},
      {"step_time_us", [](const VariantFigures& f) { return figureCell(f.stepTimeUs); }},
      {"imbalance", [](const VariantFigures& f) { return figureCell(f.imbalance); }},
      {"bubble_fraction", [](const VariantFigures& f) { return figureCell(f.bubbleFraction); }},
      {"memory_bytes", [](const VariantFigures& f) { return figureCell(f.memoryBytes); }},
      {"memory_use", [](const VariantFigures& f) { return figureCell(f.memoryUse); }},
      {"devices", [](const VariantFigures& f) { return figureCell(f.devices); }},
      {"system_devices", [](const VariantFigures& f) { return figureCell(f.systemDevices); }},
      {"samples_per_currency_unit",
       [](const VariantFigures& f) { return figureCell(f.samplesPerCurrencyUnit); }}};
  static const std::vector<SweepFigure> all = [] {
    std::vector<SweepFigure> figures;
    for (const sections::SweepColumn& column : sections::sweepColumns()) {
      figures.push_back(
          {column.key, column.heading, column.doc, column.format, cells.at(column.key), column.moreIsBetter});
    }
    return figures;
  }();
  return all;
}

std::optional<double> figureOf(const SweepRow& row, const SweepFigure& figure) {
  if (!row.done) return std::nullopt;
  const Cell cell = figure.cell(row.figures);
  if (const auto* n = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*n);
  if (const auto* x = std::get_if<double>(&cell)) return *x;
  if (const auto* b = std::get_if<bool>(&cell)) return *b ? 1.0 : 0.0;
  return std::nullopt;
}

sections::Section sweepSection(const SweepTable& table, const std::vector<const SweepRow*>& rows) {
  sections::Section section{"sweep", "Sweep", {}, {}, {}};
  section.facts = {{"sweep_of", "Sweep of", table.name, Format::plain, "name of the model"},
                   {"combinations", "Combinations", static_cast<std::int64_t>(table.rows.size()),
                    Format::count, "of the values of all varied keys"}};
  sections::SectionTable list{"sweep", "Combinations", "emulated; one row each", {}, {}};
  for (const VariedKey& key : table.keys)
    list.columns.push_back({key.key, std::string(config::lastPart(key.key)), Format::plain, "varied"});
  for (const SweepFigure& figure : sweepFigures()) {
    const bool any =
        std::ranges::any_of(rows, [&](const SweepRow* row) { return figureOf(*row, figure).has_value(); });
    list.columns.push_back({figure.key, figure.heading, figure.format, figure.doc, any});
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
    for (const SweepFigure& figure : sweepFigures()) cells.push_back(figure.cell(row->figures));
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
  for (const SweepFigure& figure : sweepFigures()) object[figure.key] = jsonOf(figure.cell(row.figures));
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
