#pragma once
// A fixture for small runs of the MNIST sample. It generates a few thousand digits in a temporary folder.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "app/run/execute/run.h"
#include "app/run/request/configuration_keys.h"
#include "engine/data/digits/digit_set.h"
#include "profiler/analysis/catalog.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::app {

class RunFixture : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder() = std::filesystem::temp_directory_path() / ("pipescope_run_test_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder() / "digits");
    base::SilentProgress progress;
    base::SerialExecutor executor;
    const base::Status made = data::writeDigitSet(folder() / "digits", {7, 2400, 400}, progress, executor);
    ASSERT_TRUE(made.ok()) << made.error().message;
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder()); }
  static std::filesystem::path& folder() {
    static std::filesystem::path path;
    return path;
  }
  static std::string profile() { return (folder() / "profile.pop").string(); }

  /// A sample's configuration on the small data. A training call reads 800 rows, an inference call 80.
  static config::Configuration sample(const std::string& name,
                                      const std::map<std::string, std::string>& changes = {}) {
    auto read =
        app::readConfiguration(std::string(PIPESCOPE_SOURCE_DIR) + "/samples/mnist/" + name + ".toml");
    EXPECT_TRUE(read.ok()) << read.error().message;
    config::Configuration configuration = std::move(read).value();
    std::map<std::string, std::string> all = {{"data.directory", (folder() / "digits").string()},
                                              {"training.device_iterations", "2"},
                                              {"inference.device_iterations", "10"},
                                              {"training.epochs", "1"}};
    for (const auto& [key, value] : changes) all[key] = value;
    for (const auto& [key, value] : all) {
      const base::Status set = configuration.setText(key, value, config::Origin::flag);
      EXPECT_TRUE(set.ok()) << set.error().message;
    }
    return configuration;
  }

  static base::Result<RunResult> run(const config::Configuration& configuration,
                                     base::Progress* progress = nullptr) {
    base::SilentProgress silent;
    std::filesystem::remove(profile());
    return runConfiguration(configuration, {profile(), "test"}, progress ? *progress : silent);
  }

  static std::string refusal(const config::Configuration& configuration) {
    const auto result = run(configuration);
    return result.ok() ? "" : result.error().message;
  }

  struct Read {
    std::shared_ptr<model::ProfileSource> source;
    std::shared_ptr<const analysis::Catalog> catalog;
  };
  static Read read() {
    auto opened = store::ProfileReader::open(profile());
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    auto catalog = analysis::loadCatalog(**opened);
    EXPECT_TRUE(catalog.ok()) << catalog.error().message;
    return {*opened, *catalog};
  }

  /// Values of a counter, one for each call.
  static std::vector<double> counter(const Read& profile, const std::string& name) {
    const auto counters = profile.source->rows<model::Counter>();
    const auto samples = profile.source->rows<model::CounterSample>();
    EXPECT_TRUE(counters.ok() && samples.ok());
    std::vector<double> values;
    for (const model::CounterSample& sample : **samples) {
      if ((**counters)[static_cast<std::size_t>(sample.counter.value)].name == name)
        values.push_back(sample.value);
    }
    return values;
  }
};

}  // namespace pipescope::app
