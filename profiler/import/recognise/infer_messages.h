#pragma once
#include <utility>
#include <vector>

#include "profiler/import/recognise/recorded_pass.h"

namespace pipescope::importing {

/// Finds the pass of each message of which the trace does not state it, and joins the slices that describe
/// one message: the call, the call that it makes, and the transfer of the backend, which may go on after
/// both. Stages and micro-batches of the passes must be known. Returns the number of sides whose pass was
/// inferred. Sets the number of stages if messages tell of a stage behind the last one.
///
/// A receive brings the input of a pass, a send takes the result of a pass away. The n-th receive of a device
/// belongs to its n-th pass that needs an input if none of these passes begins before its receive ended; else
/// a pass takes the receive before it. Sends correspond. A receive that ends within its pass shortens the
/// pass, which cannot have computed before; so does a send that begins within its pass.
std::int64_t inferMessages(RecordedEvents& events);

/// The sides of the messages that these slices describe, in the order of devices and starts.
std::vector<RecordedPass> joinedSlices(std::vector<RecordedPass> slices, bool sends);

/// Indices of the send and the receive of each message of which both sides are known. Both state the same
/// pass; or they state each other's ranks, and then the n-th send between two ranks belongs to the n-th
/// receive.
std::vector<std::pair<std::size_t, std::size_t>> pairMessages(const std::vector<RecordedPass>& sends,
                                                              const std::vector<RecordedPass>& receives);
std::vector<std::pair<std::size_t, std::size_t>> pairMessages(
    const std::vector<const RecordedPass*>& sends, const std::vector<const RecordedPass*>& receives);

}  // namespace pipescope::importing
