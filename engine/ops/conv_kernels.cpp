#include "engine/ops/conv_kernels.h"

#include <algorithm>

#include "engine/ops/matrix.h"

namespace pipescope::ops {
namespace {

/// Elements of an unfolded block: half of a common second-level cache.
constexpr std::int64_t kBlockElements = 128 * 1024;

/// Output columns [first, end) of an output row whose tap lies within the input row.
struct Reach {
  std::int64_t first = 0, end = 0;
};

Reach reachOf(const Window& w, std::size_t axis, std::int64_t tap) {
  const std::int64_t offset = tap * w.dilation[axis] - w.padBegin[axis];  // input = column · stride + offset
  const std::int64_t stride = w.stride[axis];
  Reach reach;
  if (offset < 0) reach.first = (-offset + stride - 1) / stride;
  if (offset < w.input[axis]) reach.end = (w.input[axis] - 1 - offset) / stride + 1;
  reach.end = std::min(reach.end, w.output[axis]);
  reach.first = std::min(reach.first, reach.end);
  return reach;
}

/// Walks one tap over output positions [begin, begin + count) and calls
/// visit(column in the block, count, input offset or −1 for padding, stride), a piece of an output row at a time.
template <class Visit>
void walkTap(const Window& w, const Odometer& tap, std::int64_t begin, std::int64_t count, Visit visit) {
  const std::size_t inner = w.axes() - 1;
  const std::int64_t width = w.output[inner];
  const std::int64_t innerOffset = tap[inner] * w.dilation[inner] - w.padBegin[inner];
  const Reach reach = reachOf(w, inner, tap[inner]);
  Odometer row(w.output.data(), inner);
  row.set(begin / width);
  for (std::int64_t at = 0, column = begin % width; at < count; column = 0, row.next()) {
    const std::int64_t length = std::min(width - column, count - at);
    std::int64_t base = 0;
    bool inside = true;
    for (std::size_t axis = 0; axis < inner; ++axis) {
      const std::int64_t position = row[axis] * w.stride[axis] + tap[axis] * w.dilation[axis] - w.padBegin[axis];
      inside = inside && position >= 0 && position < w.input[axis];
      base = base * w.input[axis] + position;
    }
    const std::int64_t from = inside ? std::clamp(reach.first, column, column + length) : column + length;
    const std::int64_t to = inside ? std::clamp(reach.end, from, column + length) : column + length;
    if (from > column) visit(at, from - column, std::int64_t{-1});
    if (to > from) visit(at + from - column, to - from, base * w.input[inner] + from * w.stride[inner] + innerOffset);
    if (column + length > to) visit(at + to - column, column + length - to, std::int64_t{-1});
    at += length;
  }
}

/// columns (depth × count) = the input under every tap at output positions [begin, begin + count).
template <class T>
void unfold(const ConvPlan& plan, const T* x, std::int64_t begin, std::int64_t count, T* columns) {
  const Window& w = plan.window;
  const std::int64_t stride = w.stride.back(), taps = w.taps(), inputs = w.inputs();
  Odometer tap(w.kernel.data(), w.axes());
  for (std::int64_t d = 0; d < plan.depth(); ++d, tap.next()) {
    const T* plane = x + d / taps * inputs;
    T* target = columns + d * count;
    walkTap(w, tap, begin, count, [=](std::int64_t at, std::int64_t length, std::int64_t source) {
      if (source < 0) {
        std::fill_n(target + at, length, T(0));
      } else if (stride == 1) {
        for (std::int64_t i = 0; i < length; ++i) target[at + i] = plane[source + i];
      } else {
        for (std::int64_t i = 0; i < length; ++i) target[at + i] = plane[source + i * stride];
      }
    });
  }
}

/// Adds the columns back to where unfold() took them from.
template <class T>
void fold(const ConvPlan& plan, const T* columns, std::int64_t begin, std::int64_t count, T* dx) {
  const Window& w = plan.window;
  const std::int64_t stride = w.stride.back(), taps = w.taps(), inputs = w.inputs();
  Odometer tap(w.kernel.data(), w.axes());
  for (std::int64_t d = 0; d < plan.depth(); ++d, tap.next()) {
    T* plane = dx + d / taps * inputs;
    const T* source = columns + d * count;
    walkTap(w, tap, begin, count, [=](std::int64_t at, std::int64_t length, std::int64_t target) {
      if (target < 0) return;
      for (std::int64_t i = 0; i < length; ++i) plane[target + i * stride] += source[at + i];
    });
  }
}

/// Calls body(image·groups + group, first position, positions) for every block of every image, ascending.
template <class Body>
void forBlocks(const ConvPlan& plan, Body body) {
  const std::int64_t positions = plan.window.positions(), step = plan.blockPositions();
  for (std::int64_t image = 0; image < plan.batch * plan.groups; ++image) {
    for (std::int64_t begin = 0; begin < positions; begin += step) body(image, begin, std::min(step, positions - begin));
  }
}

}  // namespace

std::int64_t ConvPlan::blockPositions() const {
  return std::min(window.positions(), std::max<std::int64_t>(64, kBlockElements / std::max<std::int64_t>(1, depth())));
}

template <class T>
void convForward(const ConvPlan& plan, const T* x, const T* w, const T* bias, T* y, T* scratch) {
  const std::int64_t positions = plan.window.positions(), inputs = plan.inChannels * plan.window.inputs();
  const bool identity = plan.window.isIdentity();
  forBlocks(plan, [&](std::int64_t image, std::int64_t begin, std::int64_t count) {
    const std::int64_t group = image % plan.groups;
    if (!identity) unfold(plan, x + image * inputs, begin, count, scratch);
    T* out = y + image * plan.outChannels * positions + begin;
    if (bias) {
      for (std::int64_t m = 0; m < plan.outChannels; ++m) {
        std::fill_n(out + m * positions, count, bias[group * plan.outChannels + m]);
      }
    }
    const Product product{plan.outChannels, count, plan.depth(), false, false, plan.depth(), identity ? positions : count,
                          positions, bias != nullptr};
    multiply(product, T(1), w + group * plan.outChannels * plan.depth(), identity ? x + image * inputs + begin : scratch, out);
  });
}

template <class T>
void convInputGradient(const ConvPlan& plan, const T* dy, const T* w, T* dx, T* scratch) {
  const std::int64_t positions = plan.window.positions(), inputs = plan.inChannels * plan.window.inputs();
  const bool identity = plan.window.isIdentity();
  if (!identity) std::fill_n(dx, plan.batch * plan.groups * inputs, T(0));
  forBlocks(plan, [&](std::int64_t image, std::int64_t begin, std::int64_t count) {
    const T* weights = w + image % plan.groups * plan.outChannels * plan.depth();
    const T* gradient = dy + image * plan.outChannels * positions + begin;
    const Product product{plan.depth(), count, plan.outChannels, true, false, plan.depth(), positions,
                          identity ? positions : count, false};
    multiply(product, T(1), weights, gradient, identity ? dx + image * inputs + begin : scratch);
    if (!identity) fold(plan, scratch, begin, count, dx + image * inputs);
  });
}

template <class T>
void convWeightGradient(const ConvPlan& plan, const T* x, const T* dy, T* dw, T* scratch) {
  const std::int64_t positions = plan.window.positions(), inputs = plan.inChannels * plan.window.inputs();
  const bool identity = plan.window.isIdentity();
  std::fill_n(dw, plan.groups * plan.outChannels * plan.depth(), T(0));
  forBlocks(plan, [&](std::int64_t image, std::int64_t begin, std::int64_t count) {
    if (!identity) unfold(plan, x + image * inputs, begin, count, scratch);
    const Product product{plan.outChannels, plan.depth(), count, false, true, positions, identity ? positions : count,
                          plan.depth(), true};
    multiply(product, T(1), dy + image * plan.outChannels * positions + begin,
             identity ? x + image * inputs + begin : scratch, dw + image % plan.groups * plan.outChannels * plan.depth());
  });
}

template void convForward(const ConvPlan&, const float*, const float*, const float*, float*, float*);
template void convForward(const ConvPlan&, const double*, const double*, const double*, double*, double*);
template void convInputGradient(const ConvPlan&, const float*, const float*, float*, float*);
template void convInputGradient(const ConvPlan&, const double*, const double*, double*, double*);
template void convWeightGradient(const ConvPlan&, const float*, const float*, float*, float*);
template void convWeightGradient(const ConvPlan&, const double*, const double*, double*, double*);

}  // namespace pipescope::ops
