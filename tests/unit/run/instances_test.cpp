// Tests what a launcher tells an instance, and which other instances it refuses to work with.
#include "app/run/request/instance_launch.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "app/run/request/configuration_keys.h"

namespace pipescope::app {
namespace {

/// Two instances, of which the second differs in one of the values that both give.
class TwoInstances : public numerics::Instances {
 public:
  explicit TwoInstances(int differing) : differing_(differing) {}
  int count() const override { return 2; }
  int index() const override { return 0; }
  std::string host(int index) const override { return index == 0 ? "here" : "there"; }
  double waitedSeconds() const override { return 0; }
  void sumInOrder(std::span<const std::span<float>>) const override {}
  std::int64_t sum(std::int64_t value) const override { return 2 * value; }
  void broadcast(std::span<std::byte>) const override {}
  std::vector<std::byte> gather(std::span<const std::byte> bytes) const override {
    std::vector<std::byte> all(bytes.begin(), bytes.end());
    all.insert(all.end(), bytes.begin(), bytes.end());
    if (differing_ >= 0)
      all[bytes.size() + static_cast<std::size_t>(differing_) * sizeof(std::uint64_t)] ^= std::byte{1};
    return all;
  }

 private:
  int differing_;
};

std::string comparison(int differing) {
  const config::Configuration configuration(configurationKeys());
  const base::Status status = compareInstances(TwoInstances(differing), configuration);
  return status.ok() ? "" : status.error().message;
}

TEST(Instances, OfAnotherVersionOrConfigurationAreRefused) {
  EXPECT_EQ(comparison(-1), "");
  EXPECT_THAT(comparison(0), testing::HasSubstr("Instance 1 on there runs another version of Pipescope than "
                                                "instance 0 on here"));
  EXPECT_THAT(comparison(1), testing::HasSubstr("Instance 1 on there has another configuration than instance "
                                                "0 on here"));
}

base::Result<std::optional<Launch>> launchWith(const std::map<std::string, const char*>& environment) {
  return launchOf([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second;
  });
}

TEST(Instances, ReadWhatTheLauncherSays) {
  const auto launch = launchWith({{"POPDIST_NUM_TOTAL_REPLICAS", "8"},
                                  {"OMPI_COMM_WORLD_SIZE", "4"},
                                  {"OMPI_COMM_WORLD_RANK", "3"},
                                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  ASSERT_TRUE(launch.ok() && launch->has_value());
  EXPECT_EQ((*launch)->instances, 4);
  EXPECT_EQ((*launch)->instance, 3);
  EXPECT_EQ((*launch)->replicas, 8);
  EXPECT_EQ((*launch)->onHost, 2);
  // mpirun without poprun, and one instance, are programs that run alone.
  EXPECT_FALSE(launchWith({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}})->has_value());
  EXPECT_FALSE(
      launchWith(
          {{"POPDIST_NUM_TOTAL_REPLICAS", "2"}, {"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}})
          ->has_value());
  const auto words = launchWith({{"POPDIST_NUM_TOTAL_REPLICAS", "many"}});
  ASSERT_FALSE(words.ok());
  EXPECT_THAT(words.error().message, testing::HasSubstr("\"many\", but must be a whole number"));
  const auto odd = launchWith(
      {{"POPDIST_NUM_TOTAL_REPLICAS", "3"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "0"}});
  ASSERT_FALSE(odd.ok());
  EXPECT_THAT(odd.error().message, testing::HasSubstr("3 replicas do not divide by 2 instances"));
}

}  // namespace
}  // namespace pipescope::app
