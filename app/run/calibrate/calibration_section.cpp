#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "app/run/calibrate/calibration.h"

namespace pipescope::app {
namespace {

using sections::Cell;
using sections::Format;

double medianOf(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// "median 3.1 %, at most 8.0 %".
std::string errorText(std::vector<double> errors) {
  for (double& error : errors) error = std::abs(error);
  return fmt::format("median {:.1f} %, at most {:.1f} %", 100 * medianOf(errors),
                     100 * *std::ranges::max_element(errors));
}

sections::SectionTable propertiesTable(const Calibration& calibration) {
  sections::SectionTable table{
      "properties", "Properties", "the interval holds all properties with 95 %", {}, {}};
  table.columns = {{"property", "Property", Format::plain, ""},
                   {"about", "What it is", Format::plain, "", false},
                   {"fitted", "Fitted", Format::truth, ""},
                   {"factor", "Factor", Format::ratio, "by which its figures are multiplied"},
                   {"factor_least", "From", Format::ratio, ""},
                   {"factor_most", "To", Format::ratio, ""},
                   {"factor_least_80", "80 % from", Format::ratio, "of this property alone"},
                   {"factor_most_80", "80 % to", Format::ratio, ""},
                   {"figures", "Figures", Format::plain, ""}};
  for (const CalibratedProperty& property : calibration.properties) {
    const bool fitted = property.refusal.empty();
    table.rows.push_back({property.property.name, property.property.about, fitted,
                          fitted ? Cell(property.factor) : Cell(), fitted ? Cell(property.least) : Cell(),
                          fitted ? Cell(property.most) : Cell(), fitted ? Cell(property.least80) : Cell(),
                          fitted ? Cell(property.most80) : Cell(),
                          fmt::format("{}", fmt::join(property.figures, ", "))});
  }
  return table;
}

sections::SectionTable rowsTable(const Calibration& calibration) {
  sections::SectionTable table{"rows", "Rows", "error: emulated time ÷ measured time − 1", {}, {}};
  const bool named =
      std::ranges::any_of(calibration.rows, [](const CalibratedRow& row) { return !row.row->name.empty(); });
  table.columns = {{"line", "Line", Format::index, "of the measurements"},
                   {"name", "Name", Format::plain, "", named},
                   {"error_before", "Before", Format::fraction, ""},
                   {"error_after", "After", Format::fraction, ""},
                   {"error_left_out", "Left out", Format::fraction, "fitted without this row"}};
  for (const CalibratedRow& row : calibration.rows)
    table.rows.push_back({static_cast<std::int64_t>(row.row->line),
                          row.row->name.empty() ? Cell() : Cell(row.row->name), row.before, row.after,
                          row.leftOut});
  return table;
}

std::string memoryText(const Calibration& calibration) {
  const MeasuredWorkspace& memory = *calibration.workspace;
  if (!calibration.hasWorkspace())
    return fmt::format(
        "Errors of memory: {}. The rows do not prove that programs hold more than their tensors, so that the "
        "usable memory stays.",
        errorText(memory.before));
  constexpr double kGib = 1 << 30;
  return fmt::format(
      "Programs hold {:.2f} GiB (95 %: {:.2f} to {:.2f}) besides their tensors, which the new file reserves. "
      "Errors of memory before: {}; of rows left out: {}.",
      memory.bytes / kGib, memory.least / kGib, memory.most / kGib, errorText(memory.before),
      errorText(memory.leftOut));
}

}  // namespace

sections::Section calibrationSection(const Calibration& calibration) {
  sections::Section section{"calibration", "Calibration", {}, {}, {}};
  section.tables = {propertiesTable(calibration), rowsTable(calibration)};
  std::vector<double> before, after, leftOut;
  for (const CalibratedRow& row : calibration.rows) {
    before.push_back(row.before);
    after.push_back(row.after);
    leftOut.push_back(row.leftOut);
  }
  section.remarks.push_back(fmt::format("Errors of times before: {}; after: {}; of rows left out: {}.",
                                        errorText(before), errorText(after), errorText(leftOut)));
  section.remarks.push_back(
      fmt::format("The rows scatter by {:.1f} % about the fit.", 100 * calibration.noise));
  section.remarks.push_back(
      fmt::format("80 % of further steps last what the fitted system says within a factor of {:.2f} either "
                  "way, judged by "
                  "rows left out.",
                  std::exp(1.2816 * calibration.stepError)));
  for (const CalibratedProperty& property : calibration.properties) {
    if (!property.refusal.empty())
      section.remarks.push_back(
          fmt::format("{} keeps its value: {}", property.property.name, property.refusal));
  }
  for (const CalibratedProperty& property : calibration.properties) {
    if (property.refusal.empty() && property.atBound)
      section.remarks.push_back(fmt::format(
          "{} is at the largest value that its figures may have, so something else is faster than the model "
          "says.",
          property.property.name));
  }
  if (calibration.next) {
    const ProposedRow& next = *calibration.next;
    section.remarks.push_back(fmt::format(
        "Measure next: {}. Of all rows with one number twice or half as large as in the table, this one "
        "narrows "
        "an interval most: that of {} (80 %) from a factor of {:.2f} either way to one of {:.2f}.",
        next.settings, next.property, next.before, next.after));
  }
  if (calibration.workspace) section.remarks.push_back(memoryText(calibration));
  return section;
}

}  // namespace pipescope::app
