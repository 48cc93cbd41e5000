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
#include "tests/unit/sharding/rank_attention.h"

namespace pipescope::sharding_test {

/// The part of a tensor that a rank has, if an axis of so many blocks is divided over so many ranks.
inline Bytes partOf(const Bytes& whole, const Shape& shape, std::size_t elementBytes, std::int64_t axis,
                    std::int64_t ranks, std::int64_t rank, std::int64_t blocks = 1) {
  std::int64_t outer = blocks, inner = static_cast<std::int64_t>(elementBytes);
  for (std::int64_t i = 0; i < axis; ++i) outer *= shape[static_cast<std::size_t>(i)];
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i) inner *= shape[i];
  const std::int64_t run = shape[static_cast<std::size_t>(axis)] / blocks / ranks * inner;
  Bytes part;
  for (std::int64_t o = 0; o < outer; ++o) {
    const auto begin = whole.begin() + (o * ranks + rank) * run;
    part.insert(part.end(), begin, begin + run);
  }
  return part;
}

/// The reverse: the parts of all ranks put together.
inline Bytes joined(const std::vector<Bytes>& parts, const Shape& shapeOfPart, std::size_t elementBytes,
                    std::int64_t axis, std::int64_t blocks = 1) {
  std::int64_t outer = blocks, run = static_cast<std::int64_t>(elementBytes);
  for (std::int64_t i = 0; i < axis; ++i) outer *= shapeOfPart[static_cast<std::size_t>(i)];
  for (std::size_t i = static_cast<std::size_t>(axis); i < shapeOfPart.size(); ++i) run *= shapeOfPart[i];
  run /= blocks;
  Bytes whole;
  for (std::int64_t o = 0; o < outer; ++o)
    for (const Bytes& part : parts)
      whole.insert(whole.end(), part.begin() + o * run, part.begin() + (o + 1) * run);
  return whole;
}

/// Ranks along the axes of a place; the first is the innermost.
using RankAxes = std::vector<std::pair<std::string, std::int64_t>>;

class RankMachine {
 public:
  /// Ranks along one axis, whatever its name.
  RankMachine(const graph::Graph& graph, std::int64_t ranks) : RankMachine(graph, RankAxes{{"", ranks}}) {}
  RankMachine(const graph::Graph& graph, RankAxes axes)
      : graph_(graph), axes_(std::move(axes)), attention_(graph) {
    for (const auto& [name, size] : axes_) ranks_ *= size;
    attention_.begin(coordinates("context"));
    const std::int64_t ranks = ranks_;
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

  /// Gives each rank along `context` the positions of its tokens, which kernels that make a causal mask need.
  void setPositions(std::vector<std::vector<std::int64_t>> positions) {
    attention_.setPositions(std::move(positions));
  }

  void run() {
    for (const Node& node : graph_.nodes()) {
      for (const TensorId output : node.outputs)
        if (output.valid()) values_[index(output)].resize(static_cast<std::size_t>(ranks_));
      if (node.op.starts_with("Rank"))
        meet(node);
      else if (node.op.ends_with("FusedAttention"))
        attention_.run(node, values_);
      else
        compute(node);
      ASSERT_FALSE(::testing::Test::HasFatalFailure()) << node.name;
    }
  }

  /// Bytes that a rank gives to collectives, by operator: of what is summed, or of the whole that is
  /// gathered.
  const std::map<std::string, std::int64_t>& exchanged() const { return exchanged_; }

 private:
  static std::size_t index(TensorId id) { return static_cast<std::size_t>(id.value); }

  /// The number of each rank along an axis.
  std::vector<std::int64_t> coordinates(const std::string& wanted) const {
    std::vector<std::int64_t> all(static_cast<std::size_t>(ranks_), 0);
    std::int64_t stride = 1;
    for (const auto& [name, size] : axes_) {
      if (name == wanted || name.empty())
        for (std::size_t rank = 0; rank < all.size(); ++rank)
          all[rank] = static_cast<std::int64_t>(rank) / stride % size;
      stride *= size;
    }
    return all;
  }

  struct Group {
    std::vector<std::size_t> ranks;
  };
  /// The groups of ranks that meet at a node.
  std::vector<Group> groupsOf(const Node& node) const {
    const std::string wanted = graph::stringAttribute(node, "mesh_axis", "tensor");
    std::int64_t stride = 1;
    for (const auto& [name, size] : axes_) {
      if (name != wanted && !name.empty()) {
        stride *= size;
        continue;
      }
      std::vector<Group> groups;
      for (std::int64_t rank = 0; rank < ranks_; ++rank) {
        if (rank / stride % size != 0) continue;
        Group group;
        for (std::int64_t k = 0; k < size; ++k)
          group.ranks.push_back(static_cast<std::size_t>(rank + k * stride));
        groups.push_back(std::move(group));
      }
      return groups;
    }
    ADD_FAILURE() << node.name << " meets along an axis that is not there: " << wanted;
    return {};
  }

  void meet(const Node& node) {
    for (const Group& group : groupsOf(node)) meet(node, group.ranks);
  }

  template <class T>
  static Bytes reduced(const std::vector<Bytes>& in, bool largest) {
    std::vector<T> sum(in[0].size() / sizeof(T)), other(sum.size());
    std::memcpy(sum.data(), in[0].data(), in[0].size());
    for (std::size_t r = 1; r < in.size(); ++r) {
      std::memcpy(other.data(), in[r].data(), in[r].size());
      for (std::size_t i = 0; i < sum.size(); ++i)
        sum[i] = largest ? std::max(sum[i], other[i]) : sum[i] + other[i];
    }
    return bytesOf(sum);
  }

  void meet(const Node& node, const std::vector<std::size_t>& group) {
    std::vector<Bytes>& out = values_[index(node.outputs[0])];
    const auto count = static_cast<std::int64_t>(group.size());
    if (node.op == "RankIndex") {
      for (std::int64_t r = 0; r < count; ++r)
        out[group[static_cast<std::size_t>(r)]] = bytesOf(std::vector<std::int64_t>{r});
      return;
    }
    if (node.op == "RankScatterExperts") return toExperts(node, group);
    if (node.op == "RankRing") return passOn(node, group);
    if (node.op == "RankGatherExperts") return fromExperts(node, group);
    const graph::TensorType& type = graph_.tensor(node.inputs[0]).type;
    std::vector<Bytes> in;
    for (const std::size_t rank : group) in.push_back(values_[index(node.inputs[0])][rank]);
    const std::int64_t axis = graph::intAttribute(node, "axis", 0),
                       blocks = graph::intAttribute(node, "blocks", 1);
    const std::size_t size =
        type.elements() == 0 ? 1 : in[0].size() / static_cast<std::size_t>(type.elements());
    Bytes met;
    const bool first = group[0] == 0;  // counts what one group exchanges
    if (node.op == "RankSum" || node.op == "RankScatterSum" || node.op == "RankMax") {
      const bool whole = type.element == graph::ElementType::int64;
      ASSERT_TRUE(whole || type.element == graph::ElementType::float64);
      met =
          whole ? reduced<std::int64_t>(in, node.op == "RankMax") : reduced<double>(in, node.op == "RankMax");
    } else if (node.op == "RankGather" || node.op == "RankExchange") {
      met = joined(in, type.shape, size, axis, blocks);
    }
    if (first && node.op != "RankSlice" && node.op != "RankCopy" && node.op != "RankPad")
      exchanged_[node.op] += static_cast<std::int64_t>(met.size());
    for (std::int64_t r = 0; r < count; ++r) {
      const Bytes& mine = in[static_cast<std::size_t>(r)];
      Bytes& own = out[group[static_cast<std::size_t>(r)]];
      if (node.op == "RankSlice") {
        own = partOf(mine, type.shape, size, axis, count, r, blocks);
      } else if (node.op == "RankScatterSum") {
        own = partOf(met, type.shape, size, axis, count, r, blocks);
      } else if (node.op == "RankExchange") {
        Shape whole = type.shape;
        whole[static_cast<std::size_t>(axis)] *= count;
        own = partOf(met, whole, size, graph::intAttribute(node, "to_axis", 0), count, r,
                     graph::intAttribute(node, "to_blocks", 1));
      } else if (node.op == "RankPad") {
        std::vector<Bytes> parts(group.size(), Bytes(mine.size(), std::byte{0}));
        parts[static_cast<std::size_t>(r)] = mine;
        own = joined(parts, type.shape, size, axis, blocks);
      } else if (node.op == "RankCopy") {
        own = mine;
      } else {
        own = met;
      }
    }
  }

  /// Each rank gets what its neighbour in the ring had.
  void passOn(const Node& node, const std::vector<std::size_t>& group) {
    const std::size_t count = group.size(), step = graph::intAttribute(node, "back", 0) != 0 ? 1 : count - 1;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      for (std::size_t r = 0; r < count; ++r) {
        const std::size_t sender = group[(r + step) % count], own = group[r];
        values_[index(node.outputs[i])][own] = values_[index(node.inputs[i])][sender];
        attention_.moved(node.inputs[i], sender, node.outputs[i], own);
        if (own == 0)
          exchanged_[node.op] += static_cast<std::int64_t>(values_[index(node.inputs[i])][own].size());
      }
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
  void eachExpert(TensorId counts, const std::vector<std::size_t>& group, const Move& move) const {
    const std::size_t ranks = group.size();
    std::vector<std::vector<std::int64_t>> sent;
    for (const std::size_t rank : group) sent.push_back(countsOf(counts, rank));
    const std::size_t each = sent[0].size() / ranks;
    std::vector<std::int64_t> first(ranks, 0);
    for (std::size_t owner = 0; owner < ranks; ++owner) {
      std::int64_t at = 0;
      for (std::size_t e = owner * each; e < (owner + 1) * each; ++e)
        for (std::size_t r = 0; r < ranks; ++r) {
          move(group[r], first[r], group[owner], at, sent[r][e]);
          first[r] += sent[r][e];
          at += sent[r][e];
        }
    }
  }

  void toExperts(const Node& node, const std::vector<std::size_t>& group) {
    const graph::TensorType& type = graph_.tensor(node.outputs[0]).type;
    const std::size_t row = static_cast<std::size_t>(type.shape[1]) * 8;
    const std::size_t slots = static_cast<std::size_t>(type.shape[0]);
    std::vector<std::vector<std::int64_t>> counts(static_cast<std::size_t>(ranks_));
    for (const std::size_t rank : group)
      values_[index(node.outputs[0])][rank].assign(slots * row, std::byte{0});
    eachExpert(
        node.inputs[1], group,
        [&](std::size_t r, std::int64_t from, std::size_t owner, std::int64_t to, std::int64_t rows) {
          ASSERT_LE(to + rows, type.shape[0]) << "rank " << owner << " gets more rows than it has slots for";
          const auto begin =
              values_[index(node.inputs[0])][r].begin() + from * static_cast<std::int64_t>(row);
          std::copy(begin, begin + rows * static_cast<std::int64_t>(row),
                    values_[index(node.outputs[0])][owner].begin() + to * static_cast<std::int64_t>(row));
          if (r == group[0]) counts[owner].push_back(0);
          counts[owner].back() += rows;
        });
    if (node.outputs.size() < 2 || !node.outputs[1].valid()) return;
    for (const std::size_t rank : group) values_[index(node.outputs[1])][rank] = bytesOf(counts[rank]);
  }

  void fromExperts(const Node& node, const std::vector<std::size_t>& group) {
    const graph::TensorType& type = graph_.tensor(node.outputs[0]).type;
    const auto row = type.shape[1] * 8;
    for (const std::size_t rank : group)
      values_[index(node.outputs[0])][rank].assign(static_cast<std::size_t>(type.shape[0] * row),
                                                   std::byte{0});
    eachExpert(node.inputs[1], group,
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
  RankAxes axes_;
  std::int64_t ranks_ = 1;
  RankAttention attention_;
  std::vector<std::vector<Bytes>> values_;
  std::map<std::string, std::int64_t> exchanged_;
};

}  // namespace pipescope::sharding_test
