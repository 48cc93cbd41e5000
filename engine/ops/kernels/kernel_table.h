#pragma once
// The hot kernels, compiled once for each instruction set: plain functions over float32 memory without
// allocations, locks or outside C++ types. engine/ops/kernels/choose.h picks a table when the program starts.
#include <cstdint>

namespace pipescope::kernels {

/// The lanes of a packed panel, for every instruction set.
inline constexpr std::int64_t kPanel = 16;

/// C (rows × columns, row-major) = scale · A·B, with B packed in panels of 16 columns. A is read in place:
/// element (r, k) is at a + rowOffsets[r] + segmentOffsets[k ÷ length] + (k mod length)·step. Without tables,
/// a row lies at (r ÷ 16)·blockStride + (r mod 16)·rowStride and a segment at its number · segmentStride. The
/// order of a sum depends only on the extent and segments of k.
struct RowProduct {
  const float* a = nullptr;
  const std::int64_t* rowOffsets = nullptr;
  std::int64_t rowStride = 0, blockStride = 0;
  const std::int64_t* segmentOffsets = nullptr;
  std::int64_t segmentStride = 0;
  std::int64_t segments = 1, length = 0, last = 0;  ///< all but the last segment have `length` elements
  std::int64_t step = 1;

  /// Row k of panel p is at b + p·panelStride + k·16; lanes beyond the columns are zeros.
  const float* b = nullptr;
  std::int64_t panelStride = 0;

  float* c = nullptr;
  const std::int64_t* rowTargets = nullptr;  ///< start of each row in C; null: rows lie ldc apart
  std::int64_t ldc = 0, rows = 0, columns = 0;
  float scale = 1;
  bool accumulate = false;      ///< adds to C
  const float* bias = nullptr;  ///< one number for each column, added to the finished sum; or null
  bool relu = false;            ///< applies max(…, 0) at the end; NaN stays
};

/// The most columns of an image, with padding, that the transforms can stage.
inline constexpr std::int64_t kStagedColumns = 512;

/// Rows of tiles of up to sixteen planes. Winograd's tiles overlap by two: tile (r, t) covers the 4×4 inputs
/// from row 2r − padTop and column 2t − padLeft on, and the 2×2 outputs from (2r, 2t) on. Inputs outside the
/// image are zero, and outputs outside it are dropped.
struct WinogradTiles {
  float* planes = nullptr;  ///< plane c is at planes + c·planeStride, with rows of `width` elements
  std::int64_t planeStride = 0, height = 0, width = 0, channels = 0;
  std::int64_t padTop = 0, padLeft = 0;
  std::int64_t tileRow = 0, tileRows = 0, tilesPerRow = 0;
  /// Frequency f of tile t, counted from the first given tile row, holds 16 channels at f·frequencyStride +
  /// t·tileStride.
  float* tiles = nullptr;
  std::int64_t frequencyStride = 0, tileStride = 0;
  const float* bias = nullptr;  ///< one number for each channel of outputs, or null
  bool relu = false;            ///< true: applies max(·, 0) to outputs
};

/// Filters of 3×3 over all channels, at most sixteen.
struct WinogradFilters {
  const float* weights = nullptr;  ///< filter f, channel c is at f·filterStride + c·channelStride
  std::int64_t filterStride = 0, channelStride = 9, filters = 0, channels = 0;
  bool turned = false;  ///< both axes are reversed; if false, channelStride is 9
  /// Frequency f of channel c holds 16 filters at f·frequencyStride + c·transformedStride.
  float* transformed = nullptr;
  std::int64_t frequencyStride = 0, transformedStride = 0;
};

/// A convolution of stride 1 over images whose planes lie anywhere; positions along a row are the lanes.
/// Distances are in elements. Rows of y (dy) are read and written with `width` elements, rounded up to 8
/// where they are read. Rows of x have as many, and those that the taps reach.
struct RowConvolution {
  std::int64_t channels = 0, filters = 0;  ///< both of one group
  std::int64_t height = 0, width = 0;      ///< height and width of the output
  std::int64_t kernelY = 1, kernelX = 1, dilationY = 1, dilationX = 1;
  std::int64_t inputImage = 0, inputPlane = 0, inputRow = 0;  ///< distances in x with its padding
  std::int64_t outputImage = 0, outputPlane = 0, outputRow = 0;
};

struct KernelTable {
  const char* name;  ///< "baseline", "avx2", "avx512"
  void (*multiplyRows)(const RowProduct& product);
  /// Packs panels of `columns` columns and `depth` rows; row k of the source is at b + k·ld.
  void (*packRows)(const float* b, std::int64_t ld, std::int64_t depth, std::int64_t columns, float* panels,
                   std::int64_t panelStride);
  /// The same for a transposed source, whose column n is at b + n·ld.
  void (*packColumns)(const float* b, std::int64_t ld, std::int64_t depth, std::int64_t columns,
                      float* panels, std::int64_t panelStride);
  /// to[c·ldTo + r] = from[r·ldFrom + c] for r < rows, c < columns.
  void (*transpose)(const float* from, std::int64_t ldFrom, std::int64_t rows, std::int64_t columns,
                    float* to, std::int64_t ldTo);
  // The formulas are in engine/ops/kernels/isa/winograd.h.
  void (*winogradInput)(const WinogradTiles& tiles);
  /// Returns false if an output is infinite or NaN, which tiles would spread too far.
  bool (*winogradOutput)(const WinogradTiles& tiles);
  void (*winogradOutputGradient)(const WinogradTiles& tiles);
  void (*winogradFilters)(const WinogradFilters& filters);
  bool (*winogradFilterGradient)(const WinogradFilters& filters, float* gradient);
  /// Brings weights into the order of rowForward, or with `turned` of rowInputGradient: up to twice as many
  /// floats.
  void (*rowFilters)(const RowConvolution& shape, const float* w, bool turned, float* packed);
  /// Computes y of one image, plus a bias for each filter or null, then max(·, 0) if asked for.
  void (*rowForward)(const RowConvolution& shape, const float* x, const float* packed, const float* bias,
                     bool relu, float* y);
  /// Adds to dx of one image.
  void (*rowInputGradient)(const RowConvolution& shape, const float* dy, const float* packed, float* dx);
  /// Computes dw (filter, channel, tap) for one channel and row of taps over some images, or adds to it.
  void (*rowWeightGradient)(const RowConvolution& shape, std::int64_t images, std::int64_t channel,
                            std::int64_t ky, const float* x, const float* dy, bool accumulate, float* dw);
};

}  // namespace pipescope::kernels
