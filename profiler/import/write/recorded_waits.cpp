#include "profiler/import/write/recorded_waits.h"

#include <algorithm>
#include <span>

namespace pipescope::importing {
namespace {

using base::Ticks;
using model::DeviceId;
using model::WaitCause;

/// Passes that keep a device from computing something else. Collectives may run beside them.
bool occupiesDevice(const RecordedPass& pass) {
  return pass.stage >= 0 && (model::isComputePass(pass.pass) || pass.pass == model::Pass::update);
}

/// Cuts a gap into parts during which a collective of the device runs, and the others, which get the
/// collective that starts at their end. `passes` are ordered by start.
template <class Part>
void cutByCollectives(std::span<const RecordedCollective* const> collectives, Ticks from, Ticks to,
                      Part part) {
  for (const RecordedCollective* collective : collectives) {
    if (collective->start >= to) break;
    if (collective->end <= from) continue;
    if (collective->start > from) part(from, collective->start, false, collective);
    const Ticks end = std::min(to, collective->end);
    part(std::max(from, collective->start), end, true, collective);
    from = end;
  }
  if (from < to) part(from, to, false, nullptr);
}

class WaitWriter {
 public:
  WaitWriter(const RecordedRun& run, record::Recorder& recorder) : run_(run), recorder_(recorder) {
    for (std::size_t i = 0; i < run.passes.size(); ++i) {
      const RecordedPass& pass = run.passes[i];
      if (!occupiesDevice(pass)) continue;
      const std::size_t group = groupOf(pass.device);
      begins_.try_emplace(group, pass.start);
      byDevice_[pass.device].push_back(i);
      if (pass.pass == model::Pass::update) updates_[{group, run.iterations[i]}].push_back(i);
      if (!model::isComputePass(pass.pass) || pass.microBatch < 0) continue;
      firstOf_.try_emplace({group, run.iterations[i]}, pass.start);
      const auto [last, isNew] = lastOf_.try_emplace({group, run.iterations[i]}, i);
      if (!isNew && pass.end > run.passes[last->second].end) last->second = i;
    }
    for (const RecordedCollective& collective : run.collectives)
      collectives_[collective.device].push_back(&collective);
    for (std::size_t i = 0; i < run.sends.size(); ++i) sends_[run.sends[i].device].push_back({i, {}});
    std::map<std::size_t, std::size_t> receiveOf;
    for (const PassInput& input : run.inputs)
      if (input.send && input.receive) receiveOf[*input.send] = *input.receive;
    for (auto& [device, sends] : sends_) {
      for (OwnSend& own : sends)
        if (const auto found = receiveOf.find(own.send); found != receiveOf.end())
          own.receive = found->second;
      std::stable_sort(sends.begin(), sends.end(), [&](const OwnSend& a, const OwnSend& b) {
        return run.sends[a.send].start < run.sends[b.send].start;
      });
    }
  }

  base::Status write() {
    for (const auto& [device, passes] : byDevice_) PIPESCOPE_TRY(writeDevice(device, passes));
    return {};
  }

 private:
  struct OwnSend {
    std::size_t send;
    std::optional<std::size_t> receive;  // index of the receive on the other device
  };
  using Producer = std::optional<std::size_t>;

  std::size_t groupOf(DeviceId device) const {
    const auto group = run_.clockGroups.find(device);
    return group == run_.clockGroups.end() ? 0 : group->second;
  }

  base::Status writeDevice(DeviceId device, const std::vector<std::size_t>& passes) {
    own_ = collectives_[device];
    ownSends_ = sends_[device];
    wait_ = {};
    wait_.device = device;
    wait_.run = model::RunId(0);
    Ticks busyUntil(INT64_MIN);
    addFirst(passes.front());
    for (std::size_t k = 0; k + 1 < passes.size(); ++k) {
      const std::size_t before = passes[k], next = passes[k + 1];
      const RecordedPass& pass = run_.passes[next];
      busyUntil = std::max(busyUntil, run_.passes[before].end);  // passes may overlap
      Ticks from = busyUntil;
      wait_.stage = pass.stage;
      const bool newIteration = run_.iterations[before] != run_.iterations[next];
      if (newIteration || endsBeforeUpdate(before, next)) from = addDrain(before, from, pass.start);
      wait_.iteration = run_.iterations[next];
      addGap(next, from, newIteration);
      PIPESCOPE_TRY(recorder_.commitIfDue(true));
    }
    wait_.stage = run_.passes[passes.back()].stage;
    addDrain(passes.back(), std::max(busyUntil, run_.passes[passes.back()].end), Ticks(INT64_MAX));
    return {};
  }

  /// True if the next pass is the device's own weight update, which begins when all devices have drained:
  /// they update one after another.
  bool endsBeforeUpdate(std::size_t before, std::size_t next) const {
    const RecordedPass &ended = run_.passes[before], &update = run_.passes[next];
    if (update.pass != model::Pass::update || ended.pass == model::Pass::update) return false;
    // A sum of gradients in between is what the device waits for.
    const bool sums = std::ranges::any_of(own_, [&](const RecordedCollective* collective) {
      return collective->end > ended.end && collective->start < update.start;
    });
    if (sums) return false;
    const auto last = lastOf_.find({groupOf(update.device), run_.iterations[before]});
    return last != lastOf_.end() && run_.passes[last->second].end <= update.start;
  }

  /// Before its first pass a device waits for the pipeline to fill, since the first pass of the run.
  void addFirst(std::size_t first) {
    const RecordedPass& pass = run_.passes[first];
    const Ticks begin = begins_.at(groupOf(pass.device));
    if (!run_.inputs[first].producer || pass.start <= begin) return;
    wait_.stage = pass.stage;
    wait_.iteration = run_.iterations[first];
    addGap(first, begin, true);
  }

  /// Adds the time in which this device drains, until the other devices end the last iteration. Then it waits
  /// for those updates of other devices that end before its next pass begins.
  Ticks addDrain(std::size_t before, Ticks from, Ticks to) {
    const auto last = lastOf_.find({groupOf(wait_.device), run_.iterations[before]});
    if (last == lastOf_.end()) return from;
    const RecordedPass& pass = run_.passes[last->second];
    wait_.iteration = run_.iterations[before];
    const Ticks drained = std::min(pass.end, to);
    add(from, drained, WaitCause::drain, pass.device == wait_.device ? Producer() : Producer(last->second));
    from = std::max(from, drained);
    const auto updates = updates_.find({groupOf(wait_.device), run_.iterations[before]});
    for (const std::size_t i : updates == updates_.end() ? std::vector<std::size_t>() : updates->second) {
      const RecordedPass& update = run_.passes[i];
      const bool others = update.device != wait_.device && update.replica == run_.passes[before].replica;
      if (!others || update.end <= from || update.end > to) continue;
      add(from, update.end, WaitCause::update, i);
      from = update.end;
    }
    return from;
  }

  void addGap(std::size_t next, Ticks from, bool newIteration) {
    const Ticks to = run_.passes[next].start;
    const PassInput& input = run_.inputs[next];
    const WaitCause late = newIteration ? WaitCause::fill : WaitCause::slowerStage;
    const auto until = [&](Ticks time) { return std::clamp(time, from, std::max(from, to)); };
    const auto part = [&](Ticks end, WaitCause cause, const Producer& producer) {
      add(from, end, cause, producer);
      from = end;
    };
    // Before the first pass of an iteration begins, no device waits for the pipeline to fill.
    const auto first = firstOf_.find({groupOf(wait_.device), wait_.iteration});
    if (newIteration && first != firstOf_.end()) part(until(first->second), WaitCause::host, {});
    if (input.send && input.receive) {
      const RecordedPass& receive = run_.receives[*input.receive];
      const Ticks posted = receive.statesPosting ? until(receive.start) : from;
      const Ticks sent = until(run_.sends[*input.send].start);
      const auto notPosted = [&](Ticks start, Ticks end) {
        const Ticks middle = std::clamp(sent, start, end);
        add(start, middle, late, input.producer);
        add(middle, end, WaitCause::host, {});
      };
      addOwnSends(from, posted, notPosted);
      from = posted;
      part(until(sent), late, input.producer);
      part(until(receive.end), WaitCause::exchange, input.producer);
      part(to, WaitCause::host, {});
    } else if (input.producer) {
      part(until(run_.passes[*input.producer].end), late, input.producer);
      part(to, WaitCause::exchange, input.producer);
    } else if (input.receive) {
      const RecordedPass& receive = run_.receives[*input.receive];
      const Ticks posted = until(receive.start);
      addOwnSends(from, posted, [&](Ticks start, Ticks end) { add(start, end, WaitCause::host, {}); });
      from = posted;
      part(until(receive.end), WaitCause::exchange, {});
      part(to, WaitCause::host, {});
    } else {
      addOwnSends(from, to, [&](Ticks start, Ticks end) { add(start, end, WaitCause::host, {}); });
    }
  }

  /// A stretch in which the device has posted no receive: its own sends, and `rest` for what lies between.
  template <class Rest>
  void addOwnSends(Ticks from, Ticks to, Rest rest) {
    while (!ownSends_.empty() && run_.sends[ownSends_.front().send].end <= from)
      ownSends_ = ownSends_.subspan(1);
    for (const OwnSend& own : ownSends_) {
      const RecordedPass& send = run_.sends[own.send];
      if (send.start >= to || from >= to) break;
      if (send.end <= from) continue;
      const Ticks start = std::max(from, send.start), end = std::min(to, send.end);
      if (from < start) rest(from, start);
      Ticks ready = start;
      DeviceId receiver;
      if (own.receive) {
        const RecordedPass& receive = run_.receives[*own.receive];
        receiver = receive.device;
        ready = std::clamp(receive.start, start, end);
        add(start, ready, WaitCause::slowerStage, {}, receiver);
      }
      add(ready, end, WaitCause::exchange, {}, receiver);
      from = end;
    }
    if (from < to) rest(from, to);
  }

  /// The wait ends when `producer` has ended, or when another device is ready.
  void add(Ticks start, Ticks end, WaitCause cause, const Producer& producer, DeviceId other = {}) {
    if (end <= start) return;
    // Gaps come in the order of time, so what ended before this one is not needed again.
    while (!own_.empty() && own_.front()->end <= start) own_ = own_.subspan(1);
    cutByCollectives(own_, start, end,
                     [&](Ticks from, Ticks to, bool runs, const RecordedCollective* following) {
                       // Before a collective a device may wait for the rank that was last to finish what
                       // comes before it.
                       const Producer late = following == nullptr ? Producer() : following->lastBefore;
                       const bool waits = late && run_.passes[*late].device != wait_.device;
                       if (runs || waits) {
                         // Once all have arrived, the collective takes its own time.
                         const Ticks arrived = std::clamp(following->arrived, from, to);
                         addPart(from, arrived, WaitCause::collective, waits ? late : Producer());
                         addPart(arrived, to, WaitCause::collective, Producer());
                       } else {
                         addPart(from, to, cause, producer, other);
                       }
                     });
  }

  void addPart(Ticks start, Ticks end, WaitCause cause, const Producer& producer, DeviceId other = {}) {
    if (end <= start) return;
    wait_.start = start;
    wait_.end = end;
    wait_.cause = cause;
    wait_.waitedFor = {};
    wait_.waitedForDevice = other;
    if (producer) {
      wait_.waitedFor = model::PlacementId(static_cast<std::int64_t>(*producer) + run_.firstPlacement);
      wait_.waitedForDevice = run_.passes[*producer].device;
    }
    recorder_.add(wait_);
  }

  const RecordedRun& run_;
  record::Recorder& recorder_;
  std::map<DeviceId, std::vector<std::size_t>> byDevice_;  // passes, in the order of their starts
  std::map<DeviceId, std::vector<const RecordedCollective*>> collectives_;
  std::map<DeviceId, std::vector<OwnSend>> sends_;
  std::map<std::size_t, Ticks> begins_;  // start of the first pass of each group of clocks
  std::map<std::pair<std::size_t, std::int32_t>, Ticks> firstOf_;       // start of an iteration's first pass
  std::map<std::pair<std::size_t, std::int32_t>, std::size_t> lastOf_;  // the pass that ends an iteration
  // Updates of an iteration.
  std::map<std::pair<std::size_t, std::int32_t>, std::vector<std::size_t>> updates_;
  // Collectives and sends of the device whose waits are being written.
  std::span<const RecordedCollective* const> own_;
  std::span<const OwnSend> ownSends_;
  model::Wait wait_;
};

}  // namespace

base::Status writeRecordedWaits(const RecordedRun& run, record::Recorder& recorder) {
  return WaitWriter(run, recorder).write();
}

}  // namespace pipescope::importing
