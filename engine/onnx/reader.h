#pragma once
// ONNX files → Model. Every fault of a file is a sentence: truncated or foreign bytes, cycles, unknown names,
// operators, types and attributes that are not supported (by name), external data outside the model's folder.
#include <filesystem>
#include <span>

#include "engine/onnx/model.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::onnx {

/// Reads a file of at most 2 GiB (protobuf's limit; larger models keep their weights as external data).
base::Result<Model> readModel(const std::filesystem::path& file, const ops::OperatorRegistry& registry);

/// The same from bytes; `folder` holds external data (empty: refused), `name` is for sentences.
base::Result<Model> parseModel(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                               const std::string& name, const ops::OperatorRegistry& registry);

/// The model with new values for some initializers, by name and of the same type, written into `target`; all
/// else is as in `source`, but external data moves into the file.
base::Status writeWithWeights(
    const std::filesystem::path& source, const std::filesystem::path& target,
    const std::map<std::string, std::pair<TensorType, std::span<const std::byte>>>& weights);

/// A file that holds one TensorProto (input_0.pb, output_0.pb).
base::Result<TensorValue> readTensorFile(const std::filesystem::path& file);
base::Status writeTensorFile(const std::filesystem::path& file, const std::string& name,
                             const TensorValue& value);

}  // namespace pipescope::onnx
