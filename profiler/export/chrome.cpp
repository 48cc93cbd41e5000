#include "profiler/export/chrome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/base/number_text.h"
#include "profiler/export/event_work.h"
#include "profiler/export/json_text.h"
#include "profiler/export/recorded_work.h"
#include "profiler/export/wanted_rows.h"

namespace pipescope::exporting {
namespace {

using analysis::Catalog;
using base::Result;
using base::Ticks;

__extension__ using Wide = __int128;  // products of ticks and clocks

class Chrome {
 public:
  Chrome(const ChromeRequest& request, const Writer& write, base::Progress& progress)
      : request_(request),
        catalog_(request.catalog),
        write_(write),
        rows_(request, progress),
        work_(request) {}

  base::Status run() {
    PIPESCOPE_TRY(work_.read(rows_));
    PIPESCOPE_TRY(readSteps());
    PIPESCOPE_TRY(readTransfers());
    PIPESCOPE_ASSIGN(const WantedRows::Host host, rows_.host());
    hostItems_ = host.size();
    PIPESCOPE_TRY(refuseTooMany());
    buffer_ = fmt::format(
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"times\":{},\"device_model\":{},"
        "\"tool_version\":{}}},\"traceEvents\":[",
        jsonText(catalog_.property("times")), jsonText(catalog_.property("device_model")),
        jsonText(catalog_.property("tool_version")));
    PIPESCOPE_TRY(names());
    PIPESCOPE_TRY(rows_.each<model::Placement>([&](const model::Placement& row) { return placement(row); }));
    for (const model::Transfer& row : transfers_) PIPESCOPE_TRY(transfer(row));
    PIPESCOPE_TRY(rows_.each<model::Wait>([&](const model::Wait& row) { return wait(row); }));
    PIPESCOPE_TRY(counters());
    PIPESCOPE_TRY(hostSpans(host));
    buffer_ += "\n]}\n";
    return flush(0);
  }

 private:
  base::Status flush(std::size_t above) {
    if (buffer_.size() <= above) return {};
    PIPESCOPE_TRY(write_(buffer_));
    buffer_.clear();
    return {};
  }

  base::Status event(const std::string& text) { return line(text); }

  /// An event, or metadata.
  base::Status line(const std::string& text) {
    buffer_ += first_ ? "\n" : ",\n";
    first_ = false;
    buffer_ += text;
    return flush(std::size_t{1} << 20);
  }

  /// The placement's segment if the placement belongs to the export; otherwise null.
  const model::Segment* wantedSegment(const model::Placement& row) const {
    const model::Segment* segment = catalog_.segments.find(row.segment);
    if (segment == nullptr || row.end < row.start) return nullptr;
    return segment->executable == request_.executable && rows_.has(row.run) ? segment : nullptr;
  }

  base::Status readSteps() {
    if (!request_.steps) return {};
    PIPESCOPE_TRY(rows_.each<model::Step>([&](const model::Step& row) {
      steps_[row.segment].push_back(row);
      return base::Status();
    }));
    for (const auto& [id, steps] : steps_)
      if (const model::Segment* segment = catalog_.segments.find(id)) work_.addSteps(*segment, steps);
    return {};
  }

  /// Sorts the transfers by start, so that overlapping ones can get threads of their own.
  base::Status readTransfers() {
    PIPESCOPE_TRY(rows_.each<model::Transfer>([&](const model::Transfer& row) -> base::Status {
      if (static_cast<std::int64_t>(transfers_.size()) > kMostChromeEvents) return {};
      if (!rows_.has(row.run) || row.end < row.start || !clockOf(row).valid()) return {};
      if (!launches_.take(catalog_, row)) transfers_.push_back(row);
      return {};
    }));
    std::stable_sort(transfers_.begin(), transfers_.end(), [&](const auto& a, const auto& b) {
      return picoseconds(a.start, clockOf(a)) < picoseconds(b.start, clockOf(b));
    });
    return {};
  }

  base::Status refuseTooMany() {
    auto events = static_cast<std::int64_t>(transfers_.size()) * 4 + hostItems_;
    PIPESCOPE_TRY(rows_.each<model::Placement>([&](const model::Placement& row) {
      if (wantedSegment(row) == nullptr) return base::Status();
      const auto found = steps_.find(row.segment);
      events += 1 + (found == steps_.end() ? 0 : static_cast<std::int64_t>(found->second.size()));
      return base::Status();
    }));
    if (events <= kMostChromeEvents) return {};
    return base::badInput(
        fmt::format("These are {} steps once segments are expanded, more than the {} that a Chrome trace can "
                    "sensibly hold. Export {}without steps (--no-steps).",
                    base::groupedText(events), base::groupedText(kMostChromeEvents),
                    request_.run ? "" : "a single call (--call 1), or "));
  }

  base::Status names() {
    for (const model::Device& device : catalog_.devices)
      PIPESCOPE_TRY(process(pid(device.id),
                            device.name + (catalog_.measured() ? "" : " (emulated " + device.kind + ")")));
    std::set<model::DeviceId> hosts;
    for (const model::Lane& lane : catalog_.lanes)
      if (isLaneOfHost(catalog_, &lane) && hosts.insert(lane.device).second)
        PIPESCOPE_TRY(process(pidOfLane(lane.id), nameOfDevice(lane.device) + kHostOfAccelerator));
    if (hostItems_ > 0 || std::any_of(catalog_.lanes.begin(), catalog_.lanes.end(),
                                      [](const auto& lane) { return !lane.device.valid(); }))
      PIPESCOPE_TRY(process(pid({}), "host"));
    return {};
  }

  base::Status process(std::int64_t pid, const std::string& name) {
    PIPESCOPE_TRY(
        line(fmt::format("{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":{}}}}}",
                         pid, jsonText(name))));
    return line(fmt::format(
        "{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_sort_index\",\"args\":{{\"sort_index\":{}}}}}", pid,
        pid));
  }

  /// The number of a thread of a process, by its name; `rank` orders the threads. Numbers are unique in the
  /// file because some readers look at nothing else. A thread never has its process's number, because some
  /// readers take such a thread for the main one.
  Result<std::int64_t> thread(std::int64_t pid, const std::string& name, int rank) {
    const std::int64_t next = 2 * pidOfHost() + static_cast<std::int64_t>(threads_.size());
    const auto [place, added] = threads_.try_emplace({pid, name}, next);
    if (!added) return place->second;
    const std::int64_t tid = place->second;
    PIPESCOPE_TRY(line(fmt::format(
        "{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":{}}}}}", pid, tid,
        jsonText(name))));
    PIPESCOPE_TRY(
        line(fmt::format("{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_sort_index\",\"args\":{{"
                         "\"sort_index\":{}}}}}",
                         pid, tid, rank)));
    return tid;
  }

  /// Slices of a thread must not overlap, so an overlapping slice goes to another thread.
  Result<std::int64_t> freeThread(std::int64_t pid, const std::string& name, int rank, Wide start, Wide end) {
    std::vector<Wide>& ends = reached_[{pid, name}];
    std::size_t place = 0;
    while (place < ends.size() && ends[place] > start) ++place;
    if (place == ends.size()) ends.push_back(end);
    ends[place] = end;
    return thread(pid, place == 0 ? name : fmt::format("{} ({})", name, place + 1), rank);
  }

  std::int64_t pid(model::DeviceId device) const { return device.valid() ? device.value + 1 : pidOfHost(); }
  std::int64_t pidOfHost() const { return static_cast<std::int64_t>(catalog_.devices.size()) + 1; }
  /// The process in which the steps of a lane stand.
  std::int64_t pidOfLane(model::LaneId id) const {
    const model::Lane* lane = catalog_.lanes.find(id);
    const model::DeviceId device = catalog_.deviceOf(id);
    return isLaneOfHost(catalog_, lane) ? pidOfHost() + 1 + device.value : pid(device);
  }
  std::string roleNameOf(model::LaneId lane) const {
    const model::Lane* row = catalog_.lanes.find(lane);
    return row == nullptr ? "unknown" : model::laneKey(row->role);
  }

  /// The device whose ticks the transfer's times are.
  model::DeviceId clockOf(const model::Transfer& row) const {
    const model::DeviceId from = catalog_.deviceOf(row.fromLane);
    return from.valid() ? from : catalog_.deviceOf(row.toLane);
  }
  std::string nameOfDevice(model::DeviceId device) const {
    const model::Device* row = catalog_.device(device);
    return row == nullptr ? "host" : row->name;
  }
  Wide picoseconds(Ticks ticks, model::DeviceId device) const {
    return static_cast<Wide>(ticks.count) * 1'000'000'000'000 / catalog_.timebase(device).ticksPerSecond;
  }

  /// Microseconds with all the digits that a tick has.
  std::string us(Ticks ticks, model::DeviceId device) const {
    return microseconds(picoseconds(ticks, device));
  }
  static std::string microseconds(Wide ps) {
    const auto whole = static_cast<std::int64_t>(ps / 1'000'000),
               rest = static_cast<std::int64_t>(ps % 1'000'000);
    return fmt::format("{}.{:06}", whole, std::abs(rest));
  }

  base::Status complete(std::int64_t process, std::int64_t lane, const std::string& name,
                        const std::string& category, Ticks start, Ticks end, model::DeviceId device,
                        const std::string& args) {
    // The duration is the difference of the rounded ends, so that neighbouring slices touch.
    const Wide length = picoseconds(end, device) - picoseconds(start, device);
    return event(fmt::format(
        "{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"name\":{},\"cat\":{},\"ts\":{},\"dur\":{}"
        ",\"args\":{{{}}}}}",
        process, lane, jsonText(name), jsonText(category), us(start, device), microseconds(length), args));
  }

  base::Status placement(const model::Placement& row) {
    const model::Segment* segment = wantedSegment(row);
    if (segment == nullptr) return {};
    const std::string name = fmt::format("{} {}", model::toString(row.pass),
                                         row.microBatch < 0 ? "" : std::to_string(row.microBatch));
    const std::string role = roleNameOf(segment->lane);
    // Recorded work that belongs to no pass is shown by its steps alone.
    const bool beside = catalog_.measured() && row.pass == model::Pass::other && row.stage < 0;
    if (!beside) PIPESCOPE_TRY(pass(row, *segment, role, name));
    const auto found = steps_.find(row.segment);
    if (found == steps_.end()) return {};
    for (std::size_t i = 0; i < found->second.size(); ++i) {
      const model::Step& step = found->second[i];
      const Ticks start = row.start + step.offset;
      const std::int64_t process =
          catalog_.deviceOf(step.lane) == row.device ? pidOfLane(step.lane) : pid(row.device);
      PIPESCOPE_ASSIGN(const std::int64_t lane, thread(process, threadNameOf(step.lane), 1));
      std::string args = fmt::format("\"cycles\":{},\"active_units\":{}", step.ticks.count, step.activeUnits);
      if (const std::int64_t number = launches_.numberOf(step.lane, start); number > 0)
        args += fmt::format(",\"correlation\":{}", number);
      const std::string category = categoryOf(catalog_, step);
      if (!beside && !catalog_.measured())
        args += fmt::format(",\"placement\":{}", row.id.value) + passOf(row);
      if (step.bytesIn.count > 0) args += fmt::format(",\"bytes_in\":{}", step.bytesIn.count);
      if (step.bytesOut.count > 0) args += fmt::format(",\"bytes_out\":{}", step.bytesOut.count);
      const EventWork::StepWork work = work_.ofStep(*segment, i, work_.operatorOf(step.program));
      if (!work.kind.empty()) args += ",\"operator\":" + jsonText(work.kind);
      if (!work.block.empty()) args += ",\"block\":" + jsonText(work.block);
      args += textOf(work.work);
      PIPESCOPE_TRY(complete(process, lane, nameOf(step.program, step.kind), category, start,
                             start + step.ticks, row.device, args));
    }
    return {};
  }

  /// The thread of a lane's steps. Lanes of a recorded run have names that tell more than what they stand
  /// for.
  std::string threadNameOf(model::LaneId lane) const {
    const model::Lane* row = catalog_.lanes.find(lane);
    if (row == nullptr || !catalog_.measured()) return roleNameOf(lane);
    return row->name == "passes" ? "recorded passes" : row->name;
  }

  static std::string cycleOf(std::int32_t slot) {
    return slot < 0 ? "" : fmt::format(",\"pipeline_cycle\":{}", slot);
  }

  /// Says for people which pass a step belongs to.
  static std::string passOf(const model::Placement& row) {
    std::string args = fmt::format(",\"pass\":\"{}\"", model::toString(row.pass));
    if (row.stage >= 0) args += fmt::format(",\"stage\":{}", row.stage);
    if (row.microBatch >= 0) args += fmt::format(",\"micro_batch\":{}", row.microBatch);
    return args;
  }
  static std::string textOf(const EventWork::Work& work) {
    std::string args;
    if (work.flops > 0) args += fmt::format(",\"flops\":{}", work.flops);
    if (work.bytes > 0) args += fmt::format(",\"operand_bytes\":{}", work.bytes);
    return args;
  }

  base::Status pass(const model::Placement& row, const model::Segment& segment, const std::string& role,
                    const std::string& name) {
    PIPESCOPE_ASSIGN(const std::int64_t passes,
                     freeThread(pid(row.device), role == "compute" ? "passes" : "passes, " + role, 0,
                                picoseconds(row.start, row.device), picoseconds(row.end, row.device)));
    return complete(
        pid(row.device), passes, name, catalog_.measured() ? "recorded pass" : "pass", row.start, row.end,
        row.device,
        fmt::format(
            "\"stage\":{},\"micro_batch\":{},\"iteration\":{},\"run\":{},\"replica\":{},\"placement\":{}",
            row.stage, row.microBatch, rows_.iterationOf(row), row.run.value, row.replica, row.id.value) +
            fmt::format(",\"pass\":\"{}\"", model::toString(row.pass)) + textOf(work_.ofPass(segment)) +
            cycleOf(row.slot));
  }

  base::Status wait(const model::Wait& row) {
    if (!rows_.has(row.run) || row.end <= row.start || catalog_.device(row.device) == nullptr) return {};
    PIPESCOPE_ASSIGN(const std::int64_t waits, thread(pid(row.device), "waits", 0));
    std::string args = fmt::format("\"stage\":{},\"iteration\":{}", row.stage, rows_.iterationOf(row));
    if (row.waitedForDevice.valid()) args += fmt::format(",\"waits_for_pid\":{}", pid(row.waitedForDevice));
    if (row.waitedFor.valid()) args += fmt::format(",\"waits_for\":{}", row.waitedFor.value);
    args += cycleOf(row.slot);
    return complete(pid(row.device), waits, model::toString(row.cause), "wait", row.start, row.end,
                    row.device, args);
  }

  const std::string& nameOf(model::ProgramId id, model::StepKind kind) {
    const auto [place, added] = names_.try_emplace(id.value);
    if (!added) return place->second;
    if (catalog_.programs.contains(id)) {
      const model::Program program = catalog_.programs[id];
      place->second = catalog_.namePath(program.debugContext);
      if (place->second.empty()) place->second = program.kind;
    }
    if (place->second.empty()) place->second = model::toString(kind);
    return place->second;
  }

  /// Writes a slice at the sender, a slice at the receiver and an arrow between them. The arrow begins and
  /// ends within the slices, because readers bind its ends to the slices around them.
  base::Status transfer(const model::Transfer& row) {
    const model::DeviceId ends[] = {catalog_.deviceOf(row.fromLane), catalog_.deviceOf(row.toLane)},
                          clock = clockOf(row);
    std::string args = fmt::format("\"bytes\":{},\"micro_batch\":{}", row.bytes.count, row.microBatch);
    if (row.iteration >= 0) args += fmt::format(",\"iteration\":{}", rows_.iterationOf(row));
    args += cycleOf(row.slot);
    const std::string name = model::toString(row.kind);
    const Wide start = picoseconds(row.start, clock), end = picoseconds(row.end, clock);
    std::int64_t threads[2] = {};
    for (const int side : {0, 1}) {
      if (!ends[side].valid()) continue;
      const std::string thread = (side == 0 ? "to " : "from ") + nameOfDevice(ends[1 - side]);
      PIPESCOPE_ASSIGN(threads[side], freeThread(pid(ends[side]), thread, 2 + side, start, end));
      PIPESCOPE_TRY(complete(pid(ends[side]), threads[side], name,
                             catalog_.measured() ? "recorded transfer" : "transfer", row.start, row.end,
                             clock, args));
    }
    if (!ends[0].valid() || !ends[1].valid() || row.end == row.start) return {};
    const Ticks middle = row.start + Ticks((row.end - row.start).count / 2);
    for (const int side : {0, 1}) {
      PIPESCOPE_TRY(
          event(fmt::format("{{\"ph\":\"{}\",\"bp\":\"e\",\"id\":{},\"pid\":{},\"tid\":{},\"name\":{},"
                            "\"cat\":\"transfer\",\"ts\":{}}}",
                            side == 0 ? "s" : "f", row.id.value, pid(ends[side]), threads[side],
                            jsonText(name), us(side == 0 ? row.start : middle, clock))));
    }
    return {};
  }

  base::Status counters() {
    return rows_.eachCounterSample([&](const model::Counter& counter, const model::CounterSample& row,
                                       model::DeviceId device) -> base::Status {
      return event(fmt::format("{{\"ph\":\"C\",\"pid\":{},\"name\":{},\"ts\":{},\"args\":{{\"value\":{}}}}}",
                               pid(device), jsonText(counter.name), us(row.time, device), row.value));
    });
  }

  /// Adds what the host did, beside the calls that it waited for. The wall times are among the arguments.
  base::Status hostSpans(const WantedRows::Host& host) {
    return WantedRows::eachHostPart(host, [&](const WantedRows::HostPart& part) -> base::Status {
      PIPESCOPE_ASSIGN(const std::int64_t tid, thread(pidOfHost(), part.lane, 0));
      return complete(pidOfHost(), tid, part.words.name, part.words.channel, part.start, part.end, {},
                      fmt::format("\"wall_start_ns\":{},\"wall_ns\":{}", part.wallStart.count,
                                  (part.wallEnd - part.wallStart).count));
    });
  }

  const ChromeRequest& request_;
  const Catalog& catalog_;
  const Writer& write_;
  WantedRows rows_;
  EventWork work_;
  std::string buffer_;
  bool first_ = true;
  std::unordered_map<model::SegmentId, std::vector<model::Step>> steps_;
  std::vector<model::Transfer> transfers_;
  RecordedLaunches launches_;
  std::int64_t hostItems_ = 0;                                            // spans and events of the host
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> threads_;  // keyed by process and name
  // End of the last slice of each thread, by process and name.
  std::map<std::pair<std::int64_t, std::string>, std::vector<Wide>> reached_;
  std::unordered_map<std::int64_t, std::string> names_;
};

}  // namespace

base::Status exportChrome(const ChromeRequest& request, const Writer& write, base::Progress& progress) {
  return Chrome(request, write, progress).run();
}

}  // namespace pipescope::exporting
