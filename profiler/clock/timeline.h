#pragma once
// The rows of a call in memory.
#include "profiler/clock/sink.h"

namespace pipescope::clock {

/// Replicas are named by their index in Call::replicas.
struct PlacedPiece {
  int replica = 0, place = 0;
  WorkOf work;
  model::SegmentId segment;
  model::Pass pass = model::Pass::forward;
  Ticks start, end;
};
struct PlacedTransfer {
  int replica = 0, flow = 0;
  WorkOf work;
  Ticks start, end;
  model::PlacementId from;  ///< the placement that produced the bytes
};

/// Ids of placements are their indices.
class Timeline : public Sink {
 public:
  model::PlacementId placed(int replica, int place, const Piece& piece, Ticks start,
                            const WorkOf& work) override {
    placements.push_back({replica, place, work, piece.segment, piece.pass, start, start + piece.ticks});
    return model::PlacementId(static_cast<std::int64_t>(placements.size()) - 1);
  }
  void transferred(int replica, int flow, Ticks start, Ticks end, model::PlacementId from,
                   const WorkOf& work) override {
    transfers.push_back({replica, flow, work, start, end, from});
  }
  void waited(const Wait& wait) override { waits.push_back(wait); }
  void waitedLess(int replica, int place, Ticks until) override;

  std::vector<PlacedPiece> placements;
  std::vector<PlacedTransfer> transfers;
  std::vector<Wait> waits;
};

}  // namespace pipescope::clock
