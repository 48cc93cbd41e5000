#pragma once
// Values of figures, facts and table cells, and how text shows them.
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pipescope::figures {

/// A part of a whole. monostate means that there is no value.
using Amount = std::variant<std::monostate, std::int64_t, double>;
double numberOf(const Amount& amount);  ///< 0 without a value
/// Named parts of a whole. JSON shows them as an object with the names in snake_case, text as
/// "compute 1,234 · sync 56", CSV as one column for each part.
using Breakdown = std::vector<std::pair<std::string, Amount>>;
/// The value of a figure, a fact or a table cell. monostate means that there is no value.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string, bool, Breakdown>;

/// The form in which text shows a value, and its JSON type. JSON always has the raw value.
enum class Format {
  plain,     ///< words
  truth,     ///< yes or no
  index,     ///< 1472: the number of a thing
  number,    ///< six significant digits
  amount,    ///< 166 M: three significant digits and a decimal prefix
  count,     ///< 1,472
  ticks,     ///< cycles with thousands separators
  bytes,     ///< 3.2 MiB
  fraction,  ///< 0…1, shown as 12.3 %
  ratio,     ///< 1.25
  seconds,   ///< 5.02 ms
  rate,      ///< 12,300 /s
  byteRate,  ///< 58.4 GB/s, whatever the unit of bytes
  list,      ///< words, shortened by shortList()
  stage,     ///< stage 3
  term,      ///< a word of the profile's own: text shows tile_memory as "tile memory" and hbm as "HBM"
  ofRow,     ///< as Table::rowFormats says
};

}  // namespace pipescope::figures
