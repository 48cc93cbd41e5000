// Tests which devices are ranks of one place. Oracle: how frameworks exchange (a layer of tensor-parallel
// ranks sums twice in a forward pass; data-parallel ranks sum gradients behind the backward passes, and those
// that divide their weights gather within forward passes and scatter sums within backward passes).
#include "profiler/import/recognise/place_ranks.h"

#include <set>

#include "tests/unit/import/import_fixture.h"

namespace pipescope::importing {
namespace {

constexpr int kLayers = 4, kMicroBatches = 3, kPass = 100;

/// A job of `replicas` × `stages` × `ranks` devices, numbered with ranks innermost and stages outermost, as
/// Megatron's.
struct Job {
  RecordedEvents events;
  KernelCollectives collectives;
  int replicas, stages, ranks;

  Job(int r, int s, int t) : replicas(r), stages(s), ranks(t) {
    for (int stage = 0; stage < stages; ++stage)
      for (int replica = 0; replica < replicas; ++replica)
        for (int rank = 0; rank < ranks; ++rank)
          addDevice(deviceOf(replica, stage, rank), stage, replica * ranks + rank);
  }

  model::DeviceId deviceOf(int replica, int stage, int rank) const {
    return model::DeviceId((stage * replicas + replica) * ranks + rank);
  }
  static base::Ticks startOf(int microBatch, bool backward) {
    return base::Ticks((microBatch + (backward ? kMicroBatches : 0)) * kPass);
  }

  /// The n-th device of a stage counts as a pipeline of its own, as long as nobody knows better.
  void addDevice(model::DeviceId device, int stage, int copy) {
    for (int m = 0; m < kMicroBatches; ++m) {
      for (const bool backward : {false, true}) {
        RecordedPass pass;
        pass.device = device;
        pass.rank = device.value;
        pass.stage = stage;
        pass.microBatch = m;
        pass.pass = backward ? model::Pass::backward : model::Pass::forward;
        pass.replica = std::to_string(copy);
        pass.start = startOf(m, backward);
        pass.end = pass.start + base::Ticks(kPass);
        events.addPass(pass);
      }
    }
  }

  /// The same collective for each layer of each such pass, on all these devices.
  void exchange(const std::string& group, const std::vector<model::DeviceId>& devices, bool backward,
                int ofLayer) {
    for (const model::DeviceId device : devices)
      for (int m = 0; m < kMicroBatches; ++m)
        for (int i = 0; i < kLayers * ofLayer; ++i) {
          const base::Ticks start = startOf(m, backward) + base::Ticks(i + 1);
          collectives.add(group, {device, start, start + base::Ticks(1)});
        }
  }
  template <class Devices>
  void exchangeInEachPlace(const std::string& operation, bool backward, int ofLayer, Devices devicesOf) {
    int group = 0;
    for (const std::vector<model::DeviceId>& devices : devicesOf(*this))
      exchange("group " + std::to_string(group++) + ", " + operation, devices, backward, ofLayer);
  }

  void infer() { inferPlaceRanks(events, collectives); }

  /// Replica and rank of each device.
  std::map<std::int64_t, std::pair<std::string, PlaceRank>> found() const {
    std::map<std::int64_t, std::pair<std::string, PlaceRank>> all;
    for (const RecordedPass& pass : events.passes)
      all.emplace(pass.device.value, std::pair(pass.replica, pass.rankOfPlace));
    return all;
  }
  std::size_t countReplicas() const {
    std::set<std::string> names;
    for (const auto& [device, place] : found()) names.insert(place.first);
    return names.size();
  }
};

using Groups = std::vector<std::vector<model::DeviceId>>;
Groups placesOf(const Job& job) {
  Groups groups;
  for (int stage = 0; stage < job.stages; ++stage)
    for (int replica = 0; replica < job.replicas; ++replica) {
      groups.emplace_back();
      for (int rank = 0; rank < job.ranks; ++rank)
        groups.back().push_back(job.deviceOf(replica, stage, rank));
    }
  return groups;
}
Groups dataGroupsOf(const Job& job) {
  Groups groups;
  for (int stage = 0; stage < job.stages; ++stage)
    for (int rank = 0; rank < job.ranks; ++rank) {
      groups.emplace_back();
      for (int replica = 0; replica < job.replicas; ++replica)
        groups.back().push_back(job.deviceOf(replica, stage, rank));
    }
  return groups;
}

TEST(PlaceRanks, FourReplicasOfEightTensorRanksAreNoThirtyTwoReplicas) {
  Job job(4, 2, 8);
  job.exchangeInEachPlace("allreduce", false, 2, placesOf);
  job.infer();
  EXPECT_EQ(job.countReplicas(), 4U);
  const auto found = job.found();
  for (int replica = 0; replica < 4; ++replica)
    for (int stage = 0; stage < 2; ++stage)
      for (int rank = 0; rank < 8; ++rank) {
        const auto& [name, own] = found.at(job.deviceOf(replica, stage, rank).value);
        EXPECT_EQ(name, std::to_string(replica * 8)) << "that of the place's first rank";
        EXPECT_EQ(own.tensor, rank == 0 ? "" : std::to_string(rank));
      }
}

TEST(PlaceRanks, SequenceParallelRanksScatterSumsInForwardPasses) {
  Job job(2, 1, 4);
  job.exchangeInEachPlace("_reduce_scatter_base", false, 2, placesOf);
  job.exchangeInEachPlace("_allgather_base", false, 2, placesOf);
  job.infer();
  EXPECT_EQ(job.countReplicas(), 2U);
}

TEST(PlaceRanks, ExpertsAreExchangedWithAll) {
  Job job(1, 2, 4);
  job.exchangeInEachPlace("all_to_allv", false, 2, placesOf);
  job.infer();
  EXPECT_EQ(job.found().at(job.deviceOf(0, 1, 3).value).second.expert, "3");
  EXPECT_EQ(job.found().at(job.deviceOf(0, 1, 3).value).second.tensor, "");
}

TEST(PlaceRanks, ReplicasThatDivideTheirWeightsStayReplicas) {
  Job job(4, 1, 1);
  job.exchangeInEachPlace("_allgather_base", false, 1, dataGroupsOf);
  job.exchangeInEachPlace("_allgather_base, again", true, 1, dataGroupsOf);
  job.exchangeInEachPlace("_reduce_scatter_base", true, 1, dataGroupsOf);
  job.exchangeInEachPlace("allreduce", true, 4, dataGroupsOf);
  job.infer();
  EXPECT_EQ(job.countReplicas(), 4U);
  for (const auto& [device, place] : job.found()) EXPECT_FALSE(place.second.isStated()) << device;
}

/// A job may sum its loss over all replicas at the end of each forward pass.
TEST(PlaceRanks, OneSumInAPassIsNoLayer) {
  Job job(4, 1, 1);
  for (const auto& devices : dataGroupsOf(job))
    for (const model::DeviceId device : devices)
      for (int m = 0; m < kMicroBatches; ++m)
        job.collectives.add("world, allreduce", {device, Job::startOf(m, false) + base::Ticks(kPass - 2),
                                                 Job::startOf(m, false) + base::Ticks(kPass - 1)});
  job.infer();
  EXPECT_EQ(job.countReplicas(), 4U);
}

TEST(PlaceRanks, StagesAreNeverRanksOfOnePlace) {
  Job job(1, 2, 1);
  job.exchange("world, allreduce", {model::DeviceId(0), model::DeviceId(1)}, false, 2);
  job.infer();
  for (const auto& [device, place] : job.found()) EXPECT_FALSE(place.second.isStated()) << device;
}

class StatedRanks : public ImportFixture {};

/// Megatron-style timelines name each rank. Two data-parallel ranks × two stages × two tensor-parallel ranks.
TEST_F(StatedRanks, AreNumberedWithinTheirReplica) {
  std::string events;
  for (int data = 0; data < 2; ++data) {
    events += R"({"ph":"M","pid":)" + std::to_string(data) +
              R"(,"name":"process_name","args":{"name":"DP rank [)" + std::to_string(data) + R"(]"}},)";
    for (int stage = 0; stage < 2; ++stage)
      for (int tensor = 0; tensor < 2; ++tensor)
        for (int m = 0; m < 2; ++m)
          for (const char* pass : {"forward", "backward"}) {
            const int start = 1000 + 100 * m + (*pass == 'f' ? 20 * stage : 500 + 20 * (1 - stage));
            events += R"({"ph":"X","cat":")" + std::string(pass) + R"(-compute","name":")" + pass +
                      R"(-compute","pid":)" + std::to_string(data) + R"(,"tid":"PP rank )" +
                      std::to_string(stage) + ", TP rank " + std::to_string(tensor) + R"(, compute","ts":)" +
                      std::to_string(start) + R"(,"dur":15,"args":{"step":0,"mb_id":)" + std::to_string(m) +
                      "}},";
          }
  }
  events.back() = ']';
  ASSERT_TRUE(import(write("megatron.json", "[" + events)).ok());
  EXPECT_EQ(rows<model::Executable>().at(0).replicas, 2);
  std::map<std::string, std::string> properties;
  for (const auto& property : rows<model::Property>()) properties[property.key] = property.value;
  EXPECT_EQ(properties["width.0"], "2");
  EXPECT_EQ(properties["axes.0"], "tp 2");
  const auto devices = rows<model::Device>();
  std::set<std::pair<std::string, std::int32_t>> copies;
  for (const auto& placement : rows<model::Placement>())
    if (placement.stage == 0)
      copies.emplace(devices[static_cast<std::size_t>(placement.device.value)].name, placement.replica);
  EXPECT_EQ(copies,
            (std::set<std::pair<std::string, std::int32_t>>{{"DP rank [0], PP rank 0, TP rank 0", 0},
                                                            {"DP rank [0], PP rank 0, TP rank 1", 1},
                                                            {"DP rank [1], PP rank 0, TP rank 0", 2},
                                                            {"DP rank [1], PP rank 0, TP rank 1", 3}}));
}

}  // namespace
}  // namespace pipescope::importing
