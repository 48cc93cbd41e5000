#include "engine/devices/core/bands.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include <toml++/toml.h>

namespace pipescope::devices {

std::span<const std::pair<std::string_view, std::string_view>> embeddedDeviceFiles();

namespace {

constexpr std::string_view kFile = "devices/bands.toml";

/// Reads one [[band]] table and checks its parts.
class BandReader {
 public:
  BandReader(const toml::table& table, std::size_t number) : table_(table), number_(number) {}

  base::Result<Band> read() {
    Band band;
    for (const auto& [key, text] : {std::pair{"device", &band.device},
                                    {"kind", &band.kind},
                                    {"quantity", &band.quantity},
                                    {"against", &band.against}}) {
      const std::optional<std::string> value = table_[key].value<std::string>();
      if (!value || value->empty()) return fault(key, "a text");
      *text = *value;
    }
    const std::optional<std::int64_t> points = table_["points"].value<std::int64_t>();
    if (!points || *points < 1) return fault("points", "a whole number above 0");
    band.points = *points;
    for (const auto& [key, number] : {std::pair{"median", &band.median}, {"bias", &band.bias}}) {
      const std::optional<double> value = table_[key].value<double>();
      if (!value) return fault(key, "a number");
      *number = *value;
    }
    if (!table_.contains("p90")) return band;
    band.p90 = table_["p90"].value<double>();
    if (!band.p90) return fault("p90", "a number");
    return band;
  }

 private:
  base::Error fault(const std::string& key, const std::string& wanted) const {
    return base::badInput(fmt::format("{}, band {}: \"{}\" must be {}.", kFile, number_, key, wanted));
  }

  const toml::table& table_;
  std::size_t number_;
};

}  // namespace

std::string Band::describe() const {
  return fmt::format("{} point{}, |ln| median {:.3f},{} bias {:+.3f}; against {}", points,
                     points == 1 ? "" : "s", median, p90 ? fmt::format(" p90 {:.3f},", *p90) : "", bias,
                     against);
}

base::Result<std::vector<Band>> parseBands(std::string_view text) {
  toml::table table;
  try {  // The parser throws on faulty TOML; no exception leaves this function.
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return base::badInput(
        fmt::format("{}, line {}: {}.", kFile, error.source().begin.line, error.description()));
  }
  std::vector<Band> bands;
  if (const toml::array* list = table["band"].as_array()) {
    for (const toml::node& node : *list) {
      const toml::table* entry = node.as_table();
      if (!entry) return base::badInput(fmt::format("{}: \"band\" must be tables, [[band]].", kFile));
      PIPESCOPE_ASSIGN(Band band, BandReader(*entry, bands.size() + 1).read());
      bands.push_back(std::move(band));
    }
  }
  return bands;
}

namespace {

base::Result<std::vector<Band>> readEmbeddedBands() {
  std::vector<Band> all;
  for (const auto& [file, text] : embeddedDeviceFiles()) {
    if (!file.ends_with("bands.toml")) continue;  // a family may have a file of its own
    PIPESCOPE_ASSIGN(const std::vector<Band> bands, parseBands(text));
    all.insert(all.end(), bands.begin(), bands.end());
  }
  return all;
}

}  // namespace

base::Result<std::vector<Band>> embeddedBands() {
  // Every emulation records the bands. Parsing them takes longer than emulating a small run.
  static const base::Result<std::vector<Band>> all = readEmbeddedBands();
  return all;
}

std::optional<double> widestTimeError(const std::string& chip) {
  std::optional<double> widest;
  const base::Result<std::vector<Band>> bands = embeddedBands();
  if (!bands.ok()) return widest;
  for (const Band& band : *bands) {
    const bool isTime = band.quantity == "cycles" || band.quantity == "time";
    if (band.device == chip && isTime && band.p90) widest = std::max(widest.value_or(0), *band.p90);
  }
  return widest;
}

}  // namespace pipescope::devices
