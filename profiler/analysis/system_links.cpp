#include "profiler/analysis/system_links.h"

#include <algorithm>
#include <map>

namespace pipescope::analysis {
namespace {

constexpr std::size_t kRunColumn = 9;

std::string nameOf(const Catalog& catalog, model::DeviceId id) {
  const model::Device* device = catalog.device(id);
  return device == nullptr ? "host" : device->name;
}

Ticks lengthOf(std::vector<std::pair<Ticks, Ticks>> spans) {
  std::sort(spans.begin(), spans.end());
  Ticks sum, reached;
  bool first = true;
  for (const auto& [start, end] : spans) {
    const Ticks from = first ? start : std::max(start, reached);
    if (end > from) sum += end - from;
    reached = first ? end : std::max(reached, end);
    first = false;
  }
  return sum;
}

}  // namespace

Result<SystemUse> systemUse(const model::ProfileSource& source, const Catalog& catalog,
                            model::ExecutableId executable, base::Progress& progress) {
  SystemUse use;
  for (const model::Link& row : catalog.links)
    use.links.push_back({row.id,
                         row.name,
                         nameOf(catalog, row.from),
                         nameOf(catalog, row.to),
                         row.bytesPerSecond,
                         {},
                         0,
                         {},
                         0,
                         0});
  const model::Run* run = catalog.lastRunOf(executable);
  if (run == nullptr) return use;
  use.run = run->id;
  use.length = run->end - run->start;
  std::map<std::size_t, std::vector<std::pair<Ticks, Ticks>>> spans;
  const std::size_t known = use.links.size();
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<model::Transfer>());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (progress.cancelled()) return base::cancelled("Reading the transfers was stopped.");
    if (blocks[i].rows > 0) {
      PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source.ranges<model::Transfer>(i));
      if (!ranges[kRunColumn].mayHold(run->id.value)) continue;
    }
    PIPESCOPE_ASSIGN(const model::Rows<model::Transfer> rows, source.block<model::Transfer>(i));
    for (const model::Transfer& row : *rows) {
      if (row.run != run->id || row.end < row.start) continue;
      auto place = static_cast<std::size_t>(row.link.value);
      if (!row.link.valid() || place >= known) {
        place = known;
        if (use.links.size() == known) use.links.push_back({{}, "no link named", "", "", 0, {}, 0, {}, 0, 0});
      }
      use.links[place].bytes += row.bytes;
      ++use.links[place].transfers;
      spans[place].emplace_back(row.start, row.end);
    }
  }
  const base::Timebase clock = catalog.timebase(model::DeviceId(0));
  for (auto& [place, list] : spans) {
    LinkUse& link = use.links[place];
    link.busy = lengthOf(std::move(list));
    if (use.length.count > 0)
      link.share = static_cast<double>(link.busy.count) / static_cast<double>(use.length.count);
    const double seconds = base::toSeconds(link.busy, clock);
    if (seconds > 0) link.rate = static_cast<double>(link.bytes.count) / seconds;
  }
  return use;
}

}  // namespace pipescope::analysis
