#pragma once
// The proof that ranks along several axes compute together what the undivided model computes.
#include "engine/compile/gradients.h"
#include "engine/compile/sharding/rank_graph.h"
#include "tests/unit/sharding/sharding_models.h"

namespace pipescope::compile {

using namespace sharding_test;
using model::MeshAxis;

/// A division after the other, and where the parts of each tensor of the undivided model lie.
struct Divided {
  graph::Graph graph;
  std::vector<DivisionOptions> axes;  ///< in the order in which they divide
  std::vector<GraphDivision> divisions;
  std::vector<graph::Graph> before;  ///< graphs that were divided
};

inline std::optional<Divided> dividedBy(const graph::Graph& forward, std::vector<DivisionOptions> axes,
                                        const std::string& what) {
  Divided result{forward, std::move(axes), {}, {}};
  for (const DivisionOptions& options : result.axes) {
    auto division = divideGraph(result.graph, options);
    EXPECT_TRUE(division.ok()) << what << ": " << division.error().message;
    if (!division.ok()) return std::nullopt;
    for (NodeDivision& node : division->nodes) node.rows *= 64;  // room for any choice of experts
    auto rank = graphOfRank(result.graph, *division, ops::standardOperators());
    EXPECT_TRUE(rank.ok()) << what << ": " << rank.error().message;
    if (!rank.ok()) return std::nullopt;
    const base::Status valid = ops::checkShapes(*rank, ops::standardOperators());
    EXPECT_TRUE(valid.ok()) << what << ": " << valid.error().message;
    result.before.push_back(std::exchange(result.graph, std::move(*rank)));
    result.divisions.push_back(std::move(*division));
  }
  return result;
}

/// Ranks in the order of the mesh: tensor innermost, then context, then expert.
inline RankAxes meshOf(const std::vector<DivisionOptions>& options) {
  RankAxes axes;
  for (const MeshAxis axis : {MeshAxis::tensor, MeshAxis::context, MeshAxis::expert})
    for (const DivisionOptions& each : options)
      if (each.axis == axis) axes.emplace_back(model::toString(axis), each.ranks);
  return axes;
}

inline std::int64_t coordinate(const RankAxes& axes, std::int64_t rank, const std::string& name) {
  for (const auto& [axis, size] : axes) {
    if (axis == name) return rank % size;
    rank /= size;
  }
  return 0;
}

/// The part of a value of the undivided model that a rank has.
inline Bytes partOfRank(const Divided& divided, const RankAxes& mesh, std::int64_t rank,
                        const std::string& name, Bytes value, std::size_t elementBytes) {
  for (std::size_t i = 0; i < divided.axes.size(); ++i) {
    const graph::Tensor& tensor = *tensorNamed(divided.before[i], name);
    const DividedAxis axis = divided.divisions[i].of(tensor.id);
    if (axis == kWhole) continue;
    value = partOf(value, tensor.type.shape, elementBytes, axis, divided.axes[i].ranks,
                   coordinate(mesh, rank, model::toString(divided.axes[i].axis)),
                   blocksOf(divided.axes[i], tensor.type.shape, axis));
  }
  return value;
}

/// Sums what ranks hold that take tokens or samples of their own, where they hold the same weight.
inline std::vector<double> summedOver(const Divided& divided, const RankAxes& mesh,
                                      const RankMachine& machine, graph::TensorId id,
                                      const std::string& weight, std::int64_t rank, std::int64_t ranks) {
  std::vector<double> sum;
  for (std::int64_t other = 0; other < ranks; ++other) {
    bool same = true;
    for (std::size_t i = 0; i < divided.axes.size(); ++i) {
      const std::string axis = model::toString(divided.axes[i].axis);
      const bool whole = divided.divisions[i].of(tensorNamed(divided.before[i], weight)->id) == kWhole;
      const bool summed = divided.axes[i].takesOwnTokens() && whole;
      same = same && (summed || coordinate(mesh, rank, axis) == coordinate(mesh, other, axis));
    }
    if (!same) continue;
    const std::vector<double> own = numbersOf(machine.of(id, other));
    sum.resize(own.size(), 0.0);
    for (std::size_t i = 0; i < own.size(); ++i) sum[i] += own[i];
  }
  return sum;
}

/// Trains the model undivided, once for the samples of each rank of the axis `expert`, and divided.
inline void proveMesh(const graph::Graph& forward, std::vector<DivisionOptions> axes, unsigned seed,
                      std::int64_t vocabulary, const std::string& what) {
  const std::optional<Divided> divided = dividedBy(forward, std::move(axes), what);
  if (!divided) return;
  const ops::OperatorRegistry& operators = ops::standardOperators();
  const auto one = addGradients(forward, operators), other = addGradients(divided->graph, operators);
  ASSERT_TRUE(one.ok() && other.ok()) << what << (other.ok() ? "" : ": " + other.error().message);
  const RankAxes mesh = meshOf(divided->axes);
  std::int64_t ranks = 1, replicas = 1;
  for (const auto& [name, size] : mesh) {
    ranks *= size;
    if (name == "expert") replicas = size;
  }
  RankMachine alone(*one, replicas), together(*other, mesh);
  std::vector<std::map<std::string, Bytes>> values;
  for (std::int64_t r = 0; r < replicas; ++r)
    values.push_back(valuesOf(forward, seed + 100 * static_cast<unsigned>(r), vocabulary));
  for (const graph::Tensor& tensor : forward.tensors()) {
    if (!values[0].contains(tensor.name)) continue;
    const bool weight = tensor.role == graph::TensorRole::parameter;
    std::vector<Bytes> whole, parts;
    for (std::int64_t r = 0; r < replicas; ++r)
      whole.push_back(values[weight ? 0 : static_cast<std::size_t>(r)].at(tensor.name));
    const std::size_t bytes = whole[0].size() / static_cast<std::size_t>(tensor.type.elements());
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      parts.push_back(partOfRank(*divided, mesh, rank, tensor.name,
                                 whole[static_cast<std::size_t>(coordinate(mesh, rank, "expert"))], bytes));
    alone.set(tensorNamed(*one, tensor.name)->id, std::move(whole));
    together.set(tensorNamed(*other, tensor.name)->id, std::move(parts));
  }
  alone.run();
  together.run();
  if (::testing::Test::HasFatalFailure()) return;
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    expectNear(numbersOf(alone.of(*one->loss, coordinate(mesh, rank, "expert"))),
               numbersOf(together.of(*other->loss, rank)), what + ", loss");
  for (const auto& [parameter, gradient] : one->parameterGradients) {
    const std::string& name = one->tensor(parameter).name;
    const auto found = other->parameterGradients.find(tensorNamed(*other, name)->id);
    ASSERT_NE(found, other->parameterGradients.end()) << what << ", " << name;
    std::vector<double> wanted;
    for (std::int64_t r = 0; r < replicas; ++r) {
      const std::vector<double> own = numbersOf(alone.of(gradient, r));
      wanted.resize(own.size(), 0.0);
      for (std::size_t i = 0; i < own.size(); ++i) wanted[i] += own[i];
    }
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      expectNear(numbersOf(partOfRank(*divided, mesh, rank, name, bytesOf(wanted), 8)),
                 summedOver(*divided, mesh, together, found->second, name, rank, ranks),
                 what + ", gradient of " + name);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace pipescope::compile
