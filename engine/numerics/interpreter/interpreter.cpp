#include "engine/numerics/interpreter/interpreter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace pipescope::numerics {

using base::badInput;
using base::Result;
using base::Status;
using graph::TensorValue;
using onnx::ModelGraph;
using onnx::ModelNode;
using onnx::ValueId;
using Values = onnx::Values;

namespace {
std::size_t indexOf(ValueId id) {
  return static_cast<std::size_t>(id.value);
}
}  // namespace

/// One run of one graph: waves of nodes that have all they read.
class GraphRun {
 public:
  GraphRun(Interpreter& owner, const ModelGraph& graph, const std::string& path)
      : owner_(owner),
        graph_(graph),
        path_(path),
        schedule_(owner.scheduleOf(graph)),
        missing_(schedule_.missing),
        uses_(schedule_.uses),
        values_(graph.values.size()) {
    for (const auto& [id, value] : graph.constants) values_[indexOf(id)] = value;
  }

  void set(ValueId id, std::shared_ptr<const TensorValue> value) { values_[indexOf(id)] = std::move(value); }

  Result<Values> operator()() {
    std::vector<std::size_t> wave = schedule_.ready;
    while (!wave.empty()) {
      PIPESCOPE_TRY(runWave(wave));
      std::vector<std::size_t> next;
      for (const std::size_t node : wave) {
        for (const std::size_t reader : schedule_.readers[node]) {
          if (--missing_[reader] == 0) next.push_back(reader);
        }
      }
      std::ranges::sort(next);
      wave = std::move(next);
    }
    Values outputs;
    for (const ValueId id : graph_.outputs) outputs.push_back(values_[indexOf(id)]);
    return outputs;
  }

 private:
  Status runWave(const std::vector<std::size_t>& wave) {
    std::vector<Result<Values>> results(wave.size(), Values());
    const auto body = [&](std::size_t i) {
      results[i] = owner_.runNode(graph_.nodes[wave[i]], {values_, path_});
    };
    if (wave.size() == 1) {
      body(0);
    } else {
      owner_.executor_.parallelFor(wave.size(), body);
    }
    for (std::size_t i = 0; i < wave.size(); ++i) {
      if (!results[i].ok()) return results[i].error();
      const ModelNode& node = graph_.nodes[wave[i]];
      for (std::size_t o = 0; o < node.outputs.size(); ++o) {
        const ValueId id = node.outputs[o];
        if (id.valid() && uses_[indexOf(id)] > 0) values_[indexOf(id)] = (*results[i])[o];
      }
    }
    for (const std::size_t index : wave) release(graph_.nodes[index]);
    return {};
  }

  void release(const ModelNode& node) {
    const auto drop = [this](ValueId id) {
      if (id.valid() && --uses_[indexOf(id)] == 0) values_[indexOf(id)].reset();
    };
    for (const ValueId id : node.inputs) drop(id);
    for (const auto& [name, body] : node.bodies) {
      for (const auto& [outer, inner] : body->captured) drop(outer);
    }
  }

  Interpreter& owner_;
  const ModelGraph& graph_;
  const std::string& path_;
  const Interpreter::Schedule& schedule_;
  std::vector<std::size_t> missing_, uses_;
  Values values_;
};

Interpreter::Interpreter(std::shared_ptr<const onnx::Model> model, const ops::OperatorRegistry& registry,
                         base::Executor& executor, InterpreterOptions options)
    : model_(std::move(model)), registry_(registry), executor_(executor), options_(options) {}

const Interpreter::Schedule& Interpreter::scheduleOf(const ModelGraph& graph) {
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<const Schedule>& known = schedules_[&graph];
  if (known) return *known;
  auto made = std::make_unique<Schedule>();
  made->missing.resize(graph.nodes.size());
  made->readers.resize(graph.nodes.size());
  made->uses.resize(graph.values.size());
  std::vector<std::size_t> maker(graph.values.size(), graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto read = [&](ValueId id) {
      if (!id.valid()) return;
      ++made->uses[indexOf(id)];
      const std::size_t from = maker[indexOf(id)];
      if (from == graph.nodes.size()) return;
      ++made->missing[i];
      made->readers[from].push_back(i);
    };
    for (const ValueId id : graph.nodes[i].inputs) read(id);
    for (const auto& [name, body] : graph.nodes[i].bodies) {
      for (const auto& [outer, inner] : body->captured) read(outer);
    }
    for (const ValueId id : graph.nodes[i].outputs) {
      if (id.valid()) maker[indexOf(id)] = i;
    }
    if (made->missing[i] == 0) made->ready.push_back(i);
  }
  for (const ValueId id : graph.outputs) ++made->uses[indexOf(id)];
  known = std::move(made);
  return *known;
}

std::int64_t affordableBytes() {
  constexpr std::int64_t kMost = std::int64_t{1} << 33;
  const std::int64_t pages = sysconf(_SC_PHYS_PAGES), each = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || each <= 0) return kMost;
  return std::min(kMost, pages / 2 * each);
}

onnx::Evaluation Interpreter::evaluation() const {
  return {registry_, options_.identity, std::max<std::int64_t>(0, options_.maxBytes - *liveBytes_)};
}

std::shared_ptr<const TensorValue> Interpreter::counted(std::shared_ptr<const TensorValue> value) {
  if (!value) return value;
  const auto bytes = static_cast<std::int64_t>(value->bytes.size());
  *liveBytes_ += bytes;
  const TensorValue* raw = value.get();
  return {raw, [held = std::move(value), live = liveBytes_, bytes](const TensorValue*) { *live -= bytes; }};
}

Result<Values> Interpreter::runNode(const ModelNode& node, const Place& place) {
  if (++steps_ > options_.maxSteps) {
    return badInput(fmt::format("{} {}: more than {} nodes have run; a loop of the model does not end.",
                                node.op, node.name, options_.maxSteps));
  }
  Values inputs;
  for (const ValueId id : node.inputs) inputs.push_back(id.valid() ? place.outer[indexOf(id)] : nullptr);
  if (node.op == "If") return runIf(node, inputs, place);
  if (node.op == "Loop") return runLoop(node, inputs, place);
  if (node.op == "Scan") return runScan(node, inputs, place);
  Values outputs;
  if (!place.path.empty() && onnx::isRandom(node.op)) {
    ModelNode placed = node;
    placed.name = place.path + node.name;
    PIPESCOPE_ASSIGN(outputs, onnx::evaluate(placed, inputs, evaluation()));
  } else {
    PIPESCOPE_ASSIGN(outputs, onnx::evaluate(node, inputs, evaluation()));
  }
  for (auto& output : outputs) output = counted(std::move(output));
  return outputs;
}

Result<Values> Interpreter::runGraph(const ModelGraph& graph, Values inputs, const Values& captured,
                                     const std::string& path) {
  GraphRun run(*this, graph, path);
  PIPESCOPE_CHECK(inputs.size() == graph.inputs.size() && captured.size() == graph.captured.size(),
                  graph.name);
  for (std::size_t i = 0; i < inputs.size(); ++i) run.set(graph.inputs[i], std::move(inputs[i]));
  for (std::size_t i = 0; i < captured.size(); ++i) run.set(graph.captured[i].second, captured[i]);
  return run();
}

Status Interpreter::checkInputs(const std::vector<TensorValue>& inputs) const {
  const ModelGraph& graph = model_->graph;
  if (inputs.size() != graph.inputs.size()) {
    return badInput(fmt::format("{} takes {} inputs, but {} are given.", model_->file, graph.inputs.size(),
                                inputs.size()));
  }
  std::map<std::string, std::int64_t> bound;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const onnx::ModelValue& declared = graph.value(graph.inputs[i]);
    const graph::TensorType& type = inputs[i].type;
    const auto refuse = [&](const std::string& why) {
      return badInput(fmt::format("{}: input {} ({}) is {}, but {}.", model_->file, i, declared.name,
                                  graph::toString(type), why));
    };
    if (declared.element && *declared.element != type.element)
      return refuse("the model takes " + graph::toString(*declared.element));
    if (!declared.shape) continue;
    if (declared.shape->size() != type.shape.size())
      return refuse(fmt::format("the model takes {} axes", declared.shape->size()));
    for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
      const onnx::Dimension& dimension = (*declared.shape)[axis];
      std::optional<std::int64_t> wanted = dimension.extent;
      if (!wanted && !dimension.symbol.empty())
        wanted = bound.emplace(dimension.symbol, type.shape[axis]).first->second;
      if (wanted && *wanted != type.shape[axis])
        return refuse(fmt::format("the model takes the extent {} at axis {}", *wanted, axis));
    }
  }
  return {};
}

Result<std::vector<TensorValue>> Interpreter::run(const std::vector<TensorValue>& inputs) {
  PIPESCOPE_TRY(checkInputs(inputs));
  steps_ = 0;
  Values given;
  for (const TensorValue& input : inputs)
    given.push_back(counted(std::make_shared<const TensorValue>(input)));
  PIPESCOPE_ASSIGN(const Values outputs, runGraph(model_->graph, std::move(given), {}, ""));
  std::vector<TensorValue> results;
  for (const auto& output : outputs) {
    PIPESCOPE_CHECK(output != nullptr, "an output has no value");
    results.push_back(*output);
  }
  return results;
}

}  // namespace pipescope::numerics
