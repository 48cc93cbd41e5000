#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "profiler/analysis/model/error_bands.h"
#include "profiler/figures/step_interval.h"
#include "profiler/sections/frame/section.h"
#include "profiler/sections/frame/words.h"

namespace pipescope::sections {
namespace {

std::string quantityWords(const std::string& quantity) {
  if (quantity == "total_bytes") return "memory, all tiles";
  if (quantity == "max_tile_bytes") return "memory, fullest tile";
  return quantity;
}

SectionTable bandTable(const analysis::ErrorBands& found, const Words& words) {
  SectionTable table{
      "bands", "What was checked", "error of a layer's figure: emulated compared with measured", {}, {}};
  table.columns = {
      {"chip", "Chip", Format::plain, ""},
      {"kind", words.tiles ? "Kind of layer" : "Kind of work", Format::plain, ""},
      {"quantity", "Figure", Format::plain, ""},
      {"points", "Points", Format::count, "layers that were compared"},
      {"median_error", "Half within", Format::fraction, "half of the points have at most this error"},
      {"p90_error", "9 of 10 within", Format::fraction,
       "nine of ten points have at most this error; empty where fewer than five were compared"},
      {"bias", "Bias", Format::fraction, "median error; above 0, the emulated figure is larger"},
      {"against", "Against", Format::plain, ""}};
  for (const analysis::ErrorBand& band : found.bands) {
    table.rows.push_back({band.device, band.kind, quantityWords(band.quantity), band.points,
                          band.medianError(), band.p90Error() ? Cell(*band.p90Error()) : Cell(),
                          band.biasShare(), band.against});
  }
  return table;
}

SectionTable gradeTable(const Context& context, const analysis::ErrorBands& found) {
  SectionTable table{"grades", "How exact the figures are", "", {}, {}};
  table.columns = {{"grade", "Grade", Format::plain, ""}, {"figures", "Figures", Format::plain, ""}};
  if (context.catalog.measured()) {
    table.rows.push_back({"recorded", "all times: they are those of the trace"});
    table.rows.push_back({"inferred",
                          "stages, micro-batches and sides of messages that the trace does not state; "
                          "the section coverage counts them"});
    table.rows.push_back({"replayed", "gains of what-if, slowdowns of stragglers, and lost times"});
    return table;
  }
  table.rows.push_back(
      {"exact", "the order of work, counts, tensor bytes, and which samples a loss or accuracy covers"});
  if (figures::hasGivenCosts(context.catalog)) {
    table.rows.push_back({"given", "all times: the configuration states them"});
    return table;
  }
  if (!found.bands.empty())
    table.rows.push_back({"modelled and checked", "cycles and memory of the kinds of layer listed below"});
  table.rows.push_back(
      {"modelled, unchecked", found.bands.empty()
                                  ? "all times and memory of this device"
                                  : "other layers; how a layer's time divides into passes; weight updates, "
                                    "transfers, sync and host"});
  return table;
}

/// The grades of TOML files, in words.
std::string gradeWords(std::string_view grade) {
  if (grade == "D") return "vendor document";
  if (grade == "C") return "vendor code";
  if (grade == "M") return "measured";
  if (grade == "X") return "derived";
  if (grade == "R") return "recalled";
  return std::string(grade);
}

/// "figure.clock" holds "1.33 GHz; grade D; Graphcore datasheets".
SectionTable figureTable(const analysis::Catalog& catalog) {
  SectionTable table{
      "figures",
      "Figures of the device model",
      "what the emulated times and memory are computed from, and where it comes from",
      {{"figure", "Figure", Format::plain, ""},
       {"value", "Value", Format::plain, ""},
       {"grade", "Grade", Format::plain,
        "how sure it is: vendor document, vendor code, measured, derived from others, recalled"},
       {"source", "Source", Format::plain, ""}},
      {}};
  constexpr std::string_view kPrefix = "figure.", kGrade = "; grade ", kEnd = "; ";
  for (const model::Property& row : catalog.properties) {
    const std::string_view value = row.value;
    const std::size_t grade = value.rfind(kGrade);
    if (std::string_view(row.key).substr(0, kPrefix.size()) != kPrefix || grade == std::string_view::npos)
      continue;
    const std::string_view rest = value.substr(grade + kGrade.size());
    const std::size_t end = std::min(rest.find(kEnd), rest.size());
    const std::size_t source = std::min(end + kEnd.size(), rest.size());
    std::string name = row.key.substr(kPrefix.size());
    std::ranges::replace(name, '_', ' ');
    table.rows.push_back({name, std::string(value.substr(0, grade)), gradeWords(rest.substr(0, end)),
                          std::string(rest.substr(source))});
  }
  return table;
}

base::Result<Section> makeErrorBands(const Context& context) {
  PIPESCOPE_ASSIGN(const analysis::ErrorBands found,
                   analysis::errorBands(context.source, context.catalog, context.executable));
  Section section{"error_bands", "Error bands", {}, {gradeTable(context, found)}, {}};
  section.facts = {
      {"checked_share", "Compute time that is checked",
       found.computeTicks > 0 && !found.bands.empty() ? Cell(found.checkedShare()) : Cell(), Format::fraction,
       "Time of layers whose kind has an error band ÷ time of all forward, recompute and backward passes."},
      {"device_model", "Device model", context.catalog.property("device_model"), Format::plain, ""}};
  section.tables.push_back(bandTable(found, wordsOf(context.catalog)));
  section.tables.push_back(figureTable(context.catalog));
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(error_bands) {
  registry.add({"error_bands", "Error bands",
                "Which figures are exact, checked or only modelled, and how large their errors are", 80,
                makeErrorBands});
}

}  // namespace pipescope::sections
