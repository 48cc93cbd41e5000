#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "engine/onnx/graph_reader.h"
#include "engine/onnx/tensors.h"

namespace pipescope::onnx {

using base::badInput;
using base::Result;
using Proto = ::onnx::AttributeProto;

namespace {

Result<graph::Attribute> readAttribute(const Proto& proto, const std::string& what,
                                       const std::filesystem::path& folder) {
  if (!proto.ref_attr_name().empty())
    return badInput(what + " refers to an attribute of a function, but it is not in a function.");
  switch (proto.type()) {
    case Proto::INT:
      return graph::Attribute(static_cast<std::int64_t>(proto.i()));
    case Proto::FLOAT:
      return graph::Attribute(static_cast<double>(proto.f()));
    case Proto::STRING:
      return graph::Attribute(proto.s());
    case Proto::INTS:
      return graph::Attribute(std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end()));
    case Proto::FLOATS:
      return graph::Attribute(std::vector<double>(proto.floats().begin(), proto.floats().end()));
    case Proto::STRINGS:
      return graph::Attribute(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    case Proto::TENSOR: {
      PIPESCOPE_ASSIGN(TensorValue value, readTensor(proto.t(), folder, what));
      return graph::Attribute(std::make_shared<const TensorValue>(std::move(value)));
    }
    default:
      break;
  }
  const std::string kind = Proto::AttributeType_IsValid(proto.type())
                               ? Proto::AttributeType_Name(proto.type())
                               : std::to_string(proto.type());
  return badInput(fmt::format("{} is of the kind {}, which is not supported.", what, kind));
}

}  // namespace

Result<graph::Attributes> readAttributes(const ::onnx::NodeProto& node, const std::string& title,
                                         const std::filesystem::path& folder) {
  graph::Attributes attributes;
  std::set<std::string> seen;
  for (const Proto& proto : node.attribute()) {
    const std::string what = fmt::format("{}: attribute {}", title, shownName(proto.name()));
    if (!seen.insert(proto.name()).second) return badInput(what + " is given twice.");
    if (proto.type() == Proto::GRAPH) continue;
    PIPESCOPE_ASSIGN(graph::Attribute value, readAttribute(proto, what, folder));
    attributes.emplace(proto.name(), std::move(value));
  }
  return attributes;
}

}  // namespace pipescope::onnx
