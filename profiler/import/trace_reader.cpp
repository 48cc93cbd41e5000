#include "profiler/import/trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "profiler/import/chrome_events.h"

namespace pipescope::importing {
namespace {

/// Categories of work that runs on an accelerator, in the traces of PyTorch's profiler.
bool isAcceleratorCategory(std::string_view category) {
  constexpr std::string_view kCategories[] = {"kernel",    "gpu_memcpy", "gpu_memset", "gpu_user_annotation",
                                              "cuda_sync", "Kernel",     "Memcpy",     "Memset"};
  return std::find(std::begin(kCategories), std::end(kCategories), category) != std::end(kCategories);
}

}  // namespace

base::Status TraceData::add(const TraceEvent& event) {
  firstTime = std::min(firstTime, event.time);
  lastTime = std::max(lastTime, event.time + event.duration);
  const auto size = static_cast<std::size_t>(event.category.value) + 1;
  if (categoryKinds_.size() < size) categoryKinds_.resize(size);
  CategoryKind& kind = categoryKinds_[event.category];
  if (kind == CategoryKind::notAsked)
    kind = isAcceleratorCategory(tables.names.text(event.category)) ? CategoryKind::accelerator
                                                                    : CategoryKind::host;
  if (accelerators_.size() < tables.processes.size()) accelerators_.resize(tables.processes.size());
  if (kind == CategoryKind::accelerator) accelerators_[event.process] = true;
  return events.add(event);
}

bool TraceData::isAccelerator(ProcessId process) const {
  return accelerators_.contains(process) && accelerators_[process];
}

std::optional<std::int64_t> TraceData::rank() const {
  const auto stated = tables.members.find("distributedInfo");
  if (stated != tables.members.end()) {
    const auto json = nlohmann::json::parse(stated->second, nullptr, false);
    if (json.is_object() && json.contains("rank") && json["rank"].is_number_integer())
      return json["rank"].get<std::int64_t>();
  }
  static const std::regex inName("(?:rank|worker)[-_.]?([0-9]{1,6})", std::regex::icase);
  const std::string file = std::filesystem::path(name).filename().string();
  std::smatch found;
  if (std::regex_search(file, found, inName)) return std::stoll(found[1].str());
  return std::nullopt;
}

base::Result<std::unique_ptr<TraceData>> readTrace(const TraceFile& file,
                                                   const std::filesystem::path& temporaryFolder,
                                                   base::Executor& executor, base::Progress& progress) {
  auto data = std::make_unique<TraceData>(file.name, temporaryFolder);
  ChromeEvents events(data->tables, [&](const TraceEvent& event) { return data->add(event); });
  JsonWindows windows(file.bytes);
  // While a window is parsed, the next one is read and cut.
  JsonWindows::Window current, following;
  bool more = windows.next(current);
  while (more) {
    bool another = false;
    base::Status parsed;
    executor.parallelFor(2, [&](std::size_t part) {
      if (part == 0) {
        parsed = events.parse(current);
      } else {
        another = windows.next(following);
      }
    });
    PIPESCOPE_TRY(parsed);
    progress.report(file.fraction(), "reading " + file.name);
    if (progress.cancelled()) return base::cancelled("The import was stopped.");
    std::swap(current, following);
    more = another;
  }
  if (!windows.foundEvents())
    return base::badInput(fmt::format(
        "{} is no trace that can be imported: give Chrome's JSON format, as PyTorch's profiler writes it.",
        file.name));
  data->tables.members = windows.members();
  for (const std::string& finding : windows.findings()) data->tables.findings.add(finding);
  if (windows.oversizedEvents() > 0)
    data->tables.findings.add("An event is larger than 16 MB and is left out.", windows.oversizedEvents());
  return data;
}

}  // namespace pipescope::importing
