#include "engine/data/idx_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <system_error>

#include "profiler/base/check.h"
#include "profiler/base/number_text.h"

namespace pipescope::data {

namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;
using base::Status;

constexpr std::uint32_t byteType = 0x08;
/// Memory grows by this much at a time, and only after the data has arrived.
constexpr std::size_t pieceBytes = std::size_t{1} << 24U;

std::uint32_t magicOf(std::size_t rank) {
  return (byteType << 8U) | static_cast<std::uint32_t>(rank);
}

std::string describe(IdxKind kind) {
  return kind == IdxKind::images ? "images" : "labels";
}

/// A gzip or plain file that its destructor closes. zlib reads plain files unchanged.
class ZlibFile {
 public:
  ZlibFile(const fs::path& path, const char* mode) : name_(path.string()) {
    errno = 0;
    file_ = gzopen(name_.c_str(), mode);
    openError_ = errno;
    if (file_ != nullptr) gzbuffer(file_, 1U << 17U);
  }
  ~ZlibFile() {
    if (file_ != nullptr) gzclose(file_);
  }
  ZlibFile(const ZlibFile&) = delete;
  ZlibFile& operator=(const ZlibFile&) = delete;

  Status opened() const {
    if (file_ != nullptr) return {};
    // zlib sets no errno when it runs out of memory itself.
    return base::ioError(fmt::format("cannot open '{}': {}; check the path and its permissions", name_,
                                     std::strerror(openError_ == 0 ? ENOMEM : openError_)));
  }

  /// Returns the number of bytes read. It is smaller than requested only at the end of the file.
  Result<std::size_t> read(std::span<std::uint8_t> into) {
    std::size_t done = 0;
    while (done < into.size()) {
      const auto wanted = static_cast<unsigned>(std::min(into.size() - done, pieceBytes));
      errno = 0;
      const int got = gzread(file_, into.data() + done, wanted);
      if (got < 0) return readError(errno);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    if (done < into.size()) {
      int code = Z_OK;
      gzerror(file_, &code);
      if (code != Z_OK && code != Z_STREAM_END) return readError(errno);
    }
    return done;
  }

  /// After the first read: true if the file is not compressed.
  bool isPlain() { return gzdirect(file_) == 1; }

  Status write(std::span<const std::uint8_t> from) {
    while (!from.empty()) {
      const auto piece = from.first(std::min(from.size(), pieceBytes));
      errno = 0;
      if (gzwrite(file_, piece.data(), static_cast<unsigned>(piece.size())) <= 0) return writeError(errno);
      from = from.subspan(piece.size());
    }
    return {};
  }

  /// Flushes and closes the file. Only this call can tell whether everything was written.
  Status close() {
    errno = 0;
    const int code = gzclose(file_);
    const int reason = errno;
    file_ = nullptr;
    return code == Z_OK ? Status() : writeError(reason);
  }

 private:
  Error readError(int reason) const {
    int code = Z_OK;
    const std::string text = gzerror(file_, &code);
    if (code == Z_ERRNO) {
      return base::ioError(fmt::format("cannot read '{}': {}; check the disk, or copy the file anew", name_,
                                       std::strerror(reason)));
    }
    if (code == Z_BUF_ERROR) {
      return base::badInput(
          fmt::format("'{}' is truncated: its gzip stream ends too early; download or copy it anew", name_));
    }
    return base::badInput(fmt::format(
        "'{}' is damaged: its gzip stream does not unpack ({}); download or copy it anew", name_, text));
  }
  Error writeError(int reason) const {
    return base::ioError(fmt::format("cannot write '{}': {}; free some space or choose another folder", name_,
                                     std::strerror(reason == 0 ? EIO : reason)));
  }

  std::string name_;
  gzFile file_ = nullptr;
  int openError_ = 0;
};

std::uint32_t bigEndian(std::span<const std::uint8_t, 4> bytes) {
  return (std::uint32_t{bytes[0]} << 24U) | (std::uint32_t{bytes[1]} << 16U) |
         (std::uint32_t{bytes[2]} << 8U) | bytes[3];
}

Result<std::uint32_t> readNumber(ZlibFile& file, const std::string& name) {
  std::array<std::uint8_t, 4> bytes{};
  PIPESCOPE_ASSIGN(const std::size_t got, file.read(bytes));
  if (got < bytes.size()) {
    return base::badInput(
        fmt::format("'{}' is truncated: it ends within its header; download or copy it anew", name));
  }
  return bigEndian(bytes);
}

Status checkMagic(std::uint32_t magic, IdxKind kind, const std::string& name) {
  const std::uint32_t expected = magicOf(static_cast<std::size_t>(kind));
  if (magic == expected) return {};
  const IdxKind other = kind == IdxKind::images ? IdxKind::labels : IdxKind::images;
  if (magic == magicOf(static_cast<std::size_t>(other))) {
    return base::badInput(fmt::format(
        "'{}' holds {} (magic number {}) where {} (magic number {}) are expected; exchange the files", name,
        describe(other), magic, describe(kind), expected));
  }
  return base::badInput(fmt::format(
      "'{}' is not an IDX file of {}: its magic number is {}, not {}; put the MNIST file of that name there",
      name, describe(kind), magic, expected));
}

/// Returns the product of the extents, or an error that says why a data set cannot have them.
Result<std::int64_t> checkedSize(const std::vector<std::int64_t>& extents, const std::string& name) {
  std::int64_t total = 1;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 0) {
      return base::badInput(
          fmt::format("'{}' says that it is empty (an extent is 0); put a file with data there", name));
    }
    if (i > 0 && extents[i] > maximumImageSide) {
      return base::badInput(
          fmt::format("'{}' says that its images are {} × {} pixels; at most {} × {} are read, so the file "
                      "is damaged or not a data set of images",
                      name, extents[1], extents[2], maximumImageSide, maximumImageSide));
    }
    if (extents[i] > maximumIdxBytes / total) {
      return base::badInput(
          fmt::format("'{}' says that it holds {} items, more than {} bytes; the file is damaged, or must be "
                      "split into smaller ones",
                      name, base::groupedText(extents[0]), base::groupedText(maximumIdxBytes)));
    }
    total *= extents[i];
  }
  return total;
}

base::Error idxTruncated(const std::string& name, std::size_t total, std::size_t have) {
  return base::badInput(fmt::format(
      "'{}' is truncated: its header promises {} bytes of data, it holds {}; download or copy it anew", name,
      base::groupedText(static_cast<std::int64_t>(total)),
      base::groupedText(static_cast<std::int64_t>(have))));
}

base::Error idxTooLong(const std::string& name, std::size_t total) {
  return base::badInput(fmt::format(
      "'{}' is longer than the {} bytes of data that its header promises; download or copy it anew", name,
      base::groupedText(static_cast<std::int64_t>(total))));
}

Result<std::vector<std::uint8_t>> readValues(ZlibFile& file, std::int64_t size, const std::string& name) {
  const auto total = static_cast<std::size_t>(size);
  std::vector<std::uint8_t> values;
  try {
    for (std::size_t have = 0; have < total;) {
      values.resize(std::min(total, have + pieceBytes));
      PIPESCOPE_ASSIGN(const std::size_t got, file.read(std::span(values).subspan(have)));
      have += got;
      if (have < values.size()) return idxTruncated(name, total, have);
    }
  } catch (const std::bad_alloc&) {
    return base::machineError(fmt::format(
        "not enough memory to read '{}' ({} bytes); close other programs or use a smaller data set", name,
        base::groupedText(size)));
  }
  std::array<std::uint8_t, 1> extra{};
  // This read also makes zlib verify the checksum.
  PIPESCOPE_ASSIGN(const std::size_t more, file.read(extra));
  if (more != 0) return idxTooLong(name, total);
  return values;
}

Status checkIsFile(const fs::path& path, IdxKind kind) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    return base::ioError(fmt::format("'{}' is not a file that can be read{}; name an IDX file of {}",
                                     path.string(), error ? " (" + error.message() + ")" : "",
                                     describe(kind)));
  }
  return {};
}

Result<std::vector<std::int64_t>> readExtents(ZlibFile& file, IdxKind kind, const std::string& name) {
  PIPESCOPE_TRY(file.opened());
  PIPESCOPE_ASSIGN(const std::uint32_t magic, readNumber(file, name));
  PIPESCOPE_TRY(checkMagic(magic, kind, name));
  std::vector<std::int64_t> extents;
  for (std::size_t i = 0; i < static_cast<std::size_t>(kind); ++i) {
    PIPESCOPE_ASSIGN(const std::uint32_t extent, readNumber(file, name));
    extents.push_back(extent);
  }
  return extents;
}

}  // namespace

Result<IdxArray> readIdx(const fs::path& path, IdxKind kind) {
  PIPESCOPE_TRY(checkIsFile(path, kind));
  const std::string name = path.string();
  ZlibFile file(path, "rb");
  IdxArray array;
  PIPESCOPE_ASSIGN(array.extents, readExtents(file, kind, name));
  PIPESCOPE_ASSIGN(const std::int64_t size, checkedSize(array.extents, name));
  PIPESCOPE_ASSIGN(array.values, readValues(file, size, name));
  return array;
}

Result<std::vector<std::int64_t>> readIdxExtents(const fs::path& path, IdxKind kind) {
  PIPESCOPE_TRY(checkIsFile(path, kind));
  const std::string name = path.string();
  ZlibFile file(path, "rb");
  PIPESCOPE_ASSIGN(const std::vector<std::int64_t> extents, readExtents(file, kind, name));
  PIPESCOPE_ASSIGN(const std::int64_t size, checkedSize(extents, name));
  if (!file.isPlain()) return extents;
  std::error_code error;
  const std::uintmax_t header = 4 * (1 + extents.size()), bytes = fs::file_size(path, error);
  if (error) return base::ioError(fmt::format("cannot read '{}': {}", name, error.message()));
  const auto total = static_cast<std::size_t>(size), have = static_cast<std::size_t>(bytes - header);
  if (have < total) return idxTruncated(name, total, have);
  if (have > total) return idxTooLong(name, total);
  return extents;
}

Status writeIdx(const fs::path& path, std::span<const std::int64_t> extents,
                std::span<const std::uint8_t> values, IdxCompression compression) {
  std::vector<std::uint8_t> header;
  const auto append = [&header](std::uint32_t number) {
    for (unsigned shift = 32; shift > 0; shift -= 8)
      header.push_back(static_cast<std::uint8_t>(number >> (shift - 8)));
  };
  append(magicOf(extents.size()));
  std::size_t product = 1;
  for (const std::int64_t extent : extents) {
    PIPESCOPE_CHECK(extent >= 0 && extent <= std::numeric_limits<std::uint32_t>::max(),
                    "an extent does not fit the IDX format");
    append(static_cast<std::uint32_t>(extent));
    product *= static_cast<std::size_t>(extent);
  }
  PIPESCOPE_CHECK(product == values.size(),
                  "the extents of an IDX file do not multiply to its number of values");
  ZlibFile file(path, compression == IdxCompression::gzip ? "wb" : "wbT");
  PIPESCOPE_TRY(file.opened());
  PIPESCOPE_TRY(file.write(header));
  PIPESCOPE_TRY(file.write(values));
  return file.close();
}

}  // namespace pipescope::data
