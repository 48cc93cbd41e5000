#pragma once
// Operators by which the ranks of a place exchange tensors. Each rank runs the same graph with its own part
// of the weights. Kernels do not compute them: numerics runs the undivided graph.
#include <cstdint>

#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// The attributes of all these operators.
inline constexpr const char* kRanks = "ranks";         ///< number of ranks that take part
inline constexpr const char* kMeshAxis = "mesh_axis";  ///< the axis of the mesh along which they lie, by name

/// Reads both attributes. Errors: fewer than one rank or more than 2²⁰, an axis that does not exist.
Status checkRanks(const OperatorCall& call);
std::int64_t ranksOf(const Node& node);
model::MeshAxis meshAxisOf(const Node& node);
/// The extent's axis (attribute `axis`), counted from the front.
Result<std::size_t> axisOf(const OperatorCall& call);
/// The collective that moves a tensor of so many elements, of all ranks together. Empty for a group of one.
std::vector<Work> rankCollective(const OperatorCall& call, Collective::Kind kind, std::int64_t elements);

}  // namespace pipescope::ops
