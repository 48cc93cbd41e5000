#pragma once
// Turns a GraphProto into a ModelGraph. Only the reader uses it.
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

/// State for a whole file.
struct FileContext {
  std::filesystem::path folder;  ///< folder of external data
  std::int64_t opset = 17;
  std::set<std::string> nodeNames;  ///< names in use so far, also in sub-graphs
  Weights weights = Weights::all;
};

/// The name of an operator in this program: its type, preceded by the domain unless it is ONNX's own.
std::string operatorName(const ::onnx::NodeProto& node);

/// Reads attributes except graphs. Errors: a kind that is not supported, an attribute that is given twice.
base::Result<graph::Attributes> readAttributes(const ::onnx::NodeProto& node, const std::string& title,
                                               const std::filesystem::path& folder);

base::Result<OnnxGraph> readGraph(const ::onnx::GraphProto& proto, FileContext& context);

/// Removes control characters and broken UTF-8, so that the text can be shown.
std::string shownName(const std::string& name);

}  // namespace pipescope::onnx
