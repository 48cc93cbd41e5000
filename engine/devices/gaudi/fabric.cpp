#include "engine/devices/gaudi/fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "profiler/base/check.h"

namespace pipescope::devices::gaudi {
namespace {

/// Describes how a group of cards lies in boxes.
struct Spread {
  int boxes = 0;
  int most = 0, least = 0;  ///< cards of the group in a box
};

Spread spreadOf(const std::vector<int>& cards, int perBox) {
  std::vector<int> boxes;
  boxes.reserve(cards.size());
  for (const int card : cards) boxes.push_back(card / perBox);
  if (!std::ranges::is_sorted(boxes)) std::ranges::sort(boxes);
  Spread spread;
  for (std::size_t first = 0, end = 0; first < boxes.size(); first = end) {
    while (end < boxes.size() && boxes[end] == boxes[first]) ++end;
    const int count = static_cast<int>(end - first);
    spread.most = std::max(spread.most, count);
    spread.least = spread.boxes == 0 ? count : std::min(spread.least, count);
    ++spread.boxes;
  }
  return spread;
}

}  // namespace

base::Result<Fabric> Fabric::read(const Card& card, FigureReader& figures, int cardsPerBox, int devices) {
  Fabric fabric(card);
  fabric.devices_ = devices;
  fabric.perBox_ = cardsPerBox;
  const double ports = figures.notNegative("ports_per_peer", "ports");
  fabric.peer_ = ports * card.portBytesPerSecond;
  fabric.out_ = figures.positive("scale_out_bandwidth", "B/s");
  PIPESCOPE_TRY(figures.status());
  if (ports * (cardsPerBox - 1) > static_cast<double>(card.ports))
    return base::badInput(fmt::format(
        "A box of {} cards with {} ports to each peer needs {} ports a card, but a card of {} has {}.",
        cardsPerBox, ports, ports * (cardsPerBox - 1), card.name, card.ports));
  return fabric;
}

/// A link's number is card × (devices + 2) + peer. Behind the peers come the card's way out of the box and
/// its way in.
std::vector<std::int64_t> Fabric::linksOf(const Flow& flow) const {
  PIPESCOPE_CHECK(flow.from >= 0 && flow.to >= 0 && flow.from < devices_ && flow.to < devices_,
                  "flow between cards that are not there");
  if (flow.from == flow.to) return {};
  const std::int64_t width = devices_ + 2;
  if (flow.from / perBox_ == flow.to / perBox_ && mesh()) return {flow.from * width + flow.to};
  return {flow.from * width + devices_, flow.to * width + devices_ + 1};
}

std::vector<double> Fabric::seconds(const std::vector<Flow>& concurrent) const {
  std::map<std::int64_t, double> load;
  for (const Flow& flow : concurrent) {
    for (const std::int64_t link : linksOf(flow)) {
      const bool peer = link % (devices_ + 2) < devices_;
      load[link] +=
          static_cast<double>(flow.bytes.count) / ((peer ? peer_ : out_) * card_.collectiveEfficiency);
    }
  }
  std::vector<double> result;
  for (const Flow& flow : concurrent) {
    double slowest = 0;
    const std::vector<std::int64_t> links = linksOf(flow);
    for (const std::int64_t link : links) slowest = std::max(slowest, load[link]);
    result.push_back(links.empty() || flow.bytes.count <= 0 ? 0 : card_.collectiveLatency + slowest);
  }
  return result;
}

LinkInfo Fabric::linkBetween(int from, int to) const {
  const bool box = from / perBox_ == to / perBox_;
  if (box && mesh()) return {from, to, "RoCE", peer_};
  return {from, to, box ? "RoCE switch" : "scale-out", out_};
}

hbm_card::CollectiveTime Fabric::collectiveTime(ops::Collective::Kind kind, double bytes,
                                                const std::vector<int>& cards) const {
  using Kind = ops::Collective::Kind;
  if (cards.size() < 2 || bytes <= 0) return {};
  if (kind == Kind::ringSend) return {.total = ringSendSeconds(bytes, cards)};
  // Reduce-scatter and all-gather move equally much, and an all-reduce is both. A broadcast is a scatter and
  // an all-gather.
  const double phases = kind == Kind::allReduce || kind == Kind::broadcast ? 2 : 1;
  const double efficiency = card_.collectiveEfficiency, latency = phases * card_.collectiveLatency;
  const Spread spread = spreadOf(cards, perBox_);
  const int most = spread.most, least = spread.least;
  const auto boxes = static_cast<double>(spread.boxes);
  const double starts = (most > 1 ? latency : 0) + latency * (boxes - 1);
  if (!mesh()) {
    // Both parts use the same ports, so neither hides behind the other.
    const auto all = static_cast<double>(cards.size());
    const double busy = phases * (all - 1) / all * bytes / (efficiency * out_);
    return {starts + busy, busy, busy};
  }
  const double p = most;
  // p − 1 links work at once, so fewer cards leave links idle.
  const double inside = most > 1 ? phases * (p - 1) / p * bytes / (efficiency * peer_ * (p - 1)) : 0;
  // In an all-to-all, each card has rows of its own for every card of the other boxes.
  const double leaves = kind == Kind::allToAll ? bytes : bytes / least;
  const double outside = boxes > 1 ? phases * (boxes - 1) / boxes * leaves / (efficiency * out_) : 0;
  const auto slices = static_cast<double>(slicesOf(bytes / static_cast<double>(cards.size())));
  return {starts + std::max(inside, outside) + std::min(inside, outside) / slices, inside, outside};
}

hbm_card::CollectiveTime Fabric::collectiveTime(const ops::Collective& work,
                                                const std::vector<int>& cards) const {
  const auto bytes = static_cast<double>(work.elements * graph::sizeOf(work.type));
  hbm_card::CollectiveTime time = collectiveTime(work.kind, bytes, cards);
  const bool waits = work.ofModel || work.axis != model::MeshAxis::data;
  if (waits) time.total += sumSeconds(work.kind, bytes, cards);
  return time;
}

/// A card adds up the parts of its own share that the cards of its box have, which are as large as the tensor
/// together, and then those of the other boxes.
double Fabric::sumSeconds(ops::Collective::Kind kind, double bytes, const std::vector<int>& cards) const {
  using Kind = ops::Collective::Kind;
  if (card_.sumBytesPerSecond <= 0 || (kind != Kind::allReduce && kind != Kind::reduceScatter)) return 0;
  const Spread spread = spreadOf(cards, perBox_);
  const double inside = spread.most > 1 ? bytes : 0, outside = spread.boxes > 1 ? bytes / spread.most : 0;
  return (inside + outside) / card_.sumBytesPerSecond;
}

double Fabric::ringSendSeconds(double bytes, const std::vector<int>& cards) const {
  std::vector<Flow> flows;
  for (std::size_t i = 0; i < cards.size(); ++i)
    flows.push_back(
        {cards[i], cards[(i + 1) % cards.size()], base::Bytes(static_cast<std::int64_t>(std::ceil(bytes)))});
  return std::ranges::max(seconds(flows));
}

std::int64_t Fabric::slicesOf(double bytesOfCard) const {
  const auto slice = static_cast<double>(card_.collectiveSlice);
  return bytesOfCard <= slice ? 1 : std::max<std::int64_t>(2, std::llround(std::ceil(bytesOfCard / slice)));
}

}  // namespace pipescope::devices::gaudi
