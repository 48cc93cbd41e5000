#include "engine/ops/conv/conv_axis.h"

#include <algorithm>
#include <numeric>

#include "engine/ops/core/rounding.h"

namespace pipescope::ops {
namespace {

/// Leaves only the taps from the first to the last that meet the source anywhere. `at(tap)` is the position
/// in the source of output 0, and outputs lie `step` apart.
template <class At>
void dropDeadTaps(std::vector<std::int64_t>& taps, std::int64_t count, std::int64_t step, std::int64_t source,
                  At at) {
  const auto live = [&](std::int64_t tap) {
    const std::int64_t start = at(tap),
                       first = start < 0 ? ceilDiv(-start, step) : 0;  // first output not before it
    return first < count && start + first * step < source;
  };
  while (!taps.empty() && !live(taps.back())) taps.pop_back();
  while (!taps.empty() && !live(taps.front())) taps.erase(taps.begin());
}

/// Finds the staged stretch of the source. The starts of the phases become staged positions.
void setStaged(ConvAxis& axis, bool skips) {
  std::int64_t begin = 0, end = 1;
  bool any = false;
  for (const ConvAxisPhase& phase : axis.phases) {
    if (phase.taps.empty()) continue;
    const std::int64_t last = phase.start + (phase.count - 1) * axis.step +
                              (static_cast<std::int64_t>(phase.taps.size()) - 1) * axis.tapStep + 1;
    begin = any ? std::min(begin, phase.start) : phase.start;
    end = any ? std::max(end, last) : last;
    any = true;
  }
  axis.origin = begin;
  axis.staged = end - begin;
  if (skips && axis.phases.size() == 1 && axis.phases[0].taps.size() == 1) {
    // A single tap reads nothing that lies between the inputs of neighbouring outputs.
    axis.pick = axis.step;
    axis.step = 1;
    axis.staged = axis.phases[0].count;
  }
  for (ConvAxisPhase& phase : axis.phases) phase.start = phase.taps.empty() ? 0 : phase.start - begin;
}

}  // namespace

ConvAxis forwardConvAxis(const Window& w, std::size_t axis) {
  ConvAxis a;
  a.source = w.input[axis];
  a.target = w.output[axis];
  a.step = w.stride[axis];
  a.tapStep = w.dilation[axis];
  ConvAxisPhase phase;
  phase.count = a.target;
  phase.taps.resize(static_cast<std::size_t>(w.kernel[axis]));
  std::iota(phase.taps.begin(), phase.taps.end(), std::int64_t{0});
  const auto at = [&](std::int64_t tap) { return tap * w.dilation[axis] - w.padBegin[axis]; };
  dropDeadTaps(phase.taps, phase.count, a.step, a.source, at);
  phase.start = phase.taps.empty() ? 0 : at(phase.taps.front());
  a.phases.push_back(std::move(phase));
  setStaged(a, axis + 1 < w.axes());
  return a;
}

/// Position i of the input is under tap k of output (i + pad − k·dilation) ÷ stride, if that is whole.
ConvAxis gradientConvAxis(const Window& w, std::size_t axis) {
  ConvAxis a;
  a.source = w.output[axis];
  a.target = w.input[axis];
  const std::int64_t stride = w.stride[axis], dilation = w.dilation[axis];
  a.spread = stride;
  a.tapStep = dilation / std::gcd(stride, dilation);
  for (std::int64_t first = 0; first < std::min(stride, a.target); ++first) {
    ConvAxisPhase phase;
    phase.first = first;
    phase.count = ceilDiv(a.target - first, stride);
    const auto at = [&](std::int64_t tap) { return (first + w.padBegin[axis] - tap * dilation) / stride; };
    for (std::int64_t tap = w.kernel[axis]; tap-- > 0;) {
      if ((first + w.padBegin[axis] - tap * dilation) % stride == 0) phase.taps.push_back(tap);
    }
    dropDeadTaps(phase.taps, phase.count, 1, a.source, at);
    phase.start = phase.taps.empty() ? 0 : at(phase.taps.front());
    a.phases.push_back(std::move(phase));
  }
  setStaged(a, false);
  return a;
}

}  // namespace pipescope::ops
