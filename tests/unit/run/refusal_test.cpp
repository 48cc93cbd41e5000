// Tests the refusals of a run before it writes anything, and that everything then stays as it was.
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "engine/data/npy_file.h"
#include "run_fixture.h"

namespace pipescope::app {
namespace {

namespace fs = std::filesystem;
using Changes = std::map<std::string, std::string>;

class RefusalTest : public RunFixture {
 protected:
  void SetUp() override {
    fs::remove_all(place());
    fs::create_directories(place());
  }

  static fs::path place() { return folder() / "outputs"; }
  static std::string output() { return (place() / "profile.pop").string(); }
  static std::string contentOf(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  static void put(const fs::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
  }
  static std::vector<std::string> files() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(place())) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  static base::Result<RunResult> runThere(const Changes& changes, base::OutputRules rules = {}) {
    base::SilentProgress progress;
    return runConfiguration(sample("pipelined", changes), {output(), "test", std::move(rules)}, progress);
  }
  static std::string refusalThere(const Changes& changes, base::OutputRules rules = {}) {
    const auto result = runThere(changes, std::move(rules));
    return result.ok() ? "" : result.error().message;
  }
  static void writeArrays(const fs::path& folder, std::int64_t labels) {
    fs::create_directories(folder);
    for (const char* split : {"train", "test"}) {
      const std::vector<float> samples(800 * 784);
      const std::vector<std::int64_t> classes(static_cast<std::size_t>(800 * labels));
      const std::vector<data::NpzMember> members = {
          {"samples", {graph::ElementType::float32, {800, 1, 28, 28}}, std::as_bytes(std::span(samples))},
          {"labels", {graph::ElementType::int64, {800, labels}}, std::as_bytes(std::span(classes))}};
      ASSERT_TRUE(data::writeNpz(folder / (std::string(split) + ".npz"), members).ok());
    }
  }
};

/// Everything that configuration, model and data tell, each with the beginning of its sentence.
TEST_F(RefusalTest, LeavesAnOlderProfileAndNoOtherFile) {
  ASSERT_TRUE(runThere({{"execution.numerics", "false"}}).ok());
  const std::string older = contentOf(output());
  fs::create_directories(folder() / "empty");
  writeArrays(folder() / "two_labels", 2);
  put(folder() / "letter.npz", "a letter");
  ASSERT_TRUE(data::writeNpz(folder() / "other.npz", {}).ok());
  const auto at = [](const char* name) { return (folder() / name).string(); };
  const std::pair<Changes, const char*> cases[] = {
      {{{"training.replication_factor", "16"}}, "16 replicas of 4 devices use 64, but system pod4 has 4"},
      {{{"data.samples", "5"}}, "One training call takes 800 samples"},
      {{{"data.samples", "5"}, {"execution.numerics", "false"}}, "One training call takes 800 samples"},
      {{{"data.test_samples", "5"}}, "One inference call takes 80 samples"},
      {{{"data.test_samples", "5"}, {"execution.numerics", "false"}}, "One inference call takes 80 samples"},
      {{{"data.test_samples", "5"}, {"execution.mode", "inference"}}, "One inference call takes 80 samples"},
      {{{"data.samples", "99999"}}, "data.samples asks for 99,999 samples"},
      {{{"data.instances", "5"}}, "One training call takes 800 samples"},
      {{{"data.directory", at("empty")}}, "no training images in"},
      {{{"data.directory", at("empty")}, {"execution.mode", "inference"}}, "no test images in"},
      {{{"data.directory", at("nowhere")}}, ""},
      {{{"data.directory", at("two_labels")}, {"data.dataset", "numpy"}, {"model.input", "[1, 28, 28]"}},
       "The model takes labels of int32"},
      {{{"execution.load_weights", at("nowhere.npz")}}, ""},
      {{{"execution.load_weights", at("letter.npz")}}, ""},
      {{{"execution.load_weights", at("other.npz")}}, ""},
      {{{"execution.load_weights", at("other.npz")}, {"execution.mode", "inference"}}, ""},
      {{{"training.lr_schedule", "multi_step"}, {"training.lr_milestones", "[5, 3]"}}, "ascending"},
      {{{"execution.metrics", at("nowhere/m")}}, ""},
      {{{"execution.metrics", at("letter.npz")}}, ""},
      {{{"execution.save_weights", at("nowhere/w.npz")}}, ""},
      {{{"execution.save_weights", at("letter.npz")}}, ""}};
  for (const auto& [changes, sentence] : cases) {
    std::string shown;
    for (const auto& [key, value] : changes) shown += key + " = " + value + " ";
    SCOPED_TRACE(shown);
    const std::string said = refusalThere(changes);
    EXPECT_FALSE(said.empty());
    EXPECT_THAT(said, testing::HasSubstr(sentence));
    EXPECT_EQ(files(), std::vector<std::string>{"profile.pop"});
    EXPECT_TRUE(contentOf(output()) == older);
  }
  EXPECT_EQ(contentOf(folder() / "letter.npz"), "a letter");
}

TEST_F(RefusalTest, WithoutAnOlderProfileItLeavesNothing) {
  EXPECT_NE(refusalThere({{"data.samples", "5"}}), "");
  EXPECT_NE(refusalThere({{"data.test_samples", "5"}}), "");
  EXPECT_EQ(files(), std::vector<std::string>());
}

TEST_F(RefusalTest, NeverReplacesAnInput) {
  const std::string weights = (place() / "w.npz").string();
  ASSERT_TRUE(runThere({{"execution.save_weights", weights}, {"execution.mode", "training"}}).ok());
  const std::string older = contentOf(weights);
  for (const bool overwrite : {false, true}) {
    EXPECT_EQ(refusalThere({{"execution.save_weights", weights}, {"execution.load_weights", weights}},
                           {{}, overwrite}),
              weights +
                  " is an input of the same command; it is left untouched. Choose another name for what "
                  "is written.");
    EXPECT_THAT(refusalThere({{"execution.metrics", weights}}, {{weights}, overwrite}),
                testing::HasSubstr("is an input of the same command"));
  }
  EXPECT_TRUE(contentOf(weights) == older);
  writeArrays(place() / "arrays", 1);
  EXPECT_THAT(refusalThere({{"data.directory", (place() / "arrays").string()},
                            {"data.dataset", "numpy"},
                            {"model.input", "[1, 28, 28]"},
                            {"execution.save_weights", (place() / "arrays/train.npz").string()}}),
              testing::HasSubstr("train.npz is an input of the same command"));
}

TEST_F(RefusalTest, TwoOutputsAreNotOneFile) {
  EXPECT_EQ(refusalThere({{"execution.metrics", output()}}),
            "The profile and execution.metrics are the same file, " + output() + ": choose two names.");
  EXPECT_THAT(refusalThere({{"execution.metrics", (place() / "./w.npz").string()},
                            {"execution.save_weights", (place() / "w.npz").string()}}),
              testing::HasSubstr("execution.metrics and execution.save_weights are the same file"));
  for (const char* ending : {".part", "-journal", "-wal", ".part-journal"}) {
    EXPECT_THAT(refusalThere({{"execution.metrics", output() + ending}}),
                testing::HasSubstr(" are the same file, " + output() + ending))
        << ending;
  }
  EXPECT_EQ(files(), std::vector<std::string>());
}

TEST_F(RefusalTest, MetricsReplaceOlderMetricsWhenTheFirstLineComes) {
  const fs::path metrics = place() / "metrics.jsonl";
  put(metrics, "{\"kind\":\"training\",\"epoch\":1}\n");
  EXPECT_NE(refusalThere({{"execution.metrics", metrics.string()}, {"data.samples", "5"}}), "");
  EXPECT_EQ(contentOf(metrics), "{\"kind\":\"training\",\"epoch\":1}\n");
  ASSERT_TRUE(runThere({{"execution.metrics", metrics.string()}, {"execution.mode", "training"}}).ok());
  const std::string lines = contentOf(metrics);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3);
  EXPECT_EQ(files(), (std::vector<std::string>{"metrics.jsonl", "profile.pop"}));
}

TEST_F(RefusalTest, ARunThatIsStoppedBeforeItsFirstCallKeepsTheOlderProfile) {
  ASSERT_TRUE(runThere({{"execution.numerics", "false"}}).ok());
  const std::string older = contentOf(output());
  /// Asks the run to stop from the beginning.
  class Now : public base::SilentProgress {
   public:
    bool cancelled() const override { return true; }
  };
  Now now;
  const auto result =
      runConfiguration(sample("pipelined", {{"execution.numerics", "false"}}), {output(), "test"}, now);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->cancelled);
  EXPECT_FALSE(result->written);
  EXPECT_TRUE(contentOf(output()) == older);
  EXPECT_EQ(files(), std::vector<std::string>{"profile.pop"});
  fs::remove(output());
  const auto first =
      runConfiguration(sample("pipelined", {{"execution.numerics", "false"}}), {output(), "test"}, now);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(first->written) << "without an older profile, the profile so far is kept";
  EXPECT_EQ(files(), std::vector<std::string>{"profile.pop"});
}

}  // namespace
}  // namespace pipescope::app
