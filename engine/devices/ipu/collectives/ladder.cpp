#include "engine/devices/ipu/collectives/ladder.h"

#include <algorithm>
#include <string>
#include <utility>

#include "profiler/base/check.h"

namespace pipescope::devices::ipu {
namespace {

/// The IPUs of a machine, which share its gateway.
constexpr int kMachine = 4;

}  // namespace

base::Result<Ladder> Ladder::read(FigureReader& figures, int devices) {
  Ladder ladder;
  ladder.devices_ = devices;
  const double lane = figures.positive("link_lane", "bit/s") / 8 *
                      figures.positive("link_efficiency", "1", 1) *
                      figures.positive("link_utilisation", "1", 1);
  ladder.startup_ = figures.notNegative("link_startup", "s");
  const char* lanes[] = {"partner_lanes", "transit_lanes", "up_lanes", "down_lanes"};
  for (std::size_t way = 0; way < 4; ++way)
    ladder.capacity_[way] = lane * figures.positive(lanes[way], "lanes");
  ladder.domain_ = static_cast<int>(figures.countOr("link_domain", "IPUs", 1 << 20, 1 << 20));
  ladder.capacity_[4] = figures.positiveOr("gateway_bandwidth", "B/s", 1e9);
  if (figures.has("gateway_latency")) ladder.gatewayLatency_ = figures.notNegative("gateway_latency", "s");
  PIPESCOPE_TRY(figures.status());
  return ladder;
}

std::vector<Ladder::Hop> Ladder::route(int from, int to) const {
  PIPESCOPE_CHECK(from >= 0 && to >= 0 && from < devices_ && to < devices_,
                  "flow between IPUs that are not there");
  std::vector<Hop> hops;
  if (from / domain_ != to / domain_) {
    // All IPUs of a machine share the links of its gateway.
    hops.push_back({from / kMachine * kMachine, Way::gateway});
    from = to / domain_ * domain_ + from % domain_;
    if (from >= devices_) from = to;
  }
  if (from / 2 == to / 2) {
    if (from != to) hops.push_back({from, Way::partner});
    return hops;
  }
  int at = from;
  if (from % 2 != to % 2) {
    hops.push_back({at, Way::transit});
    at ^= 1;
  }
  for (; at < to; at += 2) hops.push_back({at, Way::up});
  for (; at > to; at -= 2) hops.push_back({at, Way::down});
  return hops;
}

std::vector<double> Ladder::seconds(const std::vector<Flow>& concurrent) const {
  std::vector<double> result = transferSeconds(concurrent);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] <= 0) continue;
    const bool near = oneDomain(concurrent[i].from, concurrent[i].to);
    result[i] += startup_ + (near ? 0 : gatewayLatency_);
  }
  return result;
}

std::vector<double> Ladder::transferSeconds(const std::vector<Flow>& concurrent) const {
  std::vector<double> load(static_cast<std::size_t>(devices_) * kWays, 0);
  const auto slot = [](Hop hop) {
    return static_cast<std::size_t>(hop.from) * kWays + static_cast<std::size_t>(hop.way);
  };
  std::vector<std::vector<Hop>> routes;
  for (const Flow& flow : concurrent) {
    routes.push_back(route(flow.from, flow.to));
    for (const Hop hop : routes.back())
      load[slot(hop)] += static_cast<double>(flow.bytes.count) / bytesPerSecond(hop.way);
  }
  std::vector<double> result;
  for (std::size_t i = 0; i < concurrent.size(); ++i) {
    double slowest = 0;
    for (const Hop hop : routes[i]) slowest = std::max(slowest, load[slot(hop)]);
    result.push_back(routes[i].empty() || concurrent[i].bytes.count <= 0 ? 0 : slowest);
  }
  return result;
}

std::vector<LinkInfo> Ladder::linksOfRoute(int from, int to) const {
  std::vector<LinkInfo> crossed;
  int at = from;
  for (const Hop hop : route(from, to)) {
    int next = at ^ 1;
    if (hop.way == Way::up) next = at + 2;
    if (hop.way == Way::down) next = at - 2;
    if (hop.way == Way::gateway) next = to / domain_ * domain_ + from % domain_;
    if (next >= devices_) next = to;
    const std::vector<LinkInfo> ways = linksFrom(at);
    const auto way = std::ranges::find(ways, next, &LinkInfo::to);
    PIPESCOPE_CHECK(way != ways.end(), "a route leads over a link that is not there");
    crossed.push_back(*way);
    at = next;
  }
  return crossed;
}

std::vector<LinkInfo> Ladder::linksFrom(int device) const {
  std::vector<LinkInfo> links;
  const auto add = [&](int from, int to, Way way, const char* name) {
    if (to < 0 || to >= devices_ || to / domain_ != from / domain_) return;
    links.push_back({from, to, std::string("IPU-Link ") + name, bytesPerSecond(way)});
  };
  add(device, device ^ 1, Way::partner, "partner");
  add(device, device + 2, Way::up, "up");
  add(device, device - 2, Way::down, "down");
  for (int other = device % domain_; other < devices_; other += domain_)
    if (other != device) links.push_back({device, other, "gateway", bytesPerSecond(Way::gateway)});
  return links;
}

std::vector<LinkInfo> Ladder::links() const {
  std::vector<LinkInfo> links;
  for (int device = 0; device < devices_; ++device)
    for (const LinkInfo& link : linksFrom(device)) links.push_back(link);
  return links;
}

}  // namespace pipescope::devices::ipu
