#pragma once
// Configurations with given costs, whose times are known by hand.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "app/run/request/configuration_keys.h"
#include "app/run/sweep/sweep.h"

namespace pipescope::app {

/// Four stages with forward 1 and backward 2. With gpipe and G micro-batches, a flush takes 3 · (G + 3)
/// units.
inline config::Configuration equalStages(const std::string& more = "") {
  std::string toml = "[model]\nname = \"equal\"\n[system]\nname = \"fixed\"\n" + more +
                     "\n[execution]\nschedule = \"gpipe\"\n[training]\ngradient_accumulation = 4\n";
  for (int i = 0; i < 4; ++i) toml += "[[fixed.stages]]\nforward = 1.0\nbackward = 2.0\n";
  auto parsed = parseConfiguration(toml, "equal.toml");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return std::move(parsed).value();
}

/// A folder of the test's own, which is removed at its end.
class SweepFixture : public testing::Test {
 protected:
  SweepFixture() {
    folder_ = std::filesystem::temp_directory_path() /
              ("pipescope_sweep_test_" + std::to_string(getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  ~SweepFixture() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

}  // namespace pipescope::app
