#include "engine/ops/conv_panels.h"

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define PIPESCOPE_PANELS 1
#endif

namespace pipescope::ops {
namespace {

constexpr std::int64_t kRows = 6, kColumns = 16;
/// Packed weights of a block of channels stay in the second-level cache.
constexpr std::int64_t kBlockDepth = 256;
/// Measured on AVX2: with fewer filters, unfolding into one product per image is faster.
constexpr std::int64_t kFewestRows = 32;

std::int64_t roundUp(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// tile (6×16) = a (depth × 6, transposed) · b (depth × 16).
void multiplyTile(std::int64_t depth, const float* a, const float* b, float* tile) {
#ifdef PIPESCOPE_PANELS
  __m256 sums[kRows][2];
  for (auto& row : sums) row[0] = row[1] = _mm256_setzero_ps();
  for (std::int64_t k = 0; k < depth; ++k, a += kRows, b += kColumns) {
    const __m256 left = _mm256_loadu_ps(b), right = _mm256_loadu_ps(b + 8);
#pragma GCC unroll 6
    for (std::int64_t r = 0; r < kRows; ++r) {
      const __m256 weight = _mm256_broadcast_ss(a + r);
      sums[r][0] = _mm256_fmadd_ps(weight, left, sums[r][0]);
      sums[r][1] = _mm256_fmadd_ps(weight, right, sums[r][1]);
    }
  }
  for (std::int64_t r = 0; r < kRows; ++r) {
    _mm256_storeu_ps(tile + r * kColumns, sums[r][0]);
    _mm256_storeu_ps(tile + r * kColumns + 8, sums[r][1]);
  }
#else
  std::fill_n(tile, kRows * kColumns, 0.0F);
  for (std::int64_t k = 0; k < depth; ++k, a += kRows, b += kColumns) {
    for (std::int64_t r = 0; r < kRows; ++r) {
      for (std::int64_t c = 0; c < kColumns; ++c) tile[r * kColumns + c] += a[r] * b[c];
    }
  }
#endif
}

}  // namespace

/// Neighbouring output positions of one row of one image: columns [at, at + count) of a panel.
struct PanelConv::Piece {
  std::int64_t at = 0, count = 0, image = 0, row = 0, column = 0;
};

struct PanelConv::Panel {
  std::array<Piece, kColumns> pieces;
  std::size_t used = 0;
  std::int64_t columns = 0;
};

PanelConv PanelConv::forward(const ConvPlan& plan) {
  const Window& w = plan.window;
  PanelConv conv;
  conv.batch_ = plan.batch;
  conv.groups_ = plan.groups;
  conv.inChannels_ = plan.inChannels;
  conv.outChannels_ = plan.outChannels;
  const auto axis = [&w](std::size_t a) {
    return Axis{w.input[a], w.output[a], w.kernel[a], w.stride[a], w.dilation[a], w.padBegin[a]};
  };
  conv.x_ = axis(w.axes() - 1);
  if (w.axes() == 2) conv.y_ = axis(0);
  return conv;
}

PanelConv PanelConv::inputGradient(const ConvPlan& plan) {
  PanelConv conv = forward(plan);
  std::swap(conv.inChannels_, conv.outChannels_);
  for (Axis* axis : {&conv.y_, &conv.x_}) {
    std::swap(axis->input, axis->output);
    axis->pad = (axis->kernel - 1) * axis->dilation - axis->pad;
  }
  conv.turned_ = true;
  return conv;
}

bool PanelConv::fits(const ConvPlan& plan, bool gradient) {
#ifdef PIPESCOPE_PANELS
  const Window& w = plan.window;
  // Packing a panel pays when many filters share it.
  const std::int64_t rows = gradient ? plan.inChannels : plan.outChannels;
  if (w.axes() > 2 || rows < kFewestRows || plan.batch * w.positions() < kColumns) return false;
  return !gradient || std::ranges::all_of(w.stride, [](std::int64_t stride) { return stride == 1; });
#else
  static_cast<void>(plan);
  static_cast<void>(gradient);
  return false;
#endif
}

std::int64_t PanelConv::blockChannels() const {
  return std::clamp<std::int64_t>(kBlockDepth / taps(), 1, inChannels_);
}

std::int64_t PanelConv::scratchElements() const {
  return roundUp(outChannels_, kRows) * blockChannels() * taps() + 64 + blockChannels() * taps() * kColumns;
}

PanelConv::Panel PanelConv::panelAt(std::int64_t first) const {
  Panel panel;
  panel.columns = std::min(kColumns, batch_ * positions() - first);
  for (std::int64_t at = 0; at < panel.columns;) {
    const std::int64_t flat = first + at, position = flat % positions();
    Piece piece{at, 0, flat / positions(), position / x_.output, position % x_.output};
    piece.count = std::min(panel.columns - at, x_.output - piece.column);
    panel.pieces[panel.used++] = piece;
    at += piece.count;
  }
  return panel;
}

void PanelConv::packPanel(const Panel& panel, const float* x, std::int64_t group, std::int64_t channel,
                          std::int64_t channels, float* packed) const {
  const std::int64_t plane = y_.input * x_.input, step = taps() * kColumns;
  if (panel.columns < kColumns) std::fill_n(packed, channels * step, 0.0F);
  for (std::size_t p = 0; p < panel.used; ++p) {
    const Piece& piece = panel.pieces[p];
    const float* image = x + ((piece.image * groups_ + group) * inChannels_ + channel) * plane;
    for (std::int64_t tap = 0; tap < taps(); ++tap) {
      const std::int64_t row = piece.row * y_.stride + tap / x_.kernel * y_.dilation - y_.pad;
      const std::int64_t start = piece.column * x_.stride + tap % x_.kernel * x_.dilation - x_.pad;
      std::int64_t begin = 0, end = piece.count;  // columns within the image
      if (start < 0) begin = std::min(piece.count, (-start + x_.stride - 1) / x_.stride);
      if (start + (end - 1) * x_.stride >= x_.input)
        end = std::max(begin, start >= x_.input ? begin : (x_.input - 1 - start) / x_.stride + 1);
      if (row < 0 || row >= y_.input) end = begin = 0;
      float* to = packed + tap * kColumns + piece.at;
      const float* from = image + row * x_.input + start;
      for (std::int64_t c = 0; c < channels; ++c, to += step, from += plane) {
        if (x_.stride == 1 && begin == 0 && end == kColumns) {
          std::memcpy(to, from, kColumns * sizeof(float));
          continue;
        }
        for (std::int64_t i = 0; i < begin; ++i) to[i] = 0;
        for (std::int64_t i = begin; i < end; ++i) to[i] = from[i * x_.stride];
        for (std::int64_t i = end; i < piece.count; ++i) to[i] = 0;
      }
    }
  }
}

void PanelConv::add(const Panel& panel, std::int64_t group, std::int64_t row, const float* tile,
                    const float* bias, bool first, float* y) const {
  const std::int64_t rows = std::min(kRows, outChannels_ - row);
  for (std::size_t p = 0; p < panel.used; ++p) {
    const Piece& piece = panel.pieces[p];
    float* to = y + ((piece.image * groups_ + group) * outChannels_ + row) * positions() +
                piece.row * x_.output + piece.column;
    const float* from = tile + piece.at;
    for (std::int64_t r = 0; r < rows; ++r, to += positions(), from += kColumns) {
      if (first) {
        const float offset = bias ? bias[group * outChannels_ + row + r] : 0.0F;
        for (std::int64_t i = 0; i < piece.count; ++i) to[i] = from[i] + offset;
      } else {
        for (std::int64_t i = 0; i < piece.count; ++i) to[i] += from[i];
      }
    }
  }
}

void PanelConv::packWeights(const float* w, std::int64_t group, std::int64_t channel, std::int64_t channels,
                            float* packed) const {
  const std::int64_t depth = channels * taps();
  for (std::int64_t row = 0; row < roundUp(outChannels_, kRows); ++row) {
    float* to = packed + row / kRows * kRows * depth + row % kRows;
    for (std::int64_t own = channel; own < channel + channels; ++own) {
      const std::int64_t from = turned_ ? ((group * inChannels_ + own) * outChannels_ + row + 1) * taps() - 1
                                        : ((group * outChannels_ + row) * inChannels_ + own) * taps();
      for (std::int64_t tap = 0; tap < taps(); ++tap, to += kRows)
        *to = row < outChannels_ ? w[turned_ ? from - tap : from + tap] : 0.0F;
    }
  }
}

void PanelConv::run(const float* x, const float* w, const float* bias, float* y, float* scratch) const {
  const std::int64_t block = blockChannels(), columns = batch_ * positions();
  float* weights = scratch;
  float* packed = scratch + roundUp(roundUp(outChannels_, kRows) * block * taps(), 16);
  float tile[kRows * kColumns];
  for (std::int64_t group = 0; group < groups_; ++group) {
    for (std::int64_t channel = 0; channel < inChannels_; channel += block) {
      const std::int64_t channels = std::min(block, inChannels_ - channel), depth = channels * taps();
      packWeights(w, group, channel, channels, weights);
      for (std::int64_t first = 0; first < columns; first += kColumns) {
        const Panel panel = panelAt(first);
        packPanel(panel, x, group, channel, channels, packed);
        for (std::int64_t row = 0; row < outChannels_; row += kRows) {
          multiplyTile(depth, weights + row * depth, packed, tile);
          add(panel, group, row, tile, bias, channel == 0, y);
        }
      }
    }
  }
}

}  // namespace pipescope::ops
