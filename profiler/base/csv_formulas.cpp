#include "profiler/base/csv_formulas.h"

#include "profiler/base/number_text.h"

namespace pipescope::base {
namespace {

/// The end of the cell that begins at `from`: the comma or line feed behind it, or the end of the text.
std::size_t endOfCell(std::string_view csv, std::size_t from) {
  bool quoted = false;
  for (std::size_t at = from; at < csv.size(); ++at) {
    if (csv[at] == '"') quoted = !quoted;
    if (!quoted && (csv[at] == ',' || csv[at] == '\n')) return at;
  }
  return csv.size();
}

bool isFormula(std::string_view cell) {
  constexpr std::string_view kBeginnings = "=+-@\t\r";
  return !cell.empty() && kBeginnings.find(cell.front()) != std::string_view::npos && !numberOf(cell);
}

}  // namespace

std::string withoutFormulas(std::string_view csv) {
  std::string safe;
  safe.reserve(csv.size());
  for (std::size_t at = 0; at < csv.size();) {
    const std::size_t end = endOfCell(csv, at);
    std::string_view cell = csv.substr(at, end - at);
    // A line ends with \n or \r\n, and neither belongs to its last cell.
    std::string_view content = cell;
    if (end < csv.size() && csv[end] == '\n' && content.ends_with('\r')) content.remove_suffix(1);
    if (content.starts_with('"')) {
      safe += '"';
      cell.remove_prefix(1);
      content = content.substr(1, content.size() - (content.size() > 1 ? 2 : 1));
    }
    if (isFormula(content)) safe += '\'';
    safe += cell;
    if (end < csv.size()) safe += csv[end];
    at = end + 1;
  }
  return safe;
}

}  // namespace pipescope::base
