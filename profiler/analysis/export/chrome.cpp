#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <vector>

#include "profiler/analysis/export/export.h"

namespace pipescope::analysis {
namespace {

__extension__ using Wide = __int128;  // products of ticks and clocks

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

class Chrome {
 public:
  Chrome(const ExportRequest& request, const Writer& write, base::Progress& progress)
      : request_(request), catalog_(request.catalog), write_(write), progress_(progress) {}

  base::Status run() {
    PIPESCOPE_TRY(readSteps());
    PIPESCOPE_TRY(refuseTooMany());
    buffer_ = fmt::format("{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"times\":{},\"device_model\":{},"
                          "\"tool_version\":{}}},\"traceEvents\":[",
                          quoted(catalog_.property("times")), quoted(catalog_.property("device_model")),
                          quoted(catalog_.property("tool_version")));
    PIPESCOPE_TRY(names());
    PIPESCOPE_TRY(rows<model::Placement>([&](const model::Placement& row) { return placement(row); }));
    PIPESCOPE_TRY(rows<model::Transfer>([&](const model::Transfer& row) { return transfer(row); }));
    PIPESCOPE_TRY(counters());
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

  base::Status event(const std::string& text) {
    buffer_ += first_ ? "\n" : ",\n";
    first_ = false;
    buffer_ += text;
    return flush(std::size_t{1} << 20);
  }

  template <class Row, class Visit>
  base::Status rows(Visit&& visit) {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, request_.source.blocks<Row>());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (progress_.cancelled()) return base::cancelled("Exporting was stopped.");
      PIPESCOPE_ASSIGN(const model::Rows<Row> block, request_.source.block<Row>(b));
      for (const Row& row : *block) PIPESCOPE_TRY(visit(row));
    }
    return {};
  }

  base::Status readSteps() {
    if (!request_.steps) return {};
    return rows<model::Step>([&](const model::Step& row) {
      steps_[row.segment].push_back(row);
      return base::Status();
    });
  }

  base::Status refuseTooMany() {
    std::int64_t events = 0;
    PIPESCOPE_TRY(rows<model::Placement>([&](const model::Placement& row) {
      const auto found = steps_.find(row.segment);
      events += 1 + (found == steps_.end() ? 0 : static_cast<std::int64_t>(found->second.size()));
      return base::Status();
    }));
    if (events <= kMostChromeEvents) return {};
    return base::badInput(fmt::format(
        "The profile has {} steps once segments are expanded, more than the {} that a Chrome trace can sensibly hold; "
        "export without steps (--no-steps), or profile fewer micro-batches.",
        events, kMostChromeEvents));
  }

  base::Status names() {
    for (const model::Device& device : catalog_.devices) {
      PIPESCOPE_TRY(event(fmt::format("{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":{}}}}}",
                                      pid(device.id), quoted(device.name + " (emulated " + device.kind + ")"))));
      PIPESCOPE_TRY(event(fmt::format("{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_sort_index\",\"args\":{{\"sort_index\":{}}}}}",
                                      pid(device.id), device.id.value)));
      PIPESCOPE_TRY(event(thread(pid(device.id), 0, "passes")));
    }
    for (const model::Lane& lane : catalog_.lanes)
      PIPESCOPE_TRY(event(thread(pid(lane.device), tid(lane.id), model::toString(lane.role))));
    return {};
  }

  static std::string thread(std::int64_t pid, std::int64_t tid, const std::string& name) {
    return fmt::format("{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":{}}}}}", pid, tid,
                       quoted(name));
  }
  static std::int64_t pid(model::DeviceId device) { return device.value + 1; }
  static std::int64_t tid(model::LaneId lane) { return lane.value + 1; }

  model::DeviceId deviceOf(model::LaneId lane) const {
    const auto place = static_cast<std::size_t>(lane.value);
    return lane.valid() && place < catalog_.lanes.size() ? catalog_.lanes[place].device : model::DeviceId();
  }

  /// Microseconds with all the digits that a tick has.
  std::string us(Ticks ticks, model::DeviceId device) const {
    const std::int64_t perSecond = catalog_.timebase(device).ticksPerSecond;
    const auto ps = static_cast<Wide>(ticks.count) * 1'000'000'000'000 / perSecond;
    const auto whole = static_cast<std::int64_t>(ps / 1'000'000), rest = static_cast<std::int64_t>(ps % 1'000'000);
    return fmt::format("{}.{:06}", whole, std::abs(rest));
  }

  base::Status complete(std::int64_t process, std::int64_t lane, const std::string& name, const std::string& category,
                        Ticks start, Ticks end, model::DeviceId device, const std::string& args) {
    // The duration is that of the rounded ends, so that neighbours touch.
    const double from = std::stod(us(start, device)), to = std::stod(us(end, device));
    return event(fmt::format("{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"name\":{},\"cat\":{},\"ts\":{:.6f},\"dur\":{:.6f},\"args\":{{{}}}}}",
                             process, lane, quoted(name), quoted(category), from, to - from, args));
  }

  base::Status placement(const model::Placement& row) {
    const auto place = static_cast<std::size_t>(row.segment.value);
    if (!row.segment.valid() || place >= catalog_.segments.size()) return {};
    const model::Segment& segment = catalog_.segments[place];
    if (segment.executable != request_.executable || row.end < row.start) return {};
    const std::string name = fmt::format("{} {}", model::toString(row.pass), row.microBatch < 0 ? "" : std::to_string(row.microBatch));
    PIPESCOPE_TRY(complete(pid(row.device), 0, name, "pass", row.start, row.end, row.device,
                           fmt::format("\"stage\":{},\"micro_batch\":{},\"iteration\":{},\"run\":{}", row.stage,
                                       row.microBatch, row.iteration, row.run.value)));
    const auto found = steps_.find(row.segment);
    if (found == steps_.end()) return {};
    for (const model::Step& step : found->second) {
      const Ticks start = row.start + step.offset;
      PIPESCOPE_TRY(complete(pid(row.device), tid(step.lane), nameOf(step.program, step.kind), model::toString(step.kind), start,
                             start + step.ticks, row.device,
                             fmt::format("\"cycles\":{},\"active_units\":{}", step.ticks.count, step.activeUnits)));
    }
    return {};
  }

  const std::string& nameOf(model::ProgramId id, model::StepKind kind) {
    const auto [place, added] = names_.try_emplace(id.value);
    if (!added) return place->second;
    if (id.valid() && static_cast<std::size_t>(id.value) < catalog_.programs.size()) {
      const model::Program program = catalog_.programs[static_cast<std::size_t>(id.value)];
      place->second = catalog_.namePath(program.debugContext);
      if (place->second.empty()) place->second = program.kind;
    }
    if (place->second.empty()) place->second = model::toString(kind);
    return place->second;
  }

  base::Status transfer(const model::Transfer& row) {
    const model::DeviceId from = deviceOf(row.fromLane), to = deviceOf(row.toLane);
    const model::DeviceId clock = from.valid() ? from : to;
    if (!clock.valid() || row.end < row.start) return {};
    const std::string args = fmt::format("\"bytes\":{},\"micro_batch\":{}", row.bytes.count, row.microBatch);
    const std::string name = model::toString(row.kind);
    const model::LaneId lane = from.valid() ? row.fromLane : row.toLane;
    PIPESCOPE_TRY(complete(pid(clock), tid(lane), name, "transfer", row.start, row.end, clock, args));
    if (!from.valid() || !to.valid()) return {};
    for (const bool end : {false, true}) {
      PIPESCOPE_TRY(event(fmt::format(
          "{{\"ph\":\"{}\",{}\"id\":{},\"pid\":{},\"tid\":{},\"name\":{},\"cat\":\"transfer\",\"ts\":{}}}", end ? "f" : "s",
          end ? "\"bp\":\"e\"," : "", row.id.value, pid(end ? to : from), tid(end ? row.toLane : row.fromLane),
          quoted(name), us(end ? row.end : row.start, clock))));
    }
    return {};
  }

  base::Status counters() {
    PIPESCOPE_ASSIGN(const model::Rows<model::Counter> all, request_.source.rows<model::Counter>());
    return rows<model::CounterSample>([&](const model::CounterSample& row) -> base::Status {
      const auto place = static_cast<std::size_t>(row.counter.value);
      if (!row.counter.valid() || place >= all->size() || !std::isfinite(row.value)) return {};
      const model::Counter& counter = (*all)[place];
      if (counter.executable != request_.executable) return {};
      const model::DeviceId device = counter.device.valid() ? counter.device : model::DeviceId(0);
      return event(fmt::format("{{\"ph\":\"C\",\"pid\":{},\"name\":{},\"ts\":{},\"args\":{{\"value\":{}}}}}", pid(device),
                               quoted(counter.name), us(row.time, device), row.value));
    });
  }

  const ExportRequest& request_;
  const Catalog& catalog_;
  const Writer& write_;
  base::Progress& progress_;
  std::string buffer_;
  bool first_ = true;
  std::unordered_map<model::SegmentId, std::vector<model::Step>> steps_;
  std::unordered_map<std::int64_t, std::string> names_;
};

}  // namespace

base::Status exportChrome(const ExportRequest& request, const Writer& write, base::Progress& progress) {
  return Chrome(request, write, progress).run();
}

}  // namespace pipescope::analysis
