#include "engine/ops/conv_kernels.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "engine/ops/conv_panels.h"
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

/// A piece of an output row under one tap: `count` columns of the block from `at` on; `source` is the offset
/// of the first one's input within its plane, −1 for padding.
struct Piece {
  std::int64_t at = 0, count = 0, source = 0;
};

/// Output positions [begin, begin + count) seen from one tap, as pieces of rows.
template <class Visit>
void walkPieces(const Window& w, const Odometer& tap, std::int64_t begin, std::int64_t count, Visit visit) {
  const std::size_t inner = w.axes() - 1;
  const std::int64_t width = w.output[inner];
  const std::int64_t innerOffset = tap[inner] * w.dilation[inner] - w.padBegin[inner];
  const Reach reach = reachOf(w, inner, tap[inner]);
  Odometer row(w.output.data(), inner);
  row.set(begin / width);
  for (std::int64_t at = 0, column = begin % width; at < count; column = 0, row.next()) {
    const std::int64_t end = std::min(width, column + count - at);
    std::int64_t base = 0;
    bool inside = true;
    for (std::size_t axis = 0; axis < inner; ++axis) {
      const std::int64_t position =
          row[axis] * w.stride[axis] + tap[axis] * w.dilation[axis] - w.padBegin[axis];
      inside = inside && position >= 0 && position < w.input[axis];
      base = base * w.input[axis] + position;
    }
    const std::int64_t from = inside ? std::clamp(reach.first, column, end) : end;
    const std::int64_t to = inside ? std::clamp(reach.end, from, end) : end;
    if (from > column) visit(Piece{at, from - column, -1});
    if (to > from)
      visit(
          Piece{at + from - column, to - from, base * w.input[inner] + from * w.stride[inner] + innerOffset});
    if (end > to) visit(Piece{at + to - column, end - to, -1});
    at += end - column;
  }
}

/// Without padding every output row of a plane reads whole input rows, equally far apart: true for most
/// convolutions, and much faster to walk. Only for whole rows of two spatial axes.
bool isPlain(const Window& w, std::int64_t begin, std::int64_t count) {
  if (w.axes() != 2 || begin % w.output[1] != 0 || count % w.output[1] != 0) return false;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (w.padBegin[axis] != 0) return false;
    if ((w.output[axis] - 1) * w.stride[axis] + (w.kernel[axis] - 1) * w.dilation[axis] >= w.input[axis])
      return false;
  }
  return true;
}

template <class Visit>
void walkTap(const Window& w, const Odometer& tap, std::int64_t begin, std::int64_t count, bool plain,
             Visit visit) {
  if (!plain) return walkPieces(w, tap, begin, count, visit);
  const std::int64_t width = w.output[1], step = w.stride[0] * w.input[1];
  std::int64_t source =
      (begin / width * w.stride[0] + tap[0] * w.dilation[0]) * w.input[1] + tap[1] * w.dilation[1];
  for (std::int64_t at = 0; at < count; at += width, source += step) visit(Piece{at, width, source});
}

/// Elements that are copied or added at a time; pieces are often as short as a row of eight.
constexpr std::int64_t kRun = 8;

template <class T>
void copyRun(T* __restrict to, const T* __restrict from, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kRun <= count; i += kRun) std::memcpy(to + i, from + i, kRun * sizeof(T));
  for (; i < count; ++i) to[i] = from[i];
}

template <class T>
void addRun(T* __restrict to, const T* __restrict from, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kRun <= count; i += kRun) {
    for (std::int64_t j = 0; j < kRun; ++j) to[i + j] += from[i + j];
  }
  for (; i < count; ++i) to[i] += from[i];
}

/// columns (depth × count) = the input under every tap at output positions [begin, begin + count).
template <class T>
void unfold(const ConvPlan& plan, const T* x, std::int64_t begin, std::int64_t count, T* columns) {
  const Window& w = plan.window;
  const std::int64_t stride = w.stride.back(), taps = w.taps(), inputs = w.inputs();
  const bool plain = isPlain(w, begin, count);
  Odometer tap(w.kernel.data(), w.axes());
  for (std::int64_t channel = 0; channel < plan.inChannels; ++channel, x += inputs) {
    for (std::int64_t t = 0; t < taps; ++t, tap.next(), columns += count) {
      walkTap(w, tap, begin, count, plain, [=](const Piece& piece) {
        T* target = columns + piece.at;
        const T* source = x + piece.source;
        if (piece.source < 0) {
          std::fill_n(target, piece.count, T(0));
        } else if (stride == 1) {
          copyRun(target, source, piece.count);
        } else {
          for (std::int64_t i = 0; i < piece.count; ++i) target[i] = source[i * stride];
        }
      });
    }
  }
}

/// Adds the columns back to where unfold() took them from.
template <class T>
void fold(const ConvPlan& plan, const T* columns, std::int64_t begin, std::int64_t count, T* dx) {
  const Window& w = plan.window;
  const std::int64_t stride = w.stride.back(), taps = w.taps(), inputs = w.inputs();
  const bool plain = isPlain(w, begin, count);
  Odometer tap(w.kernel.data(), w.axes());
  for (std::int64_t channel = 0; channel < plan.inChannels; ++channel, dx += inputs) {
    for (std::int64_t t = 0; t < taps; ++t, tap.next(), columns += count) {
      walkTap(w, tap, begin, count, plain, [=](const Piece& piece) {
        if (piece.source < 0) return;
        T* target = dx + piece.source;
        const T* source = columns + piece.at;
        if (stride == 1) {
          addRun(target, source, piece.count);
        } else {
          for (std::int64_t i = 0; i < piece.count; ++i) target[i * stride] += source[i];
        }
      });
    }
  }
}

/// Calls body(image·groups + group, first position, positions) for every block of every image, ascending.
template <class Body>
void forBlocks(const ConvPlan& plan, Body body) {
  const std::int64_t positions = plan.window.positions(), step = plan.blockPositions();
  for (std::int64_t image = 0; image < plan.batch * plan.groups; ++image) {
    for (std::int64_t begin = 0; begin < positions; begin += step)
      body(image, begin, std::min(step, positions - begin));
  }
}

}  // namespace

std::int64_t ConvPlan::blockPositions() const {
  const std::int64_t most = std::max<std::int64_t>(64, kBlockElements / std::max<std::int64_t>(1, depth()));
  const std::int64_t width = window.output.back();
  // Whole rows where one fits.
  return std::min(window.positions(), most < width ? most : most / width * width);
}

std::int64_t ConvPlan::scratchElements() const {
  std::int64_t elements = blockPositions() * depth();
  if (PanelConv::fits(*this, false)) elements = std::max(elements, PanelConv::forward(*this).scratchElements());
  if (PanelConv::fits(*this, true)) elements = std::max(elements, PanelConv::inputGradient(*this).scratchElements());
  return elements;
}

template <class T>
void convForward(const ConvPlan& plan, const T* x, const T* w, const T* bias, T* y, T* scratch) {
  if constexpr (std::is_same_v<T, float>) {
    if (!plan.window.isIdentity() && PanelConv::fits(plan, false))
      return PanelConv::forward(plan).run(x, w, bias, y, scratch);
  }
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
    const Product product{plan.outChannels,
                          count,
                          plan.depth(),
                          false,
                          false,
                          plan.depth(),
                          identity ? positions : count,
                          positions,
                          bias != nullptr};
    multiply(product, T(1), w + group * plan.outChannels * plan.depth(),
             identity ? x + image * inputs + begin : scratch, out);
  });
}

template <class T>
void convInputGradient(const ConvPlan& plan, const T* dy, const T* w, T* dx, T* scratch) {
  if constexpr (std::is_same_v<T, float>) {
    if (!plan.window.isIdentity() && PanelConv::fits(plan, true))
      return PanelConv::inputGradient(plan).run(dy, w, nullptr, dx, scratch);
  }
  const std::int64_t positions = plan.window.positions(), inputs = plan.inChannels * plan.window.inputs();
  const bool identity = plan.window.isIdentity();
  if (!identity) std::fill_n(dx, plan.batch * plan.groups * inputs, T(0));
  forBlocks(plan, [&](std::int64_t image, std::int64_t begin, std::int64_t count) {
    const T* weights = w + image % plan.groups * plan.outChannels * plan.depth();
    const T* gradient = dy + image * plan.outChannels * positions + begin;
    const Product product{plan.depth(), count,        plan.outChannels, true,
                          false,        plan.depth(), positions,        identity ? positions : count,
                          false};
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
    const Product product{
        plan.outChannels, plan.depth(), count, false, true, positions, identity ? positions : count,
        plan.depth(),     true};
    multiply(product, T(1), dy + image * plan.outChannels * positions + begin,
             identity ? x + image * inputs + begin : scratch,
             dw + image % plan.groups * plan.outChannels * plan.depth());
  });
}

template void convForward(const ConvPlan&, const float*, const float*, const float*, float*, float*);
template void convForward(const ConvPlan&, const double*, const double*, const double*, double*, double*);
template void convInputGradient(const ConvPlan&, const float*, const float*, float*, float*);
template void convInputGradient(const ConvPlan&, const double*, const double*, double*, double*);
template void convWeightGradient(const ConvPlan&, const float*, const float*, float*, float*);
template void convWeightGradient(const ConvPlan&, const double*, const double*, double*, double*);

}  // namespace pipescope::ops
