#pragma once
// Convolutions of stride 1, for one instruction set. The lanes of a vector are neighbouring positions in a
// row of the image, so that all lanes are used even if there are few channels. The sums of several filters at
// several positions stay in registers until all channels and taps are added.
#include <algorithm>

#include "engine/ops/kernels/isa/vector_lanes.h"
#include "engine/ops/kernels/kernel_table.h"

namespace {

using pipescope::kernels::RowConvolution;

// Uses eight lanes even with AVX-512. Rows are short, so sixteen lanes would often be partly empty. Eight
// cost no more on processors that split an operation on sixteen lanes into two.
#if defined(__AVX512F__)
constexpr int kRegisters = 32;
#else
constexpr int kRegisters = 16;
#endif
#if defined(__AVX2__) && defined(__FMA__)
constexpr std::int64_t kRowLanes = 8;
#else
constexpr std::int64_t kRowLanes = 4;
#endif
using RowLanes = float __attribute__((vector_size(kRowLanes * sizeof(float))));
using RowMask = std::int32_t __attribute__((vector_size(kRowLanes * sizeof(float))));

inline RowLanes loadRow(const float* p) {
  RowLanes v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void storeRow(float* p, RowLanes v) {
  std::memcpy(p, &v, sizeof v);
}
inline RowLanes multiplyAddRow(RowLanes a, RowLanes b, RowLanes c) {
#if defined(__AVX2__) && defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}
/// Keeps the lanes that the mask selects and sets the others to zero, even if they hold NaN.
inline RowLanes firstLanes(RowLanes v, const RowMask& mask) {
  return reinterpret_cast<RowLanes>(reinterpret_cast<RowMask>(v) & mask);
}
inline RowMask maskOf(std::int64_t count) {
  RowMask mask{};
  for (std::int64_t lane = 0; lane < kRowLanes; ++lane) mask[lane] = lane < count ? -1 : 0;
  return mask;
}
/// Adds the lanes pairwise in a fixed order.
inline float sumOf(RowLanes v) {
  float lanes[kRowLanes];
  storeRow(lanes, v);
  if constexpr (kRowLanes == 8) {
    for (int lane = 0; lane < 4; ++lane) lanes[lane] += lanes[lane + 4];
  }
  return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

/// The most filters that are computed together. vectorsFor() is how many vectors of positions fit beside
/// them.
constexpr int kMostTogether = kRegisters == 32 ? 12 : 6;
constexpr int vectorsFor(int together) {
  return std::clamp((kRegisters - 2) / (together + 1), 1, 8);
}

/// The group size if `all` results are split into groups as evenly as possible.
inline std::int64_t togetherOf(std::int64_t all) {
  const std::int64_t groups = (all + kMostTogether - 1) / kMostTogether;
  return (all + groups - 1) / groups;
}

inline std::int64_t vectorsOfRow(const RowConvolution& s) {
  return (s.width + kRowLanes - 1) / kRowLanes;
}

/// Calls body.operator()<T>() with the constant T equal to `together`, which is 1 … kMostTogether.
template <int kTogether = kMostTogether, class Body>
inline void withTogether(std::int64_t together, const Body& body) {
  if constexpr (kTogether == 1) {
    body.template operator()<1>();
  } else {
    if (together == kTogether) return body.template operator()<kTogether>();
    withTogether<kTogether - 1>(together, body);
  }
}

/// Packs weights by group of results, then by summand. The results of a group are adjacent. Without `turned`,
/// results are filters and summands are (channel, tap). With `turned`, results are channels and summands are
/// (tap, filter). The last group is padded with zeros.
void rowFilters(const RowConvolution& s, const float* w, bool turned, float* packed) {
  const std::int64_t taps = s.kernelY * s.kernelX, results = turned ? s.channels : s.filters,
                     others = turned ? s.filters : s.channels;
  const std::int64_t together = togetherOf(results);
  for (std::int64_t first = 0; first < results; first += together) {
    for (std::int64_t summand = 0; summand < taps * others; ++summand) {
      const std::int64_t tap = turned ? summand / others : summand % taps,
                         other = turned ? summand % others : summand / taps;
      for (std::int64_t i = 0; i < together; ++i) {
        const std::int64_t filter = turned ? other : first + i, channel = turned ? first + i : other;
        *packed++ = first + i < results ? w[(filter * s.channels + channel) * taps + tap] : 0.0F;
      }
    }
  }
}

/// Computes the sums of kTogether filters at kVectors places. A place is a vector of positions.
template <int kTogether, int kVectors>
inline void forwardSums(const RowConvolution& s, const float* x, const std::int64_t* at, const float* w,
                        RowLanes (&sums)[kTogether][kVectors]) {
  PIPESCOPE_UNROLL_CLANG
  for (int t = 0; t < kTogether; ++t) {
    PIPESCOPE_UNROLL_CLANG
    for (int v = 0; v < kVectors; ++v) sums[t][v] = RowLanes{};
  }
  for (std::int64_t channel = 0; channel < s.channels; ++channel) {
    for (std::int64_t ky = 0; ky < s.kernelY; ++ky) {
      const float* from = x + channel * s.inputPlane + ky * s.dilationY * s.inputRow;
      for (std::int64_t kx = 0; kx < s.kernelX; ++kx, from += s.dilationX, w += kTogether) {
        RowLanes right[kVectors];
        PIPESCOPE_UNROLL(8)
        for (int v = 0; v < kVectors; ++v) right[v] = loadRow(from + at[v]);
        PIPESCOPE_UNROLL(12)
        for (int t = 0; t < kTogether; ++t) {
          const RowLanes left = w[t] - RowLanes{};
          PIPESCOPE_UNROLL(8)
          for (int v = 0; v < kVectors; ++v) sums[t][v] = multiplyAddRow(left, right[v], sums[t][v]);
        }
      }
    }
  }
}

template <int kTogether, int kVectors>
inline void forwardTile(const RowConvolution& s, const float* x, const float* w, const float* bias, bool relu,
                        std::int64_t filters, std::int64_t place, float* y) {
  const std::int64_t perRow = vectorsOfRow(s);
  std::int64_t at[kVectors], targets[kVectors], left[kVectors];
  std::int64_t row = place / perRow, column = place % perRow * kRowLanes;
  for (int v = 0; v < kVectors; ++v) {
    at[v] = row * s.inputRow + column;
    targets[v] = row * s.outputRow + column;
    left[v] = s.width - column;
    column += kRowLanes;
    if (column < s.width) continue;
    column = 0;
    ++row;
  }
  RowLanes sums[kTogether][kVectors];
  forwardSums(s, x, at, w, sums);
  PIPESCOPE_UNROLL_CLANG
  for (int t = 0; t < kTogether; ++t) {
    if (t >= filters) return;
    PIPESCOPE_UNROLL_CLANG
    for (int v = 0; v < kVectors; ++v) {
      RowLanes sum = bias ? sums[t][v] + (bias[t] - RowLanes{}) : sums[t][v];
      if (relu) sum = RowLanes{} > sum ? RowLanes{} : sum;
      float* to = y + t * s.outputPlane + targets[v];
      if (left[v] >= kRowLanes) {
        storeRow(to, sum);
      } else {
        std::memcpy(to, &sum, static_cast<std::size_t>(left[v]) * sizeof(float));
      }
    }
  }
}

/// Computes y of one image for all filters.
void rowForward(const RowConvolution& s, const float* x, const float* packed, const float* bias, bool relu,
                float* y) {
  const std::int64_t together = togetherOf(s.filters), places = s.height * vectorsOfRow(s),
                     summands = s.channels * s.kernelY * s.kernelX;
  withTogether(together, [&]<int kTogether>() {
    constexpr int kVectors = vectorsFor(kTogether);
    for (std::int64_t first = 0; first < s.filters; first += kTogether) {
      const float* w = packed + first * summands;
      const float* own = bias ? bias + first : nullptr;
      float* to = y + first * s.outputPlane;
      const std::int64_t filters = s.filters - first;
      std::int64_t place = 0;
      for (; place + kVectors <= places; place += kVectors)
        forwardTile<kTogether, kVectors>(s, x, w, own, relu, filters, place, to);
      if (place == places) continue;
      if (places >= kVectors) {  // the last tile overlaps the one before it
        forwardTile<kTogether, kVectors>(s, x, w, own, relu, filters, places - kVectors, to);
      } else {
        for (; place < places; ++place) forwardTile<kTogether, 1>(s, x, w, own, relu, filters, place, to);
      }
    }
  });
}

/// Adds one tap's part of dx: the sums over all filters at some places of dy, shifted by the tap.
template <int kTogether, int kVectors>
inline void inputGradientTile(const RowConvolution& s, const float* dy, const float* w, std::int64_t channels,
                              std::int64_t place, const RowMask& edge, float* dx) {
  const std::int64_t perRow = vectorsOfRow(s);
  std::int64_t from[kVectors], to[kVectors];
  bool last[kVectors];
  std::int64_t row = place / perRow, column = place % perRow * kRowLanes;
  for (int v = 0; v < kVectors; ++v) {
    from[v] = row * s.outputRow + column;
    to[v] = row * s.inputRow + column;
    column += kRowLanes;
    last[v] = column > s.width;
    if (column < s.width) continue;
    column = 0;
    ++row;
  }
  RowLanes sums[kTogether][kVectors];
  PIPESCOPE_UNROLL_CLANG
  for (int t = 0; t < kTogether; ++t) {
    PIPESCOPE_UNROLL_CLANG
    for (int v = 0; v < kVectors; ++v) sums[t][v] = RowLanes{};
  }
  for (std::int64_t filter = 0; filter < s.filters; ++filter, dy += s.outputPlane, w += kTogether) {
    RowLanes right[kVectors];
    PIPESCOPE_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) right[v] = loadRow(dy + from[v]);
    PIPESCOPE_UNROLL(12)
    for (int t = 0; t < kTogether; ++t) {
      const RowLanes left = w[t] - RowLanes{};
      PIPESCOPE_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) sums[t][v] = multiplyAddRow(left, right[v], sums[t][v]);
    }
  }
  PIPESCOPE_UNROLL_CLANG
  for (int t = 0; t < kTogether; ++t) {
    if (t >= channels) return;
    float* plane = dx + t * s.inputPlane;
    PIPESCOPE_UNROLL_CLANG
    for (int v = 0; v < kVectors; ++v) {
      const RowLanes sum = last[v] ? firstLanes(sums[t][v], edge) : sums[t][v];
      storeRow(plane + to[v], loadRow(plane + to[v]) + sum);
    }
  }
}

/// Adds to dx of one image. Neighbouring taps write to overlapping positions, so one tap finishes all places
/// before the next tap starts.
void rowInputGradient(const RowConvolution& s, const float* dy, const float* packed, float* dx) {
  const std::int64_t together = togetherOf(s.channels), places = s.height * vectorsOfRow(s),
                     taps = s.kernelY * s.kernelX;
  const RowMask edge = maskOf(s.width - (vectorsOfRow(s) - 1) * kRowLanes);
  withTogether(together, [&]<int kTogether>() {
    constexpr int kVectors = vectorsFor(kTogether);
    for (std::int64_t first = 0; first < s.channels; first += kTogether) {
      const float* w = packed + first * taps * s.filters;
      for (std::int64_t tap = 0; tap < taps; ++tap, w += kTogether * s.filters) {
        float* to = dx + first * s.inputPlane + tap / s.kernelX * s.dilationY * s.inputRow +
                    tap % s.kernelX * s.dilationX;
        std::int64_t place = 0;
        for (; place + kVectors <= places; place += kVectors)
          inputGradientTile<kTogether, kVectors>(s, dy, w, s.channels - first, place, edge, to);
        for (; place < places; ++place)
          inputGradientTile<kTogether, 1>(s, dy, w, s.channels - first, place, edge, to);
      }
    }
  });
}

constexpr int kMostColumns = 5;
/// The number of filters that fit into the registers beside this many columns of taps.
constexpr int filtersFor(int columns) {
  return std::clamp((kRegisters - 1 - columns) / columns, 1, 12);
}

/// Computes the sums over all positions for kFilters filters and kColumns neighbouring taps.
template <int kFilters, int kColumns>
inline void weightSums(const RowConvolution& s, std::int64_t images, const float* x, const float* const* dy,
                       float* sums) {
  RowLanes all[kFilters][kColumns];
  PIPESCOPE_UNROLL_CLANG
  for (int f = 0; f < kFilters; ++f) {
    PIPESCOPE_UNROLL_CLANG
    for (int c = 0; c < kColumns; ++c) all[f][c] = RowLanes{};
  }
  const std::int64_t whole = s.width / kRowLanes * kRowLanes;
  const RowMask edge = maskOf(s.width - whole);
  for (std::int64_t image = 0; image < images; ++image) {
    for (std::int64_t row = 0; row < s.height; ++row) {
      const float* from = x + image * s.inputImage + row * s.inputRow;
      std::int64_t at = image * s.outputImage + row * s.outputRow;
      for (std::int64_t column = 0; column < whole; column += kRowLanes, from += kRowLanes, at += kRowLanes) {
        RowLanes right[kColumns];
        PIPESCOPE_UNROLL(5)
        for (int c = 0; c < kColumns; ++c) right[c] = loadRow(from + c * s.dilationX);
        PIPESCOPE_UNROLL(12)
        for (int f = 0; f < kFilters; ++f) {
          const RowLanes left = loadRow(dy[f] + at);
          PIPESCOPE_UNROLL(5)
          for (int c = 0; c < kColumns; ++c) all[f][c] = multiplyAddRow(left, right[c], all[f][c]);
        }
      }
      if (whole == s.width) continue;
      RowLanes right[kColumns];
      PIPESCOPE_UNROLL_CLANG
      for (int c = 0; c < kColumns; ++c) right[c] = firstLanes(loadRow(from + c * s.dilationX), edge);
      PIPESCOPE_UNROLL_CLANG
      for (int f = 0; f < kFilters; ++f) {
        const RowLanes left = firstLanes(loadRow(dy[f] + at), edge);
        PIPESCOPE_UNROLL_CLANG
        for (int c = 0; c < kColumns; ++c) all[f][c] = multiplyAddRow(left, right[c], all[f][c]);
      }
    }
  }
  PIPESCOPE_UNROLL_CLANG
  for (int f = 0; f < kFilters; ++f) {
    PIPESCOPE_UNROLL_CLANG
    for (int c = 0; c < kColumns; ++c) sums[f * kColumns + c] = sumOf(all[f][c]);
  }
}

/// Computes dw of some filters for one row of taps. x points to the input of the first tap at the
/// first position, and dw points to that tap.
template <int kFilters, int kColumns>
void weightTile(const RowConvolution& s, std::int64_t images, const float* x, const float* dy,
                std::int64_t filters, bool accumulate, float* dw) {
  const float* from[kFilters];
  // An incomplete group repeats its last filter, and the repeated results are dropped.
  for (int f = 0; f < kFilters; ++f) from[f] = dy + std::min<std::int64_t>(f, filters - 1) * s.outputPlane;
  float sums[kFilters * kColumns];
  weightSums<kFilters, kColumns>(s, images, x, from, sums);
  const std::int64_t ofFilter = s.channels * s.kernelY * s.kernelX;
  for (int f = 0; f < std::min<std::int64_t>(kFilters, filters); ++f) {
    for (int c = 0; c < kColumns; ++c) {
      float& to = dw[f * ofFilter + c];
      to = (accumulate ? to : 0.0F) + sums[f * kColumns + c];
    }
  }
}

template <int kColumns>
void weightColumns(const RowConvolution& s, std::int64_t images, const float* x, const float* dy,
                   bool accumulate, float* dw) {
  constexpr int kFilters = filtersFor(kColumns);
  const std::int64_t ofFilter = s.channels * s.kernelY * s.kernelX;
  for (std::int64_t filter = 0; filter < s.filters;) {
    const std::int64_t left = s.filters - filter, taken = left == 1 ? 1 : kFilters;
    (left == 1 ? weightTile<1, kColumns>
               : weightTile<kFilters, kColumns>)(s, images, x, dy + filter * s.outputPlane, left, accumulate,
                                                 dw + filter * ofFilter);
    filter += taken;
  }
}

/// Computes dw of all filters for one channel and one row of taps, summed over some images.
void rowWeightGradient(const RowConvolution& s, std::int64_t images, std::int64_t channel, std::int64_t ky,
                       const float* x, const float* dy, bool accumulate, float* dw) {
  x += channel * s.inputPlane + ky * s.dilationY * s.inputRow;
  dw += (channel * s.kernelY + ky) * s.kernelX;
  const std::int64_t groups = (s.kernelX + kMostColumns - 1) / kMostColumns,
                     each = (s.kernelX + groups - 1) / groups;
  for (std::int64_t column = 0; column < s.kernelX; column += each) {
    const float* from = x + column * s.dilationX;
    float* to = dw + column;
    switch (std::min(each, s.kernelX - column)) {
      case 1:
        weightColumns<1>(s, images, from, dy, accumulate, to);
        break;
      case 2:
        weightColumns<2>(s, images, from, dy, accumulate, to);
        break;
      case 3:
        weightColumns<3>(s, images, from, dy, accumulate, to);
        break;
      case 4:
        weightColumns<4>(s, images, from, dy, accumulate, to);
        break;
      default:
        weightColumns<5>(s, images, from, dy, accumulate, to);
    }
  }
}

}  // namespace
