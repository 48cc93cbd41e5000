#include "engine/emulate/live_counters.h"

namespace pipescope::emulate {

LiveCounters::LiveCounters(record::Recorder& recorder, const EmulatedExecutable& executable,
                           const ReplicaPart& part, model::RunId run)
    : recorder_(recorder),
      executable_(executable),
      part_(part),
      run_(run),
      places_(executable.order().places.size()) {}

void LiveCounters::count(model::CounterId counter, Ticks time, double value) {
  model::CounterSample& row = recorder_.append<model::CounterSample>();
  row.counter = counter;
  row.time = time;
  row.run = run_;
  row.value = value;
}

void LiveCounters::change(int place, int stage, int by, Ticks now) {
  if (part_.liveMicroBatches.empty()) return;
  const auto d = static_cast<std::size_t>(place), s = static_cast<std::size_t>(stage);
  Held& held = places_[d];
  held.live += by;
  count(part_.liveMicroBatches[d], now, held.live);
  if (executable_.stashEntries[s] == 0) return;
  held.stash += by;
  held.stashBytes += executable_.stashBytesPerEntry[s] * by;
  count(part_.stashCounters[d], now, held.stash);
}

void LiveCounters::during(int place, int stage, model::Pass pass, Ticks now) {
  if (!countsBytes(place)) return;
  Held& held = places_[static_cast<std::size_t>(place)];
  if (held.idle && held.idleSince < now) writeIdle(place);
  held.idle = false;
  const LiveBytes& bytes = part_.liveBytes[static_cast<std::size_t>(place)];
  const auto peak = bytes.peak.find({stage, pass});
  Bytes more = held.stashBytes + (peak == bytes.peak.end() ? Bytes() : peak->second);
  if (held.stash > 0 && peak != bytes.peak.end() && bytes.inPlace.contains(stage))
    more -= executable_.stashBytesPerEntry[static_cast<std::size_t>(stage)];
  writeBytes(place, now, more);
}

void LiveCounters::after(int place, Ticks now) {
  if (!countsBytes(place)) return;
  Held& held = places_[static_cast<std::size_t>(place)];
  held.idle = true;
  held.idleSince = now;
  held.idleBytes = held.stashBytes;
}

void LiveCounters::finish() {
  for (int p = 0; p < static_cast<int>(places_.size()); ++p) {
    if (places_[static_cast<std::size_t>(p)].idle) writeIdle(p);
  }
}

void LiveCounters::writeIdle(int place) {
  Held& held = places_[static_cast<std::size_t>(place)];
  writeBytes(place, held.idleSince, held.idleBytes);
  held.idle = false;
}

void LiveCounters::writeBytes(int place, Ticks time, Bytes more) {
  const auto d = static_cast<std::size_t>(place);
  const Bytes sum = part_.liveBytes[d].always + more;
  if (sum == places_[d].written) return;
  places_[d].written = sum;
  count(part_.liveBytesCounters[d], time, static_cast<double>(sum.count));
}

}  // namespace pipescope::emulate
