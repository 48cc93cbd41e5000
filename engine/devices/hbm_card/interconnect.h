#pragma once
// The links between cards, as every family of cards has them.
#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/graph/tensor_type.h"
#include "engine/ops/core/work.h"

namespace pipescope::devices::hbm_card {

/// Seconds of a collective: in all, and in which the links that a card has inside its box and those out of it
/// carry bytes. In a ring send only the links between neighbours do.
struct CollectiveTime {
  double total = 0, inside = 0, outside = 0;
};

class Interconnect {
 public:
  virtual ~Interconnect() = default;

  virtual int devices() const = 0;
  virtual int cardsPerBox() const = 0;
  /// Seconds of each of several flows that start together. A flow takes as long as its most loaded link.
  virtual std::vector<double> seconds(const std::vector<Flow>& concurrent) const = 0;
  virtual std::vector<std::int64_t> linksOf(const Flow& flow) const = 0;
  /// The links inside boxes among the first `cards` cards. A network joins the boxes. It has a way between
  /// any two cards, and their number grows with the square of the number of boxes.
  std::vector<LinkInfo> links(int cards) const;
  /// One link, which links() lacks between cards of different boxes.
  virtual LinkInfo linkBetween(int from, int to) const = 0;
  /// Returns the shares of the links of one card that a collective takes; see System::linkShares.
  std::vector<LinkShare> shares(const ops::Collective& work, const CollectiveTime& time, int card,
                                const std::vector<int>& cards) const;
  /// Seconds of one message between cards, without its bytes.
  virtual double latency() const = 0;

 protected:
  Interconnect() = default;
  Interconnect(const Interconnect&) = default;
  Interconnect(Interconnect&&) = default;
  Interconnect& operator=(const Interconnect&) = default;
  Interconnect& operator=(Interconnect&&) = default;
};

inline std::vector<LinkShare> Interconnect::shares(const ops::Collective& work, const CollectiveTime& time,
                                                   int card, const std::vector<int>& cards) const {
  std::map<std::int64_t, double> shares;
  const auto add = [&](const Flow& flow, double busy) {
    // The card's own link is the first one of its way out, and the last one of a way in.
    const std::vector<std::int64_t> way = linksOf(flow);
    if (way.empty() || busy <= 0) return;
    double& share = shares[flow.from == card ? way.front() : way.back()];
    share = std::max(share, std::min(1.0, busy / time.total));
  };
  if (time.total <= 0) return {};
  const auto own = std::ranges::find(cards, card);
  if (work.kind == ops::Collective::Kind::ringSend && own != cards.end()) {
    const auto at = static_cast<std::size_t>(own - cards.begin());
    const int next = cards[(at + 1) % cards.size()], before = cards[(at + cards.size() - 1) % cards.size()];
    const base::Bytes bytes(work.elements * graph::sizeOf(work.type));
    for (const Flow& flow : {Flow{card, next, bytes}, Flow{before, card, bytes}})
      if (flow.from != flow.to) add(flow, seconds({flow}).front());
  } else {
    bool outside = false;
    for (const int other : cards) {
      const bool inBox = other / cardsPerBox() == card / cardsPerBox();
      if (other == card || (!inBox && outside)) continue;  // all ways out of a box are one link of the card
      outside = outside || !inBox;
      for (const Flow& flow : {Flow{card, other, base::Bytes(1)}, Flow{other, card, base::Bytes(1)}})
        add(flow, inBox ? time.inside : time.outside);
    }
  }
  std::vector<LinkShare> list;
  for (const auto& [link, share] : shares) list.push_back({link, share});
  return list;
}

inline std::vector<LinkInfo> Interconnect::links(int cards) const {
  std::vector<LinkInfo> links;
  for (int from = 0; from < cards; ++from) {
    const int box = from - from % cardsPerBox();
    for (int to = box; to < std::min(box + cardsPerBox(), cards); ++to)
      if (from != to) links.push_back(linkBetween(from, to));
  }
  return links;
}

}  // namespace pipescope::devices::hbm_card
