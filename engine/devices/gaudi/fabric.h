#pragma once
// Describes the wiring of Gaudi cards. Inside a box every card has ports to every other one (a full mesh), or
// all ports go to switches. Each card also has ports to other boxes. Collectives work as in HCCL: a
// reduce-scatter, then an all-gather, straight over the mesh, and hierarchically over boxes. (Sources:
// HabanaAI/HCL; docs.habana.ai.)
#include <cstdint>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/devices/core/figures.h"
#include "engine/devices/gaudi/card.h"
#include "engine/devices/hbm_card/interconnect.h"
#include "engine/ops/core/work.h"

namespace pipescope::devices::gaudi {

class Fabric final : public hbm_card::Interconnect {
 public:
  /// The fabric of a single card has no links.
  explicit Fabric(const Card& card) : card_(card) {}
  /// The first `devices` cards of boxes with `cards` each.
  static base::Result<Fabric> read(const Card& card, FigureReader& figures, int cardsPerBox, int devices);

  int devices() const override { return devices_; }
  int cardsPerBox() const override { return perBox_; }
  bool mesh() const { return peer_ > 0; }
  /// Bytes per second between two cards of a box in one direction; 0: they talk through switches.
  double peerBytesPerSecond() const { return peer_; }

  std::vector<double> seconds(const std::vector<Flow>& concurrent) const override;
  std::vector<std::int64_t> linksOf(const Flow& flow) const override;
  LinkInfo linkBetween(int from, int to) const override;
  double latency() const override { return card_.collectiveLatency; }

  /// Seconds of a collective among these cards (ascending, at least one). `bytes` is the size of each card's
  /// tensor; for an all-gather, of the whole. Inside a box, t(all-reduce) = α + 2·(P−1)/P·S/(η·B), where B
  /// counts the P−1 peer links of a mesh. Over b boxes there is also the part between boxes,
  /// 2·(b−1)/b·(S/p)/(η·scale-out) with p cards in each box. A slice of the tensor passes through both parts,
  /// one after the other, while other slices are in the other part. So the faster part is hidden behind the
  /// slower one, but for one slice. Where all ports go to switches, both parts use the same ports. Each
  /// further box costs a start. In an all-to-all a card sends an equal part of its tensor to each other card,
  /// and in a ring send all of it to the next one. (C: HabanaAI/HCL, collective_states.cpp
  /// for slices, hcl_collective_routines.cpp for the loop over boxes.)
  double collectiveSeconds(ops::Collective::Kind kind, double bytes, const std::vector<int>& cards) const {
    return collectiveTime(kind, bytes, cards).total;
  }
  hbm_card::CollectiveTime collectiveTime(ops::Collective::Kind kind, double bytes,
                                          const std::vector<int>& cards) const;
  /// The same for a piece of Work. Where a pass waits for sums, as ranks of a place do, they take their time
  /// on top: copy engines add up what arrived from each card, and the cards hand the result on only then.
  /// Sums of gradients follow each other, so what arrives next hides them. (C: HabanaAI/HCL,
  /// hcl_collective_routines_progs.cpp, where the all-gather of a slice waits for EDMA_BATCH. M: all-reduces
  /// of which each waits for the one before take S ÷ sum_bandwidth longer on 2, 4 and 8 Gaudi2; those of the
  /// vendor's demo, which need nothing of each other, do not, 32 MiB on 8 Gaudi2 in 0.227 ms.)
  hbm_card::CollectiveTime collectiveTime(const ops::Collective& work, const std::vector<int>& cards) const;

 private:
  /// Seconds that the copy engines of a card take to add up everything that it receives.
  double sumSeconds(ops::Collective::Kind kind, double bytes, const std::vector<int>& cards) const;
  /// Seconds in which each card sends its bytes to the next one.
  double ringSendSeconds(double bytes, const std::vector<int>& cards) const;
  /// Number of slices into which a collective is cut, of which a card has `bytesOfCard` in the end.
  std::int64_t slicesOf(double bytesOfCard) const;
  Card card_;
  int devices_ = 1, perBox_ = 1;
  double peer_ = 0, out_ = 0;
};

}  // namespace pipescope::devices::gaudi
