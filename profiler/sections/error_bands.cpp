#include <fmt/format.h>

#include "profiler/analysis/model/worth.h"
#include "profiler/sections/section.h"

namespace pipescope::sections {
namespace {

std::string worthWords(const std::string& quantity) {
  if (quantity == "cycles") return "cycles";
  if (quantity == "total_bytes") return "memory, all tiles";
  if (quantity == "max_tile_bytes") return "memory, fullest tile";
  return quantity;
}

Table bandTable(const analysis::Worth& worth) {
  Table table{"bands", "What was checked", "error of a layer's figure, emulated against measured", {}, {}};
  table.columns = {{"device", "Chip", Format::plain, ""},
                   {"kind", "Kind of layer", Format::plain, ""},
                   {"quantity", "Figure", Format::plain, ""},
                   {"points", "Points", Format::count, "layers that were compared"},
                   {"median_error", "Half within", Format::fraction, "half of the points are no further off"},
                   {"p90_error", "9 of 10 within", Format::fraction, "nine of ten points are no further off"},
                   {"bias", "Bias", Format::fraction, "median, above 0: emulated is more"},
                   {"against", "Against", Format::plain, ""}};
  for (const analysis::WorthBand& band : worth.bands) {
    table.rows.push_back({band.device, band.kind, worthWords(band.quantity), band.points, band.medianError(),
                          band.p90Error(), band.biasShare(), band.against});
  }
  return table;
}

Table gradeTable(const Context& context, const analysis::Worth& worth) {
  Table table{"grades", "What figures are worth", "", {}, {}};
  table.columns = {{"grade", "Grade", Format::plain, ""}, {"figures", "Figures", Format::plain, ""}};
  table.rows.push_back({"exact", "orders, counts, tensor bytes, what a loss or accuracy is of"});
  if (context.catalog.target.family == "fixed") {
    table.rows.push_back({"given", "all times: they are the configuration's costs"});
    return table;
  }
  if (!worth.bands.empty())
    table.rows.push_back(
        {"modelled and checked", "cycles and memory of the kinds of layer listed as checked"});
  table.rows.push_back({"modelled, unchecked",
                        worth.bands.empty()
                            ? "all times and memory of this device"
                            : "other layers, how a layer's time divides into its passes, weight updates, "
                              "transfers, sync and host"});
  return table;
}

base::Result<Section> makeWorth(const Context& context) {
  PIPESCOPE_ASSIGN(const analysis::Worth worth,
                   analysis::worth(context.source, context.catalog, context.executable));
  Section section{"worth", "What figures are worth", {}, {gradeTable(context, worth)}, {}};
  section.facts = {
      {"checked_share", "Compute time that is checked",
       worth.computeTicks > 0 && !worth.bands.empty() ? Cell(worth.checkedShare()) : Cell(), Format::fraction,
       "Steps of kinds of layer with a checked error ÷ all steps of forward, recompute and backward."},
      {"device_model", "Device model", context.catalog.property("device_model"), Format::plain, ""}};
  if (!worth.bands.empty()) section.tables.push_back(bandTable(worth));
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(worth) {
  registry.add(
      {"worth", "What figures are worth", "Exact, checked or only modelled, and how far off", 80, makeWorth});
}

}  // namespace pipescope::sections
