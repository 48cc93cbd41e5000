#pragma once
// The chips that run a model, with the axes along which it is divided.
#include <cstdint>
#include <vector>

#include "profiler/model/enums.h"

namespace pipescope::compile {

/// A mesh of chips. Its replicas take different samples, its places hold different stages, and the ranks of a
/// place share the work of its stages. Chips are numbered replica by replica, then place by place.
struct Mesh {
  int replicas = 1;
  int places = 1;  ///< positions in the pipeline
  int width = 1;   ///< ranks of a place
  /// True if the places of a replica hold the model twice, the second time in reverse order (DualPipe). Place
  /// p then also sums gradients with place places − 1 − p.
  bool mirrored = false;
  /// True if the places of a replica reduce their gradients at the same time, so that they share links.
  /// Otherwise they reduce one after another.
  bool atOnce = false;
  /// The bytes, by place, that go through the rings of its collectives over all replicas. Empty: the same in
  /// all places.
  std::vector<std::int64_t> ringBytes = {};

  int chips() const { return replicas * places * width; }
  int chipsPerReplica() const { return places * width; }
  int chip(int replica, int place, int rank = 0) const { return (replica * places + place) * width + rank; }
  int replicaOf(int chip) const { return chip / chipsPerReplica(); }
  int placeOf(int chip) const { return chip / width % places; }
  int rankOf(int chip) const { return chip % width; }
  /// The chips that take part in a collective of `chip` along an axis, ascending. Along the axis `data`,
  /// `count` neighbouring replicas take part; with 0 all do, mirrored places included. Along the axes within
  /// a place, `count` neighbouring ranks take part; with 0 all do.
  std::vector<int> group(int chip, model::MeshAxis axis, std::int64_t count) const;
};

}  // namespace pipescope::compile
