#pragma once
// The MNIST IDX format, plain or gzipped: a big-endian magic number 0x0000TTRR (element type, number of
// extents), the extents as big-endian 32-bit numbers, then the elements (LeCun, Cortes, Burges: "The MNIST
// database").
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "profiler/base/result.h"

namespace pipescope::data {

/// Content of an IDX file of bytes (type 0x08); the value is its number of extents.
enum class IdxKind : std::uint8_t {
  labels = 1,  ///< magic 2049: count
  images = 3,  ///< magic 2051: count × rows × columns
};

/// Larger files are refused before memory is taken for them.
constexpr std::int64_t maximumIdxBytes = std::int64_t{1} << 30U;
constexpr std::int64_t maximumImageSide = 4096;

struct IdxArray {
  std::vector<std::int64_t> extents;  ///< extents of at least 1
  std::vector<std::uint8_t> values;   ///< row-major, as many as the product of the extents
};

/// Reads a whole file and recognises gzip by its content. Refused, with the file's name and what to do: a
/// path that is no readable file, another magic number, a truncated, too long or damaged file, and extents
/// that are 0 or too large.
base::Result<IdxArray> readIdx(const std::filesystem::path& file, IdxKind kind);

/// Reads the extents from the header of a file, with the same refusals as far as a header can tell. The
/// length of a plain file must be what its header promises.
base::Result<std::vector<std::int64_t>> readIdxExtents(const std::filesystem::path& file, IdxKind kind);

enum class IdxCompression : std::uint8_t { none, gzip };

/// Writes or replaces a file. The number of extents says which kind it is; `values` are row-major.
base::Status writeIdx(const std::filesystem::path& file, std::span<const std::int64_t> extents,
                      std::span<const std::uint8_t> values,
                      IdxCompression compression = IdxCompression::none);

}  // namespace pipescope::data
