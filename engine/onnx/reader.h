#pragma once
// Reads ONNX files. Every fault of a file is an error with a sentence: truncated or foreign bytes, cycles,
// unknown names, operators, types and attributes that are not supported (by name), external data outside the
// folder of the model.
#include <filesystem>
#include <span>

#include "engine/onnx/model.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::onnx {

/// Reads a file of at most 2 GiB, the limit of protobuf. Larger models keep their weights as external data.
/// `weights` says whether the values of large initializers are read.
base::Result<Model> readModel(const std::filesystem::path& file, const ops::OperatorRegistry& registry,
                              Weights weights = Weights::all);

/// Reads a model from bytes. `folder` holds external data; if it is empty, external data is refused. `name`
/// is for error sentences.
base::Result<Model> parseModel(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                               const std::string& name, const ops::OperatorRegistry& registry,
                               Weights weights = Weights::all);

/// Writes the model in `source` to `target` with new values for some initializers. Values are found by name
/// and must have the same type. External data moves into the file; everything else stays as it is.
base::Status writeWithWeights(
    const std::filesystem::path& source, const std::filesystem::path& target,
    const std::map<std::string, std::pair<TensorType, std::span<const std::byte>>>& weights);

/// Reads a file that holds one TensorProto (input_0.pb, output_0.pb).
base::Result<TensorValue> readTensorFile(const std::filesystem::path& file);
/// Reads the type of that tensor and skips its values. Their length must fit the type if the file states it.
base::Result<TensorType> readTensorType(const std::filesystem::path& file);
base::Status writeTensorFile(const std::filesystem::path& file, const std::string& name,
                             const TensorValue& value);

}  // namespace pipescope::onnx
