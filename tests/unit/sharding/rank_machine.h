#pragma once
// Runs the graphs of several ranks side by side, node by node, and does what collectives between them do. It
// shares nothing with the rewrite that it judges but the operators' kernels. Real numbers are float64, so
// that rounding hides nothing.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "engine/numerics/aligned_buffer.h"
#include "engine/ops/core/operator.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::sharding_test {

using graph::Node;
using graph::Shape;
using graph::TensorId;

/// A tensor of one rank.
using Bytes = std::vector<std::byte>;

inline std::vector<double> numbersOf(const Bytes& bytes) {
  std::vector<double> values(bytes.size() / sizeof(double));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
  return values;
}
template <class T>
Bytes bytesOf(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// The part of a tensor that a rank has, if an axis is divided over so many ranks.
inline Bytes partOf(const Bytes& whole, const Shape& shape, std::size_t elementBytes, std::int64_t axis,
                    std::int64_t ranks, std::int64_t rank) {
  std::int64_t outer = 1, inner = static_cast<std::int64_t>(elementBytes);
  for (std::int64_t i = 0; i < axis; ++i) outer *= shape[static_cast<std::size_t>(i)];
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i) inner *= shape[i];
  const std::int64_t run = shape[static_cast<std::size_t>(axis)] / ranks * inner;
  Bytes part;
  for (std::int64_t o = 0; o < outer; ++o) {
    const auto begin = whole.begin() + (o * ranks + rank) * run;
    part.insert(part.end(), begin, begin + run);
  }
  return part;
}

/// The reverse: the parts of all ranks put together.
inline Bytes joined(const std::vector<Bytes>& parts, const Shape& shapeOfPart, std::size_t elementBytes,
                    std::int64_t axis) {
  std::int64_t outer = 1, run = static_cast<std::int64_t>(elementBytes);
  for (std::int64_t i = 0; i < axis; ++i) outer *= shapeOfPart[static_cast<std::size_t>(i)];
  for (std::size_t i = static_cast<std::size_t>(axis); i < shapeOfPart.size(); ++i) run *= shapeOfPart[i];
  Bytes whole;
  for (std::int64_t o = 0; o < outer; ++o)
    for (const Bytes& part : parts)
      whole.insert(whole.end(), part.begin() + o * run, part.begin() + (o + 1) * run);
  return whole;
}

class RankMachine {
 public:
  RankMachine(const graph::Graph& graph, std::int64_t ranks) : graph_(graph), ranks_(ranks) {
    values_.resize(graph.tensors().size());
    for (const graph::Tensor& tensor : graph.tensors())
      if (const graph::Constant* constant = graph.constant(tensor.id))
        values_[index(tensor.id)].assign(static_cast<std::size_t>(ranks), constant->bytes());
  }

  /// Gives each rank the value of an input or a weight.
  void set(TensorId id, std::vector<Bytes> ofRanks) { values_[index(id)] = std::move(ofRanks); }
  const Bytes& of(TensorId id, std::int64_t rank = 0) const {
    return values_[index(id)][static_cast<std::size_t>(rank)];
  }

  void run() {
    for (const Node& node : graph_.nodes()) {
      for (const TensorId output : node.outputs)
        if (output.valid()) values_[index(output)].resize(static_cast<std::size_t>(ranks_));
      node.op.starts_with("Rank") ? meet(node) : compute(node);
      ASSERT_FALSE(::testing::Test::HasFatalFailure()) << node.name;
    }
  }

  /// Bytes that a rank gives to collectives, by operator: of what is summed, or of the whole that is
  /// gathered.
  const std::map<std::string, std::int64_t>& exchanged() const { return exchanged_; }

 private:
  static std::size_t index(TensorId id) { return static_cast<std::size_t>(id.value); }

  void meet(const Node& node) {
    std::vector<Bytes>& out = values_[index(node.outputs[0])];
    if (node.op == "RankIndex") {
      for (std::int64_t r = 0; r < ranks_; ++r)
        out[static_cast<std::size_t>(r)] = bytesOf(std::vector<std::int64_t>{r});
      return;
    }
    const graph::TensorType& type = graph_.tensor(node.inputs[0]).type;
    const std::vector<Bytes>& in = values_[index(node.inputs[0])];
    const std::int64_t axis = graph::intAttribute(node, "axis", 0);
    const std::size_t size =
        type.elements() == 0 ? 1 : in[0].size() / static_cast<std::size_t>(type.elements());
    Bytes met;
    if (node.op == "RankSum" || node.op == "RankScatterSum" || node.op == "RankMax") {
      ASSERT_EQ(type.element, graph::ElementType::float64);
      std::vector<double> sum = numbersOf(in[0]);
      for (std::size_t r = 1; r < in.size(); ++r) {
        const std::vector<double> other = numbersOf(in[r]);
        for (std::size_t i = 0; i < sum.size(); ++i)
          sum[i] = node.op == "RankMax" ? std::max(sum[i], other[i]) : sum[i] + other[i];
      }
      met = bytesOf(sum);
      exchanged_[node.op] += static_cast<std::int64_t>(met.size());
    } else if (node.op == "RankGather") {
      met = joined(in, type.shape, size, axis);
      exchanged_[node.op] += static_cast<std::int64_t>(met.size());
    }
    for (std::int64_t r = 0; r < ranks_; ++r) {
      Bytes& own = out[static_cast<std::size_t>(r)];
      if (node.op == "RankSlice")
        own = partOf(in[static_cast<std::size_t>(r)], type.shape, size, axis, ranks_, r);
      else if (node.op == "RankScatterSum")
        own = partOf(met, type.shape, size, axis, ranks_, r);
      else if (node.op == "RankCopy")
        own = in[static_cast<std::size_t>(r)];
      else
        own = met;
    }
  }

  void compute(const Node& node) {
    const auto definition = ops::standardOperators().require(node);
    ASSERT_TRUE(definition.ok()) << definition.error().message;
    const ops::OperatorCall call = ops::callOf(graph_, node);
    const auto kernel = (*definition)->kernel(call);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    for (std::size_t r = 0; r < static_cast<std::size_t>(ranks_); ++r) {
      std::vector<numerics::AlignedBuffer> buffers;
      std::vector<std::span<const std::byte>> inputs;
      std::vector<std::span<std::byte>> outputs;
      buffers.reserve(node.inputs.size() + node.outputs.size() + 1);
      for (const TensorId input : node.inputs) {
        if (!input.valid()) {
          inputs.emplace_back();
          continue;
        }
        const Bytes& value = values_[index(input)][r];
        buffers.emplace_back(value.size());
        std::ranges::copy(value, buffers.back().bytes().begin());
        inputs.emplace_back(buffers.back().bytes());
      }
      for (const TensorId output : node.outputs) {
        if (!output.valid()) {
          outputs.emplace_back();
          continue;
        }
        buffers.emplace_back(static_cast<std::size_t>(graph_.tensor(output).type.bytes().count));
        outputs.emplace_back(buffers.back().bytes());
      }
      buffers.emplace_back(static_cast<std::size_t>(kernel->scratchBytes));
      const base::Status done = kernel->run({inputs, outputs, buffers.back().bytes(), {}, nullptr});
      ASSERT_TRUE(done.ok()) << done.error().message;
      for (std::size_t o = 0; o < node.outputs.size(); ++o)
        if (node.outputs[o].valid())
          values_[index(node.outputs[o])][r].assign(outputs[o].begin(), outputs[o].end());
    }
  }

  const graph::Graph& graph_;
  std::int64_t ranks_;
  std::vector<std::vector<Bytes>> values_;
  std::map<std::string, std::int64_t> exchanged_;
};

}  // namespace pipescope::sharding_test
