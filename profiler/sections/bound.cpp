#include "profiler/sections/bound.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>

namespace pipescope::sections {
namespace {

/// Reads sums of products of operands, from left to right.
class BoundReader {
 public:
  BoundReader(std::string_view text, double baseline) : text_(text), baseline_(baseline) {}

  base::Result<Bound> read() {
    PIPESCOPE_ASSIGN(bound_.value, sum(0));
    if (next() != '\0')
      return base::badInput(fmt::format("\"{}\" stands behind the end of the bound.", text_));
    return bound_;
  }

 private:
  base::Result<double> sum(int depth) {
    PIPESCOPE_ASSIGN(double value, product(depth));
    for (char sign = next(); sign == '+' || sign == '-'; sign = next()) {
      text_.remove_prefix(1);
      PIPESCOPE_ASSIGN(const double other, product(depth));
      value += sign == '+' ? other : -other;
    }
    return value;
  }

  base::Result<double> product(int depth) {
    PIPESCOPE_ASSIGN(double value, operand(depth));
    for (char sign = next(); sign == '*' || sign == '/'; sign = next()) {
      text_.remove_prefix(1);
      PIPESCOPE_ASSIGN(const double other, operand(depth));
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
    return value;
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
  Bound bound_;
};

}  // namespace

base::Result<Bound> evaluateBound(const std::string& expression, double baseline) {
  return BoundReader(expression, baseline).read();
}

}  // namespace pipescope::sections
