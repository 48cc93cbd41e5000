#include "profiler/import/read/trace_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <regex>

#include "profiler/base/number_text.h"

namespace pipescope::importing {
namespace {

/// Categories of work that runs on an accelerator, in the traces of PyTorch's profiler.
bool isAcceleratorCategory(std::string_view category) {
  constexpr std::string_view kCategories[] = {
      "kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation", "cuda_sync", "Kernel",
      "Memcpy", "Memset",     "hpu_op",     "mtia_ccp_events"};
  return std::find(std::begin(kCategories), std::end(kCategories), category) != std::end(kCategories);
}

/// Kernels of NCCL, RCCL, HCCL, oneCCL and other libraries that are called like them.
bool isCommunication(std::string_view name) {
  const auto holds = [name](std::string_view part) { return name.find(part) != std::string_view::npos; };
  return holds("nccl") || holds("rccl") || holds("hccl") || holds("oneccl") || holds("xccl") || holds("mccl");
}

/// The rank in what tools that merge traces put before the number of a process: "[rank3] 1234".
std::optional<std::int64_t> mergedRank(std::string_view key) {
  constexpr std::string_view kBefore = "[rank";
  if (!key.starts_with(kBefore)) return std::nullopt;
  key.remove_prefix(kBefore.size());
  while (key.starts_with(' ') || key.starts_with('_') || key.starts_with('-')) key.remove_prefix(1);
  std::int64_t rank = 0;
  const auto [end, failed] = std::from_chars(key.data(), key.data() + key.size(), rank);
  if (failed != std::errc() || rank < 0 || end == key.data() + key.size() || *end != ']') return std::nullopt;
  return rank;
}

/// PyTorch's profiler says in rows of their own when it recorded. Nobody did anything then.
bool saysWhenRecorded(std::string_view process, std::string_view name) {
  return (process == "Spans" && name.starts_with("PyTorch Profiler")) ||
         (process == "Traces" && name.starts_with("Iteration Start")) ||
         (process.empty() && name == "Record Window End");
}

}  // namespace

TraceData::CategoryKind TraceData::categoryOf(std::string_view category) {
  if (category == "gpu_user_annotation") return CategoryKind::annotation;
  if (category == "cuda_sync") return CategoryKind::queueWait;
  if (category == "cuda") return CategoryKind::converted;
  if (category == "nvtx-kernel") return CategoryKind::projected;
  return isAcceleratorCategory(category) ? CategoryKind::accelerator : CategoryKind::host;
}

TraceData::Converted& TraceData::convertedOf(ProcessId process) {
  while (converted_.size() <= static_cast<std::size_t>(process.value)) {
    const std::string& key = tables.processes[ProcessId(static_cast<std::int64_t>(converted_.size()))].key;
    converted_.emplace_back().mayBeWindow = key.empty() || key == "Spans" || key == "Traces";
  }
  return converted_[process];
}

base::Status TraceData::add(const PackedEvent& event, std::span<const ArgumentValue> arguments) {
  const NameId category(event.category);
  const auto find = [arguments](Argument wanted) -> const ArgumentValue* {
    const auto found = std::ranges::find(arguments, wanted, &ArgumentValue::argument);
    return found == arguments.end() ? nullptr : &*found;
  };
  Converted& of = convertedOf(ProcessId(event.process));
  if (of.mayBeWindow &&
      saysWhenRecorded(tables.processes[ProcessId(event.process)].key, tables.names.text(NameId(event.name))))
    return {};
  firstTime = std::min(firstTime, event.time);
  lastTime = std::max(lastTime, event.time + event.duration);
  spread_.add(event.time, event.time + event.duration);
  const auto size = static_cast<std::size_t>(event.category) + 1;
  if (categoryKinds_.size() < size) categoryKinds_.resize(size);
  CategoryKind& kind = categoryKinds_[category];
  if (kind == CategoryKind::notAsked) kind = categoryOf(tables.names.text(category));
  const bool converted = kind == CategoryKind::converted, projected = kind == CategoryKind::projected;
  if (kind == CategoryKind::annotation || projected) annotations_.insert(NameId(event.name));
  of.kernels = of.kernels || converted;
  const bool slice = event.kind == static_cast<std::uint8_t>(EventKind::complete) ||
                     event.kind == static_cast<std::uint8_t>(EventKind::begin);
  of.shown = of.shown || slice || event.kind == static_cast<std::uint8_t>(EventKind::counter) ||
             event.kind == static_cast<std::uint8_t>(EventKind::instant) ||
             event.kind == static_cast<std::uint8_t>(EventKind::asyncBegin);
  of.others = of.others || (slice && !converted && !projected);
  if (kind == CategoryKind::accelerator || converted) noteWork(ThreadId(event.thread), NameId(event.name));
  if (kind == CategoryKind::annotation || kind == CategoryKind::accelerator ||
      kind == CategoryKind::queueWait || converted) {
    if (!converted) markAccelerator(ProcessId(event.process));
    holdsAccelerators_ = true;
    const ArgumentValue* correlation = correlated_ ? nullptr : find(Argument::correlation);
    correlated_ = correlated_ || (correlation != nullptr && !correlation->text && correlation->value > 0);
  }
  return events.add(event, arguments);
}

void TraceData::leaveOutFarEvents() {
  constexpr std::int64_t kHour = 3'600'000'000'000'000;
  if (empty()) return;
  const TimeSpread::Kept kept = spread_.kept();
  if (kept.apart.empty()) return;
  firstTime = kept.first;
  lastStart = kept.lastStart;
  lastTime = kept.last;
  for (const TimeSpread::Apart& apart : kept.apart) {
    const std::int64_t hours = apart.distance / kHour;
    const std::string distance = hours >= 48 ? fmt::format("{} days", hours / 24)
                                 : hours > 1 ? fmt::format("{} hours", hours)
                                             : fmt::format("{} minutes", apart.distance / (kHour / 60));
    tables.findings.add(fmt::format("An event lies {} {} all others and is left out.", distance,
                                    apart.before ? "before" : "behind"),
                        apart.events);
  }
}

void TraceData::noteWork(ThreadId queue, NameId work) {
  const auto sized = [](auto& list, auto id) -> QueueKind& {
    const auto size = static_cast<std::size_t>(id.value) + 1;
    if (list.size() < size) list.resize(size);
    return list[id];
  };
  QueueKind& kind = sized(work_, work);
  if (kind == QueueKind::idle)
    kind = isCommunication(tables.names.text(work)) ? QueueKind::communicates : QueueKind::computes;
  QueueKind& own = sized(queues_, queue);
  own = std::max(own, kind);
}

void TraceData::markAccelerator(ProcessId process) {
  if (accelerators_.size() < tables.processes.size()) accelerators_.resize(tables.processes.size());
  accelerators_[process] = true;
  holdsAccelerators_ = true;
}

bool TraceData::isAccelerator(ProcessId process) const {
  if (accelerators_.contains(process) && accelerators_[process]) return true;
  return converted_.contains(process) && converted_[process].kernels && !converted_[process].others;
}

bool TraceData::isOnAccelerator(const TraceEvent& event) const {
  if (isAccelerator(event.process)) return true;
  if (!categoryKinds_.contains(event.category)) return false;
  const CategoryKind kind = categoryKinds_[event.category];
  return kind == CategoryKind::converted || kind == CategoryKind::projected;
}

std::optional<std::int64_t> TraceData::statedNumber(const char* key) const {
  const auto stated = tables.members.find("distributedInfo");
  if (stated == tables.members.end()) return std::nullopt;
  const auto json = nlohmann::json::parse(stated->second, nullptr, false);
  if (!json.is_object() || !json.contains(key) || !json[key].is_number_integer()) return std::nullopt;
  return json[key].get<std::int64_t>();
}

std::optional<std::int64_t> TraceData::ranksOfRun() const {
  return statedNumber("world_size");
}

std::optional<std::int64_t> TraceData::rank() const {
  if (ofNoRank) return std::nullopt;
  if (const auto stated = statedNumber("rank")) return stated;
  // Chakra's converters number the files themselves: "chakra.3.et".
  static const std::regex inName("(?:rank|worker)[-_.]?([0-9]{1,6})|[.]([0-9]{1,6})[.]et$",
                                 std::regex::icase);
  const std::string file = std::filesystem::path(name).filename().string();
  std::smatch found;
  if (std::regex_search(file, found, inName))
    return base::wholeNumberOf(found[found[1].matched ? 1 : 2].str());
  return std::nullopt;
}

std::optional<std::int64_t> TraceData::mergedRankOf(ProcessId process) const {
  return mergedRank(tables.processes[process].key);
}

std::int64_t TraceData::launchOf(const TraceEvent& event) const {
  constexpr unsigned kLaunchBits = 40;
  const std::int64_t correlation = event.numberOf(Argument::correlation);
  if (correlation <= 0 || correlation >> kLaunchBits != 0) return std::max<std::int64_t>(correlation, 0);
  const auto rank = mergedRankOf(event.process);
  constexpr std::int64_t kMostRanks = 1 << 22;
  return rank && *rank < kMostRanks ? correlation + ((*rank + 1) << kLaunchBits) : correlation;
}

}  // namespace pipescope::importing
