#include "engine/onnx/graph_reader.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <queue>
#include <unordered_map>

#include "engine/onnx/tensors.h"
#include "engine/onnx/upgrades.h"

namespace pipescope::onnx {

using base::badInput;
using base::Result;
using base::Status;
using Names = std::set<std::string>;

namespace {

constexpr std::int64_t kSmallWeight = 65536;  // bytes

/// Names that a graph reads from outside.
Names freeNames(const ::onnx::GraphProto& graph) {
  Names known, read;
  for (const auto& input : graph.input()) known.insert(input.name());
  for (const auto& initializer : graph.initializer()) known.insert(initializer.name());
  for (const auto& node : graph.node()) {
    known.insert(node.output().begin(), node.output().end());
    read.insert(node.input().begin(), node.input().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) read.merge(freeNames(attribute.g()));
    }
  }
  for (const auto& output : graph.output()) read.insert(output.name());
  std::erase_if(read, [&](const std::string& name) { return name.empty() || known.contains(name); });
  return read;
}

/// Reads what the file declares about a value.
Result<ModelValue> readValueInfo(const ::onnx::ValueInfoProto& info) {
  ModelValue value{info.name(), {}, {}};
  const std::string what = fmt::format("value {}", shownName(info.name()));
  const ::onnx::TypeProto& type = info.type();
  switch (type.value_case()) {
    case ::onnx::TypeProto::VALUE_NOT_SET:
      return value;
    case ::onnx::TypeProto::kTensorType:
      break;
    case ::onnx::TypeProto::kSequenceType:
      return badInput(what + " is a sequence, which is not supported: only tensors are.");
    case ::onnx::TypeProto::kOptionalType:
      return badInput(what + " is an optional, which is not supported: only tensors are.");
    case ::onnx::TypeProto::kMapType:
      return badInput(what + " is a map, which is not supported: only tensors are.");
    default:
      return badInput(what + " is not a dense tensor; only dense tensors are supported.");
  }
  const auto& tensor = type.tensor_type();
  if (tensor.elem_type() != ::onnx::TensorProto::UNDEFINED) {
    PIPESCOPE_ASSIGN(value.element, elementOf(tensor.elem_type(), what));
  }
  if (!tensor.has_shape()) return value;
  value.shape.emplace();
  for (const auto& dim : tensor.shape().dim()) {
    Dimension dimension{{}, dim.dim_param()};
    if (dim.has_dim_value()) dimension.extent = dim.dim_value();
    // Some exporters write −1 for an extent that they do not know.
    if (dimension.extent == -1) dimension.extent.reset();
    if (dimension.extent && *dimension.extent < 0)
      return badInput(fmt::format("{} has the negative extent {}.", what, *dimension.extent));
    value.shape->push_back(std::move(dimension));
  }
  return value;
}

class GraphReader : public UpgradeContext {
 public:
  GraphReader(const ::onnx::GraphProto& proto, FileContext& file, GraphReader* outer)
      : proto_(proto), file_(file), outer_(outer) {}

  Result<OnnxGraph> read() {
    graph_.name = shownName(proto_.name());
    PIPESCOPE_TRY(readTypes());
    PIPESCOPE_TRY(readInitializers());
    for (const auto& input : proto_.input()) {
      if (initializers_.contains(input.name())) continue;
      PIPESCOPE_TRY(define(input.name()));
      graph_.inputs.push_back(known_.at(input.name()));
    }
    PIPESCOPE_TRY(readNodes());
    PIPESCOPE_ASSIGN(const std::vector<std::size_t> order, orderNodes());
    for (const std::size_t index : order) PIPESCOPE_TRY(addNode(std::move(raw_[index])));
    for (const auto& output : proto_.output()) {
      const std::optional<ValueId> id = lookUp(output.name());
      if (!id) return badInput(fmt::format("nothing provides the output {}.", shownName(output.name())));
      graph_.outputs.push_back(*id);
    }
    return std::move(graph_);
  }

  const ModelValue* valueOf(const std::string& name) const override {
    const auto found = types_.find(name);
    if (found != types_.end()) return &found->second;
    return outer_ ? outer_->valueOf(name) : nullptr;
  }
  std::string addConstant(const std::string& near, const std::string& word, TensorValue value) override {
    std::string name = freshName(near, word);
    types_[name] = {name, value.type.element, {}};
    const Status defined = define(name);
    PIPESCOPE_CHECK(defined.ok(), name);
    graph_.constants[known_.at(name)] = std::make_shared<const TensorValue>(std::move(value));
    return name;
  }
  std::string freshName(const std::string& near, const std::string& word) override {
    std::string name = near + "/" + word;
    while (known_.contains(name) || !fresh_.insert(name).second || types_.contains(name)) name += "_";
    return name;
  }

 private:
  Status readTypes() {
    const auto add = [this](const auto& infos) -> Status {
      for (const auto& info : infos) {
        PIPESCOPE_ASSIGN(ModelValue value, readValueInfo(info));
        types_[info.name()] = std::move(value);
      }
      return {};
    };
    PIPESCOPE_TRY(add(proto_.value_info()));
    PIPESCOPE_TRY(add(proto_.output()));
    return add(proto_.input());
  }

  Status readInitializers() {
    if (proto_.sparse_initializer_size() > 0) {
      return badInput(fmt::format("graph {} has sparse initializers, which are not supported.",
                                  shownName(proto_.name())));
    }
    for (const auto& proto : proto_.initializer()) {
      const std::string what = "initializer " + shownName(proto.name());
      PIPESCOPE_ASSIGN(const TensorType type, tensorType(proto, what));
      PIPESCOPE_ASSIGN(const std::int64_t bytes, bytesNeeded(type, what));
      PIPESCOPE_TRY(define(proto.name()));
      initializers_.insert(proto.name());
      if (file_.weights == Weights::all || bytes <= kSmallWeight) {
        PIPESCOPE_ASSIGN(TensorValue value, readTensor(proto, file_.folder, what));
        setConstant(proto.name(), std::move(value));
      } else {
        setType(proto.name(), type);
      }
      graph_.weights.push_back(known_.at(proto.name()));
    }
    return {};
  }

  void setType(const std::string& name, const TensorType& type) {
    ModelValue& known = graph_.values[known_.at(name)];
    known.element = type.element;
    known.shape.emplace();
    for (const std::int64_t extent : type.shape) known.shape->push_back({extent, {}});
    types_[name] = known;
  }

  void setConstant(const std::string& name, TensorValue value) {
    setType(name, value.type);
    graph_.constants[known_.at(name)] = std::make_shared<const TensorValue>(std::move(value));
  }

  /// Adds a value to this graph.
  Status define(const std::string& name) {
    if (name.empty()) return badInput("a value has no name.");
    const ValueId id(static_cast<std::int64_t>(graph_.values.size()));
    if (!known_.emplace(name, id).second)
      return badInput(fmt::format("the value {} is made twice.", shownName(name)));
    const auto type = types_.find(name);
    graph_.values.push_back(type == types_.end() ? ModelValue{name, {}, {}} : type->second);
    return {};
  }

  std::optional<ValueId> lookUp(const std::string& name) {
    if (const auto found = known_.find(name); found != known_.end()) return found->second;
    if (!outer_) return std::nullopt;
    const std::optional<ValueId> outer = outer_->lookUp(name);
    if (!outer) return std::nullopt;
    const ValueId inner(static_cast<std::int64_t>(graph_.values.size()));
    graph_.values.push_back(outer_->graph_.value(*outer));
    known_.emplace(name, inner);
    graph_.captured.emplace_back(*outer, inner);
    return inner;
  }

  std::string uniqueNodeName(const ::onnx::NodeProto& node) {
    std::string name = shownName(node.name());
    name.erase(0, std::min(name.find_first_not_of('/'), name.size()));
    if (name.empty() && node.output_size() > 0) name = shownName(node.output(0)) + "/" + node.op_type();
    if (name.empty()) name = node.op_type();
    std::string unique = name;
    for (int i = 2; !file_.nodeNames.insert(unique).second; ++i) unique = fmt::format("{}_{}", name, i);
    return unique;
  }

  Status readNodes() {
    for (int i = 0; i < proto_.node_size(); ++i) {
      const ::onnx::NodeProto& node = proto_.node(i);
      RawNode raw{operatorName(node), uniqueNodeName(node), {}, {}, {}, i};
      raw.inputs.assign(node.input().begin(), node.input().end());
      raw.outputs.assign(node.output().begin(), node.output().end());
      const std::string title = raw.op + " " + raw.name;
      if (raw.op == "Constant") {
        PIPESCOPE_TRY(readConstant(node, title));
        continue;
      }
      PIPESCOPE_ASSIGN(raw.attributes, readAttributes(node, title, file_.folder));
      PIPESCOPE_TRY(checkCast(raw));
      PIPESCOPE_ASSIGN(std::vector<RawNode> nodes, upgradeNode(std::move(raw), file_.opset, *this));
      for (RawNode& each : nodes) raw_.push_back(std::move(each));
    }
    return {};
  }

  /// Strings and complex numbers are refused where they arise, before anything runs.
  static Status checkCast(const RawNode& node) {
    const auto to = node.attributes.find("to");
    if (node.op != "Cast" || to == node.attributes.end()) return {};
    const auto* type = std::get_if<std::int64_t>(&to->second);
    if (!type) return {};
    const Result<ElementType> element = elementOf(static_cast<int>(*type), node.op + " " + node.name);
    return element.ok() ? Status() : Status(element.error());
  }

  Status readConstant(const ::onnx::NodeProto& node, const std::string& title) {
    PIPESCOPE_ASSIGN(const graph::Attributes attributes, readAttributes(node, title, file_.folder));
    if (attributes.size() != 1 || node.output_size() != 1)
      return badInput(title + " must have one output and one attribute, its value.");
    PIPESCOPE_TRY(define(node.output(0)));
    const auto& [name, value] = *attributes.begin();
    if (name == "value" && std::holds_alternative<std::shared_ptr<const TensorValue>>(value)) {
      setConstant(node.output(0), *std::get<std::shared_ptr<const TensorValue>>(value));
      return {};
    }
    ::onnx::TensorProto tensor;
    if (name == "value_int" || name == "value_ints") {
      tensor.set_data_type(::onnx::TensorProto::INT64);
      if (const auto* one = std::get_if<std::int64_t>(&value)) tensor.add_int64_data(*one);
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
        for (const std::int64_t x : *list) tensor.add_int64_data(x);
        tensor.add_dims(static_cast<std::int64_t>(list->size()));
      }
    } else if (name == "value_float" || name == "value_floats") {
      tensor.set_data_type(::onnx::TensorProto::FLOAT);
      if (const auto* one = std::get_if<double>(&value)) tensor.add_float_data(static_cast<float>(*one));
      if (const auto* list = std::get_if<std::vector<double>>(&value)) {
        for (const double x : *list) tensor.add_float_data(static_cast<float>(x));
        tensor.add_dims(static_cast<std::int64_t>(list->size()));
      }
    } else {
      return badInput(fmt::format("{}: a constant of the kind {} is not supported.", title, name));
    }
    PIPESCOPE_ASSIGN(TensorValue made, readTensor(tensor, {}, title));
    setConstant(node.output(0), std::move(made));
    return {};
  }

  /// Everything in its own graph that a node reads, also through its bodies.
  Names readsOf(const RawNode& node) const {
    Names names(node.inputs.begin(), node.inputs.end());
    if (node.source >= 0) {
      for (const auto& attribute : proto_.node(node.source).attribute()) {
        if (attribute.has_g()) names.merge(freeNames(attribute.g()));
      }
    }
    names.erase("");
    return names;
  }

  /// An order in which every node comes after what it reads, as close to the order of the file as possible.
  Result<std::vector<std::size_t>> orderNodes() const {
    std::unordered_map<std::string, std::size_t> maker;
    for (std::size_t i = 0; i < raw_.size(); ++i) {
      for (const std::string& output : raw_[i].outputs) {
        if (output.empty()) continue;
        if (!maker.emplace(output, i).second || known_.contains(output))
          return badInput(fmt::format("the value {} is made twice.", shownName(output)));
      }
    }
    std::vector<std::size_t> missing(raw_.size(), 0);
    std::vector<std::vector<std::size_t>> readers(raw_.size());
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t i = 0; i < raw_.size(); ++i) {
      for (const std::string& name : readsOf(raw_[i])) {
        const auto found = maker.find(name);
        if (found == maker.end()) continue;
        ++missing[i];
        readers[found->second].push_back(i);
      }
      if (missing[i] == 0) ready.push(i);
    }
    std::vector<std::size_t> order;
    while (!ready.empty()) {
      const std::size_t next = ready.top();
      ready.pop();
      order.push_back(next);
      for (const std::size_t reader : readers[next]) {
        if (--missing[reader] == 0) ready.push(reader);
      }
    }
    for (std::size_t i = 0; i < raw_.size(); ++i) {
      if (missing[i] > 0)
        return badInput(fmt::format(
            "node {} is part of a cycle: it reads something that is computed from its own output.",
            raw_[i].name));
    }
    return order;
  }

  Status addNode(RawNode raw) {
    OnnxNode node{raw.op, raw.name, {}, {}, std::move(raw.attributes), {}};
    for (const std::string& name : raw.inputs) {
      const std::optional<ValueId> id = name.empty() ? ValueId() : lookUp(name);
      if (!id) {
        return badInput(
            fmt::format("{} {} reads {}, which nothing provides.", node.op, node.name, shownName(name)));
      }
      node.inputs.push_back(*id);
    }
    PIPESCOPE_TRY(readBodies(raw.source, node));
    for (const std::string& name : raw.outputs) {
      if (!name.empty()) PIPESCOPE_TRY(define(name));
      node.outputs.push_back(name.empty() ? ValueId() : known_.at(name));
    }
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  Status readBodies(int source, OnnxNode& node) {
    if (source < 0) return {};
    for (const auto& attribute : proto_.node(source).attribute()) {
      if (attribute.type() != ::onnx::AttributeProto::GRAPH) continue;
      if (!isControlFlow(node.op)) {
        return badInput(fmt::format("{} {} has a graph as attribute {}, which only If, Loop and Scan take.",
                                    node.op, node.name, shownName(attribute.name())));
      }
      PIPESCOPE_ASSIGN(OnnxGraph body, GraphReader(attribute.g(), file_, this).read());
      node.bodies.emplace(attribute.name(), std::make_shared<const OnnxGraph>(std::move(body)));
    }
    return {};
  }

  const ::onnx::GraphProto& proto_;
  FileContext& file_;
  GraphReader* outer_;
  OnnxGraph graph_;
  std::map<std::string, ModelValue> types_;
  std::unordered_map<std::string, ValueId> known_;
  Names initializers_, fresh_;
  std::vector<RawNode> raw_;
};

}  // namespace

std::string operatorName(const ::onnx::NodeProto& node) {
  const std::string& domain = node.domain();
  const bool own =
      domain.empty() || domain == "ai.onnx" || domain == "ai.onnx.preview.training" || domain == "pipescope";
  // Operators that only gradients need rely on the graph that they are made for, so a file must not name
  // them.
  if (own && node.op_type().starts_with("Grad")) return shownName("ai.onnx." + node.op_type());
  return shownName(own ? node.op_type() : domain + "." + node.op_type());
}

Result<OnnxGraph> readGraph(const ::onnx::GraphProto& proto, FileContext& context) {
  return GraphReader(proto, context, nullptr).read();
}

}  // namespace pipescope::onnx
