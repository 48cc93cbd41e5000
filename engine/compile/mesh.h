#pragma once
// The chips that run a model, with the axes along which it is divided.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/ops/core/work.h"

namespace pipescope::compile {

/// A mesh of chips. Its replicas take different samples, its places hold different stages, and the ranks of a
/// place share the work of its stages. Chips are numbered replica by replica, then place by place.
struct Mesh {
  int replicas = 1;
  int places = 1;  ///< positions in the pipeline
  int width = 1;   ///< ranks of a place: of the axes tensor (innermost), context and expert (outermost)
  int contexts = 1, experts = 1;  ///< ranks along these axes
  /// True if the places of a replica hold the model twice, the second time in reverse order (DualPipe). Place
  /// p then also sums gradients with place places − 1 − p.
  bool mirrored = false;
  /// True if the places of a replica reduce their gradients at the same time, so that they share links.
  /// Otherwise they reduce one after another.
  bool atOnce = false;
  /// True if neighbouring chips of a rank are replicas of one place, and places lie farthest apart, as
  /// Megatron-LM orders them (tp-cp-ep-dp-pp). Otherwise the chips of a replica are neighbours.
  bool placesOutermost = false;
  /// The bytes, by place, that go through the rings of its collectives over all replicas. Empty: the same in
  /// all places.
  std::vector<std::int64_t> ringBytes = {};

  int chips() const { return replicas * places * width; }
  int chipsPerReplica() const { return places * width; }
  int chip(int replica, int place, int rank = 0) const {
    const int part = placesOutermost ? place * replicas + replica : replica * places + place;
    return part * width + rank;
  }
  /// Distance between the chips of neighbouring places.
  int placeStride() const { return placesOutermost ? replicas * width : width; }
  /// "tp 8 × ep 4": the axes of a place with several ranks.
  std::string describeRanks() const;
  int replicaOf(int chip) const {
    return placesOutermost ? chip / width % replicas : chip / chipsPerReplica();
  }
  int placeOf(int chip) const { return placesOutermost ? chip / width / replicas : chip / width % places; }
  int rankOf(int chip) const { return chip % width; }
  /// Chips that hold the same part of a weight, besides those of mirrored places. `divided`: the weight is
  /// divided among experts.
  int holders(bool divided) const { return replicas * contexts * (divided ? 1 : experts); }
  /// The chips that take part in a collective of `chip`, ascending. Along the axis `data`, `group`
  /// neighbouring replicas take part; with 0 all do, mirrored places included, and the ranks that
  /// `holders` names. Along the axes within a place, `group` neighbours take part; with 0 all do. Along the
  /// axis `pipe`, the chips of this rank and replica in Collective::places do.
  std::vector<int> group(int chip, const ops::Collective& collective) const;
};

}  // namespace pipescope::compile
