#include "profiler/figures/figure.h"

#include <algorithm>
#include <cmath>

#include "profiler/base/check.h"

namespace pipescope::figures {

double numberOf(const Amount& amount) {
  if (const auto* n = std::get_if<std::int64_t>(&amount)) return static_cast<double>(*n);
  const auto* x = std::get_if<double>(&amount);
  return x == nullptr ? 0 : *x;
}

const std::vector<Figure>& allFigures() {
  static const FigureRegistry registry = [] {
    FigureRegistry made;
    registerFigures(made);
    return made;
  }();
  return registry.all();
}

const Figure* findFigure(std::string_view key) {
  const auto& all = allFigures();
  const auto found =
      std::ranges::find_if(all, [&](const Figure& figure) { return std::string_view(figure.key) == key; });
  return found == all.end() ? nullptr : &*found;
}

const Figure& figure(std::string_view key) {
  const Figure* found = findFigure(key);
  PIPESCOPE_CHECK(found != nullptr, "no figure has the key " + std::string(key));
  return *found;
}

std::optional<double> numberIn(const Cell& cell) {
  if (const auto* n = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*n);
  if (const auto* x = std::get_if<double>(&cell); x != nullptr && std::isfinite(*x)) return *x;
  return std::nullopt;
}

}  // namespace pipescope::figures
