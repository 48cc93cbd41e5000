#pragma once
// The transforms of Winograd's minimal filtering F(2×2, 3×3) (Lavin and Gray, "Fast algorithms for
// convolutional neural networks", 2016). The lanes are sixteen channels.
//   Y = Aᵀ[(G g Gᵀ) ⊙ (Bᵀ d B)]A, where d is a tile of 4×4 inputs, g a filter, and Y 2×2 outputs.
//   Bᵀ = [1 0 −1 0; 0 1 1 0; 0 −1 1 0; 0 1 0 −1]
//   G = [1 0 0; ½ ½ ½; ½ −½ ½; 0 0 1]
//   Aᵀ = [1 1 1 0; 0 1 −1 −1]
// The sixteen elements of a transformed tile are called frequencies.
#include <algorithm>

#include "engine/ops/kernels/isa/packing.h"

namespace {

using pipescope::kernels::kStagedColumns;
using pipescope::kernels::WinogradFilters;
using pipescope::kernels::WinogradTiles;

constexpr std::int64_t kStaged = kStagedColumns * 4 * kPanel;

/// Copies rows [first, first + rows) of sixteen planes to `staged`, from column −left on. The channels of a
/// position become adjacent. Positions outside the planes become zeros.
void stageRows(const WinogradTiles& p, std::int64_t first, std::int64_t rows, std::int64_t left,
               std::int64_t columns, float* staged) {
  const std::int64_t begin = std::min(left, columns), end = std::min(columns, left + p.width);
  for (std::int64_t r = 0; r < rows; ++r, staged += columns * kPanel) {
    const std::int64_t row = first + r;
    if (row < 0 || row >= p.height || begin >= end) {
      std::fill_n(staged, columns * kPanel, 0.0F);
      continue;
    }
    std::fill_n(staged, begin * kPanel, 0.0F);
    std::fill_n(staged + end * kPanel, (columns - end) * kPanel, 0.0F);
    float* to = staged + begin * kPanel;
    transpose(p.planes + row * p.width, p.planeStride, p.channels, end - begin, to, kPanel);
    if (p.channels == kPanel) continue;
    for (std::int64_t i = 0; i < end - begin; ++i)
      std::fill(to + i * kPanel + p.channels, to + (i + 1) * kPanel, 0.0F);
  }
}

struct LaneColumn {
  Lanes v[4];
};

/// Computes one column of Bᵀd.
inline LaneColumn inputColumn(const float* at, std::int64_t row) {
  const Lanes d0 = load(at), d1 = load(at + row), d2 = load(at + 2 * row), d3 = load(at + 3 * row);
  return {{subtract(d0, d2), add(d1, d2), subtract(d2, d1), subtract(d1, d3)}};
}

/// Transforms a row of tiles. Each tile gives sixteen frequencies.
void transformInputRow(const float* staged, std::int64_t columns, const WinogradTiles& p, float* tiles) {
  const std::int64_t row = columns * kPanel, stride = p.frequencyStride;
  for (std::int64_t lane = 0; lane < kPanel; lane += kLanes) {
    LaneColumn a = inputColumn(staged + lane, row), b = inputColumn(staged + lane + kPanel, row);
    for (std::int64_t t = 0; t < p.tilesPerRow; ++t) {
      const float* at = staged + lane + (2 * t + 2) * kPanel;
      const LaneColumn c = inputColumn(at, row), d = inputColumn(at + kPanel, row);
      float* to = tiles + lane + t * p.tileStride;
      for (std::int64_t i = 0; i < 4; ++i) {
        store(to + (4 * i) * stride, subtract(a.v[i], c.v[i]));
        store(to + (4 * i + 1) * stride, add(b.v[i], c.v[i]));
        store(to + (4 * i + 2) * stride, subtract(c.v[i], b.v[i]));
        store(to + (4 * i + 3) * stride, subtract(b.v[i], d.v[i]));
      }
      a = c;
      b = d;
    }
  }
}

/// The number of tile rows that fit into the staging buffer. A tile row needs `each` rows of the image, and
/// all together need `more` rows besides.
inline std::int64_t stagedTileRows(std::int64_t columns, std::int64_t each, std::int64_t more) {
  return std::max<std::int64_t>(1, (kStaged / (columns * kPanel) - more) / each);
}

/// Computes Bᵀ d B, the transform of the input tiles.
void winogradInput(const WinogradTiles& p) {
  alignas(64) float staged[kStaged];
  const std::int64_t columns = 2 * p.tilesPerRow + 2, most = stagedTileRows(columns, 2, 2);
  for (std::int64_t done = 0; done < p.tileRows; done += most) {
    const std::int64_t rows = std::min(most, p.tileRows - done);
    stageRows(p, 2 * (p.tileRow + done) - p.padTop, 2 * rows + 2, p.padLeft, columns, staged);
    for (std::int64_t r = 0; r < rows; ++r) {
      transformInputRow(staged + 2 * r * columns * kPanel, columns, p,
                        p.tiles + (done + r) * p.tilesPerRow * p.tileStride);
    }
  }
}

/// Computes A dY Aᵀ, the transform of the output gradient.
void winogradOutputGradient(const WinogradTiles& p) {
  alignas(64) float staged[kStaged];
  const std::int64_t columns = 2 * p.tilesPerRow, most = stagedTileRows(columns, 2, 0),
                     row = columns * kPanel;
  for (std::int64_t done = 0; done < p.tileRows; done += most) {
    const std::int64_t rows = std::min(most, p.tileRows - done);
    stageRows(p, 2 * (p.tileRow + done), 2 * rows, 0, columns, staged);
    for (std::int64_t t = 0; t < rows * p.tilesPerRow; ++t) {
      const float* at = staged + (t / p.tilesPerRow * 2 * columns + t % p.tilesPerRow * 2) * kPanel;
      float* to = p.tiles + (done * p.tilesPerRow + t) * p.tileStride;
      for (std::int64_t lane = 0; lane < kPanel; lane += kLanes) {
        Lanes side[4][2];  // A dY; the second index is the column of dY
        for (std::int64_t j = 0; j < 2; ++j) {
          const Lanes above = load(at + lane + j * kPanel), below = load(at + lane + row + j * kPanel);
          side[0][j] = above;
          side[1][j] = add(above, below);
          side[2][j] = subtract(above, below);
          side[3][j] = subtract(zero(), below);
        }
        for (std::int64_t i = 0; i < 4; ++i) {
          float* out = to + lane + 4 * i * p.frequencyStride;
          store(out, side[i][0]);
          store(out + p.frequencyStride, add(side[i][0], side[i][1]));
          store(out + 2 * p.frequencyStride, subtract(side[i][0], side[i][1]));
          store(out + 3 * p.frequencyStride, subtract(zero(), side[i][1]));
        }
      }
    }
  }
}

/// Computes Aᵀ M A of one tile. Writes its outputs to staged, staged + 16 and the same places one row below.
inline void transformOutputTile(const WinogradTiles& p, const float* from, std::int64_t lane,
                                const Lanes& bias, float* staged, std::int64_t row, Lanes& finite) {
  Lanes side[2][4];
  for (std::int64_t j = 0; j < 4; ++j) {
    const float* at = from + lane + j * p.frequencyStride;
    const Lanes m0 = load(at), m1 = load(at + 4 * p.frequencyStride), m2 = load(at + 8 * p.frequencyStride),
                m3 = load(at + 12 * p.frequencyStride);
    side[0][j] = add(add(m0, m1), m2);
    side[1][j] = subtract(subtract(m1, m2), m3);
  }
  for (std::int64_t i = 0; i < 2; ++i) {
    Lanes left = add(add(add(side[i][0], side[i][1]), side[i][2]), bias);
    Lanes right = add(subtract(subtract(side[i][1], side[i][2]), side[i][3]), bias);
    finite = add(finite, add(subtract(left, left), subtract(right, right)));
    if (p.relu) {
      left = larger(zero(), left);
      right = larger(zero(), right);
    }
    store(staged + lane + i * row, left);
    store(staged + lane + i * row + kPanel, right);
  }
}

/// Takes sums of x − x, which are zero only if every x was finite.
bool isFinite(Lanes sum) {
  float lanes[kLanes];
  store(lanes, sum);
  bool finite = true;
  for (const float lane : lanes) finite = finite && lane == 0;
  return finite;
}

/// Computes Aᵀ M A and writes it to the planes. False means that some output is not finite.
bool winogradOutput(const WinogradTiles& p) {
  alignas(64) float staged[kStaged];
  const std::int64_t columns = 2 * p.tilesPerRow, row = columns * kPanel;
  alignas(64) float bias[kPanel] = {};
  if (p.bias) std::copy_n(p.bias, p.channels, bias);
  Lanes finite = zero();
  for (std::int64_t r = 0; r < p.tileRows; ++r) {
    for (std::int64_t lane = 0; lane < kPanel; lane += kLanes) {
      const Lanes own = load(bias + lane);
      for (std::int64_t t = 0; t < p.tilesPerRow; ++t) {
        transformOutputTile(p, p.tiles + (r * p.tilesPerRow + t) * p.tileStride, lane, own,
                            staged + 2 * t * kPanel, row, finite);
      }
    }
    for (std::int64_t i = 0; i < 2; ++i) {
      const std::int64_t to = 2 * (p.tileRow + r) + i;
      if (to >= p.height) break;
      transpose(staged + i * row, kPanel, p.width, p.channels, p.planes + to * p.width, p.planeStride);
    }
  }
  return isFinite(finite);
}

/// Computes G g Gᵀ of sixteen filters for one channel. The taps are nine vectors.
inline void transformFilter(const float* taps, std::int64_t lane, float* to, std::int64_t stride) {
  const Lanes half = fill(0.5F);
  Lanes side[4][3];
  for (std::int64_t j = 0; j < 3; ++j) {
    const Lanes g0 = load(taps + lane + j * kPanel), g1 = load(taps + lane + (3 + j) * kPanel),
                g2 = load(taps + lane + (6 + j) * kPanel);
    const Lanes sum = add(g0, g2);
    side[0][j] = g0;
    side[1][j] = scale(half, add(sum, g1));
    side[2][j] = scale(half, subtract(sum, g1));
    side[3][j] = g2;
  }
  for (std::int64_t i = 0; i < 4; ++i) {
    const Lanes sum = add(side[i][0], side[i][2]);
    float* out = to + lane + 4 * i * stride;
    store(out, side[i][0]);
    store(out + stride, scale(half, add(sum, side[i][1])));
    store(out + 2 * stride, scale(half, subtract(sum, side[i][1])));
    store(out + 3 * stride, side[i][2]);
  }
}

constexpr std::int64_t kTaps = 9, kFilterChannels = 32;

/// Transforms a panel of sixteen filters for all channels.
void winogradFilters(const WinogradFilters& p) {
  alignas(64) float taps[kFilterChannels * kTaps * kPanel];
  std::fill_n(taps, kFilterChannels * kTaps * kPanel, 0.0F);
  for (std::int64_t channel = 0; channel < p.channels; channel += kFilterChannels) {
    const std::int64_t channels = std::min(kFilterChannels, p.channels - channel);
    if (!p.turned) {
      transpose(p.weights + channel * kTaps, p.filterStride, p.filters, channels * kTaps, taps, kPanel);
    } else {
      // The input gradient needs every filter rotated by 180°, so the taps are reversed.
      for (std::int64_t c = 0; c < channels; ++c) {
        float turned[kTaps * kPanel] = {};
        transpose(p.weights + (channel + c) * p.channelStride, p.filterStride, p.filters, kTaps, turned,
                  kPanel);
        for (std::int64_t tap = 0; tap < kTaps; ++tap)
          std::copy_n(turned + (kTaps - 1 - tap) * kPanel, kPanel, taps + (c * kTaps + tap) * kPanel);
      }
    }
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t lane = 0; lane < kPanel; lane += kLanes)
        transformFilter(taps + c * kTaps * kPanel, lane, p.transformed + (channel + c) * p.transformedStride,
                        p.frequencyStride);
    }
  }
}

/// Computes Gᵀ dU G of sixteen filters for all channels and writes it to the gradient of the weights. False
/// means that some gradient is not finite.
bool winogradFilterGradient(const WinogradFilters& p, float* gradient) {
  alignas(64) float taps[kFilterChannels * kTaps * kPanel];
  const Lanes half = fill(0.5F);
  Lanes finite = zero();
  for (std::int64_t channel = 0; channel < p.channels; channel += kFilterChannels) {
    const std::int64_t channels = std::min(kFilterChannels, p.channels - channel);
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t lane = 0; lane < kPanel; lane += kLanes) {
        const float* from = p.transformed + (channel + c) * p.transformedStride + lane;
        Lanes side[3][4];
        for (std::int64_t j = 0; j < 4; ++j) {
          const Lanes u0 = load(from + j * p.frequencyStride), u1 = load(from + (4 + j) * p.frequencyStride),
                      u2 = load(from + (8 + j) * p.frequencyStride),
                      u3 = load(from + (12 + j) * p.frequencyStride);
          const Lanes sum = scale(half, add(u1, u2));
          side[0][j] = add(u0, sum);
          side[1][j] = scale(half, subtract(u1, u2));
          side[2][j] = add(sum, u3);
        }
        for (std::int64_t i = 0; i < 3; ++i) {
          const Lanes sum = scale(half, add(side[i][1], side[i][2]));
          float* to = taps + (c * kTaps + 3 * i) * kPanel + lane;
          const Lanes first = add(side[i][0], sum), last = add(sum, side[i][3]);
          finite = add(finite, add(subtract(first, first), subtract(last, last)));
          store(to, first);
          store(to + kPanel, scale(half, subtract(side[i][1], side[i][2])));
          store(to + 2 * kPanel, last);
        }
      }
    }
    transpose(taps, kPanel, channels * kTaps, p.filters, gradient + channel * kTaps, p.filterStride);
  }
  return isFinite(finite);
}

}  // namespace
