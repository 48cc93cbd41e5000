#include "engine/ops/conv/direct_conv.h"

#include <algorithm>
#include <cstring>

#include "engine/ops/core/axis_rows.h"
#include "engine/ops/core/rounding.h"
#include "engine/ops/kernels/choose.h"

namespace pipescope::ops {
namespace {

using kernels::kernelTable;
using kernels::kPanel;

/// Elements that are staged at a time. They should stay in the cache that the threads share.
constexpr std::int64_t kDirectConvStagedElements = std::int64_t{1} << 20;
/// Multiplications of a task.
constexpr std::int64_t kDirectConvTaskWork = std::int64_t{1} << 21;
constexpr std::int64_t kMostRows = 192, kRowStep = 24, kColumns = 480;
constexpr std::int64_t kDirectConvMostTaps = 256;
/// Number of filters below which too many lanes stay empty.
constexpr std::int64_t kFewestFilters = 6;
/// Measured costs in multiplications by all lanes: starting a segment, and unfolding and packing an element.
constexpr std::int64_t kSegmentCost = 4, kUnfoldCost = 15;
/// Elements that a copying task handles.
constexpr std::int64_t kCopyWork = 16 * 1024;
/// Elements of the buffer in which weights change their order.
constexpr std::int64_t kTapBuffer = 16 * 1024;

}  // namespace

/// The parts of the scratch memory.
struct DirectConv::Scratch {
  float *filters, *staged, *products, *bias, *gradients;
};

bool DirectConv::fits(const ConvSetup& setup, ConvPass pass) {
  // A single tap that takes each input once needs no unfolding at all.
  if (setup.window.axes() > 2 || setup.window.taps() > kDirectConvMostTaps || setup.window.isIdentity())
    return false;
  if (pass == ConvPass::weightGradient) return setup.outChannels >= kFewestFilters;
  const bool gradient = pass == ConvPass::inputGradient;
  const std::int64_t filters = gradient ? setup.inChannels : setup.outChannels;
  const std::int64_t channels = gradient ? setup.outChannels : setup.inChannels;
  // Compares the multiplications, with empty lanes and the start of segments, with those of unfolded blocks
  // and the cost of unfolding.
  const std::int64_t rows = setup.window.kernel.size() == 2 ? setup.window.kernel[0] : 1;
  std::int64_t strides = 1;
  for (const std::int64_t stride : setup.window.stride) strides *= stride;
  const std::int64_t depth = setup.window.taps() * channels / (gradient ? strides : 1) + kSegmentCost * rows;
  const std::int64_t direct =
      (gradient ? setup.window.inputs() : setup.window.positions()) * depth * roundUp(filters, kPanel);
  const std::int64_t unfolded = setup.window.positions() * setup.depth() * (setup.outChannels + kUnfoldCost);
  return direct <= unfolded;
}

DirectConv::DirectConv(const ConvSetup& setup, ConvPass pass)
    : pass_(pass),
      batch_(setup.batch),
      groups_(setup.groups),
      channels_(setup.inChannels),
      filters_(setup.outChannels),
      kernelX_(setup.window.kernel.back()),
      taps_(setup.window.taps()) {
  const Window& w = setup.window;
  const auto axisOf = [&](std::size_t axis) {
    return pass == ConvPass::inputGradient ? gradientConvAxis(w, axis) : forwardConvAxis(w, axis);
  };
  x_ = axisOf(w.axes() - 1);
  if (w.axes() == 2) {
    y_ = axisOf(0);
  } else {
    y_.phases.push_back({0, 1, 0, {0}});
  }
  if (pass == ConvPass::inputGradient) std::swap(channels_, filters_);
  const std::int64_t image = stagedElements() + y_.target * x_.target * lanes();
  images_ = std::clamp<std::int64_t>(kDirectConvStagedElements / std::max<std::int64_t>(1, image), 1,
                                     std::max<std::int64_t>(1, batch_));
  for (std::size_t index = 0; index < phases(); ++index) {
    const Phase phase = phaseAt(index);
    std::vector<std::int64_t>& offsets = tapOffsets_.emplace_back();
    // The taps of a kernel row that are neighbours form one segment with their channels.
    for (std::size_t ty = 0; ty < phase.y->taps.size(); ++ty) {
      for (std::size_t tx = 0;
           tx < (x_.tapStep == 1 ? std::min<std::size_t>(1, phase.x->taps.size()) : phase.x->taps.size());
           ++tx) {
        offsets.push_back((static_cast<std::int64_t>(ty) * y_.tapStep * x_.staged +
                           static_cast<std::int64_t>(tx) * x_.tapStep) *
                          channels_);
      }
    }
  }
  if (pass != ConvPass::weightGradient) return;
  for (std::int64_t i = 0; i < images_; ++i) {
    for (std::int64_t row = 0; row < y_.target; ++row)
      segments_.push_back((i * y_.staged + row * y_.step) * x_.staged * channels_);
  }
  // Sums parts of the images separately if rows alone give too few tasks.
  const std::int64_t rows = phaseAt(0).taps() * channels_;
  rowParts_ = std::max<std::int64_t>(1, ceilDiv(rows, 4 * kRowStep));
  const std::int64_t work = images_ * y_.target * x_.target * rows * lanes();
  imageParts_ = std::clamp<std::int64_t>(std::min(8 / rowParts_, work / kDirectConvTaskWork), 1, images_);
}

std::int64_t DirectConv::lanes() const {
  return roundUp(filters_, kPanel);
}

DirectConv::Phase DirectConv::phaseAt(std::size_t index) const {
  Phase phase{&y_.phases[index / x_.phases.size()], &x_.phases[index % x_.phases.size()], 0};
  for (std::size_t before = 0; before < index; ++before) {
    phase.filters += static_cast<std::int64_t>(y_.phases[before / x_.phases.size()].taps.size() *
                                               x_.phases[before % x_.phases.size()].taps.size());
  }
  phase.filters *= channels_ * lanes();
  return phase;
}

/// Packed weights, or sums of their gradients.
std::int64_t DirectConv::filterElements() const {
  return roundUp(taps_ * channels_ * lanes() * imageParts_, kPanel);
}

std::int64_t DirectConv::productElements() const {
  return images_ * y_.target * x_.target * lanes();
}

std::int64_t DirectConv::scratchElements() const {
  return filterElements() + roundUp(images_ * stagedElements(), kPanel) + productElements() + lanes();
}

DirectConv::Scratch DirectConv::partsOf(float* scratch) const {
  Scratch s{};
  s.filters = scratch;
  s.staged = s.filters + filterElements();
  s.products = s.gradients =
      s.staged + roundUp(images_ * stagedElements(), kPanel);  // panels of dy: the same size
  s.bias = s.products + productElements();
  return s;
}

/// staged: image, row, column, channel.
void DirectConv::stage(const KernelArguments& arguments, const float* x, std::int64_t group,
                       std::int64_t first, std::int64_t images, float* staged) const {
  const std::int64_t begin = std::clamp<std::int64_t>(-x_.origin, 0, x_.staged);
  const std::int64_t end = std::clamp(x_.source - x_.origin, begin, x_.staged);
  const std::int64_t width = x_.staged * channels_, plane = y_.source * x_.source;
  const std::int64_t each = std::clamp<std::int64_t>(kCopyWork / std::max<std::int64_t>(1, width), 1,
                                                     std::max<std::int64_t>(1, y_.staged));
  const std::int64_t rowParts = ceilDiv(y_.staged, each);
  arguments.parallel(images * rowParts, [&](std::int64_t task) {
    const std::int64_t image = task / rowParts, last = std::min(y_.staged, (task % rowParts + 1) * each);
    const float* from = x + ((first + image) * groups_ + group) * channels_ * plane;
    for (std::int64_t row = task % rowParts * each; row < last; ++row) {
      float* to = staged + image * stagedElements() + row * width;
      const std::int64_t at = row * y_.pick + y_.origin;
      if (at < 0 || at >= y_.source || begin == end) {
        std::fill_n(to, width, 0.0F);
        continue;
      }
      std::fill_n(to, begin * channels_, 0.0F);
      std::fill_n(to + end * channels_, (x_.staged - end) * channels_, 0.0F);
      const float* line = from + at * x_.source + begin + x_.origin;
      if (channels_ == 1) {
        std::copy_n(line, end - begin, to + begin);
      } else {
        kernelTable().transpose(line, plane, channels_, end - begin, to + begin * channels_, channels_);
      }
    }
  });
}

/// Packs sixteen filters of a phase in the order tap, channel, lane.
void DirectConv::packFilterPanel(const Phase& phase, const float* w, std::int64_t panel, float* to) const {
  const bool turned = pass_ == ConvPass::inputGradient;
  const std::int64_t own = std::min(kPanel, filters_ - panel * kPanel);
  const std::int64_t filterStride = turned ? taps_ : channels_ * taps_,
                     channelStride = turned ? filters_ * taps_ : taps_;
  alignas(64) float taps[kDirectConvMostTaps * kPanel];
  std::fill_n(taps, taps_ * kPanel, 0.0F);
  for (std::int64_t channel = 0; channel < channels_; ++channel) {
    kernelTable().transpose(w + panel * kPanel * filterStride + channel * channelStride, filterStride, own,
                            taps_, taps, kPanel);
    float* out = to + channel * kPanel;
    for (const std::int64_t ty : phase.y->taps) {
      for (const std::int64_t tx : phase.x->taps) {
        std::memcpy(out, taps + (ty * kernelX_ + tx) * kPanel, kPanel * sizeof(float));
        out += channels_ * kPanel;
      }
    }
  }
}

void DirectConv::packFilters(const KernelArguments& arguments, const float* w, std::int64_t group,
                             float* filters) const {
  const std::int64_t panels = lanes() / kPanel;
  const float* own = w + group * channels_ * filters_ * taps_;
  arguments.parallel(static_cast<std::int64_t>(phases()) * panels, [&](std::int64_t task) {
    const Phase phase = phaseAt(static_cast<std::size_t>(task / panels));
    const std::int64_t panel = task % panels;
    packFilterPanel(phase, own, panel, filters + phase.filters + panel * phase.taps() * channels_ * kPanel);
  });
}

void DirectConv::multiplyRows(const Phase& phase, std::int64_t row, std::int64_t rows, std::int64_t column,
                              std::int64_t columns, const Scratch& s, bool bias, bool relu) const {
  std::int64_t offsets[kMostRows], targets[kMostRows];
  const std::int64_t ofImage = phase.y->count * phase.x->count;
  std::int64_t image = row / ofImage, at = row % ofImage;
  std::int64_t line = at / phase.x->count, place = at % phase.x->count;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t fromRow = phase.y->start + line * y_.step,
                       fromColumn = phase.x->start + place * x_.step;
    offsets[r] = ((image * y_.staged + fromRow) * x_.staged + fromColumn) * channels_;
    const std::int64_t toRow = phase.y->first + line * y_.spread,
                       toColumn = phase.x->first + place * x_.spread;
    targets[r] = ((image * y_.target + toRow) * x_.target + toColumn) * lanes();
    if (++place < phase.x->count) continue;
    place = 0;
    if (++line < phase.y->count) continue;
    line = 0;
    ++image;
  }
  const std::int64_t depth = phase.taps() * channels_;
  if (depth == 0) {
    for (std::int64_t r = 0; r < rows; ++r) {
      if (bias) {
        std::copy_n(s.bias + column, columns, s.products + targets[r] + column);
      } else {
        std::fill_n(s.products + targets[r] + column, columns, 0.0F);
      }
      if (relu) reluInPlace(s.products + targets[r] + column, columns);
    }
    return;
  }
  const std::size_t index =
      static_cast<std::size_t>((phase.y - y_.phases.data()) * static_cast<std::ptrdiff_t>(x_.phases.size()) +
                               (phase.x - x_.phases.data()));
  kernels::RowProduct p;
  p.a = s.staged;
  p.rowOffsets = offsets;
  p.segmentOffsets = tapOffsets_[index].data();
  p.segments = static_cast<std::int64_t>(tapOffsets_[index].size());
  p.length = p.last = depth / p.segments;
  p.b = s.filters + phase.filters + column * depth;
  p.panelStride = depth * kPanel;
  p.c = s.products + column;
  p.rowTargets = targets;
  p.rows = rows;
  p.columns = columns;
  p.bias = bias ? s.bias + column : nullptr;
  p.relu = relu;
  kernelTable().multiplyRows(p);
}

void DirectConv::multiply(const KernelArguments& arguments, std::size_t index, std::int64_t images,
                          const Scratch& s, bool bias, bool relu) const {
  const Phase phase = phaseAt(index);
  const std::int64_t rows = images * phase.y->count * phase.x->count, columns = lanes();
  const std::int64_t columnParts = ceilDiv(columns, kColumns);
  const std::int64_t each =
      std::clamp(kDirectConvTaskWork /
                     std::max<std::int64_t>(1, phase.taps() * channels_ * std::min(columns, kColumns)) /
                     kRowStep * kRowStep,
                 kRowStep, kMostRows);
  const std::int64_t rowParts = ceilDiv(rows, each);
  arguments.parallel(rowParts * columnParts, [&](std::int64_t task) {
    const std::int64_t row = task / columnParts * each, column = task % columnParts * kColumns;
    multiplyRows(phase, row, std::min(each, rows - row), column, std::min(kColumns, columns - column), s,
                 bias, relu);
  });
}

void DirectConv::unstage(const KernelArguments& arguments, const float* products, std::int64_t group,
                         std::int64_t first, std::int64_t images, float* y) const {
  const std::int64_t positions = y_.target * x_.target,
                     each = std::clamp<std::int64_t>(kCopyWork / std::max<std::int64_t>(1, lanes()), 1,
                                                     positions);
  const std::int64_t pieces = ceilDiv(positions, each);
  arguments.parallel(images * pieces, [&](std::int64_t task) {
    const std::int64_t image = task / pieces, at = task % pieces * each;
    kernelTable().transpose(products + (image * positions + at) * lanes(), lanes(),
                            std::min(each, positions - at), filters_,
                            y + ((first + image) * groups_ + group) * filters_ * positions + at, positions);
  });
}

void DirectConv::run(const KernelArguments& arguments, const float* x, const float* w, const float* bias,
                     bool relu, float* y, float* scratch) const {
  const Scratch s = partsOf(scratch);
  std::fill_n(s.bias, lanes(), 0.0F);
  for (std::int64_t group = 0; group < groups_; ++group) {
    if (bias) std::copy_n(bias + group * filters_, filters_, s.bias);
    packFilters(arguments, w, group, s.filters);
    for (std::int64_t first = 0; first < batch_; first += images_) {
      const std::int64_t images = std::min(images_, batch_ - first);
      stage(arguments, x, group, first, images, s.staged);
      for (std::size_t phase = 0; phase < phases(); ++phase)
        multiply(arguments, phase, images, s, bias != nullptr, relu);
      unstage(arguments, s.products, group, first, images, y);
    }
  }
}

/// Sums by tap, channel and filter over the positions of some images.
void DirectConv::sumTaps(const KernelArguments& arguments, std::int64_t first, std::int64_t images,
                         const Scratch& s) const {
  const Phase phase = phaseAt(0);
  const std::int64_t rows = phase.taps() * channels_, positions = y_.target * x_.target,
                     own = ceilDiv(images_, imageParts_);
  arguments.parallel(rowParts_ * imageParts_, [&](std::int64_t task) {
    const std::int64_t part = task / rowParts_, image = part * own, count = std::min(own, images - image);
    std::int64_t offsets[4 * kRowStep];
    kernels::RowProduct p;
    const std::int64_t row = task % rowParts_ * 4 * kRowStep;
    p.rows = std::min(4 * kRowStep, rows - row);
    for (std::int64_t r = 0; r < p.rows; ++r) {
      const std::int64_t tap = (row + r) / channels_, width = static_cast<std::int64_t>(phase.x->taps.size());
      offsets[r] = (tap / width * y_.tapStep * x_.staged + tap % width * x_.tapStep) * channels_ +
                   (row + r) % channels_;
    }
    p.c = s.filters + (part * rows + row) * lanes();
    p.ldc = p.columns = lanes();
    if (count <= 0) {
      if (first == 0) std::fill_n(p.c, p.rows * lanes(), 0.0F);
      return;
    }
    p.a = s.staged;
    p.rowOffsets = offsets;
    p.segmentOffsets = segments_.data() + image * y_.target;
    p.segments = count * y_.target;
    p.length = p.last = x_.target;
    p.step = x_.step * channels_;
    p.b = s.gradients + image * positions * kPanel;
    p.panelStride = images * positions * kPanel;
    p.accumulate = first > 0;
    kernelTable().multiplyRows(p);
  });
}

/// Adds the parts up in ascending order, and puts them into the order of the weights.
void DirectConv::unpackSums(const KernelArguments& arguments, const Scratch& s, float* dw) const {
  const Phase phase = phaseAt(0);
  const std::int64_t rows = phase.taps() * channels_,
                     each = std::max<std::int64_t>(1, kTapBuffer / kPanel / taps_);
  arguments.parallel(lanes() / kPanel, [&](std::int64_t panel) {
    alignas(64) float buffer[kTapBuffer];
    const std::int64_t own = std::min(kPanel, filters_ - panel * kPanel);
    for (std::int64_t channel = 0; channel < channels_; channel += each) {
      const std::int64_t count = std::min(each, channels_ - channel);
      std::fill_n(buffer, count * taps_ * kPanel, 0.0F);  // taps that meet only padding
      std::int64_t tap = 0;
      for (const std::int64_t ty : phase.y->taps) {
        for (const std::int64_t tx : phase.x->taps) {
          for (std::int64_t c = 0; c < count; ++c) {
            float* to = buffer + (c * taps_ + ty * kernelX_ + tx) * kPanel;
            const float* from = s.filters + (tap * channels_ + channel + c) * lanes() + panel * kPanel;
            for (std::int64_t part = 0; part < imageParts_; ++part, from += rows * lanes()) {
              for (std::int64_t lane = 0; lane < kPanel; ++lane) to[lane] += from[lane];
            }
          }
          ++tap;
        }
      }
      kernelTable().transpose(buffer, kPanel, count * taps_, own,
                              dw + (panel * kPanel * channels_ + channel) * taps_, channels_ * taps_);
    }
  });
}

void DirectConv::weightGradient(const KernelArguments& arguments, const float* x, const float* dy, float* dw,
                                float* scratch) const {
  const Scratch s = partsOf(scratch);
  const std::int64_t positions = y_.target * x_.target;
  for (std::int64_t group = 0; group < groups_; ++group) {
    for (std::int64_t first = 0; first < batch_ && phaseAt(0).taps() > 0; first += images_) {
      const std::int64_t images = std::min(images_, batch_ - first);
      stage(arguments, x, group, first, images, s.staged);
      arguments.parallel(images, [&](std::int64_t image) {
        const float* from = dy + ((first + image) * groups_ + group) * filters_ * positions;
        kernelTable().packColumns(from, positions, positions, filters_,
                                  s.gradients + image * positions * kPanel, images * positions * kPanel);
      });
      sumTaps(arguments, first, images, s);
    }
    unpackSums(arguments, s, dw + group * channels_ * filters_ * taps_);
  }
}

}  // namespace pipescope::ops
