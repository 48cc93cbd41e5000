#pragma once
#include <string_view>

#include "profiler/import/recognise/kernel_collectives.h"
#include "profiler/import/recognise/recorded_pass.h"

namespace pipescope::importing {

/// Finds the ranks that share the work of a place, where the trace states none: those that compute the same
/// stage and exchange at least twice within each forward pass, because every layer ends in a collective. Sums
/// and scattered sums tell tensor-parallel ranks, and exchanges of all with all expert-parallel ones.
/// Data-parallel ranks, also those that divide their weights, only gather within forward passes.
///
/// The first rank of a place gives its replica to the others, and their numbers say which rank they are.
void inferPlaceRanks(RecordedEvents& events, const KernelCollectives& collectives);

}  // namespace pipescope::importing
