#include "engine/data/npy_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>

#include "engine/ops/core/half.h"

namespace pipescope::data {
namespace {

using base::badInput;
using base::Result;
using graph::ElementType;

constexpr std::string_view kMagic = "\x93NUMPY";

struct TypeName {
  const char* text;
  ElementType type;
};
constexpr TypeName kTypes[] = {
    {"<f4", ElementType::float32}, {"<f2", ElementType::float16}, {"<f8", ElementType::float64},
    {"|i1", ElementType::int8},    {"<i2", ElementType::int16},   {"<i4", ElementType::int32},
    {"<i8", ElementType::int64},   {"|u1", ElementType::uint8},   {"<u2", ElementType::uint16},
    {"<u4", ElementType::uint32},  {"<u8", ElementType::uint64},  {"|b1", ElementType::boolean}};

/// Returns the text after "'key':" in the header's dictionary, without leading blanks.
std::optional<std::string_view> valueOf(std::string_view header, const std::string& key) {
  const std::size_t at = header.find("'" + key + "'");
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t colon = header.find(':', at);
  if (colon == std::string_view::npos) return std::nullopt;
  header.remove_prefix(colon + 1);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

/// Converts "(3, 4)" to extents. Returns nothing if the text is not a tuple of numbers.
std::optional<graph::Shape> shapeOf(std::string_view text) {
  if (!text.starts_with('(')) return std::nullopt;
  const std::size_t close = text.find(')');
  if (close == std::string_view::npos) return std::nullopt;
  text = text.substr(1, close - 1);
  graph::Shape shape;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
    if (text.empty()) return shape;
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc() || extent < 0 || shape.size() >= 32) return std::nullopt;
    shape.push_back(extent);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
}

/// Returns the number of elements of a shape, or nothing if no file could hold them.
std::optional<std::int64_t> boundedElements(const graph::Shape& shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    if (extent != 0 && elements > kMost / extent) return std::nullopt;
    elements *= extent;
  }
  return elements;
}

Result<graph::TensorType> typeOf(std::string_view header, const std::string& name) {
  const auto descr = valueOf(header, "descr"), order = valueOf(header, "fortran_order"),
             shape = valueOf(header, "shape");
  const auto extents = shape ? shapeOf(*shape) : std::nullopt;
  if (!descr || !order || !extents) return badInput(fmt::format("{}: its .npy header is damaged", name));
  if (order->starts_with("True"))
    return badInput(fmt::format("{}: its array is column-major; save it with numpy.ascontiguousarray", name));
  for (const TypeName& known : kTypes) {
    const std::string quoted = "'" + std::string(known.text) + "'";
    if (descr->starts_with(quoted)) return graph::TensorType{known.type, *extents};
  }
  return badInput(
      fmt::format("{}: its elements are of type {}; numbers and bools in little-endian order are read", name,
                  descr->substr(0, std::min<std::size_t>(descr->find(','), 24))));
}

std::string_view textOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Place of the dictionary of the header.
struct NpyHeader {
  std::size_t prefix = 0, length = 0;
  std::size_t bytes() const { return prefix + length; }
};

/// Reads the first bytes of a file of `size` bytes; `start` has 12 of them, or all.
Result<NpyHeader> headerOf(std::span<const std::byte> start, std::size_t size, const std::string& name) {
  if (!textOf(start).starts_with(kMagic) || start.size() < 10)
    return badInput(fmt::format("{} is no .npy file: it does not start as one", name));
  const auto byteAt = [&](std::size_t i) {
    return static_cast<std::size_t>(std::to_integer<unsigned>(start[i]));
  };
  const std::size_t version = byteAt(6), prefix = version == 1 ? 10 : 12;
  if (version < 1 || version > 3 || start.size() < prefix)
    return badInput(fmt::format("{}: .npy version {} is not known", name, version));
  std::size_t length = byteAt(8) | byteAt(9) << 8;
  if (version > 1) length |= byteAt(10) << 16 | byteAt(11) << 24;
  if (length > size - prefix) return badInput(fmt::format("{}: its .npy header is cut off", name));
  return NpyHeader{prefix, length};
}

base::Status checkValues(const graph::TensorType& type, std::size_t bytes, const std::string& name) {
  const std::optional<std::int64_t> elements = boundedElements(type.shape);
  if (elements && static_cast<std::size_t>(*elements * graph::sizeOf(type.element)) == bytes) return {};
  return badInput(fmt::format("{} says that it holds {}, but has {} bytes of values", name,
                              graph::toString(type), bytes));
}

base::Error unreadable(const std::filesystem::path& file, const std::string& what) {
  return base::ioError(fmt::format("cannot read the {} '{}' to its end", what, file.string()));
}

/// Opens a plain file at its end.
Result<std::ifstream> openPlainFile(const std::filesystem::path& file, const std::string& what) {
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  std::error_code error;
  if (!stream || !std::filesystem::is_regular_file(file, error))
    return base::ioError(
        fmt::format("cannot read the {} '{}': no such file, or no permission", what, file.string()));
  return stream;
}

}  // namespace

base::Result<std::uintmax_t> plainFileSize(const std::filesystem::path& file, const std::string& what) {
  PIPESCOPE_ASSIGN(std::ifstream stream, openPlainFile(file, what));
  return static_cast<std::uintmax_t>(stream.tellg());
}

base::Result<std::vector<std::byte>> readFilePart(const std::filesystem::path& file, std::uint64_t offset,
                                                  std::size_t bytes, const std::string& what) {
  PIPESCOPE_ASSIGN(std::ifstream stream, openPlainFile(file, what));
  std::vector<std::byte> part(bytes);
  stream.seekg(static_cast<std::streamoff>(offset));
  stream.read(reinterpret_cast<char*>(part.data()), static_cast<std::streamsize>(part.size()));
  if (!stream) return unreadable(file, what);
  return part;
}

base::Result<std::vector<std::byte>> readWholeFile(const std::filesystem::path& file,
                                                   const std::string& what) {
  PIPESCOPE_ASSIGN(std::ifstream stream, openPlainFile(file, what));
  std::vector<std::byte> bytes(static_cast<std::size_t>(stream.tellg()));
  stream.seekg(0);
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!stream) return unreadable(file, what);
  return bytes;
}

Result<graph::TensorValue> parseNpy(std::span<const std::byte> file, const std::string& name) {
  PIPESCOPE_ASSIGN(const NpyHeader header, headerOf(file, file.size(), name));
  const std::span<const std::byte> values = file.subspan(header.bytes());
  PIPESCOPE_ASSIGN(const graph::TensorType type,
                   typeOf(textOf(file).substr(header.prefix, header.length), name));
  PIPESCOPE_TRY(checkValues(type, values.size(), name));
  return graph::TensorValue{type, {values.begin(), values.end()}};
}

Result<graph::TensorType> parseNpyType(std::span<const std::byte> start, std::size_t size,
                                       const std::string& name) {
  PIPESCOPE_ASSIGN(const NpyHeader header, headerOf(start, size, name));
  if (header.bytes() > start.size())
    return badInput(fmt::format("{}: its .npy header is longer than that of any array", name));
  PIPESCOPE_ASSIGN(graph::TensorType type, typeOf(textOf(start).substr(header.prefix, header.length), name));
  PIPESCOPE_TRY(checkValues(type, size - header.bytes(), name));
  return type;
}

Result<graph::TensorType> readNpyType(const std::filesystem::path& file) {
  PIPESCOPE_ASSIGN(const std::uintmax_t size, plainFileSize(file, "array"));
  PIPESCOPE_ASSIGN(const std::vector<std::byte> start,
                   readFilePart(file, 0, std::min<std::uintmax_t>(size, kNpyStart), "array"));
  return parseNpyType(start, static_cast<std::size_t>(size), "'" + file.string() + "'");
}

Result<graph::TensorValue> readNpy(const std::filesystem::path& file) {
  PIPESCOPE_ASSIGN(const std::vector<std::byte> bytes, readWholeFile(file, "array"));
  return parseNpy(bytes, "'" + file.string() + "'");
}

std::vector<std::byte> npyBytes(const graph::TensorType& type, std::span<const std::byte> values) {
  const bool widened = type.element == ElementType::bfloat16;
  const ElementType written = widened ? ElementType::float32 : type.element;
  const auto known = std::ranges::find(kTypes, written, &TypeName::type);
  std::string shape;
  for (const std::int64_t extent : type.shape) shape += std::to_string(extent) + ",";
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", known->text, shape);
  constexpr std::size_t kLine = 64;
  while ((10 + header.size() + 1) % kLine != 0) header += ' ';
  header += '\n';
  std::string start(kMagic);
  start += {'\x01', '\x00', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  start += header;
  const auto startBytes = std::as_bytes(std::span(start));
  std::vector<std::byte> bytes(startBytes.begin(), startBytes.end());
  if (!widened) {
    bytes.insert(bytes.end(), values.begin(), values.end());
    return bytes;
  }
  const std::size_t at = bytes.size();
  bytes.resize(at + values.size() * 2);
  std::vector<float> wide(values.size() / 2);
  ops::widen(reinterpret_cast<const ops::BFloat16*>(values.data()), wide.data(),
             static_cast<std::int64_t>(wide.size()));
  std::memcpy(bytes.data() + at, wide.data(), wide.size() * sizeof(float));
  return bytes;
}

}  // namespace pipescope::data
