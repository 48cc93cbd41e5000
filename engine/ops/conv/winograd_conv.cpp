#include "engine/ops/conv/winograd_conv.h"

#include <algorithm>
#include <atomic>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/rounding.h"
#include "engine/ops/kernels/choose.h"

namespace pipescope::ops {
namespace {

using kernels::kernelTable;
using kernels::kPanel;

constexpr std::int64_t kFrequencies = 16, kTaps = 9;
/// Transformed tiles and products of a range. They should stay in the cache that the threads share.
constexpr std::int64_t kWinogradRangeElements = std::int64_t{1} << 20;
/// Tile rows of a task of the transforms, and rows of a task of the products.
constexpr std::int64_t kTileRowsOfTask = 4, kRowsOfTask = 192;
/// Number of channels below which too many lanes of a panel stay empty.
constexpr std::int64_t kFewestChannels = 16;

}  // namespace

bool WinogradConv::fits(const ConvSetup& setup) {
  const Window& w = setup.window;
  if (w.axes() != 2 || std::min(setup.inChannels, setup.outChannels) < kFewestChannels) return false;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (w.kernel[axis] != 3 || w.stride[axis] != 1 || w.dilation[axis] != 1) return false;
    if (w.padBegin[axis] > 2 || w.padEnd[axis] > 2) return false;
  }
  if (2 * ceilDiv(std::max(w.input[1], w.output[1]), 2) + 2 > kernels::kStagedColumns) return false;
  // Compares the multiplications of tiles with those of all taps; the transforms cost about a quarter more.
  const std::int64_t tiles = ceilDiv(w.output[0], 2) * ceilDiv(w.output[1], 2);
  return tiles * kFrequencies * 5 / 4 < w.positions() * kTaps;
}

WinogradConv::WinogradConv(const ConvSetup& setup, ConvPass pass)
    : pass_(pass),
      batch_(setup.batch),
      groups_(setup.groups),
      inChannels_(setup.inChannels),
      outChannels_(setup.outChannels),
      height_(setup.window.input[0]),
      width_(setup.window.input[1]),
      outHeight_(setup.window.output[0]),
      outWidth_(setup.window.output[1]),
      padTop_(setup.window.padBegin[0]),
      padLeft_(setup.window.padBegin[1]) {
  if (pass == ConvPass::inputGradient) {
    std::swap(inChannels_, outChannels_);
    std::swap(height_, outHeight_);
    std::swap(width_, outWidth_);
    padTop_ = 2 - padTop_;
    padLeft_ = 2 - padLeft_;
  }
  tileRows_ = ceilDiv(outHeight_, 2);
  tilesPerRow_ = ceilDiv(outWidth_, 2);
  // Ranges may hold at least half as much as the filters, because these are read once for every range.
  const std::int64_t most = std::max(kWinogradRangeElements, filterElements() / 2);
  const std::int64_t row =
      kFrequencies * (roundUp(inChannels_, kPanel) + roundUp(outChannels_, kPanel)) * tilesPerRow_;
  rangeRows_ = std::clamp<std::int64_t>(most / row, 1, std::max<std::int64_t>(1, batch_ * tileRows_));
}

std::int64_t WinogradConv::filterElements() const {
  return kFrequencies * roundUp(inChannels_, kPanel) * roundUp(outChannels_, kPanel);
}

std::int64_t WinogradConv::scratchElements() const {
  const std::int64_t row =
      kFrequencies * (roundUp(inChannels_, kPanel) + roundUp(outChannels_, kPanel)) * tilesPerRow_;
  return filterElements() + rangeRows_ * row;
}

/// Calls body(first tile row, rows, image, tile row within it, block) by tasks of some rows of one image.
template <class Body>
void WinogradConv::forTileRows(const KernelArguments& arguments, const Range& range, std::int64_t blocks,
                               const Body& body) const {
  const std::int64_t tasks = ceilDiv(range.count, kTileRowsOfTask);
  arguments.parallel(tasks * blocks, [&](std::int64_t task) {
    const std::int64_t end = std::min(range.count, (task % tasks + 1) * kTileRowsOfTask);
    for (std::int64_t at = task % tasks * kTileRowsOfTask; at < end;) {
      const std::int64_t row = range.first + at, within = row % tileRows_;
      const std::int64_t rows = std::min(end - at, tileRows_ - within);
      body(at, rows, row / tileRows_, within, task / tasks);
      at += rows;
    }
  });
}

kernels::WinogradTiles WinogradConv::tilesOf(std::int64_t image, std::int64_t group, std::int64_t block,
                                             std::int64_t channels, const float* planes, std::int64_t height,
                                             std::int64_t width) const {
  kernels::WinogradTiles t;
  const std::int64_t first = (image * groups_ + group) * channels + block * kPanel;
  t.planes = const_cast<float*>(planes) + first * height * width;  // the input transforms only read
  t.planeStride = height * width;
  t.height = height;
  t.width = width;
  t.channels = std::min(kPanel, channels - block * kPanel);
  t.padTop = padTop_;
  t.padLeft = padLeft_;
  t.tilesPerRow = tilesPerRow_;
  return t;
}

/// filters: frequency, panel of sixteen filters, channel, lane.
void WinogradConv::transformFilters(const KernelArguments& arguments, const float* w, std::int64_t group,
                                    float* filters) const {
  const std::int64_t panels = ceilDiv(outChannels_, kPanel), depth = inChannels_;
  arguments.parallel(panels, [&](std::int64_t panel) {
    kernels::WinogradFilters f;
    const bool turned = pass_ == ConvPass::inputGradient;
    // The forward convolution stores (out, in); turned around it is (in, out).
    f.filterStride = turned ? kTaps : inChannels_ * kTaps;
    f.channelStride = turned ? outChannels_ * kTaps : kTaps;
    f.weights = w + group * outChannels_ * inChannels_ * kTaps + panel * kPanel * f.filterStride;
    f.filters = std::min(kPanel, outChannels_ - panel * kPanel);
    f.channels = inChannels_;
    f.turned = turned;
    f.transformed = filters + panel * depth * kPanel;
    f.frequencyStride = panels * depth * kPanel;
    f.transformedStride = kPanel;
    kernelTable().winogradFilters(f);
  });
}

/// tiles: frequency, block of sixteen channels, tile, lane.
void WinogradConv::transformInput(const KernelArguments& arguments, const Range& range, const float* x,
                                  std::int64_t group, float* to) const {
  const std::int64_t blocks = ceilDiv(inChannels_, kPanel), all = tiles(range);
  forTileRows(
      arguments, range, blocks,
      [&](std::int64_t at, std::int64_t rows, std::int64_t image, std::int64_t within, std::int64_t block) {
        kernels::WinogradTiles t = tilesOf(image, group, block, inChannels_, x, height_, width_);
        t.tileRow = within;
        t.tileRows = rows;
        t.tiles = to + (block * all + at * tilesPerRow_) * kPanel;
        t.frequencyStride = blocks * all * kPanel;
        t.tileStride = kPanel;
        kernelTable().winogradInput(t);
      });
}

/// products: frequency, tile, filter.
void WinogradConv::multiply(const KernelArguments& arguments, const Range& range, const float* from,
                            const float* filters, float* products) const {
  const std::int64_t all = tiles(range), blocks = ceilDiv(inChannels_, kPanel),
                     panels = ceilDiv(outChannels_, kPanel);
  const std::int64_t ofFrequency = ceilDiv(all, kRowsOfTask);
  arguments.parallel(kFrequencies * ofFrequency, [&](std::int64_t task) {
    const std::int64_t frequency = task / ofFrequency, row = task % ofFrequency * kRowsOfTask;
    kernels::RowProduct p;
    p.a = from + (frequency * blocks * all + row) * kPanel;
    p.rowStride = kPanel;
    p.blockStride = kPanel * kPanel;
    p.segments = blocks;
    p.length = kPanel;
    p.segmentStride = all * kPanel;
    p.last = inChannels_ - (blocks - 1) * kPanel;
    p.b = filters + frequency * panels * inChannels_ * kPanel;
    p.panelStride = inChannels_ * kPanel;
    p.c = products + (frequency * all + row) * panels * kPanel;
    p.ldc = panels * kPanel;
    p.rows = std::min(kRowsOfTask, all - row);
    p.columns = panels * kPanel;
    kernelTable().multiplyRows(p);
  });
}

bool WinogradConv::transformOutput(const KernelArguments& arguments, const Range& range,
                                   const float* products, const float* bias, bool relu, std::int64_t group,
                                   float* y) const {
  const std::int64_t all = tiles(range), blocks = ceilDiv(outChannels_, kPanel);
  std::atomic<bool> finite = true;
  forTileRows(
      arguments, range, blocks,
      [&](std::int64_t at, std::int64_t rows, std::int64_t image, std::int64_t within, std::int64_t block) {
        kernels::WinogradTiles t = tilesOf(image, group, block, outChannels_, y, outHeight_, outWidth_);
        t.tileRow = within;
        t.tileRows = rows;
        t.tiles =
            const_cast<float*>(products) + (at * tilesPerRow_ * blocks + block) * kPanel;  // only read here
        t.frequencyStride = all * blocks * kPanel;
        t.tileStride = blocks * kPanel;
        t.bias = bias ? bias + group * outChannels_ + block * kPanel : nullptr;
        t.relu = relu;
        if (!kernelTable().winogradOutput(t)) finite = false;
      });
  return finite;
}

bool WinogradConv::run(const KernelArguments& arguments, const float* x, const float* w, const float* bias,
                       bool relu, float* y, float* scratch) const {
  float* filters = scratch;
  float* tilesAt = filters + filterElements();
  float* products = tilesAt + rangeRows_ * tilesPerRow_ * kFrequencies * roundUp(inChannels_, kPanel);
  for (std::int64_t group = 0; group < groups_; ++group) {
    transformFilters(arguments, w, group, filters);
    for (std::int64_t first = 0; first < batch_ * tileRows_; first += rangeRows_) {
      const Range range{first, std::min(rangeRows_, batch_ * tileRows_ - first)};
      transformInput(arguments, range, x, group, tilesAt);
      multiply(arguments, range, tilesAt, filters, products);
      if (!transformOutput(arguments, range, products, bias, relu, group, y)) return false;
    }
  }
  return true;
}

/// The sums of a frequency run over tiles. Rows are input channels and columns are filters.
bool WinogradConv::weightGradient(const KernelArguments& arguments, const float* x, const float* dy,
                                  float* dw, float* scratch) const {
  const std::int64_t blocks = ceilDiv(inChannels_, kPanel), panels = ceilDiv(outChannels_, kPanel);
  float* sums = scratch;  // frequency, input channel, filter
  float* tilesAt = sums + filterElements();
  float* gradients = tilesAt + rangeRows_ * tilesPerRow_ * kFrequencies * blocks * kPanel;
  const std::int64_t ofFrequency = ceilDiv(inChannels_, kRowsOfTask);
  for (std::int64_t group = 0; group < groups_; ++group) {
    for (std::int64_t first = 0; first < batch_ * tileRows_; first += rangeRows_) {
      const Range range{first, std::min(rangeRows_, batch_ * tileRows_ - first)};
      const std::int64_t all = tiles(range);
      transformInput(arguments, range, x, group, tilesAt);
      forTileRows(arguments, range, panels,
                  [&](std::int64_t at, std::int64_t rows, std::int64_t image, std::int64_t within,
                      std::int64_t panel) {
                    kernels::WinogradTiles t =
                        tilesOf(image, group, panel, outChannels_, dy, outHeight_, outWidth_);
                    t.tileRow = within;
                    t.tileRows = rows;
                    t.tiles = gradients + (panel * all + at * tilesPerRow_) * kPanel;
                    t.frequencyStride = panels * all * kPanel;
                    t.tileStride = kPanel;
                    kernelTable().winogradOutputGradient(t);
                  });
      arguments.parallel(kFrequencies * ofFrequency, [&](std::int64_t task) {
        const std::int64_t frequency = task / ofFrequency, row = task % ofFrequency * kRowsOfTask;
        kernels::RowProduct p;
        p.a = tilesAt + (frequency * blocks + row / kPanel) * all * kPanel;
        p.rowStride = 1;
        p.blockStride = all * kPanel;
        p.step = kPanel;
        p.length = p.last = all;
        p.b = gradients + frequency * panels * all * kPanel;
        p.panelStride = all * kPanel;
        p.c = sums + (frequency * inChannels_ + row) * panels * kPanel;
        p.ldc = panels * kPanel;
        p.rows = std::min(kRowsOfTask, inChannels_ - row);
        p.columns = panels * kPanel;
        p.accumulate = first > 0;
        kernelTable().multiplyRows(p);
      });
    }
    std::atomic<bool> finite = true;
    arguments.parallel(panels, [&](std::int64_t panel) {
      kernels::WinogradFilters f;
      f.filterStride = inChannels_ * kTaps;
      f.filters = std::min(kPanel, outChannels_ - panel * kPanel);
      f.channels = inChannels_;
      f.transformed = sums + panel * kPanel;
      f.frequencyStride = inChannels_ * panels * kPanel;
      f.transformedStride = panels * kPanel;
      float* to = dw + (group * outChannels_ + panel * kPanel) * inChannels_ * kTaps;
      if (!kernelTable().winogradFilterGradient(f, to)) finite = false;
    });
    if (!finite) return false;
  }
  return true;
}

}  // namespace pipescope::ops
