#include "profiler/import/recognise/flow_pairs.h"

#include <algorithm>
#include <optional>

namespace pipescope::importing {
namespace {

constexpr EventSorter::Limits kFlowLimits{24 << 20, 64 << 10};
/// Ends with one id. More are no pairs, but an id that means nothing.
constexpr std::size_t kMostOfId = 1 << 20;

/// Pairs that are written before the recorder is asked to commit.
constexpr std::int64_t kPairsOfCommit = 256;

bool isLaunchArrow(const std::string& category) {
  return category == "ac2g" || category == "async_cpu_to_gpu" || category == "async_gpu";
}

}  // namespace

LaunchQueue::LaunchQueue(record::Recorder& recorder, model::DeviceId device) : recorder_(recorder) {
  model::Counter row;
  row.executable = model::ExecutableId(0);
  row.device = device;
  row.name = "launches in the queue";
  counter_ = recorder.add(row);
}

void LaunchQueue::add(base::Ticks launch, base::Ticks start) {
  runUntil(launch);
  sample(launch);
  ++value_;
  starts_.push(start);
}

/// Takes what starts up to `time` out of the queue. A slice that starts at the time of a launch has left it.
void LaunchQueue::runUntil(base::Ticks time) {
  while (!starts_.empty() && starts_.top() <= time) {
    sample(starts_.top());
    starts_.pop();
    --value_;
  }
  if (time == base::Ticks(INT64_MAX)) sample(time);
}

/// Writes the value that held until `time`; of several changes at one time only the last.
void LaunchQueue::sample(base::Ticks time) {
  if (time == last_) return;
  if (last_ != base::Ticks(INT64_MIN))
    recorder_.add(model::CounterSample{counter_, last_, model::RunId(0), value_});
  last_ = time;
}

FlowPairs::FlowPairs(const std::filesystem::path& temporaryFolder, bool correlated)
    : correlated_(correlated), ends_(temporaryFolder, kFlowLimits), pairs_(temporaryFolder, kFlowLimits) {}

bool FlowPairs::isKnown(const std::string& category) const {
  return correlated_ && isLaunchArrow(category);
}

base::Status FlowPairs::addSlice(std::int64_t launch, bool onAccelerator, model::LaneId lane,
                                 base::Ticks start) {
  if (!correlated_ || launch == 0) return {};
  return add(0, launch, !onAccelerator, {start, lane});
}

base::Status FlowPairs::addFlow(const TraceEvent& event, model::LaneId lane, base::Ticks time) {
  return add(event.category.value + 1, event.id, event.kind == EventKind::flowStart,
             {time, lane, event.kind == EventKind::flowStep});
}

base::Status FlowPairs::add(std::int64_t kind, std::int64_t id, bool from, const End& end) {
  // The sorter orders by thread and time, and puts what lasts longer first.
  TraceEvent row;
  row.thread = ThreadId(kind);
  row.time = id;
  row.duration = from ? 1 : 0;
  row.id = end.time.count;
  row.process = ProcessId(end.lane.value);
  row.category = NameId(end.passesOn ? 1 : 0);
  return ends_.add(row);
}

base::Status FlowPairs::pairEnds() {
  const auto earlier = [](const End& a, const End& b) { return a.time < b.time; };
  std::stable_sort(from_.begin(), from_.end(), earlier);
  std::stable_sort(to_.begin(), to_.end(), earlier);
  const bool passedOn = std::ranges::any_of(to_, &End::passesOn);
  if (passedOn) {
    // The arrow leads from one end to the next.
    std::optional<End> last;
    for (std::size_t f = 0, t = 0; t < to_.size(); ++t) {
      for (; f < from_.size() && from_[f].time <= to_[t].time; ++f) last = from_[f];
      if (last) PIPESCOPE_TRY(addPair(*last, to_[t]));
      if (last && to_[t].passesOn) last = End{to_[t].time, to_[t].lane};
    }
  } else if (from_.size() >= to_.size()) {
    // Ids are used again, so the n-th start is that of the n-th end.
    for (std::size_t i = 0; i < to_.size(); ++i) PIPESCOPE_TRY(addPair(from_[i], to_[i]));
  } else if (!from_.empty()) {
    // One start has several ends: those up to the next start with this id.
    for (const End& to : to_) {
      const auto after = std::upper_bound(from_.begin(), from_.end(), to, earlier);
      PIPESCOPE_TRY(addPair(after == from_.begin() ? from_.front() : *std::prev(after), to));
    }
  }
  from_.clear();
  to_.clear();
  return {};
}

base::Status FlowPairs::addPair(const End& from, const End& to) {
  TraceEvent row;
  row.thread = ThreadId(0);
  row.time = from.time.count;
  row.id = std::max(from.time, to.time).count;
  row.process = ProcessId(from.lane.value);
  row.name = NameId(to.lane.value);
  return pairs_.add(row);
}

base::Status FlowPairs::write(record::Recorder& recorder,
                              const std::map<model::LaneId, model::DeviceId>& deviceOf) {
  std::pair<ThreadId, std::int64_t> current;
  const auto take = [&](const TraceEvent& row) -> base::Status {
    const std::pair key(row.thread, row.time);
    if (key != current) PIPESCOPE_TRY(pairEnds());
    current = key;
    std::vector<End>& side = row.duration > 0 ? from_ : to_;
    if (side.size() < kMostOfId)
      side.push_back({base::Ticks(row.id), model::LaneId(row.process.value), row.category.value != 0});
    return {};
  };
  PIPESCOPE_TRY(ends_.visit(take));
  PIPESCOPE_TRY(pairEnds());
  std::map<model::DeviceId, LaunchQueue> queues;
  std::int64_t written = 0;
  PIPESCOPE_TRY(pairs_.visit([&](const TraceEvent& row) -> base::Status {
    model::Transfer transfer;
    transfer.fromLane = model::LaneId(row.process.value);
    transfer.toLane = model::LaneId(row.name.value);
    transfer.kind = model::TransferKind::arrow;
    transfer.start = base::Ticks(row.time);
    transfer.end = base::Ticks(row.id);
    transfer.run = model::RunId(0);
    recorder.add(transfer);
    // An arrow leads from a thread of the host to a lane of the accelerator.
    const auto device = deviceOf.find(transfer.toLane);
    if (device != deviceOf.end() && !deviceOf.contains(transfer.fromLane))
      queues.try_emplace(device->second, recorder, device->second)
          .first->second.add(transfer.start, transfer.end);
    return ++written % kPairsOfCommit == 0 ? recorder.commitIfDue(true) : base::Status();
  }));
  for (auto& [device, queue] : queues) queue.finish();
  return {};
}

}  // namespace pipescope::importing
