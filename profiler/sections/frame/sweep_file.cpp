#include "profiler/sections/frame/sweep_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "profiler/sections/frame/csv_text.h"

namespace pipescope::sections {
namespace {

using SweepJson = nlohmann::ordered_json;

/// The rows of the file as texts and values, before they become a table.
struct SweepRows {
  std::string name;
  std::vector<std::string> keys;
  std::vector<std::vector<Cell>> rows;
};

Cell cellOf(const SweepJson& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return value.get<double>();
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_string()) return value.get<std::string>();
  return {};
}

base::Error noSweep(const std::string& path) {
  return base::badInput(fmt::format(
      "{} is no table of a sweep: write one with pipescope sweep CONFIG --vary KEY=A,B -o TABLE.csv.", path));
}

base::Result<SweepRows> rowsOfCsv(const std::string& path) {
  PIPESCOPE_ASSIGN(const CsvTable csv, readCsv(path));
  SweepRows rows{std::filesystem::path(path).stem().string(), csv.headings, {}};
  for (const auto& texts : csv.rows) {
    std::vector<Cell>& cells = rows.rows.emplace_back();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      // A hash and the name of a file may look like numbers.
      const bool word = csv.headings[i] == kSweepHash || csv.headings[i] == kSweepProfile;
      const SweepJson value = word ? SweepJson() : SweepJson::parse(texts[i], nullptr, false);
      const Cell cell = value.is_discarded() || value.is_null() ? Cell() : cellOf(value);
      const bool none = std::holds_alternative<std::monostate>(cell);
      cells.push_back(!none ? cell : texts[i].empty() ? Cell() : Cell(texts[i]));
    }
  }
  return rows;
}

base::Result<SweepRows> rowsOfJson(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed))
    return base::ioError(fmt::format("Cannot read the table {}: there is no such plain file.", path));
  std::ifstream stream(path, std::ios::binary);
  const SweepJson whole = SweepJson::parse(stream, nullptr, false);
  if (!whole.is_object() || !whole.contains("sweep") || !whole["sweep"].is_array()) return noSweep(path);
  SweepRows rows{std::filesystem::path(path).stem().string(), {}, {}};
  if (const auto name = whole.find("sweep_of"); name != whole.end() && name->is_string())
    rows.name = name->get<std::string>();
  for (const SweepJson& object : whole["sweep"]) {
    if (!object.is_object()) return noSweep(path);
    if (rows.keys.empty()) {
      for (const auto& [key, value] : object.items()) rows.keys.push_back(key);
    }
    std::vector<Cell>& cells = rows.rows.emplace_back();
    for (const std::string& key : rows.keys)
      cells.push_back(object.contains(key) ? cellOf(object[key]) : Cell());
  }
  return rows;
}

std::string wordsOfCell(const Cell& cell) {
  const auto* words = std::get_if<std::string>(&cell);
  return words == nullptr ? std::string() : *words;
}

std::string lastPartOf(const std::string& key) {
  return key.substr(key.rfind('.') + 1);
}

/// True if the second of two values is better; nullopt if they are equal.
std::optional<bool> isBetter(double value, double than, bool more) {
  if (value == than) return std::nullopt;
  return (value > than) == more;
}

}  // namespace

const std::vector<const figures::Figure*>& sweepFigures() {
  static const std::vector<const figures::Figure*> all = [] {
    std::vector<const figures::Figure*> made;
    for (const char* key :
         {"fits", "samples_per_second", "step_time_us", "imbalance", "bubble_fraction", "memory_bytes",
          "memory_use", "devices", "system_devices", "samples_per_currency_unit", "tokens_per_second",
          "step_time_least_us", "step_time_most_us", "memory_least_bytes", "memory_most_bytes",
          "output_tokens_per_second", "time_to_first_token_seconds", "time_per_token_seconds"})
      made.push_back(&figures::figure(key));
    return made;
  }();
  return all;
}

const figures::Figure* findSweepFigure(std::string_view key) {
  const auto found = std::ranges::find_if(
      sweepFigures(), [&](const figures::Figure* figure) { return std::string_view(figure->key) == key; });
  return found == sweepFigures().end() ? nullptr : *found;
}

SectionColumn sweepColumn(const figures::Figure& figure) {
  return {figure.key, figure.columnHeading(), figure.format, figure.doc};
}

base::Result<SweepFile> readSweepFile(const std::string& path) {
  PIPESCOPE_ASSIGN(const SweepRows rows, path.ends_with(".json") ? rowsOfJson(path) : rowsOfCsv(path));
  const auto place = [&](const char* key) {
    return static_cast<std::size_t>(std::ranges::find(rows.keys, key) - rows.keys.begin());
  };
  const std::size_t none = rows.keys.size(), hash = place(kSweepHash), fits = place("fits"),
                    profile = place(kSweepProfile), error = place("error"), note = place("note");
  if (hash == none || fits == none || fits == 0) return noSweep(path);
  if (rows.rows.empty()) return base::badInput(path + " holds no combination: the sweep has just begun.");
  SweepFile file{rows.name, {"sweep", "Combinations", "emulated; one row each", {}, {}}, fits, {}, {}};
  std::vector<std::size_t> shown;
  for (std::size_t c = 0; c < none; ++c) {
    const figures::Figure* figure = findSweepFigure(rows.keys[c]);
    const bool any = std::ranges::any_of(
        rows.rows, [&](const auto& row) { return !std::holds_alternative<std::monostate>(row[c]); });
    if (c >= fits && (figure == nullptr || !any)) continue;
    shown.push_back(c);
    file.table.columns.push_back(
        c < fits ? SectionColumn{rows.keys[c], lastPartOf(rows.keys[c]), Format::plain, "varied"}
                 : sweepColumn(*figure));
  }
  file.table.columns.push_back({"note", "Remark", Format::plain, "where it does not fit, or cannot run"});
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  for (const std::vector<Cell>& row : rows.rows) {
    std::vector<Cell>& cells = file.table.rows.emplace_back();
    for (const std::size_t c : shown) cells.push_back(row[c]);
    const std::string why = error == none ? "" : wordsOfCell(row[error]);
    const std::string remark = why.empty() && note != none ? wordsOfCell(row[note]) : why;
    cells.push_back(remark.empty() ? Cell() : Cell(remark));
    const auto* fit = std::get_if<bool>(&row[fits]);
    file.fits.push_back(why.empty() && (fit == nullptr || *fit));
    const std::string own = profile == none ? "" : wordsOfCell(row[profile]);
    file.profiles.push_back(own.empty() ? "" : (folder / own).lexically_normal().string());
  }
  showCostUnits(file.table);
  return file;
}

void showCostUnits(SectionTable& table) {
  constexpr double kMicrosecondsPerUnit = 1e6;
  std::optional<std::size_t> step;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const std::string& key = table.columns[c].key;
    if (key == "step_time_us") step = c;
    const bool any = std::ranges::any_of(
        table.rows, [c](const auto& row) { return !std::holds_alternative<std::monostate>(row[c]); });
    if (key == "samples_per_second" && any) return;
  }
  if (!step) return;
  table.columns[*step].heading = "Step time, cost units";
  table.columns[*step].doc = "mean length of an iteration";
  table.columns[*step].format = Format::number;
  for (std::vector<Cell>& row : table.rows) {
    if (const auto value = figures::numberIn(row[*step])) row[*step] = *value / kMicrosecondsPerUnit;
  }
}

bool isSweepFile(const std::string& path) {
  if (!path.ends_with(".csv") && !path.ends_with(".json")) return false;
  constexpr std::size_t kHead = 16384;
  std::ifstream stream(path, std::ios::binary);
  std::string head(kHead, '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  if (path.ends_with(".csv")) head = head.substr(0, head.find('\n'));
  return head.find(kSweepHash) != std::string::npos &&
         (path.ends_with(".csv") || head.find("\"sweep\"") != std::string::npos);
}

std::vector<bool> paretoRows(const SweepFile& file, const std::vector<std::size_t>& columns) {
  const std::size_t count = file.table.rows.size();
  std::vector<std::vector<double>> values(count);
  for (std::size_t r = 0; r < count; ++r) {
    for (const std::size_t c : columns) {
      const std::optional<double> value = figures::numberIn(file.table.rows[r][c]);
      if (file.fits[r] && value) values[r].push_back(*value);
    }
    if (values[r].size() != columns.size()) values[r].clear();
  }
  const auto beats = [&](std::size_t a, std::size_t b) {
    bool better = false;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const figures::Figure* figure = findSweepFigure(file.table.columns[columns[i]].key);
      const auto best = isBetter(values[a][i], values[b][i], figure != nullptr && figure->moreIsBetter());
      if (best && !*best) return false;
      better = better || best.has_value();
    }
    return better;
  };
  std::vector<bool> front(count, false);
  for (std::size_t r = 0; r < count; ++r) {
    if (values[r].empty()) continue;
    front[r] = true;
    for (std::size_t other = 0; other < count && front[r]; ++other)
      front[r] = values[other].empty() || !beats(other, r);
  }
  return front;
}

}  // namespace pipescope::sections
