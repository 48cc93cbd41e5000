#pragma once
// How Gaudi cards are wired: in a box every card has ports to every other one (a full mesh) or all its ports
// go to switches; boxes are joined through each card's ports to the outside. Collectives as HCCL does them:
// reduce-scatter, then all-gather, straight over the mesh; over boxes hierarchically. (Sources: HabanaAI/HCL;
// docs.habana.ai.)
#include <cstdint>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/devices/core/figures.h"
#include "engine/devices/gaudi/card.h"
#include "engine/ops/core/work.h"

namespace pipescope::devices::gaudi {

class Fabric {
 public:
  /// A single card: no links.
  explicit Fabric(const Card& card) : card_(card) {}
  /// `devices` of so many boxes, the first ones.
  static base::Result<Fabric> read(const Card& card, FigureReader& figures, int cardsPerBox, int devices);

  int devices() const { return devices_; }
  int cardsPerBox() const { return perBox_; }
  bool mesh() const { return peer_ > 0; }
  /// Between two cards of a box, one direction; 0: by switches.
  double peerBytesPerSecond() const { return peer_; }
  double scaleOutBytesPerSecond() const { return out_; }

  /// Seconds of each of several flows that start together: a flow takes as long as its most loaded link.
  std::vector<double> seconds(const std::vector<Flow>& concurrent) const;
  std::vector<std::int64_t> linksOf(const Flow& flow) const;
  std::vector<LinkInfo> links() const;

  /// Seconds of a collective among these cards (ascending, at least one) over `bytes` of each card's tensor;
  /// of an all-gather, of the whole. What t(all-reduce) = α + 2·(P−1)/P·S/(η·B) says, B = (P−1) peer links of
  /// a mesh. Over b boxes the part outside, 2·(b−1)/b·(S/p)/(η·scale-out) with p cards in each box, goes on
  /// at the same time.
  double collectiveSeconds(ops::Collective::Kind kind, double bytes, const std::vector<int>& cards) const;

 private:
  Card card_;
  int devices_ = 1, perBox_ = 1;
  double peer_ = 0, out_ = 0;
};

}  // namespace pipescope::devices::gaudi
