#pragma once
// Rows that a mixture of experts routes: each token chooses some experts, and the rows of an expert lie one
// behind the other, expert by expert. Sources: Shazeer et al. 2017 (arXiv 1701.06538); GShard (2006.16668);
// MegaBlocks (2211.15841), whose groups have as many rows as tokens chose their expert.
#include <cstdint>

#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// Extents of a routing.
struct Routing {
  std::int64_t tokens = 0, choices = 0;  ///< each token chooses so many experts
  std::int64_t experts = 0;
  std::int64_t capacity = 0;  ///< most rows of an expert; later ones are dropped. 0: none is dropped
  std::int64_t slots = 0;     ///< rows of all experts together, the unused ones included
};

/// Rows for `tokens` that choose `choices` of the experts, with a capacity.
std::int64_t slotsOf(const Routing& routing);
/// Checks an input as choices: int64 with two axes.
Status checkChoices(const OperatorCall& call, std::size_t input);
/// Checks an input as counts: int64, one for each expert. Returns the number of experts.
Result<std::int64_t> expertsOf(const OperatorCall& call, std::size_t input);
/// Rows of the largest group if `rows` are spread evenly, and the number of groups that have rows.
struct EvenGroups {
  std::int64_t groups = 1, rows = 1;
};
EvenGroups evenGroups(std::int64_t rows, std::int64_t experts);

}  // namespace pipescope::ops
