#include "engine/ops/conv/conv_kernels.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "engine/ops/conv/direct_conv.h"
#include "engine/ops/conv/plane_conv.h"
#include "engine/ops/conv/row_conv.h"
#include "engine/ops/conv/winograd_conv.h"
#include "engine/ops/core/axis_rows.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/matrix.h"
#include "engine/ops/kernels/choose.h"

namespace pipescope::ops {
namespace {

/// Elements of an unfolded block: half of a usual second-level cache.
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

/// A piece of an output row under one tap: `count` columns of the block from `at` on. `source` is the offset
/// of the first one's input within its plane; −1: padding.
struct Piece {
  std::int64_t at = 0, count = 0, source = 0;
};

/// The output positions [begin, begin + count) under one tap, as pieces of rows.
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

/// Without padding, every output row of a plane reads whole input rows at equal distances. Most convolutions
/// are like that, and this walk is much faster. It works for whole rows of two spatial axes only.
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

/// Elements that are copied or added at a time. Pieces are often as short as a row of eight.
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

/// Fills columns (depth × count) with the input under every tap at output positions [begin, begin + count).
template <class T>
void unfold(const ConvSetup& setup, const T* x, std::int64_t begin, std::int64_t count, T* columns) {
  const Window& w = setup.window;
  const std::int64_t stride = w.stride.back(), taps = w.taps(), inputs = w.inputs();
  const bool plain = isPlain(w, begin, count);
  Odometer tap(w.kernel.data(), w.axes());
  for (std::int64_t channel = 0; channel < setup.inChannels; ++channel, x += inputs) {
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

/// Adds the columns back to the places from which unfold() took them.
template <class T>
void fold(const ConvSetup& setup, const T* columns, std::int64_t begin, std::int64_t count, T* dx) {
  const Window& w = setup.window;
  const std::int64_t stride = w.stride.back(), taps = w.taps(), inputs = w.inputs();
  const bool plain = isPlain(w, begin, count);
  Odometer tap(w.kernel.data(), w.axes());
  for (std::int64_t channel = 0; channel < setup.inChannels; ++channel, dx += inputs) {
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

/// Calls body(image·groups + group, first position, positions) for every block of some images in ascending
/// order.
template <class Body>
void forBlocks(const ConvSetup& setup, std::int64_t first, std::int64_t end, Body body) {
  const std::int64_t positions = setup.window.positions(), step = setup.blockPositions();
  for (std::int64_t image = first; image < end; ++image) {
    for (std::int64_t begin = 0; begin < positions; begin += step)
      body(image, begin, std::min(step, positions - begin));
  }
}

/// The number of tasks that share the images and groups, each with its own scratch and sums.
std::int64_t unfoldedTasks(const ConvSetup& setup, ConvPass pass) {
  constexpr std::int64_t kMost = 8, kMostSums = std::int64_t{1} << 20;
  const std::int64_t images = setup.batch * setup.groups,
                     work = images * setup.window.positions() * setup.depth() * setup.outChannels;
  std::int64_t tasks = std::clamp<std::int64_t>(work >> 20, 1, std::clamp<std::int64_t>(images, 1, kMost));
  if (pass == ConvPass::weightGradient && tasks * setup.weights() > kMostSums) tasks = 1;
  return tasks;
}

template <class T>
std::int64_t panelElements(const ConvSetup& setup) {
  if (!std::is_same_v<T, float>) return 0;
  constexpr std::int64_t kPanel = kernels::kPanel;
  return (setup.blockPositions() + kPanel) * (std::max(setup.depth(), setup.outChannels) + kPanel);
}

/// The scratch memory of one task.
template <class T>
std::int64_t unfoldedElements(const ConvSetup& setup) {
  return paddedElements<T>(setup.blockPositions() * setup.depth()) +
         paddedElements<T>(panelElements<T>(setup));
}

/// The product of one block. In float32 the hot kernels compute it, with B packed into `panels`.
template <class T>
void multiplyBlock(const Product& p, const T* a, const T* b, T* c, [[maybe_unused]] T* panels) {
  if constexpr (std::is_same_v<T, float>) {
    const kernels::KernelTable& table = kernels::kernelTable();
    (p.transposeB ? table.packColumns : table.packRows)(b, p.ldb, p.k, p.n, panels, p.k * kernels::kPanel);
    kernels::RowProduct rows;
    rows.a = a;
    rows.rowStride = p.transposeA ? 1 : p.lda;
    rows.blockStride = kernels::kPanel * rows.rowStride;
    rows.step = p.transposeA ? p.lda : 1;
    rows.length = rows.last = p.k;
    rows.b = panels;
    rows.panelStride = p.k * kernels::kPanel;
    rows.c = c;
    rows.ldc = p.ldc;
    rows.rows = p.m;
    rows.columns = p.n;
    rows.accumulate = p.accumulate;
    table.multiplyRows(rows);
  } else {
    multiply(p, T(1), a, b, c);
  }
}

/// Calls body(first image, end, scratch, panels) for the images of each task.
template <class T, class Body>
void forImages(const KernelArguments& arguments, const ConvSetup& setup, std::int64_t tasks, T* scratch,
               const Body& body) {
  const std::int64_t images = setup.batch * setup.groups;
  arguments.parallel(tasks, [&](std::int64_t task) {
    T* own = scratch + task * unfoldedElements<T>(setup);
    body(images * task / tasks, images * (task + 1) / tasks, own,
         own + paddedElements<T>(setup.blockPositions() * setup.depth()), task);
  });
}

template <class T>
void unfoldedForward(const KernelArguments& arguments, const ConvSetup& setup, const T* x, const T* w,
                     const T* bias, T* y, T* scratch) {
  const std::int64_t positions = setup.window.positions(), inputs = setup.inChannels * setup.window.inputs();
  const bool identity = setup.window.isIdentity();
  forImages(arguments, setup, unfoldedTasks(setup, ConvPass::forward), scratch,
            [&](std::int64_t first, std::int64_t end, T* columns, T* panels, std::int64_t) {
              forBlocks(setup, first, end, [&](std::int64_t image, std::int64_t begin, std::int64_t count) {
                const std::int64_t group = image % setup.groups;
                if (!identity) unfold(setup, x + image * inputs, begin, count, columns);
                T* out = y + image * setup.outChannels * positions + begin;
                if (bias) {
                  for (std::int64_t m = 0; m < setup.outChannels; ++m)
                    std::fill_n(out + m * positions, count, bias[group * setup.outChannels + m]);
                }
                const Product product{setup.outChannels,
                                      count,
                                      setup.depth(),
                                      false,
                                      false,
                                      setup.depth(),
                                      identity ? positions : count,
                                      positions,
                                      bias != nullptr};
                multiplyBlock(product, w + group * setup.outChannels * setup.depth(),
                              identity ? x + image * inputs + begin : columns, out, panels);
              });
            });
}

template <class T>
void unfoldedInputGradient(const KernelArguments& arguments, const ConvSetup& setup, const T* dy, const T* w,
                           T* dx, T* scratch) {
  const std::int64_t positions = setup.window.positions(), inputs = setup.inChannels * setup.window.inputs();
  const bool identity = setup.window.isIdentity();
  forImages(
      arguments, setup, unfoldedTasks(setup, ConvPass::inputGradient), scratch,
      [&](std::int64_t first, std::int64_t end, T* columns, T* panels, std::int64_t) {
        if (!identity) std::fill_n(dx + first * inputs, (end - first) * inputs, T(0));
        forBlocks(setup, first, end, [&](std::int64_t image, std::int64_t begin, std::int64_t count) {
          const T* weights = w + image % setup.groups * setup.outChannels * setup.depth();
          const T* gradient = dy + image * setup.outChannels * positions + begin;
          const Product product{setup.depth(), count,         setup.outChannels, true,
                                false,         setup.depth(), positions,         identity ? positions : count,
                                false};
          multiplyBlock(product, weights, gradient, identity ? dx + image * inputs + begin : columns, panels);
          if (!identity) fold(setup, columns, begin, count, dx + image * inputs);
        });
      });
}

/// Each task sums its images; then the sums of the tasks are added up in order.
template <class T>
void unfoldedWeightGradient(const KernelArguments& arguments, const ConvSetup& setup, const T* x, const T* dy,
                            T* dw, T* scratch) {
  const std::int64_t positions = setup.window.positions(), inputs = setup.inChannels * setup.window.inputs();
  const std::int64_t tasks = unfoldedTasks(setup, ConvPass::weightGradient), weights = setup.weights();
  const bool identity = setup.window.isIdentity();
  T* sums = scratch + tasks * unfoldedElements<T>(setup);
  forImages(
      arguments, setup, tasks, scratch,
      [&](std::int64_t first, std::int64_t end, T* columns, T* panels, std::int64_t task) {
        T* own = tasks == 1 ? dw : sums + task * weights;
        std::fill_n(own, weights, T(0));
        forBlocks(setup, first, end, [&](std::int64_t image, std::int64_t begin, std::int64_t count) {
          if (!identity) unfold(setup, x + image * inputs, begin, count, columns);
          const Product product{
              setup.outChannels, setup.depth(), count, false, true, positions, identity ? positions : count,
              setup.depth(),     true};
          multiplyBlock(product, dy + image * setup.outChannels * positions + begin,
                        identity ? x + image * inputs + begin : columns,
                        own + image % setup.groups * setup.outChannels * setup.depth(), panels);
        });
      });
  if (tasks == 1) return;
  std::copy_n(sums, weights, dw);
  for (std::int64_t task = 1; task < tasks; ++task) {
    for (std::int64_t i = 0; i < weights; ++i) dw[i] += sums[task * weights + i];
  }
}

}  // namespace

std::int64_t ConvSetup::blockPositions() const {
  const std::int64_t most = std::max<std::int64_t>(64, kBlockElements / std::max<std::int64_t>(1, depth()));
  const std::int64_t width = window.output.back();
  // Takes whole rows if one fits.
  return std::min(window.positions(), most < width ? most : most / width * width);
}

template <class T>
Convolution<T>::Convolution(const ConvSetup& setup, ConvPass pass) : setup_(setup) {
  if constexpr (std::is_same_v<T, float>) {
    if (RowConv::fits(setup, pass)) {
      rows_ = std::make_shared<const RowConv>(setup, pass);
      scratchElements_ = rows_->scratchElements();
      return;
    }
    if (PlaneConv::fits(setup)) {
      planes_ = std::make_shared<const PlaneConv>(setup);
      return;
    }
    if (DirectConv::fits(setup, pass)) {
      direct_ = std::make_shared<const DirectConv>(setup, pass);
      scratchElements_ = direct_->scratchElements();
      if (!WinogradConv::fits(setup)) return;
      winograd_ = std::make_shared<const WinogradConv>(setup, pass);
      scratchElements_ = std::max(scratchElements_, winograd_->scratchElements());
      return;
    }
  }
  const std::int64_t tasks = unfoldedTasks(setup, pass);
  scratchElements_ =
      tasks * unfoldedElements<T>(setup) + (pass == ConvPass::weightGradient ? tasks * setup.weights() : 0);
}

template <class T>
void Convolution<T>::forward(const KernelArguments& arguments, const T* x, const T* w, const T* bias,
                             bool relu, T* y, T* scratch) const {
  if constexpr (std::is_same_v<T, float>) {
    if (winograd_ && winograd_->run(arguments, x, w, bias, relu, y, scratch)) return;
    if (rows_) return rows_->forward(arguments, x, w, bias, relu, y, scratch);
    if (planes_) return planes_->forward(arguments, x, w, bias, relu, y);
    if (direct_) return direct_->run(arguments, x, w, bias, relu, y, scratch);
  }
  unfoldedForward(arguments, setup_, x, w, bias, y, scratch);
  if (relu) reluInPlace(y, setup_.batch * setup_.groups * setup_.outChannels * setup_.window.positions());
}

template <class T>
void Convolution<T>::inputGradient(const KernelArguments& arguments, const T* dy, const T* w, T* dx,
                                   T* scratch) const {
  if constexpr (std::is_same_v<T, float>) {
    if (winograd_ && winograd_->run(arguments, dy, w, nullptr, false, dx, scratch)) return;
    if (rows_) return rows_->inputGradient(arguments, dy, w, dx, scratch);
    if (planes_) return planes_->inputGradient(arguments, dy, w, dx);
    if (direct_) return direct_->run(arguments, dy, w, nullptr, false, dx, scratch);
  }
  unfoldedInputGradient(arguments, setup_, dy, w, dx, scratch);
}

template <class T>
void Convolution<T>::weightGradient(const KernelArguments& arguments, const T* x, const T* dy, T* dw,
                                    T* scratch) const {
  if constexpr (std::is_same_v<T, float>) {
    if (winograd_ && winograd_->weightGradient(arguments, x, dy, dw, scratch)) return;
    if (rows_) return rows_->weightGradient(arguments, x, dy, dw, scratch);
    if (planes_) return planes_->weightGradient(arguments, x, dy, dw);
    if (direct_) return direct_->weightGradient(arguments, x, dy, dw, scratch);
  }
  unfoldedWeightGradient(arguments, setup_, x, dy, dw, scratch);
}

template class Convolution<float>;
template class Convolution<double>;

}  // namespace pipescope::ops
