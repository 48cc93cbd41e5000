#pragma once
// PNG and JPEG images as bytes.
#include <cstdint>
#include <filesystem>
#include <vector>

#include "profiler/base/result.h"

namespace pipescope::data {

struct Image {
  std::int64_t width = 0, height = 0, channels = 0;
  std::vector<std::uint8_t> pixels;  ///< rows from the top, channels innermost
};

/// Larger images are refused before memory is taken for them.
constexpr std::int64_t mostImageSide = 16384;

/// Decodes a file to 1 (grey) or 3 channels; PNG and JPEG are told apart by their first bytes.
base::Result<Image> readImage(const std::filesystem::path& file, std::int64_t channels);

/// Scaled with bilinear interpolation so that the shorter side fits, then cut to the middle; channels first.
std::vector<std::uint8_t> fitted(const Image& image, std::int64_t width, std::int64_t height);

}  // namespace pipescope::data
