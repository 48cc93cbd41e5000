#include "profiler/analysis/pipeline/links/system_links.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "profiler/analysis/device_places.h"
#include "profiler/analysis/launches.h"
#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/placements_by_id.h"
#include "profiler/analysis/rows_of_run.h"
#include "profiler/base/intervals.h"

namespace pipescope::analysis {
namespace {

constexpr std::size_t kSystemLinksRunColumn = 9;

std::string nameOf(const Catalog& catalog, model::DeviceId id) {
  const model::Device* device = catalog.device(id);
  return device == nullptr ? "host" : device->name;
}

/// A step that moves bytes between its device and the host, its remote buffers, or (in a collective) the
/// devices of other replicas.
struct Copy {
  model::StepKind kind;
  Ticks offset, ticks;
  Bytes in, out;
};

class UseReader {
 public:
  UseReader(const model::ProfileSource& source, const Catalog& catalog, base::Progress& progress)
      : source_(source), catalog_(catalog), progress_(progress) {}

  Result<SystemUse> read(model::ExecutableId executable) {
    executable_ = executable;
    use_.spaces.resize(catalog_.memorySpaces.size());
    for (const model::Link& row : catalog_.links) {
      use_.links.push_back(emptyUse(row.id, row.name, row.from, row.to, row.bytesPerSecond));
      direct_.try_emplace({row.from, row.to}, use_.links.size() - 1);
    }
    const model::Run* run = catalog_.lastRunOf(executable);
    if (run == nullptr) return std::move(use_);
    use_.run = run->id;
    use_.length = run->end - run->start;
    PIPESCOPE_TRY(readTransfers());
    PIPESCOPE_TRY(readCopies(*run));
    finish();
    findUnknown(executable);
    return std::move(use_);
  }

 private:
  LinkUse emptyUse(model::LinkId id, std::string name, model::DeviceId from, model::DeviceId to,
                   double bytesPerSecond) const {
    LinkUse made;
    made.link = id;
    made.name = std::move(name);
    made.from = nameOf(catalog_, from);
    made.to = nameOf(catalog_, to);
    made.bytesPerSecond = bytesPerSecond;
    return made;
  }

  base::Status readTransfers() {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Transfer>());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (progress_.cancelled()) return base::cancelled("Reading the transfers was stopped.");
      if (blocks[i].rows > 0) {
        PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source_.ranges<model::Transfer>(i));
        if (!ranges[kSystemLinksRunColumn].mayHold(use_.run.value)) continue;
      }
      PIPESCOPE_ASSIGN(const model::Rows<model::Transfer> rows, source_.block<model::Transfer>(i));
      for (const model::Transfer& row : *rows) {
        if (row.run != use_.run || row.end < row.start || isArrowWithin(row)) continue;
        const model::DeviceId from = catalog_.deviceOf(row.fromLane), to = catalog_.deviceOf(row.toLane);
        const bool host = row.kind == model::TransferKind::hostIn || row.kind == model::TransferKind::hostOut;
        hostTransfers_ = hostTransfers_ || host;
        remoteTransfers_ = remoteTransfers_ || row.kind == model::TransferKind::remote;
        for (const std::size_t place : placesOf(row.link, from, to))
          addUse(place, row.bytes, row.start, row.end);
        addTraffic(from, row.bytes, false);
        addTraffic(to, row.bytes, true);
      }
    }
    return {};
  }

  /// True for arrows, which move nothing, and for what a recorded trace moves between lanes of one device.
  bool isArrowWithin(const model::Transfer& row) const {
    if (movesNothing(catalog_, row)) return true;
    const model::DeviceId device = catalog_.deviceOf(row.fromLane);
    return measured_ && device.valid() && device == catalog_.deviceOf(row.toLane);
  }

  /// The link from one device to another. Without a direct link, one entry stands for the way over several
  /// links, if the profile does not name them. A trace of another tool does not say which links there are.
  std::size_t between(model::DeviceId from, model::DeviceId to) {
    const auto [place, isNew] = direct_.try_emplace({from, to}, use_.links.size());
    const bool host = !from.valid() || !to.valid();
    const char* const name = host ? "host" : measured_ ? "not recorded" : "several links";
    if (isNew) use_.links.push_back(emptyUse({}, name, from, to, 0));
    return place->second;
  }

  /// Each link that a transfer crosses.
  const std::vector<std::size_t>& placesOf(model::LinkId link, model::DeviceId from, model::DeviceId to) {
    if (catalog_.links.contains(link))
      return single_.assign(1, static_cast<std::size_t>(link.value)), single_;
    const auto [found, isNew] = routes_.try_emplace({from, to});
    if (isNew) {
      for (const model::LinkId crossed : routeBetween(catalog_, executable_, from, to))
        found->second.push_back(static_cast<std::size_t>(crossed.value));
      if (found->second.empty()) found->second.push_back(between(from, to));
    }
    return found->second;
  }

  void addUse(std::size_t place, Bytes bytes, Ticks start, Ticks end) {
    use_.links[place].bytes += bytes;
    ++use_.links[place].transfers;
    spans_[place].add(start, end);
  }

  void add(std::size_t place, model::DeviceId from, model::DeviceId to, Bytes bytes, Ticks start, Ticks end) {
    addUse(place, bytes, start, end);
    addTraffic(from, bytes, false);
    addTraffic(to, bytes, true);
  }

  /// Adds traffic to the memory that a device computes from, or to the host's memory.
  void addTraffic(model::DeviceId device, Bytes bytes, bool in, bool remote = false) {
    std::optional<model::MemorySpaceId>& space = spaces_[device][remote ? 1 : 0];
    if (!space) space = spaceOf(device, remote);
    if (SpaceTraffic* traffic = use_.spaces.find(*space)) (in ? traffic->in : traffic->out) += bytes;
  }

  /// No id: the device has no such memory.
  model::MemorySpaceId spaceOf(model::DeviceId device, bool remote) const {
    for (const model::MemorySpace& space : catalog_.memorySpaces) {
      // The host has only one kind of memory.
      const bool apart = device.valid() && !isOnDevice(space);
      if (space.device == device && (!device.valid() || apart == remote)) return space.id;
    }
    return {};
  }

  /// Stream copies, remote copies and collectives by segment.
  Result<std::map<model::SegmentId, std::vector<Copy>>> copiesBySegment() {
    std::map<model::SegmentId, std::vector<Copy>> copies;
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Step>());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (progress_.cancelled()) return base::cancelled("Reading the steps was stopped.");
      PIPESCOPE_ASSIGN(const model::Rows<model::Step> rows, source_.block<model::Step>(i));
      for (const model::Step& row : *rows) {
        if (row.kind != model::StepKind::remoteCopy && row.kind != model::StepKind::streamCopy &&
            row.kind != model::StepKind::globalExchange)
          continue;
        if (row.bytesIn + row.bytesOut <= Bytes(0)) continue;
        copies[row.segment].push_back({row.kind, row.offset, row.ticks, row.bytesIn, row.bytesOut});
      }
    }
    return copies;
  }

  base::Status readCopies(const model::Run& run) {
    PIPESCOPE_ASSIGN(const auto copies, copiesBySegment());
    return forEachRowOfRun<model::Placement>(source_, run, [&](const model::Placement& placement) {
      recorded_.insert(placement.device);
      const auto found = copies.find(placement.segment);
      if (found == copies.end()) return;
      for (const Copy& copy : found->second) addCopy(placement, copy);
    });
  }

  void addCopy(const model::Placement& placement, const Copy& copy) {
    const model::DeviceId host, device = placement.device;
    if (copy.kind == model::StepKind::globalExchange) return addCollective(placement, copy);
    if (copy.kind == model::StepKind::remoteCopy) {
      if (remoteTransfers_) return;
      const model::DeviceId far = hasStreaming(device) ? device : host;
      addTraffic(far, copy.in, false, true);
      addTraffic(far, copy.out, true, true);
      addTraffic(device, copy.in, true);
      addTraffic(device, copy.out, false);
      return;
    }
    if (hostTransfers_) return;
    const Ticks start = placement.start + copy.offset, end = start + copy.ticks;
    if (copy.in.count > 0) add(between(host, device), host, device, copy.in, start, end);
    if (copy.out.count > 0) add(between(device, host), device, host, copy.out, start, end);
  }

  /// The algorithm of a collective decides which links it uses. The profile only says how many bytes leave
  /// one chip.
  void addCollective(const model::Placement& placement, const Copy& copy) {
    if (copy.out.count <= 0) return;
    const auto [place, isNew] = collectives_.try_emplace(placement.device, use_.links.size());
    if (isNew) {
      use_.links.push_back(emptyUse({}, "collectives", placement.device, {}, 0));
      use_.links.back().to = "other chips";
    }
    const Ticks start = placement.start + copy.offset;
    use_.links[place->second].bytes += copy.out;
    ++use_.links[place->second].transfers;
    spans_[place->second].add(start, start + copy.ticks);
  }

  bool hasStreaming(model::DeviceId device) const {
    return std::any_of(catalog_.memorySpaces.begin(), catalog_.memorySpaces.end(),
                       [&](const auto& space) { return space.device == device && !isOnDevice(space); });
  }

  void finish() {
    const base::Timebase clock = catalog_.timebase(model::DeviceId(0));
    for (auto& [place, list] : spans_) {
      LinkUse& link = use_.links[place];
      link.busy = list.unionLength();
      if (use_.length.count > 0)
        link.share = static_cast<double>(link.busy.count) / static_cast<double>(use_.length.count);
      const double seconds = base::toSeconds(link.busy, clock);
      if (seconds > 0) link.rate = static_cast<double>(link.bytes.count) / seconds;
    }
  }

  /// Finds links and memory spaces that carry bytes which no row tells.
  void findUnknown(model::ExecutableId executable) {
    const auto places = devicePlaces(catalog_, executable);
    const auto replicaOf = [&](model::DeviceId device) {
      const DevicePlace* place = places.find(device);
      return place == nullptr || place->stages.empty() ? -1 : place->replica;
    };
    const auto rankOf = [&](model::DeviceId device) {
      const DevicePlace* place = places.find(device);
      return place == nullptr ? 0 : place->rank;
    };
    const auto leftOut = [&](model::DeviceId device) {
      return device.valid() && replicaOf(device) >= 0 && !recorded_.contains(device);
    };
    for (LinkUse& link : use_.links) {
      if (link.transfers > 0 || !link.link.valid()) continue;
      const model::Link& row = catalog_.links[link.link];
      const int from = replicaOf(row.from), to = replicaOf(row.to);
      const bool ranks = rankOf(row.from) != rankOf(row.to);
      const bool shared = !collectives_.empty() && from >= 0 && to >= 0 && (from != to || ranks);
      use_.unknownCollectives = use_.unknownCollectives || shared;
      link.known = !shared && !leftOut(row.from) && !leftOut(row.to);
    }
    for (const model::MemorySpace& space : catalog_.memorySpaces) {
      if (SpaceTraffic* traffic = use_.spaces.find(space.id)) traffic->known = !leftOut(space.device);
    }
  }

  const model::ProfileSource& source_;
  const Catalog& catalog_;
  base::Progress& progress_;
  const bool measured_ = catalog_.measured();
  model::ExecutableId executable_;
  SystemUse use_;
  std::set<model::DeviceId> recorded_;  ///< devices with placements
  std::map<std::pair<model::DeviceId, model::DeviceId>, std::size_t> direct_;
  std::map<std::pair<model::DeviceId, model::DeviceId>, std::vector<std::size_t>> routes_;
  std::vector<std::size_t> single_;
  std::map<model::DeviceId, std::size_t> collectives_;  ///< index of each device's entry in the links
  std::map<std::size_t, base::Intervals> spans_;
  PerDevice<std::array<std::optional<model::MemorySpaceId>, 2>> spaces_;  ///< near and remote, once looked up
  bool hostTransfers_ = false, remoteTransfers_ = false;
};

}  // namespace

std::vector<model::LinkId> routeBetween(const Catalog& catalog, model::ExecutableId executable,
                                        model::DeviceId from, model::DeviceId to) {
  const std::string text = catalog.property("route." + std::to_string(executable.value) + "." +
                                            std::to_string(from.value) + "." + std::to_string(to.value));
  std::vector<model::LinkId> links;
  const char *at = text.data(), *const end = at + text.size();
  while (at < end) {
    std::int64_t id = -1;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc() || !catalog.links.contains(model::LinkId(id))) return {};
    links.emplace_back(id);
    at = next + (next < end ? 1 : 0);
  }
  return links;
}

Result<SystemUse> systemUse(const model::ProfileSource& source, const Catalog& catalog,
                            model::ExecutableId executable, base::Progress& progress) {
  return UseReader(source, catalog, progress).read(executable);
}

}  // namespace pipescope::analysis
