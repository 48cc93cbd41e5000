#include "engine/devices/card/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/devices/card/expert_exchange.h"
#include "profiler/base/check.h"

namespace pipescope::devices::card {

base::Result<Network> Network::read(FigureReader& figures, int cardsPerBox, int devices) {
  Network network;
  network.devices_ = devices;
  network.perBox_ = cardsPerBox;
  network.inside_ = figures.positive("inside_bandwidth", "B/s");
  network.mesh_ = figures.notNegative("inside_is_mesh", "1") > 0;
  network.insideLatency_ = figures.notNegative("inside_latency", "s");
  network.switchSum_ = figures.notNegative("switch_sum_efficiency", "1");
  network.outside_ = figures.positive("outside_bandwidth", "B/s");
  network.outsideLatency_ = figures.notNegative("outside_latency", "s");
  network.efficiency_ = figures.positive("link_efficiency", "1", 1);
  PIPESCOPE_TRY(figures.status());
  if (network.mesh_ && network.switchSum_ > 0)
    return base::badInput(
        "Figures inside_is_mesh and switch_sum_efficiency are both above 0, but a mesh has no switch that "
        "could sum; set one of them to 0.");
  if (network.switchSum_ > 1)
    return base::badInput(fmt::format(
        "Figure switch_sum_efficiency is {}, but must be at most 1, the share of inside_bandwidth "
        "at which switches sum.",
        network.switchSum_));
  return network;
}

/// A link's number is card × (devices + 4) + peer. Behind the peers come the card's ways out to the switch of
/// its box and in from it, and its ways out of the box and into it.
std::vector<std::int64_t> Network::linksOf(const Flow& flow) const {
  PIPESCOPE_CHECK(flow.from >= 0 && flow.to >= 0 && flow.from < devices_ && flow.to < devices_,
                  "flow between cards that are not there");
  if (flow.from == flow.to) return {};
  const std::int64_t width = devices_ + 4;
  const bool inside = boxOf(flow.from) == boxOf(flow.to);
  if (inside && mesh_) return {flow.from * width + flow.to};
  const int way = inside ? 0 : 2;
  return {flow.from * width + devices_ + way, flow.to * width + devices_ + way + 1};
}

std::vector<double> Network::seconds(const std::vector<Flow>& concurrent) const {
  std::map<std::int64_t, double> load;
  for (const Flow& flow : concurrent) {
    const double rate = linkBetween(flow.from, flow.to).bytesPerSecond * efficiency_;
    for (const std::int64_t link : linksOf(flow)) load[link] += static_cast<double>(flow.bytes.count) / rate;
  }
  std::vector<double> result;
  for (const Flow& flow : concurrent) {
    double slowest = 0;
    const std::vector<std::int64_t> links = linksOf(flow);
    for (const std::int64_t link : links) slowest = std::max(slowest, load[link]);
    const double latency = boxOf(flow.from) == boxOf(flow.to) ? insideLatency_ : outsideLatency_;
    result.push_back(links.empty() || flow.bytes.count <= 0 ? 0 : latency + slowest);
  }
  return result;
}

LinkInfo Network::linkBetween(int from, int to) const {
  if (boxOf(from) != boxOf(to)) return {from, to, "network", outside_};
  return {from, to, mesh_ ? "link" : "switch", peerBytesPerSecond()};
}

Network::Spread Network::spreadOf(const std::vector<int>& cards) const {
  std::map<int, int> inBox;
  for (const int card : cards) ++inBox[boxOf(card)];
  Spread spread{static_cast<int>(inBox.size()), 0, perBox_};
  for (const auto& [box, count] : inBox) {
    spread.mostInBox = std::max(spread.mostInBox, count);
    spread.leastInBox = std::min(spread.leastInBox, count);
  }
  return spread;
}

hbm_card::CollectiveTime Network::expertTime(double tokenBytes, const ops::ExpertChoices& choices,
                                             const std::vector<int>& cards) const {
  if (cards.size() < 2) return {};
  const Spread spread = spreadOf(cards);
  const ExpertTraffic traffic = expertTraffic(tokenBytes, choices, spread.boxes, spread.mostInBox);
  double starts = 0, inside = 0, outside = 0;
  if (spread.mostInBox > 1) {
    starts += insideLatency_;
    inside = traffic.inside / (peerBytesPerSecond() * (mesh_ ? spread.mostInBox - 1 : 1) * efficiency_);
  }
  if (spread.boxes > 1) {
    starts += outsideLatency_;
    outside = traffic.outside / (outside_ * efficiency_);
  }
  return {starts + std::max(inside, outside), inside, outside};
}

hbm_card::CollectiveTime Network::collectiveTime(ops::Collective::Kind kind, double bytes,
                                                 const std::vector<int>& cards) const {
  using enum ops::Collective::Kind;
  if (cards.size() < 2) return {};
  if (kind == ringSend) {
    std::vector<Flow> flows;
    for (std::size_t i = 0; i < cards.size(); ++i)
      flows.push_back({cards[i], cards[(i + 1) % cards.size()],
                       base::Bytes(static_cast<std::int64_t>(std::ceil(bytes)))});
    return {.total = std::ranges::max(seconds(flows))};
  }
  const Spread spread = spreadOf(cards);
  const auto p = static_cast<double>(spread.mostInBox), b = static_cast<double>(spread.boxes);
  const double phases = kind == allReduce || kind == broadcast ? 2 : 1;
  const auto steps = [&](double members) {
    return kind == allToAll ? 1.0 : std::min(members - 1, std::ceil(std::log2(members)));
  };
  double starts = 0, inside = 0, outside = 0;
  if (p > 1) {
    const double rate = peerBytesPerSecond() * (mesh_ ? p - 1 : 1);
    starts += phases * steps(p) * insideLatency_;
    inside = phases * (p - 1) / p * bytes / (rate * efficiency_);
    if (switchSum_ > 0 && kind == allReduce) inside = std::min(inside, bytes / (rate * switchSum_));
  }
  if (b > 1) {
    // In an all-to-all, each card has rows of its own for every card of the other boxes.
    const double leaves = kind == allToAll ? bytes : bytes / static_cast<double>(spread.leastInBox);
    starts += phases * steps(b) * outsideLatency_;
    outside = phases * (b - 1) / b * leaves / (outside_ * efficiency_);
  }
  return {starts + std::max(inside, outside), inside, outside};
}

}  // namespace pipescope::devices::card
