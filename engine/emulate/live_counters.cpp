#include "engine/emulate/live_counters.h"

namespace pipescope::emulate {

LiveCounters::LiveCounters(const EmulatedExecutable& executable, const ReplicaPart& part,
                           TimelineWriter& writer)
    : executable_(executable), part_(part), writer_(writer), devices_(executable.order.devices.size()) {}

void LiveCounters::change(int device, int stage, int by) {
  if (part_.liveMicroBatches.empty()) return;
  const auto d = static_cast<std::size_t>(device), s = static_cast<std::size_t>(stage);
  Device& held = devices_[d];
  const Ticks now = writer_.clock(device).free;
  held.live += by;
  writer_.count(part_.liveMicroBatches[d], now, held.live);
  if (executable_.stashEntries[s] == 0) return;
  held.stash += by;
  held.stashBytes += executable_.stashBytesPerEntry[s] * by;
  writer_.count(part_.stashCounters[d], now, held.stash);
}

void LiveCounters::during(int device, int stage, model::Pass pass) {
  if (!countsBytes(device)) return;
  Device& held = devices_[static_cast<std::size_t>(device)];
  const Ticks now = writer_.clock(device).free;
  if (held.idle && held.idleSince < now) writeIdle(device);
  held.idle = false;
  const LiveBytes& bytes = part_.liveBytes[static_cast<std::size_t>(device)];
  const auto peak = bytes.peak.find({stage, pass});
  writeBytes(device, now, held.stashBytes + (peak == bytes.peak.end() ? Bytes() : peak->second));
}

void LiveCounters::after(int device) {
  if (!countsBytes(device)) return;
  Device& held = devices_[static_cast<std::size_t>(device)];
  held.idle = true;
  held.idleSince = writer_.clock(device).free;
  held.idleBytes = held.stashBytes;
}

void LiveCounters::finish() {
  for (int d = 0; d < static_cast<int>(devices_.size()); ++d) {
    if (devices_[static_cast<std::size_t>(d)].idle) writeIdle(d);
  }
}

void LiveCounters::writeIdle(int device) {
  Device& held = devices_[static_cast<std::size_t>(device)];
  writeBytes(device, held.idleSince, held.idleBytes);
  held.idle = false;
}

void LiveCounters::writeBytes(int device, Ticks time, Bytes more) {
  const auto d = static_cast<std::size_t>(device);
  const Bytes sum = part_.liveBytes[d].always + more;
  if (sum == devices_[d].written) return;
  devices_[d].written = sum;
  writer_.count(part_.liveBytesCounters[d], time, static_cast<double>(sum.count));
}

}  // namespace pipescope::emulate
