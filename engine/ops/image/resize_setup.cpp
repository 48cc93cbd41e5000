#include "engine/ops/image/resize_setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace pipescope::ops {
namespace {

using base::badInput;
using Doubles = std::vector<double>;

enum class ResizeInterpolation { nearest, linear, cubic };
enum class Coordinates {
  halfPixel,
  pytorchHalfPixel,
  alignCorners,
  asymmetric,
  cropAndResize,
  halfPixelForNearest
};
enum class Rounding { preferFloor, preferCeil, floor, ceil };

struct ResizeRules {
  ResizeInterpolation interpolation = ResizeInterpolation::nearest;
  Coordinates coordinates = Coordinates::halfPixel;
  Rounding rounding = Rounding::preferFloor;
  double cubic = -0.75;
  bool excludeOutside = false;
};

template <class Choice>
Result<Choice> choiceOf(const OperatorCall& call, const std::string& attribute, const std::string& fallback,
                        const std::vector<std::pair<std::string, Choice>>& choices) {
  const std::string name = graph::stringAttribute(call.node, attribute, fallback);
  std::vector<std::string> known;
  for (const auto& [each, choice] : choices) {
    if (each == name) return choice;
    known.push_back(each);
  }
  return badInput(fmt::format("{}: {} is {}; it must be one of {}", call.title(), attribute, name,
                              fmt::join(known, ", ")));
}

Result<ResizeRules> rulesOf(const OperatorCall& call) {
  ResizeRules rules;
  PIPESCOPE_ASSIGN(rules.interpolation,
                   choiceOf<ResizeInterpolation>(call, "mode", "nearest",
                                                 {{"nearest", ResizeInterpolation::nearest},
                                                  {"linear", ResizeInterpolation::linear},
                                                  {"cubic", ResizeInterpolation::cubic}}));
  PIPESCOPE_ASSIGN(rules.coordinates,
                   choiceOf<Coordinates>(call, "coordinate_transformation_mode", "half_pixel",
                                         {{"half_pixel", Coordinates::halfPixel},
                                          {"pytorch_half_pixel", Coordinates::pytorchHalfPixel},
                                          {"align_corners", Coordinates::alignCorners},
                                          {"asymmetric", Coordinates::asymmetric},
                                          {"tf_crop_and_resize", Coordinates::cropAndResize},
                                          {"tf_half_pixel_for_nn", Coordinates::halfPixelForNearest}}));
  PIPESCOPE_ASSIGN(rules.rounding, choiceOf<Rounding>(call, "nearest_mode", "round_prefer_floor",
                                                      {{"round_prefer_floor", Rounding::preferFloor},
                                                       {"round_prefer_ceil", Rounding::preferCeil},
                                                       {"floor", Rounding::floor},
                                                       {"ceil", Rounding::ceil}}));
  rules.cubic = graph::floatAttribute(call.node, "cubic_coeff_a", -0.75);
  rules.excludeOutside = graph::intAttribute(call.node, "exclude_outside", 0) != 0;
  return rules;
}

/// Position of output j along the input. `scale` × `in` is the length that ONNX's formulas call resized; with
/// scales it need not be whole. (Source: ONNX, operator Resize, coordinate_transformation_mode.)
double sourceOf(double j, double scale, double in, double begin, double end, Coordinates coordinates) {
  const double resized = scale * in;
  switch (coordinates) {
    case Coordinates::halfPixel:
      return (j + 0.5) / scale - 0.5;
    case Coordinates::pytorchHalfPixel:
      return resized > 1 ? (j + 0.5) / scale - 0.5 : -0.5;
    case Coordinates::alignCorners:
      return resized == 1 ? 0 : j * (in - 1) / (resized - 1);
    case Coordinates::asymmetric:
      return j / scale;
    case Coordinates::halfPixelForNearest:
      return (j + 0.5) / scale;
    case Coordinates::cropAndResize:
      break;
  }
  if (resized == 1) return (end - begin) * (in - 1) / 2 + begin * (in - 1);
  return j * (end - begin) * (in - 1) / (resized - 1) + begin * (in - 1);
}

double rounded(double x, Rounding rounding) {
  switch (rounding) {
    case Rounding::preferFloor:
      return std::ceil(x - 0.5);
    case Rounding::preferCeil:
      return std::floor(x + 0.5);
    case Rounding::floor:
      return std::floor(x);
    case Rounding::ceil:
      break;
  }
  return std::ceil(x);
}

/// The weights of the four neighbours (Keys 1981) at a fraction of the way from the second to the third.
std::array<double, 4> cubicWeights(double s, double a) {
  const double t = 1 - s;
  return {((a * (s + 1) - 5 * a) * (s + 1) + 8 * a) * (s + 1) - 4 * a, ((a + 2) * s - (a + 3)) * s * s + 1,
          ((a + 2) * t - (a + 3)) * t * t + 1, ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a};
}

/// Appends the taps of one output position.
void addTaps(ResizeAxis& axis, double x, const ResizeRules& rules) {
  // Far outside, all taps read the edge. A bound keeps the conversion to whole numbers exact.
  x = std::clamp(x, -8.0, static_cast<double>(axis.in) + 8.0);
  const double floor = std::floor(x);
  const double fraction = x - floor;
  Doubles weights;
  std::int64_t first = static_cast<std::int64_t>(floor);
  if (rules.interpolation == ResizeInterpolation::nearest) {
    first = static_cast<std::int64_t>(rounded(x, rules.rounding));
    weights = {1};
  } else if (rules.interpolation == ResizeInterpolation::linear) {
    weights = {1 - fraction, fraction};
  } else {
    const std::array<double, 4> four = cubicWeights(fraction, rules.cubic);
    weights.assign(four.begin(), four.end());
    --first;
  }
  double sum = 0;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const std::int64_t place = first + static_cast<std::int64_t>(k);
    if (rules.excludeOutside && (place < 0 || place >= axis.in)) weights[k] = 0;
    sum += weights[k];
  }
  for (std::size_t k = 0; k < weights.size(); ++k) {
    axis.places.push_back(std::clamp<std::int64_t>(first + static_cast<std::int64_t>(k), 0, axis.in - 1));
    axis.weights.push_back(rules.excludeOutside && sum != 0 ? weights[k] / sum : weights[k]);
  }
}

ResizeAxis axisOf(std::int64_t in, std::int64_t out, double scale, double begin, double end,
                  const ResizeRules& rules) {
  ResizeAxis axis{in, out, 1, {}, {}, {}};
  axis.taps = rules.interpolation == ResizeInterpolation::nearest
                  ? 1
                  : (rules.interpolation == ResizeInterpolation::linear ? 2 : 4);
  const bool crops = rules.coordinates == Coordinates::cropAndResize;
  for (std::int64_t j = 0; j < out; ++j) {
    const double x =
        sourceOf(static_cast<double>(j), scale, static_cast<double>(in), begin, end, rules.coordinates);
    addTaps(axis, std::isnan(x) ? 0 : x, rules);
    if (crops) axis.outside.push_back(!(x >= 0 && x <= static_cast<double>(in - 1)));
  }
  return axis;
}

/// The numbers of a float32 or float64 input; empty if it is left out or empty.
Result<Doubles> realsOf(const OperatorCall& call, std::size_t index, const std::string& what) {
  Doubles values;
  if (!call.has(index) || call.input(index).elements() == 0) return values;
  const TensorType& type = call.input(index);
  if (type.element != ElementType::float32 && type.element != ElementType::float64) {
    return badInput(fmt::format("{}: {} (input {}) is {}; it must be float32", call.title(), what, index,
                                graph::toString(type)));
  }
  PIPESCOPE_ASSIGN(const std::vector<std::byte>* bytes, shapingValue(call, index, what));
  for (std::int64_t i = 0; i < type.elements(); ++i) {
    if (type.element == ElementType::float32) {
      float value = 0;
      std::memcpy(&value, bytes->data() + static_cast<std::size_t>(i) * sizeof(value), sizeof(value));
      values.push_back(static_cast<double>(value));
    } else {
      double value = 0;
      std::memcpy(&value, bytes->data() + static_cast<std::size_t>(i) * sizeof(value), sizeof(value));
      values.push_back(value);
    }
  }
  return values;
}

struct ResizeSizes {
  Doubles scales;
  Ints sizes;
  Doubles roi;  ///< the begin of each axis, then the end of each axis
};

constexpr double kMostScale = 0x1p40;

Status checkSizes(const OperatorCall& call, const Shape& input, const ResizeSizes& given) {
  const std::size_t rank = input.size();
  if (given.scales.empty() == given.sizes.empty()) {
    return badInput(fmt::format("{}: give either scales or sizes", call.title()));
  }
  if ((given.scales.empty() ? given.sizes.size() : given.scales.size()) != rank ||
      (!given.roi.empty() && given.roi.size() != 2 * rank)) {
    return badInput(fmt::format("{}: it has {} scales, {} sizes and {} numbers in roi; its input has {} axes",
                                call.title(), given.scales.size(), given.sizes.size(), given.roi.size(),
                                rank));
  }
  for (const double scale : given.scales) {
    if (!(scale > 0 && scale < kMostScale))
      return badInput(fmt::format("{}: a scale is {:.6g}; it must be above 0 and below {:.3g}", call.title(),
                                  scale, kMostScale));
  }
  return {};
}

/// The tables of a setup have an entry for each position of an axis.
constexpr double kMostExtent = 0x1p24;

Result<ResizeSetup> makeSetup(const OperatorCall& call, const Shape& input, const ResizeSizes& given,
                              const ResizeRules& rules, ResizeTables tables) {
  PIPESCOPE_TRY(checkSizes(call, input, given));
  const bool crops = rules.coordinates == Coordinates::cropAndResize;
  if (crops && given.roi.empty())
    return badInput(fmt::format("{}: tf_crop_and_resize needs roi (input 1)", call.title()));
  const std::size_t rank = input.size();
  ResizeSetup setup;
  setup.input = input;
  setup.moves = rules.interpolation == ResizeInterpolation::nearest;
  setup.extrapolation = graph::floatAttribute(call.node, "extrapolation_value", 0);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const double in = static_cast<double>(input[axis]);
    const double share = crops ? given.roi[rank + axis] - given.roi[axis] : 1;
    const double size = given.scales.empty() ? static_cast<double>(given.sizes[axis])
                                             : std::floor(in * share * given.scales[axis]);
    if (!(size >= 0 && size <= kMostExtent) || (input[axis] == 0 && size > 0)) {
      return badInput(
          fmt::format("{}: axis {} of extent {} would become {}", call.title(), axis, input[axis], size));
    }
    setup.output.push_back(static_cast<std::int64_t>(size));
  }
  PIPESCOPE_TRY(requireSize(call, setup.output));
  if (tables == ResizeTables::none) return setup;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const double in = static_cast<double>(input[axis]);
    const double scale =
        given.scales.empty() ? static_cast<double>(setup.output[axis]) / in : given.scales[axis];
    setup.axes.push_back(axisOf(input[axis], setup.output[axis], scale, crops ? given.roi[axis] : 0,
                                crops ? given.roi[rank + axis] : 1, rules));
    const std::vector<bool>& outside = setup.axes.back().outside;
    setup.hasOutside = setup.hasOutside || std::ranges::find(outside, true) != outside.end();
  }
  return setup;
}

}  // namespace

std::vector<std::size_t> ResizeSetup::passes() const {
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const ResizeAxis& axis = axes[i];
    bool same = axis.in == axis.out;
    for (std::int64_t j = 0; same && j < axis.out; ++j) {
      double own = 0;
      for (std::int64_t k = 0; k < axis.taps; ++k) {
        const auto at = static_cast<std::size_t>(j * axis.taps + k);
        own += axis.places[at] == j ? axis.weights[at] : 0;
        same = same && (axis.places[at] == j || axis.weights[at] == 0);
      }
      same = same && own == 1;
    }
    if (!same) changed.push_back(i);
  }
  return changed;
}

Result<ResizeSetup> resizeSetup(const OperatorCall& call, const Shape& input, std::size_t first,
                                ResizeTables tables) {
  PIPESCOPE_ASSIGN(const ResizeRules rules, rulesOf(call));
  ResizeSizes given;
  if (rules.coordinates == Coordinates::cropAndResize) {
    PIPESCOPE_ASSIGN(given.roi, realsOf(call, first, "roi"));
  }
  PIPESCOPE_ASSIGN(given.scales, realsOf(call, first + 1, "scales"));
  if (call.has(first + 2) && call.input(first + 2).elements() > 0) {
    PIPESCOPE_ASSIGN(given.sizes, call.constantInts(first + 2, "sizes"));
  }
  return makeSetup(call, input, given, rules, tables);
}

Result<ResizeSetup> upsampleSetup(const OperatorCall& call, const Shape& input, ResizeTables tables) {
  ResizeRules rules;
  rules.coordinates = Coordinates::asymmetric;
  rules.rounding = Rounding::floor;
  PIPESCOPE_ASSIGN(rules.interpolation,
                   choiceOf<ResizeInterpolation>(
                       call, "mode", "nearest",
                       {{"nearest", ResizeInterpolation::nearest}, {"linear", ResizeInterpolation::linear}}));
  ResizeSizes given;
  PIPESCOPE_ASSIGN(given.scales, realsOf(call, 1, "scales"));
  return makeSetup(call, input, given, rules, tables);
}

}  // namespace pipescope::ops
