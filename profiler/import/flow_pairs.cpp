#include "profiler/import/flow_pairs.h"

#include <algorithm>

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

/// Takes what starts up to `time` out of the queue. What starts at the time of a launch has left it.
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

base::Status FlowPairs::addSlice(const TraceEvent& event, bool onAccelerator, model::LaneId lane,
                                 base::Ticks start) {
  const ArgumentValue* correlation = correlated_ ? event.find(Argument::correlation) : nullptr;
  if (correlation == nullptr || correlation->text || correlation->value <= 0) return {};
  return add(0, correlation->value, !onAccelerator, {start, lane});
}

base::Status FlowPairs::addFlow(const TraceEvent& event, model::LaneId lane, base::Ticks time,
                                model::TransferKind kind) {
  return add(event.category.value + 1, event.id, event.kind == EventKind::flowStart, {time, lane, kind});
}

base::Status FlowPairs::add(std::int64_t kind, std::int64_t id, bool from, const End& end) {
  // The sorter orders by thread and time, and puts what lasts longer first.
  TraceEvent row;
  row.thread = ThreadId(kind);
  row.time = id;
  row.duration = from ? 1 : 0;
  row.id = end.time.count;
  row.process = ProcessId(end.lane.value);
  row.name = NameId(static_cast<std::int64_t>(end.kind));
  return ends_.add(row);
}

base::Status FlowPairs::pairEnds() {
  // Ids are used again, so the n-th start is that of the n-th end.
  const auto earlier = [](const End& a, const End& b) { return a.time < b.time; };
  std::stable_sort(from_.begin(), from_.end(), earlier);
  std::stable_sort(to_.begin(), to_.end(), earlier);
  TraceEvent row;
  row.thread = ThreadId(0);
  for (std::size_t i = 0; i < from_.size() && i < to_.size(); ++i) {
    row.time = from_[i].time.count;
    row.id = std::max(from_[i].time, to_[i].time).count;
    row.process = ProcessId(from_[i].lane.value);
    row.name = NameId(to_[i].lane.value);
    row.category = NameId(static_cast<std::int64_t>(from_[i].kind));
    PIPESCOPE_TRY(pairs_.add(row));
  }
  from_.clear();
  to_.clear();
  return {};
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
      side.push_back({base::Ticks(row.id), model::LaneId(row.process.value),
                      static_cast<model::TransferKind>(row.name.value)});
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
    transfer.kind = static_cast<model::TransferKind>(row.category.value);
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
