#pragma once
// Implements `pipescope infer`, which computes an ONNX model on given tensors without emulating a device.
#include <filesystem>
#include <string>
#include <vector>

#include "profiler/base/files/output_file.h"

namespace pipescope::app {

struct InferFiles {
  std::filesystem::path model;
  std::filesystem::path inputs;   ///< folder that holds input_0.pb, input_1.pb … (ONNX TensorProto)
  std::filesystem::path outputs;  ///< folder for output_0.pb …; created if missing
  std::size_t threads = 0;        ///< 0: all cores
  std::uint64_t seed = 42;        ///< seed of random operators
  base::OutputRules rules = {};   ///< files that the outputs may replace
};

struct InferredTensor {
  std::filesystem::path file;
  std::string name, type;  ///< name and type of the graph's output: "logits", "1x10 float32"
};

/// Reads the model and its inputs, computes the outputs and writes them. Writes nothing if computing fails,
/// or if one of the outputs would replace a file that is not an ONNX tensor.
base::Result<std::vector<InferredTensor>> inferModel(const InferFiles& files);

}  // namespace pipescope::app
