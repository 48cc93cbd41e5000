// Tests how the axes of a mesh lie over chips, in both orders.
#include "engine/compile/mesh.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/compiler/stage_layout.h"

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

/// Two ranks along tensor, three along context and two along expert, in the second replica of two places.
TEST(MeshOrder, ARankMeetsThoseThatDifferAlongOneAxis) {
  Mesh mesh;
  mesh.replicas = 2;
  mesh.places = 2;
  mesh.contexts = 3;
  mesh.experts = 2;
  mesh.width = 12;
  const auto chip = [](int tensor, int context, int expert) {
    return 24 + tensor + 2 * (context + 3 * expert);
  };
  const auto met = [&](model::MeshAxis axis) {
    ops::Collective collective;
    collective.axis = axis;
    return mesh.group(chip(1, 2, 1), collective);
  };
  EXPECT_EQ(met(model::MeshAxis::tensor), (std::vector<int>{chip(0, 2, 1), chip(1, 2, 1)}));
  EXPECT_EQ(met(model::MeshAxis::context), (std::vector<int>{chip(1, 0, 1), chip(1, 1, 1), chip(1, 2, 1)}));
  EXPECT_EQ(met(model::MeshAxis::expert), (std::vector<int>{chip(1, 2, 0), chip(1, 2, 1)}));
}

/// Stages 0 and 2 share a device.
TEST(DeviceSettings, StagesOfOneDeviceAgree) {
  const auto settingsOf = [](double first, double third) {
    LayoutRequest layout;
    layout.stages.resize(3);
    layout.stages[0].settings = {{"available_memory_proportion", first}};
    layout.stages[1].settings = {{"available_memory_proportion", 0.5}};
    layout.stages[2].settings = {{"available_memory_proportion", third}};
    std::vector<StageSpec> stages(3);
    stages[0].place = stages[2].place = 4;
    stages[1].place = 7;
    return deviceSettings(layout, stages);
  };
  const auto agreed = settingsOf(0.25, 0.25);
  ASSERT_TRUE(agreed.ok()) << agreed.error().message;
  std::vector<std::pair<int, double>> found;
  for (const devices::FamilySetting& one : *agreed)
    found.emplace_back(one.device, std::get<double>(one.value));
  EXPECT_EQ(found, (std::vector<std::pair<int, double>>{{4, 0.25}, {7, 0.5}}));
  const auto refused = settingsOf(0.25, 0.75);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(
      refused.error().message,
      "[[stages]] gives device 4 available_memory_proportion 0.25 and 0.75: its stages share one, give them "
      "the same.");
}

TEST(MeshOrder, PlacesThatShareAWeightMeetByReplicaAndRank) {
  const ops::Collective sum{.axis = model::MeshAxis::pipe, .places = {0, 3}};
  for (const bool outermost : {false, true}) {
    Mesh mesh;
    mesh.replicas = 2;
    mesh.places = 4;
    mesh.width = 2;
    mesh.placesOutermost = outermost;
    const std::vector<int> both{chipByStrides(mesh, 1, 0, 1), chipByStrides(mesh, 1, 3, 1)};
    for (const int chip : both) EXPECT_EQ(mesh.group(chip, sum), both);
  }
}

}  // namespace
}  // namespace pipescope::compile
