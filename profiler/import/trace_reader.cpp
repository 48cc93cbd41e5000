#include "profiler/import/trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "profiler/base/number_text.h"
#include "profiler/import/chakra_trace.h"
#include "profiler/import/chrome_trace.h"
#include "profiler/import/gaudi_csv.h"
#include "profiler/import/perfetto_trace.h"

namespace pipescope::importing {
namespace {

/// Bytes that are enough to recognise a format.
constexpr std::size_t kHeadBytes = 4096;

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

/// Newer versions of PyTorch's profiler count from a time that they state apart.
void addBaseTime(TraceTables& tables) {
  constexpr Picoseconds kSinceThen = Picoseconds{3 * 365 * 86'400} * 1'000'000'000'000;
  const auto base = tables.members.find("baseTimeNanoseconds");
  if (base == tables.members.end() || !tables.origin || *tables.origin > kSinceThen) return;
  if (const auto time = parseTime(base->second, 1000)) *tables.origin += *time;
}

/// What a user can do with a file of a format that is known, but not imported; empty: the format is not
/// known. `head`: the first bytes of the file.
std::string adviceOn(std::string_view head) {
  if (head.starts_with("SQLite format 3"))
    return "is an SQLite database and no trace: a profile of Pipescope opens as it is, and reports of Nsight "
           "Systems "
           "or rocprofv3 can be imported after a conversion into Chrome's JSON format or Perfetto's";
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff"))
    return "is text in UTF-16, in which traces cannot be imported: save it in UTF-8";
  for (const std::string_view member : {"\"NvtxEvent\"", "\"CudaEvent\"", "\"TraceProcessEvent\""})
    if (head.starts_with("{") && head.find(member) != std::string_view::npos)
      return "is what nsys export writes as JSON, which cannot be imported: convert the report into Chrome's "
             "JSON "
             "format";
  return {};
}

}  // namespace

TraceData::CategoryKind TraceData::categoryOf(std::string_view category) {
  if (category == "gpu_user_annotation") return CategoryKind::annotation;
  if (category == "pass") return CategoryKind::pass;
  if (category == "cuda_sync") return CategoryKind::queueWait;
  if (category == "cuda") return CategoryKind::converted;
  if (category == "nvtx-kernel") return CategoryKind::projected;
  return isAcceleratorCategory(category) ? CategoryKind::accelerator : CategoryKind::host;
}

base::Status TraceData::add(const PackedEvent& event, std::span<const ArgumentValue> arguments) {
  const NameId category(event.category);
  const auto find = [arguments](Argument wanted) -> const ArgumentValue* {
    const auto found = std::ranges::find(arguments, wanted, &ArgumentValue::argument);
    return found == arguments.end() ? nullptr : &*found;
  };
  firstTime = std::min(firstTime, event.time);
  lastTime = std::max(lastTime, event.time + event.duration);
  const auto size = static_cast<std::size_t>(event.category) + 1;
  if (categoryKinds_.size() < size) categoryKinds_.resize(size);
  CategoryKind& kind = categoryKinds_[category];
  if (kind == CategoryKind::notAsked) kind = categoryOf(tables.names.text(category));
  const bool converted = kind == CategoryKind::converted, projected = kind == CategoryKind::projected;
  if (kind == CategoryKind::annotation || projected) annotations_.insert(NameId(event.name));
  const auto process = static_cast<std::size_t>(event.process) + 1;
  if (converted_.size() < process) converted_.resize(process);
  Converted& of = converted_[ProcessId(event.process)];
  of.kernels = of.kernels || converted;
  const bool slice = event.kind == static_cast<std::uint8_t>(EventKind::complete) ||
                     event.kind == static_cast<std::uint8_t>(EventKind::begin);
  of.others = of.others || (slice && !converted && !projected);
  if (kind == CategoryKind::pass)
    ownExport_ = ownExport_ || (find(Argument::stage) != nullptr && find(Argument::microBatch) != nullptr &&
                                find(Argument::step) != nullptr);
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

base::Result<std::unique_ptr<TraceData>> readTrace(const TraceFile& file,
                                                   const std::filesystem::path& temporaryFolder,
                                                   const std::vector<std::string>& ownArguments,
                                                   base::Executor& executor, base::Progress& progress,
                                                   std::string& advice) {
  auto data = std::make_unique<TraceData>(file.name, temporaryFolder);
  data->tables.ownArguments = ownArguments;
  std::string head = readHead(file.bytes, kHeadBytes);
  using Reader = base::Status (*)(ByteSource&, TraceData&, const ReadReport&);
  const Reader reader = looksLikeGaudiCsv(head)   ? readGaudiCsv
                        : looksLikeChakra(head)   ? readChakra
                        : looksLikePerfetto(head) ? readPerfetto
                                                  : nullptr;
  advice = adviceOn(head);
  PeekedSource bytes(std::move(head), file.bytes);
  if (reader != nullptr) {
    PIPESCOPE_TRY(reader(bytes, *data, {file.name, file.fraction, progress}));
    return data;
  }
  PIPESCOPE_ASSIGN(const bool known,
                   readChrome(bytes, *data, executor, {file.name, file.fraction, progress}));
  if (!known) {
    data.reset();
  } else {
    addBaseTime(data->tables);
  }
  return data;
}

}  // namespace pipescope::importing
