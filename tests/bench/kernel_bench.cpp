// Measures the processor time of single operators on one thread. kernel_bench CASE [SECONDS] prints the
// nanoseconds of the median run; kernel_bench --list prints the cases. kernel_bench.py runs it in turn with
// PyTorch.
#include <fmt/format.h>

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>

#include "engine/numerics/graph_program.h"
#include "engine/ops/core/operator.h"
#include "engine/ops/standard_operators.h"

namespace {

using namespace pipescope;
using graph::ElementType;
using graph::Shape;
using Ints = std::vector<std::int64_t>;

struct Case {
  std::string op;
  std::vector<Shape> inputs;
  graph::Attributes attributes;
  std::size_t outputs = 1;
};

const graph::Attributes kSame{{"pads", Ints{1, 1, 1, 1}}};

graph::Attributes with(graph::Attributes attributes, const std::string& name, graph::Attribute value) {
  attributes[name] = std::move(value);
  return attributes;
}

void addConvolutions(std::map<std::string, Case>& cases) {
  // 3×3 layers of ResNet-18 on 3×32×32, batch 32.
  const std::pair<std::int64_t, std::int64_t> layers[] = {{64, 32}, {128, 16}, {256, 8}, {512, 4}};
  for (const auto& [channels, extent] : layers) {
    const Shape x{32, channels, extent, extent}, w{channels, channels, 3, 3};
    const std::string name = std::to_string(channels);
    cases["conv" + name] = {"Conv", {x, w}, kSame};
    cases["conv" + name + "_input"] = {"GradConvInput", {x, w}, with(kSame, "input_shape", x)};
    cases["conv" + name + "_weight"] = {"GradConvWeight", {x, x}, with(kSame, "weight_shape", w)};
  }
}

std::map<std::string, Case> allCases() {
  std::map<std::string, Case> cases;
  addConvolutions(cases);
  const Shape tokens{1024, 256}, wide{1024, 1024}, heads{32, 128, 64}, keys{32, 64, 128},
      scores{32, 128, 128};
  cases["linear"] = {"MatMul", {tokens, {256, 1024}}, {}};
  cases["linear_input"] = {"GradMatMulLeft", {wide, {256, 1024}}, {{"input_shape", tokens}}};
  cases["linear_weight"] = {"GradMatMulRight", {tokens, wide}, {{"input_shape", Shape{256, 1024}}}};
  cases["attention_scores"] = {"MatMul", {heads, keys}, {}};
  cases["attention_values"] = {"MatMul", {scores, heads}, {}};
  cases["softmax"] = {"Softmax", {scores}, {}};
  cases["softmax_gradient"] = {"GradSoftmax", {scores, scores}, {}};
  cases["layer_norm"] = {"LayerNormalization", {tokens, {256}, {256}}, {}};
  cases["layer_norm_gradient"] = {"GradLayerNormalization", {tokens, {256}, tokens}, {}, 3};
  const Shape planes{32, 64, 32, 32}, channel{64};
  cases["batch_norm"] = {"BatchNormalization",
                         {planes, channel, channel, channel, channel},
                         {{"training_mode", std::int64_t{1}}},
                         3};
  cases["batch_norm_gradient"] = {"GradBatchNormalization", {planes, channel, planes}, {}, 3};
  cases["gelu"] = {"Gelu", {wide}, {}};
  cases["gelu_gradient"] = {"GradGelu", {wide, wide}, {}};
  cases["relu"] = {"Relu", {planes}, {}};
  cases["add"] = {"Add", {wide, wide}, {}};
  cases["add_bias"] = {"Add", {wide, {1024}}, {}};
  cases["tanh"] = {"Tanh", {wide}, {}};
  cases["exp"] = {"Exp", {wide}, {}};
  cases["sum_rows"] = {"ReduceSum", {wide}, {{"axes", Ints{1}}}};
  cases["sum_columns"] = {"ReduceSum", {wide}, {{"axes", Ints{0}}}};
  cases["transpose_heads"] = {"Transpose", {{8, 128, 4, 64}}, {{"perm", Ints{0, 2, 1, 3}}}};
  cases["max_pool"] = {"MaxPool", {planes}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}};
  cases["average_pool"] = {"GlobalAveragePool", {planes}, {}};
  return cases;
}

template <class T>
T valueOrExit(base::Result<T> result) {
  if (result.ok()) return std::move(*result);
  fmt::print(stderr, "{}\n", result.error().message);
  std::exit(2);
}

/// Processor seconds of the calling thread. Other programs affect them less than wall time.
double threadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double medianNanoseconds(const Case& each, double seconds) {
  graph::Graph graph;
  graph::Node node;
  node.op = each.op;
  node.name = "node";
  node.attributes = each.attributes;
  std::vector<std::vector<float>> values;
  for (const Shape& shape : each.inputs) {
    node.inputs.push_back(graph.addTensor("in" + std::to_string(values.size()), {ElementType::float32, shape},
                                          graph::TensorRole::input));
    graph.inputs.push_back(node.inputs.back());
    std::vector<float>& data = values.emplace_back(static_cast<std::size_t>(graph::elementCount(shape)));
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<float>((i * 7919) % 1009) / 1009 + 0.01F;
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < each.outputs; ++i) names.push_back("out" + std::to_string(i));
  graph.outputs = valueOrExit(
      ops::appendNode(graph, node, names, graph::TensorRole::activation, ops::standardOperators()));
  const numerics::GraphProgram program =
      valueOrExit(numerics::GraphProgram::create(graph, ops::standardOperators()));
  numerics::Workspace workspace = program.makeWorkspace();
  std::vector<std::span<const std::byte>> spans;
  for (const std::vector<float>& data : values) spans.push_back(std::as_bytes(std::span(data)));
  const numerics::Bindings bindings{spans, {}, {}, {}};
  std::vector<double> times;
  const double start = threadSeconds();
  while (times.size() < 3 || threadSeconds() - start < seconds) {
    const double before = threadSeconds();
    const base::Status status = program.run(bindings, workspace);
    times.push_back((threadSeconds() - before) * 1e9);
    if (!status.ok()) {
      fmt::print(stderr, "{}\n", status.error().message);
      std::exit(2);
    }
  }
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, Case> cases = allCases();
  if (argc > 1 && std::strcmp(argv[1], "--list") == 0) {
    for (const auto& [name, each] : cases) fmt::print("{}\n", name);
    return 0;
  }
  const auto found = argc > 1 ? cases.find(argv[1]) : cases.end();
  if (found == cases.end()) {
    fmt::print(stderr, "usage: kernel_bench CASE [SECONDS] | --list\n");
    return 2;
  }
  fmt::print("{:.0f}\n", medianNanoseconds(found->second, argc > 2 ? std::atof(argv[2]) : 0.5));
  return 0;
}
