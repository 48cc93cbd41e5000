#include "engine/onnx/reader.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>
#include <onnx/onnx_pb.h>

#include <fstream>
#include <limits>
#include <mutex>

#include "engine/onnx/graph_reader.h"
#include "engine/onnx/tensors.h"
#include "engine/onnx/upgrades.h"
#include "profiler/base/files/output_file.h"

namespace pipescope::onnx {

using base::badInput;
using base::Result;
using base::Status;
namespace fs = std::filesystem;

namespace {

constexpr const char* kNoModel =
    " is not an ONNX model, or it is cut or damaged, or its graphs are nested too deeply.";

/// Protobuf would print its messages on standard error. Ours are error sentences.
void silenceProtobuf() {
  static std::once_flag once;
  std::call_once(once, [] { google::protobuf::SetLogHandler(nullptr); });
}

Result<std::string> readWhole(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error))
    return base::ioError(fmt::format("Cannot read {}: no such file.", file.string()));
  if (!fs::is_regular_file(file, error))
    return base::ioError(fmt::format("Cannot read {}: it is not a plain file.", file.string()));
  const std::uintmax_t size = fs::file_size(file, error);
  if (error) return base::ioError(fmt::format("Cannot read {}: {}.", file.string(), error.message()));
  if (size > static_cast<std::uintmax_t>(std::numeric_limits<int>::max())) {
    return badInput(
        fmt::format("{} is larger than 2 GiB, more than an ONNX file can be: save the model with "
                    "external data.",
                    file.string()));
  }
  std::string bytes(size, '\0');
  std::ifstream stream(file, std::ios::binary);
  if (!stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
    return base::ioError(
        fmt::format("Cannot read {}: no permission, or it changed meanwhile.", file.string()));
  return bytes;
}

template <class Proto>
bool parse(Proto& proto, std::span<const std::byte> bytes) {
  silenceProtobuf();
  return proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

/// Collects unknown operators with the first node of each, also in sub-graphs.
void collectUnknown(const ::onnx::GraphProto& graph, const ops::OperatorRegistry& registry,
                    std::map<std::string, std::string>& unknown) {
  for (const auto& node : graph.node()) {
    const std::string op = operatorName(node);
    if (op != "Constant" && !isControlFlow(op) && !isRenamed(op) && !registry.find(op))
      unknown.emplace(
          op, shownName(node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name()));
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) collectUnknown(attribute.g(), registry, unknown);
    }
  }
}

Status checkOperators(const ::onnx::GraphProto& graph, const ops::OperatorRegistry& registry) {
  std::map<std::string, std::string> unknown;
  collectUnknown(graph, registry, unknown);
  if (unknown.empty()) return {};
  std::string list;
  for (const auto& [op, node] : unknown)
    list += fmt::format("{}{}{}", list.empty() ? "" : ", ", op, node.empty() ? "" : " (node " + node + ")");
  return badInput(fmt::format("the model uses {} that {} not supported: {}.",
                              unknown.size() == 1 ? "an operator" : "operators",
                              unknown.size() == 1 ? "is" : "are", list));
}

Result<std::int64_t> opsetOf(const ::onnx::ModelProto& proto) {
  std::int64_t opset = -1;
  for (const auto& import : proto.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") opset = import.version();
    // Operators for training have one version only, so their opset does not matter.
    if (import.domain() == "ai.onnx.preview.training" && opset < 0) opset = 17;
  }
  if (opset < 0) return badInput("the file names no opset: it is not an ONNX model, or it is damaged.");
  if (opset < 1 || opset > 17) {
    return badInput(fmt::format(
        "the model is of opset {}; opsets 7 to 17 are supported: export it with one of them.", opset));
  }
  return opset;
}

Result<Model> convert(const ::onnx::ModelProto& proto, const fs::path& folder, const std::string& name,
                      const ops::OperatorRegistry& registry, Weights weights) {
  if (!proto.has_graph())
    return badInput("the file holds no graph: it is not an ONNX model, or it is damaged.");
  FileContext context;
  context.folder = folder;
  context.weights = weights;
  PIPESCOPE_ASSIGN(context.opset, opsetOf(proto));
  PIPESCOPE_TRY(checkOperators(proto.graph(), registry));
  Model model{name, context.opset, {}};
  PIPESCOPE_ASSIGN(model.graph, readGraph(proto.graph(), context));
  return model;
}

/// Puts the name of the file before the sentence.
base::Error within(const std::string& name, base::Error error) {
  error.message = fmt::format("{}: {}", name, error.message);
  return error;
}

fs::path folderOf(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

}  // namespace

Result<Model> parseModel(std::span<const std::byte> bytes, const fs::path& folder, const std::string& name,
                         const ops::OperatorRegistry& registry, Weights weights) {
  ::onnx::ModelProto proto;
  if (!parse(proto, bytes)) return badInput(name + kNoModel);
  Result<Model> model = convert(proto, folder, name, registry, weights);
  if (!model.ok()) return within(name, model.error());
  return model;
}

Result<Model> readModel(const fs::path& file, const ops::OperatorRegistry& registry, Weights weights) {
  PIPESCOPE_ASSIGN(const std::string bytes, readWhole(file));
  return parseModel(std::as_bytes(std::span(bytes)), folderOf(file), file.string(), registry, weights);
}

Result<TensorValue> readTensorFile(const fs::path& file) {
  PIPESCOPE_ASSIGN(const std::string bytes, readWhole(file));
  ::onnx::TensorProto proto;
  if (!parse(proto, std::as_bytes(std::span(bytes))))
    return badInput(file.string() + " is not an ONNX tensor, or it is cut or damaged.");
  return readTensor(proto, folderOf(file), file.string());
}

namespace {
Status writeMessage(const google::protobuf::MessageLite& proto, const fs::path& file) {
  PIPESCOPE_ASSIGN(base::PendingFile pending, base::PendingFile::create(file));
  std::ofstream stream(pending.temporary(), std::ios::binary);
  const bool written = stream && proto.SerializeToOstream(&stream) && stream.flush();
  stream.close();
  if (!written || !stream)
    return base::machineError(fmt::format("Cannot write {}: is the disk full?", file.string()));
  return pending.publish();
}
}  // namespace

Status writeTensorFile(const fs::path& file, const std::string& name, const TensorValue& value) {
  ::onnx::TensorProto proto;
  proto.set_name(name);
  writeTensor(proto, value.type, value.bytes);
  return writeMessage(proto, file);
}

namespace {
using Weights = std::map<std::string, std::pair<TensorType, std::span<const std::byte>>>;

/// Turns weights that an Identity makes of an initializer into initializers. Returns how many there were.
std::size_t replaceIdentities(::onnx::GraphProto& graph, const Weights& weights) {
  std::size_t found = 0;
  for (int i = graph.node_size(); i-- > 0;) {
    const ::onnx::NodeProto& node = graph.node(i);
    if (node.op_type() != "Identity" || node.output_size() != 1) continue;
    const auto weight = weights.find(node.output(0));
    if (weight == weights.end()) continue;
    ::onnx::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(weight->first);
    writeTensor(tensor, weight->second.first, weight->second.second);
    graph.mutable_node()->DeleteSubrange(i, 1);
    ++found;
  }
  return found;
}
}  // namespace

Status writeWithWeights(
    const fs::path& source, const fs::path& target,
    const std::map<std::string, std::pair<TensorType, std::span<const std::byte>>>& weights) {
  PIPESCOPE_ASSIGN(const std::string bytes, readWhole(source));
  ::onnx::ModelProto proto;
  if (!parse(proto, std::as_bytes(std::span(bytes)))) return badInput(source.string() + kNoModel);
  std::size_t found = 0;
  for (::onnx::TensorProto& tensor : *proto.mutable_graph()->mutable_initializer()) {
    const auto weight = weights.find(tensor.name());
    if (weight != weights.end()) {
      ++found;
      writeTensor(tensor, weight->second.first, weight->second.second);
    } else if (tensor.data_location() == ::onnx::TensorProto::EXTERNAL) {
      PIPESCOPE_ASSIGN(const TensorValue value,
                       readTensor(tensor, folderOf(source), "initializer " + shownName(tensor.name())));
      writeTensor(tensor, value.type, value.bytes);
    }
  }
  found += replaceIdentities(*proto.mutable_graph(), weights);
  if (found != weights.size())
    return badInput(fmt::format("{} lacks {} of the {} weights to be saved.", source.string(),
                                weights.size() - found, weights.size()));
  if (proto.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return badInput(
        fmt::format("{} would be larger than 2 GiB, more than an ONNX file can be.", target.string()));
  return writeMessage(proto, target);
}

}  // namespace pipescope::onnx
