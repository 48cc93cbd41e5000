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
    if (node.op == "RankScatterExperts") return toExperts(node);
    if (node.op == "RankGatherExperts") return fromExperts(node);
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

  std::vector<std::int64_t> countsOf(TensorId id, std::size_t rank) const {
    const Bytes& bytes = values_[index(id)][rank];
    std::vector<std::int64_t> counts(bytes.size() / sizeof(std::int64_t));
    std::memcpy(counts.data(), bytes.data(), bytes.size());
    return counts;
  }

  /// Calls move(sender, its first row, owner, its first row, rows) for the rows of each expert.
  template <class Move>
  void eachExpert(TensorId counts, const Move& move) const {
    const std::size_t ranks = static_cast<std::size_t>(ranks_);
    std::vector<std::vector<std::int64_t>> sent;
    for (std::size_t r = 0; r < ranks; ++r) sent.push_back(countsOf(counts, r));
    const std::size_t each = sent[0].size() / ranks;
    std::vector<std::int64_t> first(ranks, 0);
    for (std::size_t owner = 0; owner < ranks; ++owner) {
      std::int64_t at = 0;
      for (std::size_t e = owner * each; e < (owner + 1) * each; ++e)
        for (std::size_t r = 0; r < ranks; ++r) {
          move(r, first[r], owner, at, sent[r][e]);
          first[r] += sent[r][e];
          at += sent[r][e];
        }
    }
  }

  void toExperts(const Node& node) {
    const graph::TensorType& type = graph_.tensor(node.outputs[0]).type;
    const std::size_t row = static_cast<std::size_t>(type.shape[1]) * 8;
    const std::size_t slots = static_cast<std::size_t>(type.shape[0]);
    std::vector<std::vector<std::int64_t>> counts(static_cast<std::size_t>(ranks_));
    for (Bytes& rows : values_[index(node.outputs[0])]) rows.assign(slots * row, std::byte{0});
    std::vector<std::int64_t> all(counts.size(), 0);
    eachExpert(node.inputs[1], [&](std::size_t r, std::int64_t from, std::size_t owner, std::int64_t to,
                                   std::int64_t rows) {
      ASSERT_LE(to + rows, type.shape[0]) << "rank " << owner << " gets more rows than it has slots for";
      const auto begin = values_[index(node.inputs[0])][r].begin() + from * static_cast<std::int64_t>(row);
      std::copy(begin, begin + rows * static_cast<std::int64_t>(row),
                values_[index(node.outputs[0])][owner].begin() + to * static_cast<std::int64_t>(row));
      if (r == 0) counts[owner].push_back(0);
      counts[owner].back() += rows;
    });
    if (node.outputs.size() < 2 || !node.outputs[1].valid()) return;
    for (std::size_t r = 0; r < counts.size(); ++r) values_[index(node.outputs[1])][r] = bytesOf(counts[r]);
  }

  void fromExperts(const Node& node) {
    const graph::TensorType& type = graph_.tensor(node.outputs[0]).type;
    const auto row = type.shape[1] * 8;
    for (Bytes& rows : values_[index(node.outputs[0])])
      rows.assign(static_cast<std::size_t>(type.shape[0] * row), std::byte{0});
    eachExpert(node.inputs[1],
               [&](std::size_t r, std::int64_t to, std::size_t owner, std::int64_t from, std::int64_t rows) {
                 const auto begin = values_[index(node.inputs[0])][owner].begin() + from * row;
                 std::copy(begin, begin + rows * row, values_[index(node.outputs[0])][r].begin() + to * row);
               });
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
