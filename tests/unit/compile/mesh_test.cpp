// Tests how the axes of a mesh lie over chips, in both orders.
#include "engine/compile/mesh.h"

#include <gtest/gtest.h>

#include <set>

namespace pipescope::compile {
namespace {

/// The chip of Megatron-LM's rank generator for the order of axes "tp-cp-ep-dp-pp" or "tp-cp-ep-pp-dp": each
/// axis has the product of the sizes before it as its stride.
int chipByStrides(const Mesh& mesh, int replica, int place, int rank) {
  const int inner = mesh.width;
  return mesh.placesOutermost ? rank + inner * (replica + mesh.replicas * place)
                              : rank + inner * (place + mesh.places * replica);
}

TEST(MeshOrder, EveryChipHasOneReplicaPlaceAndRank) {
  for (const bool outermost : {false, true}) {
    for (const auto& [replicas, places, width] : {std::tuple{4, 2, 1}, {3, 4, 2}, {1, 4, 4}, {5, 1, 2}}) {
      Mesh mesh;
      mesh.replicas = replicas;
      mesh.places = places;
      mesh.width = width;
      mesh.placesOutermost = outermost;
      std::set<int> chips;
      for (int r = 0; r < replicas; ++r)
        for (int p = 0; p < places; ++p)
          for (int k = 0; k < width; ++k) {
            const int chip = mesh.chip(r, p, k);
            EXPECT_EQ(chip, chipByStrides(mesh, r, p, k));
            EXPECT_EQ(mesh.replicaOf(chip), r);
            EXPECT_EQ(mesh.placeOf(chip), p);
            EXPECT_EQ(mesh.rankOf(chip), k);
            if (p > 0) {
              EXPECT_EQ(chip - mesh.chip(r, p - 1, k), mesh.placeStride());
            }
            chips.insert(chip);
          }
      EXPECT_EQ(chips.size(), static_cast<std::size_t>(mesh.chips()));
      EXPECT_EQ(*chips.rbegin(), mesh.chips() - 1);
    }
  }
}

/// With places outermost, the replicas of a place are neighbours: two boxes of eight chips then hold a place
/// each, and no sum of gradients leaves its box.
TEST(MeshOrder, ReplicasOfAPlaceAreNeighboursIfPlacesAreOutermost) {
  Mesh mesh;
  mesh.replicas = 2;
  mesh.places = 2;
  mesh.width = 4;
  mesh.placesOutermost = true;
  EXPECT_EQ(mesh.group(0, {}), (std::vector<int>{0, 4}));
  EXPECT_EQ(mesh.group(9, {}), (std::vector<int>{9, 13}));
  mesh.placesOutermost = false;
  EXPECT_EQ(mesh.group(0, {}), (std::vector<int>{0, 8}));
  EXPECT_EQ(mesh.group(9, {}), (std::vector<int>{1, 9}));
}

}  // namespace
}  // namespace pipescope::compile
