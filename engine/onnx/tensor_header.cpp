// Reads what a file of a TensorProto says about its tensor without the values. Messages of protocol buffers
// are lists of fields; each has a tag with its number and the way it is stored.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "engine/onnx/reader.h"
#include "engine/onnx/tensors.h"

namespace pipescope::onnx {
namespace {

namespace fs = std::filesystem;
using base::Result;

/// The numbers of the fields of a TensorProto in onnx.proto.
constexpr std::uint64_t kDims = 1, kDataType = 2, kSegment = 3, kRawData = 9, kDataLocation = 14;
/// Lists of floats, of whole numbers in 32 and in 64 bits, of doubles, and of unsigned whole numbers.
constexpr std::uint64_t kLists[] = {4, 5, 7, 10, 11};
/// Ways to store a field.
constexpr std::uint64_t kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;

struct TensorHeader {
  std::vector<std::int64_t> dims;
  int dataType = 0;
  bool segment = false, external = false;
  bool lists = false;         ///< it holds values in lists, whose length in bytes says little
  std::int64_t rawBytes = 0;  ///< bytes of other values
};

/// Walks through the fields of a file.
class FieldWalk {
 public:
  explicit FieldWalk(const fs::path& file) : stream_(file, std::ios::binary | std::ios::ate) {
    std::error_code error;
    if (!stream_ || !fs::is_regular_file(file, error)) return;
    size_ = static_cast<std::int64_t>(stream_.tellg());
    stream_.seekg(0);
  }
  bool isOpen() const { return size_ >= 0; }

  /// False if the file is damaged or cut.
  bool read(TensorHeader& header) {
    while (at_ < size_) {
      std::uint64_t tag = 0, value = 0;
      if (!varint(tag) || !field(tag & 7, value)) return false;
      const std::uint64_t number = tag >> 3;
      if (number == kDims && (tag & 7) == kBytes) {
        if (!packed(value, header.dims)) return false;
        continue;
      }
      if (number == kDims) header.dims.push_back(static_cast<std::int64_t>(value));
      if (number == kDataType) header.dataType = static_cast<int>(value);
      if (number == kSegment) header.segment = true;
      if (number == kRawData) header.rawBytes = static_cast<std::int64_t>(value);
      header.lists = header.lists || std::ranges::find(kLists, number) != std::end(kLists);
      if (number == kDataLocation) header.external = value == 1;
      if ((tag & 7) == kBytes && !skip(value)) return false;
    }
    return at_ == size_;
  }

 private:
  bool varint(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const int byte = stream_.get();
      if (byte < 0) return false;
      ++at_;
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  /// The value of a number, or the length of bytes.
  bool field(std::uint64_t stored, std::uint64_t& value) {
    if (stored == kVarint || stored == kBytes) return varint(value);
    return (stored == kFixed64 && skip(8)) || (stored == kFixed32 && skip(4));
  }
  bool skip(std::uint64_t bytes) {
    if (bytes > static_cast<std::uint64_t>(size_ - at_)) return false;
    at_ += static_cast<std::int64_t>(bytes);
    stream_.seekg(at_);
    return static_cast<bool>(stream_);
  }
  bool packed(std::uint64_t bytes, std::vector<std::int64_t>& numbers) {
    if (bytes > static_cast<std::uint64_t>(size_ - at_)) return false;
    const std::int64_t end = at_ + static_cast<std::int64_t>(bytes);
    std::uint64_t number = 0;
    while (at_ < end) {
      if (!varint(number)) return false;
      numbers.push_back(static_cast<std::int64_t>(number));
    }
    return at_ == end;
  }

  std::ifstream stream_;
  std::int64_t size_ = -1, at_ = 0;
};

}  // namespace

Result<TensorType> readTensorType(const fs::path& file) {
  const std::string what = file.string();
  FieldWalk walk(file);
  if (!walk.isOpen())
    return base::ioError(fmt::format("Cannot read {}: no such file, or no permission.", what));
  TensorHeader header;
  if (!walk.read(header)) return base::badInput(what + " is not an ONNX tensor, or it is cut or damaged.");
  if (header.segment)
    return base::badInput(fmt::format("{} is stored in segments, which is not supported.", what));
  PIPESCOPE_ASSIGN(const ElementType element, elementOf(header.dataType, what));
  TensorType type{element, {header.dims.begin(), header.dims.end()}};
  PIPESCOPE_ASSIGN(const std::int64_t needed, bytesNeeded(type, what));
  if (!header.lists && !header.external && header.rawBytes != needed) {
    return base::badInput(fmt::format("{} ({}) needs {} bytes, but the file holds {}: it is damaged.", what,
                                      graph::toString(type), needed, header.rawBytes));
  }
  return type;
}

}  // namespace pipescope::onnx
