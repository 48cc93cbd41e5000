// Reads the pipeline dumps of Primus (AMD-AGI/Primus, tools/visualization/pp_vis): pp_rank_N.json holds for
// each iteration when each forward and backward pass of a pipeline rank began and ended, and config.json the
// sizes.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "profiler/import/read/trace_format.h"

namespace pipescope::importing {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestDump = 256 << 20;
constexpr double kPicosecondsPerMilli = 1e9;
/// Limit in ms (53 days).
constexpr double kFarthestPass = 4.6e9;

/// One iteration of a rank. All ranks count its times from the same moment.
struct DumpedIteration {
  struct Span {
    double start = 0, end = 0;  // ms
  };
  std::int64_t number = 0;
  double length = 0;  // ms
  std::optional<double> memory;
  std::vector<Span> forward, backward;
};

/// One file of a dump: the configuration, or the iterations of a rank.
struct DumpFile {
  std::optional<std::int64_t> rank;  ///< rank in the pipeline
  std::int64_t ranks = 0, chunks = 0;
  std::vector<DumpedIteration> iterations;
};

std::optional<std::string> textOf(ByteSource& bytes, const base::Progress& progress) {
  std::string text, part(256 * 1024, '\0');
  for (;;) {
    auto count = bytes.read(part);
    if (!count.ok() || progress.cancelled() || text.size() > kLongestDump) return std::nullopt;
    if (*count == 0) return text;
    text.append(part, 0, *count);
  }
}

/// The rank that a file of the dump is named after: pp_rank_3.json.
std::optional<std::int64_t> rankNamed(std::string_view name) {
  constexpr std::string_view kBefore = "pp_rank_";
  const std::size_t at = name.rfind(kBefore);
  if (at == std::string_view::npos) return std::nullopt;
  name.remove_prefix(at + kBefore.size());
  std::int64_t rank = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), rank);
  static_cast<void>(end);
  constexpr std::int64_t kMostRanks = 1'000'000;
  return failed == std::errc() && rank >= 0 && rank < kMostRanks ? std::optional(rank) : std::nullopt;
}

std::vector<double> numbersOf(const Json& iteration, const char* key) {
  std::vector<double> numbers;
  const auto found = iteration.find(key);
  if (found == iteration.end() || !found->is_array()) return numbers;
  for (const Json& number : *found)
    numbers.push_back(number.is_number() ? number.get<double>() : std::nan(""));
  return numbers;
}

std::vector<DumpedIteration::Span> spansOf(const Json& iteration, const char* starts, const char* ends,
                                           Findings& findings) {
  std::vector<DumpedIteration::Span> spans;
  const std::vector<double> from = numbersOf(iteration, starts), to = numbersOf(iteration, ends);
  const auto fits = [](double time) { return std::abs(time) < kFarthestPass; };  // false for no number
  for (std::size_t i = 0; i < std::max(from.size(), to.size()); ++i) {
    const bool whole = i < from.size() && i < to.size() && fits(from[i]) && fits(to[i]) && to[i] >= from[i];
    if (!whole) findings.add("A pass has no start or end that can be read, and is left out.");
    // It keeps its place, which tells its micro-batch.
    spans.push_back(whole ? DumpedIteration::Span{from[i], to[i]} : DumpedIteration::Span{0, -1});
  }
  return spans;
}

std::vector<DumpedIteration> iterationsOf(const Json& dump, Findings& findings) {
  std::vector<DumpedIteration> iterations;
  for (const auto& [key, value] : dump.items()) {
    DumpedIteration own;
    const auto [end, failed] = std::from_chars(key.data(), key.data() + key.size(), own.number);
    if (failed != std::errc() || end != key.data() + key.size() || !value.is_object()) continue;
    own.forward = spansOf(value, "fwd_start", "fwd_end", findings);
    own.backward = spansOf(value, "bwd_start", "bwd_end", findings);
    if (const auto total = value.find("total"); total != value.end() && total->is_number())
      own.length = std::clamp(total->get<double>(), 0.0, kFarthestPass);
    if (const auto memory = value.find("memory"); memory != value.end() && memory->is_number())
      own.memory = memory->get<double>();
    for (const auto* spans : {&own.forward, &own.backward})
      for (const auto& span : *spans) own.length = std::max(own.length, span.end);
    iterations.push_back(std::move(own));
  }
  std::ranges::sort(iterations, {}, &DumpedIteration::number);
  return iterations;
}

std::int64_t countOf(const Json& config, const char* key) {
  const auto found = config.find(key);
  constexpr std::int64_t kMostCount = 1'000'000;
  if (found == config.end() || !found->is_number_integer()) return 0;
  return std::clamp<std::int64_t>(found->get<std::int64_t>(), 0, kMostCount);
}

base::Result<bool> readDump(ByteSource& bytes, TraceData& data, base::Executor&, const ReadReport& report) {
  const auto text = textOf(bytes, report.progress);
  if (report.progress.cancelled()) return base::cancelled("The import was stopped.");
  const Json dump = text ? Json::parse(*text, nullptr, false) : Json();
  if (!dump.is_object())
    return base::badInput(report.name + " is a pipeline dump of Primus that is damaged: dump it again.");
  auto file = std::make_shared<DumpFile>();
  file->ranks = countOf(dump, "pp_size");
  file->chunks = countOf(dump, "vp_size");
  file->iterations = iterationsOf(dump, data.tables.findings);
  file->rank = rankNamed(report.name);
  data.accompanies = file->iterations.empty();
  data.pending = std::move(file);
  return true;
}

/// Adds the events of a rank. `begins`: when each iteration begins, in ms.
class RankEventsOfDump {
 public:
  /// `unit`: bytes of a unit of memory; 0: nobody knows.
  RankEventsOfDump(const DumpFile& file, std::int64_t ranks, std::int64_t chunks, double unit,
                   TraceData& data)
      : ranks_(ranks), chunks_(chunks), unit_(unit), data_(data) {
    const std::string name = file.rank ? fmt::format("pipeline rank {}", *file.rank) : "pipeline rank";
    data_.tables.origin = 0;
    row_.process = data_.tables.process(name);
    data_.tables.processes[row_.process].name = name;
    row_.thread = data_.tables.thread(row_.process, "passes");
    data_.tables.threads[row_.thread].name = "passes";
    row_.category = data_.tables.names.add("primus");
    row_.id = -1;
  }

  base::Status add(const DumpedIteration& iteration, double begin) {
    for (const bool forward : {true, false}) {
      const auto& spans = forward ? iteration.forward : iteration.backward;
      row_.kind = EventKind::complete;
      row_.name = data_.tables.names.add(forward ? "forward" : "backward");
      for (std::size_t i = 0; i < spans.size(); ++i) {
        if (spans[i].end < spans[i].start) continue;
        setTimes(begin + spans[i].start, begin + spans[i].end);
        row_.argumentCount = 0;
        row_.add({Argument::step, false, iteration.number});
        addPlace(static_cast<std::int64_t>(i), forward);
        PIPESCOPE_TRY(data_.add(row_));
      }
    }
    if (!iteration.memory) return {};
    row_.kind = EventKind::counter;
    row_.name = data_.tables.names.add(unit_ > 0 ? "reserved memory" : "memory, in the unit of the dump");
    row_.value = *iteration.memory * (unit_ > 0 ? unit_ : 1);
    row_.argumentCount = 0;
    setTimes(begin + iteration.length, begin + iteration.length);
    return data_.add(row_);
  }

 private:
  void setTimes(double start, double end) {
    row_.time = std::llround(start * kPicosecondsPerMilli);
    row_.duration = std::llround(end * kPicosecondsPerMilli) - row_.time;
  }

  /// Micro-batch and chunk of the n-th pass. With several chunks, Megatron's interleaved schedule computes
  /// groups of as many micro-batches as there are ranks, chunk by chunk; backward passes take the chunks in
  /// reverse.
  void addPlace(std::int64_t n, bool forward) {
    const std::int64_t group = chunks_ * ranks_;
    if (chunks_ < 2 || ranks_ < 1) {
      row_.add({Argument::microBatch, false, n});
      return;
    }
    const std::int64_t chunk = n % group / ranks_;
    row_.add({Argument::modelChunk, false, forward ? chunk : chunks_ - 1 - chunk});
    row_.add({Argument::microBatch, false, n / group * ranks_ + n % ranks_});
  }

  const std::int64_t ranks_, chunks_;
  const double unit_;
  TraceData& data_;
  TraceEvent row_;
};

/// Bytes of a unit of memory. The dump does not state the unit; PyTorch's allocator reserves multiples of
/// 2 MiB, so if all values are whole multiples of that in GiB, they are GiB. 0: they are not.
double unitOfMemory(std::span<TraceData* const> traces) {
  constexpr double kGib = 1 << 30, kBlocksPerGib = 512;
  bool any = false;
  for (const TraceData* trace : traces) {
    for (const DumpedIteration& iteration : static_cast<const DumpFile*>(trace->pending.get())->iterations) {
      if (!iteration.memory) continue;
      any = true;
      const double blocks = *iteration.memory * kBlocksPerGib;
      if (!(blocks > 0) || blocks != std::floor(blocks)) return 0;
    }
  }
  return any ? kGib : 0;
}

/// Places the iterations one after the other: each begins when the longest rank has ended the one before.
base::Status joinDump(std::span<TraceData* const> traces) {
  std::map<std::int64_t, double> lengths;  // keyed by iteration
  std::int64_t ranks = 0, chunks = 0;
  const auto fileOf = [](const TraceData* trace) {
    return static_cast<const DumpFile*>(trace->pending.get());
  };
  for (const TraceData* trace : traces) {
    const DumpFile* const file = fileOf(trace);
    ranks = std::max(ranks, file->ranks);
    chunks = std::max(chunks, file->chunks);
    for (const DumpedIteration& iteration : file->iterations)
      lengths[iteration.number] = std::max(lengths[iteration.number], iteration.length);
  }
  std::map<std::int64_t, double> begins;
  double begin = 0;
  for (const auto& [number, length] : lengths) {
    begins[number] = begin;
    begin += length;
    if (begin > kFarthestPass)
      return base::badInput("The pipeline dump lasts more than 50 days: it is damaged.");
  }
  const double unit = unitOfMemory(traces);
  for (TraceData* trace : traces) {
    const DumpFile& file = *fileOf(trace);
    if (file.iterations.empty()) continue;
    RankEventsOfDump events(file, ranks, chunks, unit, *trace);
    for (const DumpedIteration& iteration : file.iterations)
      PIPESCOPE_TRY(events.add(iteration, begins[iteration.number]));
    trace->sharesClock = true;
    trace->pending.reset();
  }
  return {};
}

bool looksLikeDump(std::string_view head) {
  const auto holds = [head](std::string_view text) { return head.find(text) != std::string_view::npos; };
  std::size_t at = 0;
  while (at < head.size() && static_cast<unsigned char>(head[at]) <= ' ') ++at;
  if (at == head.size() || head[at] != '{' || holds("\"traceEvents\"")) return false;
  return holds("\"fwd_start\"") || (holds("\"pp_size\"") && holds("\"num_mbs\""));
}

}  // namespace

PIPESCOPE_REGISTER_FORMAT(primus_pipeline) {
  registry.add({"pipeline dumps of Primus", ".json", looksLikeDump, readDump, 0, joinDump});
}

}  // namespace pipescope::importing
