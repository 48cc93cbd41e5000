#include "engine/data/image_file.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <jpeglib.h>

#include "engine/data/npy_file.h"

namespace pipescope::data {
namespace {

using base::badInput;
using base::Result;

base::Error damaged(const std::filesystem::path& file, const std::string& why) {
  return badInput(fmt::format("the image '{}' cannot be read: {}", file.string(), why));
}

Result<Image> sized(const std::filesystem::path& file, std::int64_t width, std::int64_t height,
                    std::int64_t channels) {
  if (width < 1 || height < 1 || width > mostImageSide || height > mostImageSide) {
    return damaged(file,
                   fmt::format("it is {} × {}; sides of 1 to {} are read", width, height, mostImageSide));
  }
  Image image{width, height, channels, {}};
  image.pixels.resize(static_cast<std::size_t>(width * height * channels));
  return image;
}

Result<Image> readPng(const std::filesystem::path& file, const std::vector<std::byte>& bytes,
                      std::int64_t channels) {
  png_image png;
  std::memset(&png, 0, sizeof png);
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) == 0)
    return damaged(file, png.message);
  png.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Result<Image> image = sized(file, png.width, png.height, channels);
  if (!image.ok()) {
    png_image_free(&png);
    return image;
  }
  const png_color black{0, 0, 0};  // background of transparent pixels
  if (png_image_finish_read(&png, &black, image->pixels.data(), 0, nullptr) == 0)
    return damaged(file, png.message);
  return image;
}

/// libjpeg reports errors through a function that must not return.
struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};
void jpegFailed(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->back, 1);
}
void jpegSilent(j_common_ptr) {}

/// longjmp runs no destructors, so nothing in this function may need one.
bool decodeJpeg(jpeg_decompress_struct& jpeg, JpegErrors& errors, const std::vector<std::byte>& bytes,
                std::int64_t channels, const std::filesystem::path& file, Result<Image>& image) {
  if (setjmp(errors.back) != 0) return false;
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  image = sized(file, jpeg.image_width, jpeg.image_height, channels);
  if (!image.ok()) return true;
  jpeg_start_decompress(&jpeg);
  const std::size_t row = static_cast<std::size_t>(image->width * channels);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW line = image->pixels.data() + row * jpeg.output_scanline;
    jpeg_read_scanlines(&jpeg, &line, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

Result<Image> readJpeg(const std::filesystem::path& file, const std::vector<std::byte>& bytes,
                       std::int64_t channels) {
  jpeg_decompress_struct jpeg{};
  JpegErrors errors{};
  jpeg.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = jpegFailed;
  errors.manager.output_message = jpegSilent;
  Result<Image> image = Image{};
  const bool decoded = decodeJpeg(jpeg, errors, bytes, channels, file, image);
  jpeg_destroy_decompress(&jpeg);
  if (!decoded) return damaged(file, errors.message);
  // libjpeg decodes a truncated file with warnings and fills the rest with grey.
  if (image.ok() && errors.manager.num_warnings > 0) return damaged(file, "it is cut off or damaged");
  return image;
}

}  // namespace

Result<Image> readImage(const std::filesystem::path& file, std::int64_t channels) {
  PIPESCOPE_ASSIGN(const std::vector<std::byte> bytes, readWholeFile(file, "image"));
  if (bytes.size() > 8 && std::memcmp(bytes.data(), "\x89PNG\r\n\x1a\n", 8) == 0)
    return readPng(file, bytes, channels);
  if (bytes.size() > 3 && std::memcmp(bytes.data(), "\xFF\xD8\xFF", 3) == 0)
    return readJpeg(file, bytes, channels);
  return damaged(file, "it is neither PNG nor JPEG");
}

std::vector<std::uint8_t> fitted(const Image& image, std::int64_t width, std::int64_t height) {
  // Source pixels per pixel of the result. Both axes use the same step, so the image keeps its proportions.
  const double step = std::min(static_cast<double>(image.width) / static_cast<double>(width),
                               static_cast<double>(image.height) / static_cast<double>(height));
  const double left = (static_cast<double>(image.width) - step * static_cast<double>(width)) / 2,
               top = (static_cast<double>(image.height) - step * static_cast<double>(height)) / 2;
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width * height * image.channels));
  const auto at = [&](std::int64_t x, std::int64_t y, std::int64_t c) {
    x = std::clamp<std::int64_t>(x, 0, image.width - 1);
    y = std::clamp<std::int64_t>(y, 0, image.height - 1);
    return static_cast<double>(
        image.pixels[static_cast<std::size_t>((y * image.width + x) * image.channels + c)]);
  };
  std::size_t next = 0;
  for (std::int64_t c = 0; c < image.channels; ++c) {
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        const double sx = left + (static_cast<double>(x) + 0.5) * step - 0.5,
                     sy = top + (static_cast<double>(y) + 0.5) * step - 0.5;
        const auto x0 = static_cast<std::int64_t>(std::floor(sx)),
                   y0 = static_cast<std::int64_t>(std::floor(sy));
        const double fx = sx - static_cast<double>(x0), fy = sy - static_cast<double>(y0);
        const double value = (at(x0, y0, c) * (1 - fx) + at(x0 + 1, y0, c) * fx) * (1 - fy) +
                             (at(x0, y0 + 1, c) * (1 - fx) + at(x0 + 1, y0 + 1, c) * fx) * fy;
        pixels[next++] = static_cast<std::uint8_t>(std::lround(value));
      }
    }
  }
  return pixels;
}

}  // namespace pipescope::data
