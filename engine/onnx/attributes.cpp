#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "engine/onnx/graph_reader.h"
#include "engine/onnx/tensors.h"

namespace pipescope::onnx {

using base::badInput;
using base::Result;
using AttributeMessage = ::onnx::AttributeProto;

namespace {

Result<graph::Attribute> readAttribute(const AttributeMessage& proto, const std::string& what,
                                       const std::filesystem::path& folder) {
  if (!proto.ref_attr_name().empty())
    return badInput(what + " refers to an attribute of a function, but it is not in a function.");
  switch (proto.type()) {
    case AttributeMessage::INT:
      return graph::Attribute(static_cast<std::int64_t>(proto.i()));
    case AttributeMessage::FLOAT:
      return graph::Attribute(static_cast<double>(proto.f()));
    case AttributeMessage::STRING:
      return graph::Attribute(proto.s());
    case AttributeMessage::INTS:
      return graph::Attribute(std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end()));
    case AttributeMessage::FLOATS:
      return graph::Attribute(std::vector<double>(proto.floats().begin(), proto.floats().end()));
    case AttributeMessage::STRINGS:
      return graph::Attribute(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    case AttributeMessage::TENSOR: {
      PIPESCOPE_ASSIGN(TensorValue value, readTensor(proto.t(), folder, what));
      return graph::Attribute(std::make_shared<const TensorValue>(std::move(value)));
    }
    default:
      break;
  }
  const std::string kind = AttributeMessage::AttributeType_IsValid(proto.type())
                               ? AttributeMessage::AttributeType_Name(proto.type())
                               : std::to_string(proto.type());
  return badInput(fmt::format("{} is of the kind {}, which is not supported.", what, kind));
}

}  // namespace

Result<graph::Attributes> readAttributes(const ::onnx::NodeProto& node, const std::string& title,
                                         const std::filesystem::path& folder) {
  graph::Attributes attributes;
  std::set<std::string> seen;
  for (const AttributeMessage& proto : node.attribute()) {
    const std::string what = fmt::format("{}: attribute {}", title, shownName(proto.name()));
    if (!seen.insert(proto.name()).second) return badInput(what + " is given twice.");
    if (proto.type() == AttributeMessage::GRAPH) continue;
    PIPESCOPE_ASSIGN(graph::Attribute value, readAttribute(proto, what, folder));
    attributes.emplace(proto.name(), std::move(value));
  }
  return attributes;
}

}  // namespace pipescope::onnx
