#include "engine/onnx/tensors.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <charconv>
#include <cstring>
#include <limits>

namespace pipescope::onnx {

using base::badInput;
using base::Result;
using TensorMessage = ::onnx::TensorProto;

namespace {

struct TypePair {
  int onnx;
  ElementType ours;
};
/// Numbers of TensorProto.DataType that came with onnx 1.14, which Debian's library does not name.
constexpr int kFloat8E4M3Fn = 17, kFloat8E4M3Fnuz = 18, kFloat8E5M2 = 19, kFloat8E5M2Fnuz = 20;
constexpr TypePair kTypes[] = {
    {TensorMessage::FLOAT, ElementType::float32},     {TensorMessage::FLOAT16, ElementType::float16},
    {TensorMessage::BFLOAT16, ElementType::bfloat16}, {TensorMessage::DOUBLE, ElementType::float64},
    {TensorMessage::INT8, ElementType::int8},         {TensorMessage::INT16, ElementType::int16},
    {TensorMessage::INT32, ElementType::int32},       {TensorMessage::INT64, ElementType::int64},
    {TensorMessage::UINT8, ElementType::uint8},       {TensorMessage::UINT16, ElementType::uint16},
    {TensorMessage::UINT32, ElementType::uint32},     {TensorMessage::UINT64, ElementType::uint64},
    {TensorMessage::BOOL, ElementType::boolean},      {kFloat8E4M3Fn, ElementType::float8_143fn},
    {kFloat8E4M3Fnuz, ElementType::float8_143fnuz},   {kFloat8E5M2, ElementType::float8_152},
    {kFloat8E5M2Fnuz, ElementType::float8_152fnuz}};

/// Reads the elements of a typed list, each narrowed to T.
template <class T, class List>
std::vector<std::byte> narrowed(const List& list) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(list.size()) * sizeof(T));
  std::byte* to = bytes.data();
  for (const auto& element : list) {
    const T value = static_cast<T>(element);
    std::memcpy(to, &value, sizeof(T));
    to += sizeof(T);
  }
  return bytes;
}

std::vector<std::byte> typedData(const TensorMessage& proto, ElementType element) {
  switch (element) {
    case ElementType::float32:
      return narrowed<float>(proto.float_data());
    case ElementType::float64:
      return narrowed<double>(proto.double_data());
    case ElementType::int64:
      return narrowed<std::int64_t>(proto.int64_data());
    case ElementType::uint64:
      return narrowed<std::uint64_t>(proto.uint64_data());
    case ElementType::uint32:
      return narrowed<std::uint32_t>(proto.uint64_data());
    case ElementType::int32:
      return narrowed<std::int32_t>(proto.int32_data());
    case ElementType::int16:
      return narrowed<std::int16_t>(proto.int32_data());
    case ElementType::float16:
    case ElementType::bfloat16:
    case ElementType::uint16:
      return narrowed<std::uint16_t>(proto.int32_data());
    case ElementType::int8:
      return narrowed<std::int8_t>(proto.int32_data());
    case ElementType::uint8:
      return narrowed<std::uint8_t>(proto.int32_data());
    case ElementType::boolean:
    case ElementType::float8_143:
    case ElementType::float8_143fn:
    case ElementType::float8_143fnuz:
    case ElementType::float8_152:
    case ElementType::float8_152fnuz:
      return narrowed<std::uint8_t>(proto.int32_data());
    case ElementType::float4_121:
      break;  // kTypes has no number for it
  }
  return {};
}

Result<std::int64_t> wholeNumber(const std::string& text, const std::string& what) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    return badInput(fmt::format("{}: \"{}\" is not a valid offset or length of external data.", what, text));
  return value;
}

Result<std::vector<std::byte>> externalData(const TensorMessage& proto, const std::filesystem::path& folder,
                                            std::int64_t needed, const std::string& what) {
  std::string location;
  std::int64_t offset = 0, length = needed;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") {
      PIPESCOPE_ASSIGN(offset, wholeNumber(entry.value(), what));
    }
    if (entry.key() == "length") {
      PIPESCOPE_ASSIGN(length, wholeNumber(entry.value(), what));
    }
  }
  if (length != needed) {
    return badInput(
        fmt::format("{} has {} bytes of external data, but its shape needs {}.", what, length, needed));
  }
  return readExternal(folder, location, offset, length, what);
}

/// Makes every boolean 0 or 1, because kernels rely on that and a file may hold any byte.
void normalizeBooleans(TensorValue& value) {
  if (value.type.element != ElementType::boolean) return;
  for (std::byte& byte : value.bytes) byte = byte == std::byte{0} ? byte : std::byte{1};
}

}  // namespace

Result<std::int64_t> bytesNeeded(const TensorType& type, const std::string& what) {
  std::int64_t bytes = graph::sizeOf(type.element);
  bool empty = false;
  for (const std::int64_t extent : type.shape) {
    if (extent < 0) return badInput(fmt::format("{} has the negative extent {}.", what, extent));
    empty = empty || extent == 0;
  }
  if (empty) return std::int64_t{0};
  for (const std::int64_t extent : type.shape) {
    if (bytes > std::numeric_limits<std::int64_t>::max() / 2 / extent)
      return badInput(fmt::format("{} has more elements than can be addressed.", what));
    bytes *= extent;
  }
  return bytes;
}

std::string nameOfDataType(int dataType) {
  for (const TypePair& pair : kTypes) {
    if (pair.onnx == dataType && graph::isFloat8(pair.ours)) return graph::toString(pair.ours);
  }
  if (!TensorMessage::DataType_IsValid(dataType)) return fmt::format("type {}", dataType);
  std::string name = TensorMessage::DataType_Name(static_cast<TensorMessage::DataType>(dataType));
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

Result<ElementType> elementOf(int dataType, const std::string& what) {
  for (const TypePair& pair : kTypes) {
    if (pair.onnx == dataType) return pair.ours;
  }
  return badInput(
      fmt::format("{} is of the element type {}, which is not supported.", what, nameOfDataType(dataType)));
}

int dataTypeOf(ElementType element) {
  for (const TypePair& pair : kTypes) {
    if (pair.ours == element) return pair.onnx;
  }
  return TensorMessage::UNDEFINED;
}

Result<TensorType> tensorType(const TensorMessage& proto, const std::string& what) {
  PIPESCOPE_ASSIGN(const ElementType element, elementOf(proto.data_type(), what));
  return TensorType{element, {proto.dims().begin(), proto.dims().end()}};
}

Result<TensorValue> readTensor(const TensorMessage& proto, const std::filesystem::path& folder,
                               const std::string& what) {
  TensorValue value;
  PIPESCOPE_ASSIGN(value.type, tensorType(proto, what));
  if (proto.has_segment())
    return badInput(fmt::format("{} is stored in segments, which is not supported.", what));
  PIPESCOPE_ASSIGN(const std::int64_t needed, bytesNeeded(value.type, what));
  if (proto.data_location() == TensorMessage::EXTERNAL) {
    PIPESCOPE_ASSIGN(value.bytes, externalData(proto, folder, needed, what));
  } else if (proto.has_raw_data()) {
    const auto* raw = reinterpret_cast<const std::byte*>(proto.raw_data().data());
    value.bytes.assign(raw, raw + proto.raw_data().size());
  } else {
    value.bytes = typedData(proto, value.type.element);
  }
  if (static_cast<std::int64_t>(value.bytes.size()) != needed) {
    return badInput(fmt::format("{} ({}) needs {} bytes, but the file holds {}: it is damaged.", what,
                                graph::toString(value.type), needed, value.bytes.size()));
  }
  normalizeBooleans(value);
  return value;
}

void writeTensor(TensorMessage& proto, const TensorType& type, std::span<const std::byte> bytes) {
  const std::string name = proto.name(), doc = proto.doc_string();
  proto.Clear();
  proto.set_name(name);
  if (!doc.empty()) proto.set_doc_string(doc);
  proto.set_data_type(dataTypeOf(type.element));
  for (const std::int64_t extent : type.shape) proto.add_dims(extent);
  proto.set_raw_data(bytes.data(), bytes.size());
}

}  // namespace pipescope::onnx
