#pragma once
// The links of cards: inside a box through a switch or from each card to every other one, and between boxes
// through the network ports of each card.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/devices/core/figures.h"
#include "engine/devices/hbm_card/interconnect.h"
#include "engine/ops/core/work.h"
#include "profiler/base/result.h"

namespace pipescope::devices::card {

class Network final : public hbm_card::Interconnect {
 public:
  /// The network of a single card has no links.
  Network() = default;
  /// The first `devices` cards of boxes with `cardsPerBox` each.
  static base::Result<Network> read(FigureReader& figures, int cardsPerBox, int devices);

  int devices() const override { return devices_; }
  int cardsPerBox() const override { return perBox_; }
  /// Bytes per second that a card sends to all others of its box together, and to one of them.
  double insideBytesPerSecond() const { return inside_; }
  double peerBytesPerSecond() const { return mesh_ ? inside_ / std::max(1, perBox_ - 1) : inside_; }
  double outsideBytesPerSecond() const { return outside_; }
  double latency() const override { return devices_ > perBox_ ? outsideLatency_ : insideLatency_; }

  std::vector<double> seconds(const std::vector<Flow>& concurrent) const override;
  std::vector<std::int64_t> linksOf(const Flow& flow) const override;
  LinkInfo linkBetween(int from, int to) const override;

  /// Seconds of a collective among these cards (ascending, at least one). `bytes` is the size of each card's
  /// tensor; for an all-gather, of the whole. One phase (reduce-scatter, all-gather) among p cards of a box
  /// takes (p−1)/p·S/B, and a start for each of the p−1 steps of a ring or the log₂p steps of a tree,
  /// whichever is fewer. An all-reduce has two phases. Where switches sum (`switch_sum_efficiency` E), it may
  /// take S/(E·B) instead, if that is shorter. Over b boxes, the shares of the boxes go through the ports of
  /// all cards in between, while other slices are inside; so the longer of both times counts.
  double collectiveSeconds(ops::Collective::Kind kind, double bytes, const std::vector<int>& cards) const {
    return collectiveTime(kind, bytes, cards).total;
  }
  hbm_card::CollectiveTime collectiveTime(ops::Collective::Kind kind, double bytes,
                                          const std::vector<int>& cards) const;
  /// Seconds of an all-to-all that brings tokens to experts, or back, with one copy for each box and card
  /// (expert_exchange.h): both kinds of links work at the same time, and each has one start. `tokenBytes`:
  /// bytes of the tokens of a card, each of them once.
  double expertSeconds(double tokenBytes, const ops::ExpertChoices& choices,
                       const std::vector<int>& cards) const {
    return expertTime(tokenBytes, choices, cards).total;
  }
  hbm_card::CollectiveTime expertTime(double tokenBytes, const ops::ExpertChoices& choices,
                                      const std::vector<int>& cards) const;
  /// Numbers of boxes, and of cards in the box with most, that the cards lie in.
  struct Spread {
    int boxes = 0, mostInBox = 0, leastInBox = 0;
  };
  Spread spreadOf(const std::vector<int>& cards) const;

 private:
  int boxOf(int card) const { return card / perBox_; }
  int devices_ = 1, perBox_ = 1;
  bool mesh_ = false;
  double inside_ = 1, outside_ = 1, insideLatency_ = 0, outsideLatency_ = 0, efficiency_ = 1,
         switchSum_ = 0;  ///< share of inside_ at which switches sum; 0: they do not
};

}  // namespace pipescope::devices::card
