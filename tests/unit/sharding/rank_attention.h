#pragma once
// Computes fused attention and its gradient by the definition, softmax(q·k)·v with all scores at once, for
// the machine that runs the graphs of several ranks. The keys of a step of a ring are those of the rank that
// has sent them first, so a causal mask depends on where they come from.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "engine/graph/graph.h"

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

class RankAttention {
 public:
  explicit RankAttention(const graph::Graph& graph) : graph_(graph) {}

  /// `ranks`: the number of each rank along the axis `context`.
  void begin(std::vector<std::int64_t> ranks) { ranks_ = std::move(ranks); }
  void setPositions(std::vector<std::vector<std::int64_t>> positions) { positions_ = std::move(positions); }
  /// Remembers to whose positions a tensor belongs that was passed on.
  void moved(TensorId from, std::size_t sender, TensorId to, std::size_t receiver) {
    owners_[{to, receiver}] = ownerOf(from, sender);
  }

  void run(const Node& node, std::vector<std::vector<Bytes>>& values) const {
    const bool gradient = node.op == "GradFusedAttention";
    const bool merges = graph::intAttribute(node, "merges", 0) != 0;
    const std::size_t first = gradient ? 3 : 0, merged = !merges ? 0 : gradient ? 3 : 2;
    const std::size_t others = node.inputs.size() - merged;
    for (std::size_t i = first + 3; i < others; ++i)  // shapes that scores take for their mask
      ASSERT_EQ(graph_.tensor(node.inputs[i]).type.element, graph::ElementType::int64)
          << node.name << ": only a causal mask may change scores here";
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const auto input = [&](std::size_t i) { return numbersOf(values[index(node.inputs[i])][rank]); };
      const Step step = stepOf(node, first, rank);
      std::vector<std::vector<double>> results =
          gradient
              ? backward(step, input(first), input(first + 1), input(first + 2), input(0), input(1), input(2))
              : forward(step, input(0), input(1), input(2));
      for (std::size_t i = 0; gradient && i < merged; ++i) {
        const std::vector<double> before = input(others + i);
        for (std::size_t e = 0; e < before.size(); ++e) results[i][e] += before[e];
      }
      if (merges && !gradient) merge(step, input(others), input(others + 1), results);
      for (std::size_t o = 0; o < node.outputs.size(); ++o)
        if (node.outputs[o].valid()) values[index(node.outputs[o])][rank] = bytesOf(results[o]);
    }
  }

 private:
  using Numbers = std::vector<double>;
  static std::size_t index(TensorId id) { return static_cast<std::size_t>(id.value); }

  /// Products of a stack of matrices: queries m × d, keys d × n, values n × w; and who sees whom.
  struct Step {
    std::size_t stack = 1, m = 0, d = 0, n = 0, w = 0;
    bool causal = false;
    std::vector<std::int64_t> queries, keys;  ///< positions of rows and columns; rows repeat by head
    bool sees(std::size_t row, std::size_t column) const {
      return !causal || keys[column] <= queries[row % queries.size()];
    }
  };

  std::int64_t ownerOf(TensorId tensor, std::size_t rank) const {
    const auto found = owners_.find({tensor, rank});
    return found == owners_.end() ? ranks_[rank] : found->second;
  }

  Step stepOf(const Node& node, std::size_t first, std::size_t rank) const {
    const auto shape = [&](std::size_t i) { return graph_.tensor(node.inputs[first + i]).type.shape; };
    const Shape q = shape(0), k = shape(1), v = shape(2);
    Step step;
    for (std::size_t i = 0; i + 2 < q.size(); ++i) step.stack *= static_cast<std::size_t>(q[i]);
    step.m = static_cast<std::size_t>(q[q.size() - 2]);
    step.d = static_cast<std::size_t>(q.back());
    step.n = static_cast<std::size_t>(k.back());
    step.w = static_cast<std::size_t>(v.back());
    step.causal = graph::intAttribute(node, "causal", 0) != 0;
    if (!step.causal) return step;
    EXPECT_FALSE(positions_.empty()) << node.name << " makes a mask, and the positions of ranks are not set";
    if (positions_.empty()) return step;
    step.queries = positions_[static_cast<std::size_t>(ranks_[rank])];
    const auto owner = static_cast<std::size_t>(ownerOf(node.inputs[first + 1], rank));
    if (step.n == positions_[owner].size()) {
      step.keys = positions_[owner];
    } else {
      for (const std::vector<std::int64_t>& part : positions_)
        step.keys.insert(step.keys.end(), part.begin(), part.end());
    }
    return step;
  }

  template <class Visit>
  static void eachScore(const Step& step, const Numbers& q, const Numbers& k, const Visit& visit) {
    for (std::size_t s = 0; s < step.stack; ++s) {
      for (std::size_t row = 0; row < step.m; ++row) {
        for (std::size_t column = 0; column < step.n; ++column) {
          if (!step.sees(row, column)) continue;
          double score = 0;
          for (std::size_t i = 0; i < step.d; ++i)
            score += q[(s * step.m + row) * step.d + i] * k[(s * step.d + i) * step.n + column];
          visit(s, row, column, score);
        }
      }
    }
  }

  static std::vector<Numbers> forward(const Step& step, const Numbers& q, const Numbers& k,
                                      const Numbers& v) {
    Numbers y(step.stack * step.m * step.w, 0), sums(step.stack * step.m, 0);
    eachScore(step, q, k, [&](std::size_t s, std::size_t row, std::size_t column, double score) {
      const double weight = std::exp(score);
      sums[s * step.m + row] += weight;
      for (std::size_t i = 0; i < step.w; ++i)
        y[(s * step.m + row) * step.w + i] += weight * v[(s * step.n + column) * step.w + i];
    });
    for (std::size_t row = 0; row < sums.size(); ++row) {
      for (std::size_t i = 0; i < step.w; ++i)
        if (sums[row] > 0) y[row * step.w + i] /= sums[row];
      sums[row] = std::log(sums[row]);
    }
    return {y, sums};
  }

  static void merge(const Step& step, const Numbers& before, const Numbers& sumsBefore,
                    std::vector<Numbers>& now) {
    for (std::size_t row = 0; row < sumsBefore.size(); ++row) {
      const double old = std::exp(sumsBefore[row]), own = std::exp(now[1][row]), all = old + own;
      for (std::size_t i = row * step.w; i < (row + 1) * step.w; ++i)
        now[0][i] = all > 0 ? (old * before[i] + own * now[0][i]) / all : 0;
      now[1][row] = std::log(all);
    }
  }

  static std::vector<Numbers> backward(const Step& step, const Numbers& q, const Numbers& k, const Numbers& v,
                                       const Numbers& dy, const Numbers& y, const Numbers& sums) {
    Numbers dq(q.size(), 0), dk(k.size(), 0), dv(v.size(), 0);
    eachScore(step, q, k, [&](std::size_t s, std::size_t row, std::size_t column, double score) {
      const std::size_t line = s * step.m + row;
      const double weight = std::exp(score - sums[line]);
      double ofWeight = 0, mean = 0;
      for (std::size_t i = 0; i < step.w; ++i) {
        const double own = dy[line * step.w + i];
        ofWeight += own * v[(s * step.n + column) * step.w + i];
        mean += own * y[line * step.w + i];
        dv[(s * step.n + column) * step.w + i] += weight * own;
      }
      const double ofScore = weight * (ofWeight - mean);
      for (std::size_t i = 0; i < step.d; ++i) {
        dq[line * step.d + i] += ofScore * k[(s * step.d + i) * step.n + column];
        dk[(s * step.d + i) * step.n + column] += ofScore * q[line * step.d + i];
      }
    });
    return {dq, dk, dv};
  }

  const graph::Graph& graph_;
  std::vector<std::int64_t> ranks_;
  std::vector<std::vector<std::int64_t>> positions_;
  std::map<std::pair<TensorId, std::size_t>, std::int64_t> owners_;
};

}  // namespace pipescope::sharding_test
