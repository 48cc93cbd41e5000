#pragma once
// TensorProto → TensorValue; used by the reader only.
#include <filesystem>
#include <span>
#include <string>

#include "engine/onnx/model.h"
#include "profiler/base/result.h"

namespace onnx {
class TensorProto;
}

namespace pipescope::onnx {

/// ONNX's number of an element type → ours; a sentence for those that are not supported, naming `what`.
base::Result<ElementType> elementOf(int dataType, const std::string& what);
/// The other way.
int dataTypeOf(ElementType element);
/// "string", "complex64" …
std::string nameOfDataType(int dataType);

/// The value. Memory is taken only for elements that the bytes at hand really hold. `folder` is where
/// external data may lie; empty: external data is refused.
base::Result<TensorValue> readTensor(const ::onnx::TensorProto& proto, const std::filesystem::path& folder,
                                     const std::string& what);
void writeTensor(::onnx::TensorProto& proto, const TensorType& type, std::span<const std::byte> bytes);

/// The bytes [offset, offset + length) of a file of external data; length −1: to its end. `location` must be
/// relative and stay inside `folder`, symbolic links resolved.
base::Result<std::vector<std::byte>> readExternal(const std::filesystem::path& folder,
                                                  const std::string& location, std::int64_t offset,
                                                  std::int64_t length, const std::string& what);

}  // namespace pipescope::onnx
