#pragma once
// Turns a TensorProto into a TensorValue. Only the reader uses it.
#include <filesystem>
#include <span>
#include <string>

#include "engine/onnx/model.h"
#include "profiler/base/result.h"

namespace onnx {
class TensorProto;
}

namespace pipescope::onnx {

/// Turns ONNX's number of an element type into ours. Error: a type that is not supported; `what` names the
/// tensor.
base::Result<ElementType> elementOf(int dataType, const std::string& what);
/// Turns our element type into ONNX's number.
int dataTypeOf(ElementType element);
/// "string", "complex64" …
std::string nameOfDataType(int dataType);

/// Bytes that the values need. Error: a negative extent, or a product that does not fit.
base::Result<std::int64_t> bytesNeeded(const TensorType& type, const std::string& what);

/// The type that the tensor declares. Error: an element type that is not supported.
base::Result<TensorType> tensorType(const ::onnx::TensorProto& proto, const std::string& what);

/// Reads the value. Memory is taken only for elements that the bytes really hold. `folder` may hold external
/// data; if it is empty, external data is refused.
base::Result<TensorValue> readTensor(const ::onnx::TensorProto& proto, const std::filesystem::path& folder,
                                     const std::string& what);
void writeTensor(::onnx::TensorProto& proto, const TensorType& type, std::span<const std::byte> bytes);

/// Reads the bytes [offset, offset + length) of a file of external data; a length of −1 means up to its end.
/// `location` must be relative and stay inside `folder` after symbolic links are resolved.
base::Result<std::vector<std::byte>> readExternal(const std::filesystem::path& folder,
                                                  const std::string& location, std::int64_t offset,
                                                  std::int64_t length, const std::string& what);

}  // namespace pipescope::onnx
