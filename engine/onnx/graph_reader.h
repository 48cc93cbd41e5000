#pragma once
// GraphProto → ModelGraph; used by the reader only.
#include <filesystem>
#include <set>
#include <string>

#include "engine/onnx/model.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace onnx {
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace pipescope::onnx {

/// What holds for a whole file.
struct FileContext {
  std::filesystem::path folder;  ///< of external data
  std::int64_t opset = 17;
  std::set<std::string> nodeNames;  ///< taken so far, sub-graphs included
};

/// The name under which an operator is known here: its type, with the domain before it where that is not
/// ONNX's own.
std::string operatorName(const ::onnx::NodeProto& node);

/// Attributes but for graphs. Errors: kinds that are not supported, attributes given twice.
base::Result<graph::Attributes> readAttributes(const ::onnx::NodeProto& node, const std::string& title,
                                               const std::filesystem::path& folder);

base::Result<ModelGraph> readGraph(const ::onnx::GraphProto& proto, FileContext& context);

/// Text that can be shown: without control characters and broken UTF-8.
std::string shownName(const std::string& name);

}  // namespace pipescope::onnx
