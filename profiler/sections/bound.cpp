#include "profiler/sections/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>

namespace pipescope::sections {
namespace {

struct BoundUnit {
  std::string_view name;
  double size;  ///< seconds or bytes of one unit
  bool isTime;
};
constexpr std::array<BoundUnit, 14> kBoundUnits = {{{"ns", 1e-9, true},
                                                    {"us", 1e-6, true},
                                                    {"µs", 1e-6, true},
                                                    {"ms", 1e-3, true},
                                                    {"s", 1, true},
                                                    {"B", 1, false},
                                                    {"kB", 1e3, false},
                                                    {"MB", 1e6, false},
                                                    {"GB", 1e9, false},
                                                    {"TB", 1e12, false},
                                                    {"KiB", 1024.0, false},
                                                    {"MiB", 1048576.0, false},
                                                    {"GiB", 1073741824.0, false},
                                                    {"TiB", 1099511627776.0, false}}};
/// The endings of keys that say a unit.
constexpr std::array<BoundUnit, 5> kKeyUnits = {{{"_ns", 1e-9, true},
                                                 {"_us", 1e-6, true},
                                                 {"_ms", 1e-3, true},
                                                 {"_seconds", 1, true},
                                                 {"_bytes", 1, false}}};

/// Reads sums of products of operands, from left to right.
class BoundReader {
 public:
  BoundReader(std::string_view text, double baseline, std::string_view key, double ticksPerSecond,
              bool isShare)
      : text_(text), baseline_(baseline), key_(key), ticksPerSecond_(ticksPerSecond), isShare_(isShare) {}

  base::Result<Bound> read() {
    PIPESCOPE_ASSIGN(bound_.value, sum(0));
    if (next() != '\0')
      return base::badInput(fmt::format("\"{}\" stands behind the end of the bound.", text_));
    const bool counted = unitOfKey() != kKeyUnits.end() || isInTicks();
    if (hasPercent_ && counted && !bound_.usesBaseline)
      return base::badInput(
          fmt::format("The figure {} is no share, so % needs something that it is a part of: write 105 % * "
                      "baseline, or a unit instead of %.",
                      key_));
    return bound_;
  }

 private:
  base::Result<double> sum(int depth) {
    const bool before = bound_.usesBaseline;
    bound_.usesBaseline = false;
    PIPESCOPE_ASSIGN(double value, product(depth));
    for (char sign = next(); sign == '+' || sign == '-'; sign = next()) {
      text_.remove_prefix(1);
      const bool ofBaseline = bound_.usesBaseline;
      barePercent_ = false;
      PIPESCOPE_ASSIGN(double other, product(depth));
      if (barePercent_ && ofBaseline && !isShare_) other *= value;
      value += sign == '+' ? other : -other;
    }
    bound_.usesBaseline = bound_.usesBaseline || before;
    return value;
  }

  base::Result<double> product(int depth) {
    PIPESCOPE_ASSIGN(double value, operand(depth));
    for (char sign = next(); sign == '*' || sign == '/'; sign = next()) {
      text_.remove_prefix(1);
      PIPESCOPE_ASSIGN(const double other, operand(depth));
      barePercent_ = false;
      value = sign == '*' ? value * other : value / other;
    }
    return value;
  }

  base::Result<double> operand(int depth) {
    constexpr int kDeepest = 100;
    const char first = next();
    if (depth > kDeepest) return wrong();
    if (first == '-' || first == '(') {
      text_.remove_prefix(1);
      PIPESCOPE_ASSIGN(const double value, first == '-' ? operand(depth + 1) : sum(depth + 1));
      if (first == '-') return -value;
      if (next() != ')') return wrong();
      text_.remove_prefix(1);
      return value;
    }
    for (const auto& [word, value] :
         {std::pair<std::string_view, double>{"baseline", baseline_}, {"true", 1}, {"false", 0}}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      bound_.usesBaseline = bound_.usesBaseline || word == "baseline";
      return value;
    }
    const bool number = (first >= '0' && first <= '9') || first == '.';
    double value = 0;
    const auto [end, failed] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (!number || failed != std::errc()) return wrong();
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return inUnitOfKey(value);
  }

  /// Takes the percent sign or the unit behind a number off the text.
  base::Result<double> inUnitOfKey(double value) {
    if (next() == '%') {
      text_.remove_prefix(1);
      hasPercent_ = barePercent_ = true;
      return value / 100;
    }
    std::size_t length = 0;
    while (length < text_.size() && (std::isalpha(static_cast<unsigned char>(text_[length])) != 0 ||
                                     static_cast<unsigned char>(text_[length]) >= 0x80))
      ++length;
    if (length == 0 || text_.starts_with("baseline")) return value;
    const std::string_view name = text_.substr(0, length);
    const auto unit = std::ranges::find(kBoundUnits, name, &BoundUnit::name);
    if (unit == kBoundUnits.end())
      return base::badInput(
          fmt::format("\"{}\" is no unit; there are %, ns, us, ms, s, kB, MB, GB, TB, KiB, "
                      "MiB, GiB and TiB.",
                      name));
    if (key_.empty()) {
      text_.remove_prefix(length);
      return value;
    }
    if (isInTicks() && unit->isTime) {
      if (ticksPerSecond_ <= 0)
        return base::badInput(fmt::format(
            "The times of this profile are cost units, so {} is a plain number of them: leave {} out.", key_,
            name));
      text_.remove_prefix(length);
      return value * unit->size * ticksPerSecond_;
    }
    const auto own = unitOfKey();
    if (own == kKeyUnits.end() || own->isTime != unit->isTime)
      return base::badInput(
          fmt::format("The figure {} is not counted in {}.", key_, unit->isTime ? "time" : "bytes"));
    text_.remove_prefix(length);
    return value * unit->size / own->size;
  }

  bool isInTicks() const { return key_ == "cycles" || key_.ends_with("_cycles"); }
  /// Finds the unit with which the key ends. Returns the end of kKeyUnits if the key has no unit.
  std::array<BoundUnit, 5>::const_iterator unitOfKey() const {
    return std::ranges::find_if(kKeyUnits, [&](const BoundUnit& each) {
      return key_ == each.name.substr(1) || key_.ends_with(each.name);
    });
  }

  /// The next character that is not a blank; 0 at the end.
  char next() {
    while (!text_.empty() && text_.front() == ' ') text_.remove_prefix(1);
    return text_.empty() ? '\0' : text_.front();
  }

  base::Error wrong() const {
    if (text_.empty()) return base::badInput("The bound ends too early.");
    return base::badInput(fmt::format("\"{}\" is neither a number nor \"baseline\".", text_));
  }

  std::string_view text_;
  double baseline_;
  std::string_view key_;
  double ticksPerSecond_;
  const bool isShare_;
  bool hasPercent_ = false;
  bool barePercent_ = false;  ///< the last product is nothing but a percentage
  Bound bound_;
};

}  // namespace

base::Result<Bound> evaluateBound(const std::string& expression, double baseline, std::string_view key,
                                  double ticksPerSecond, bool isShare) {
  return BoundReader(expression, baseline, key, ticksPerSecond, isShare).read();
}

}  // namespace pipescope::sections
