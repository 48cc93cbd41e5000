#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "profiler/import/recognise/recorded_pass.h"
#include "profiler/record/recorder.h"

namespace pipescope::importing {

/// Origin of the input of a pass. Indices of passes, sends and receives; none: not known, or none.
struct PassInput {
  std::optional<std::size_t> producer;  ///< pass on another device that made it
  std::optional<std::size_t> send, receive;
};

/// A collective on one of its ranks.
struct RecordedCollective {
  model::DeviceId device;
  base::Ticks start, end;
  /// The pass before it of the rank that was last to arrive.
  std::optional<std::size_t> lastBefore;
  base::Ticks arrived;  ///< when that rank arrived
};

/// Facts of a recorded run. Passes are ordered by start, and so are collectives.
struct RecordedRun {
  const std::vector<RecordedPass>&passes, &sends, &receives;
  const std::vector<std::int32_t>& iterations;  ///< iterations of each pass
  std::int64_t firstPlacement = 0;              ///< id of the placement of passes[0]
  std::vector<RecordedCollective> collectives;
  std::vector<PassInput> inputs;  ///< inputs of each pass
  /// Devices whose times can be compared have the same group; 0 if none is stated.
  std::map<model::DeviceId, std::size_t> clockGroups;
};

/// Writes the gaps between the passes of each device, with their causes. Of a gap before a pass whose input
/// comes in a message,
/// - before the receive is posted, the device's own sends take the time until their receiver is ready (slower
///   stage, names the receiver's device and no pass: a late receiver) and then the transfer (exchange);
/// - otherwise, until the message is sent, the device waits for the pass that makes it (slower stage, or
/// fill:
///   a late sender), even if the receive is posted later, because nothing would have come earlier;
/// - from then until the receive is posted, the host does something else (host);
/// - until the message is received, for the transfer (exchange), and until the pass begins, for the host
///   again.
/// Without messages the end of the pass that makes the input divides the gap. If the trace of the sender is
/// missing, the device waits from the receive's start to its end (exchange that names no device). Before its
/// first pass a device waits since the first pass of the run. After its last pass of a training step it
/// drains until the last pass of the step has ended, and waits for weight updates of other devices (update)
/// that end before its next pass begins. From then until the first pass of the next step begins on any
/// device, it waits for the host. A gap during or before a collective waits for the rank that was last to
/// begin it.
base::Status writeRecordedWaits(const RecordedRun& run, record::Recorder& recorder);

}  // namespace pipescope::importing
