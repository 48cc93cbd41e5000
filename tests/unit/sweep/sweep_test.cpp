#include "app/run/sweep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "profiler/store/writer_lock.h"
#include "tests/unit/sweep/sweep_fixture.h"

namespace pipescope::app {
namespace {

using testing::HasSubstr;

class SweepTest : public SweepFixture {
 protected:
  static SweepRequest request(const std::vector<std::string>& vary, const std::string& output = "") {
    SweepRequest request;
    request.keys = parseAllVaried(configurationKeys(), vary).value();
    request.processes = 2;
    request.output = output;
    return request;
  }
  static SweepResult run(const SweepRequest& request,
                         const config::Configuration& configuration = equalStages()) {
    base::SilentProgress progress;
    auto result = sweep(configuration, request, progress);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return std::move(result).value();
  }
  static std::string refusal(const SweepRequest& request) {
    base::SilentProgress progress;
    const auto result = sweep(equalStages(), request, progress);
    EXPECT_FALSE(result.ok());
    return result.ok() ? "" : result.error().message;
  }
  static std::string content(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
};

/// Four equal stages with gpipe: a flush of 3 · (G + 3) units, of which 3 ÷ (G + 3) are bubble.
TEST_F(SweepTest, GivesTheTimesOfAPipeline) {
  const SweepResult result = run(request({"gradient_accumulation=1..8*2", "fixed.call=0,5"}));
  ASSERT_EQ(result.table.rows.size(), 8U);
  std::size_t i = 0;
  for (const double g : {1, 2, 4, 8}) {
    for (const double call : {0.0, 5.0}) {
      const SweepRow& row = result.table.rows[i++];
      ASSERT_EQ(row.error, "");
      EXPECT_DOUBLE_EQ(row.figures.number("step_time_us").value(), (3 * (g + 3) + call) * 1e6);
      EXPECT_NEAR(row.figures.number("bubble_fraction").value(), 3 / (g + 3), 1e-9);
      EXPECT_NEAR(row.figures.number("imbalance").value(), 1, 1e-12);
      EXPECT_EQ(row.figures.number("devices"), 4);
      for (const char* key : {"fits", "samples_per_second", "memory_bytes"})
        EXPECT_EQ(row.figures.of(key), figures::Cell()) << key;
    }
  }
}

TEST_F(SweepTest, KeepsCombinationsThatCannotRun) {
  const SweepResult result = run(request({"schedule=popart,gpipe"}));
  EXPECT_THAT(result.table.rows[0].error, HasSubstr("needs gradient_accumulation of at least 7"));
  EXPECT_FALSE(result.table.rows[0].fits());
  EXPECT_EQ(result.table.rows[1].error, "");
}

TEST_F(SweepTest, CompilesOnlyOnRequest) {
  SweepRequest only = request({"gradient_accumulation=4,8"});
  only.variant.compileOnly = true;
  const SweepResult result = run(only);
  EXPECT_FALSE(result.table.rows[0].figures.number("step_time_us"));
  EXPECT_EQ(result.table.rows[0].figures.number("devices"), 4);
}

TEST_F(SweepTest, GoesOnWhereATableEnds) {
  for (const char* name : {"t.csv", "t.json"}) {
    const std::string table = file(name);
    EXPECT_EQ(run(request({"gradient_accumulation=4,8"}, table)).resumed, 0);
    const std::string first = content(table);
    const SweepResult second = run(request({"gradient_accumulation=4,8"}, table));
    EXPECT_EQ(second.resumed, 2);
    EXPECT_EQ(content(table), first);
    EXPECT_DOUBLE_EQ(second.table.rows[1].figures.number("step_time_us").value(), 33e6);
    // More values: the two that are known are taken.
    const SweepResult more = run(request({"gradient_accumulation=8,16,4"}, table));
    EXPECT_EQ(more.resumed, 2);
    EXPECT_DOUBLE_EQ(more.table.rows[1].figures.number("step_time_us").value(), 57e6);
    // Another configuration: nothing is taken.
    EXPECT_EQ(
        run(request({"gradient_accumulation=8,16,4"}, table), equalStages("[fixed]\ncall = 1.0\n")).resumed,
        0);
    SweepRequest anew = request({"gradient_accumulation=4,8"}, table);
    anew.rules.overwrite = true;
    EXPECT_EQ(run(anew).resumed, 0);
  }
}

class CancelledAtOnce : public base::SilentProgress {
 public:
  bool cancelled() const override { return reports_ > 0; }
  void report(double, std::string_view) override { ++reports_; }

 private:
  int reports_ = 0;
};

TEST_F(SweepTest, KeepsWhatIsDoneWhenItIsStopped) {
  SweepRequest many = request({"gradient_accumulation=1..200"}, file("t.csv"));
  many.processes = 1;
  CancelledAtOnce progress;
  const SweepResult stopped = sweep(equalStages(), many, progress).value();
  EXPECT_TRUE(stopped.cancelled);
  many.processes = 2;
  const SweepResult rest = run(many);
  EXPECT_GE(rest.resumed, 1);
  EXPECT_LT(rest.resumed, 200);
  EXPECT_FALSE(rest.cancelled);
  for (std::size_t i = 0; i < 200; ++i)
    EXPECT_DOUBLE_EQ(rest.table.rows[i].figures.number("step_time_us").value(),
                     3e6 * (static_cast<double>(i) + 4));
}

/// The file of the profile of a combination, which a sweep without trouble writes.
std::string profileIn(const std::string& folder, const std::string& values) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(values)) return entry.path().string();
  }
  return "";
}

TEST_F(SweepTest, TroubleOfTheMachineIsNoResult) {
  SweepRequest both = request({"gradient_accumulation=4,8"}, file("t.csv"));
  both.profiles = file("profiles");
  run(both);
  const std::string second = profileIn(both.profiles, "gradient_accumulation=8");
  ASSERT_NE(second, "");
  // Another program writes the profile of the second combination.
  std::filesystem::remove(file("t.csv"));
  std::filesystem::remove(second);
  {
    const auto lock = store::WriterLock::acquire(second);
    ASSERT_TRUE(lock.ok());
    const SweepResult result = run(both);
    EXPECT_TRUE(result.table.rows[0].done);
    EXPECT_FALSE(result.table.rows[1].done);
    EXPECT_EQ(result.table.rows[1].error, "");
    EXPECT_THAT(result.table.rows[1].trouble, HasSubstr("is being written by another run"));
    EXPECT_EQ(content(file("t.csv")).find("another run"), std::string::npos);
  }
  const SweepResult again = run(both);
  EXPECT_EQ(again.resumed, 1);
  EXPECT_EQ(again.table.rows[1].trouble, "");
  EXPECT_DOUBLE_EQ(again.table.rows[1].figures.number("step_time_us").value(), 33e6);
}

TEST_F(SweepTest, AFullDiskIsNoResult) {
  SweepRequest both = request({"gradient_accumulation=4,8"});
  both.profiles = file("profiles");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{8192, before.rlim_max};  // less than any profile
  setrlimit(RLIMIT_FSIZE, &small);
  const SweepResult result = run(both);
  setrlimit(RLIMIT_FSIZE, &before);
  for (const SweepRow& row : result.table.rows) {
    EXPECT_FALSE(row.done);
    EXPECT_EQ(row.error, "");
    EXPECT_NE(row.trouble, "");
  }
  EXPECT_TRUE(std::filesystem::is_empty(both.profiles));
}

TEST_F(SweepTest, AFileInTheWayOfAProfileIsNoResult) {
  SweepRequest one = request({"gradient_accumulation=4"});
  one.profiles = file("profiles");
  run(one);
  const std::string profile = profileIn(one.profiles, "gradient_accumulation=4");
  std::ofstream(profile) << "somebody's notes";
  const SweepResult result = run(one);
  EXPECT_FALSE(result.table.rows[0].done);
  EXPECT_THAT(result.table.rows[0].trouble, HasSubstr("is left untouched"));
  EXPECT_EQ(content(profile), "somebody's notes");
}

TEST_F(SweepTest, TwoSweepsDoNotWriteOneTable) {
  const auto lock = store::WriterLock::acquire(file("t.csv"));
  ASSERT_TRUE(lock.ok());
  EXPECT_THAT(refusal(request({"epochs=1,2"}, file("t.csv"))), HasSubstr("is being written by another run"));
  EXPECT_FALSE(std::filesystem::exists(file("t.csv")));
}

TEST_F(SweepTest, RefusesWrongOutputs) {
  EXPECT_THAT(refusal(request({"epochs=1,2"}, file("t.txt"))), HasSubstr("must end with .csv or .json"));
  EXPECT_THAT(refusal(request({"epochs=1,2"}, "/nowhere/at/all.csv")),
              HasSubstr("/nowhere/at is not a folder"));
  std::ofstream(file("other.csv")) << "a,b\n1,2\n";
  EXPECT_THAT(refusal(request({"epochs=1,2"}, file("other.csv"))),
              HasSubstr("but not one of a sweep; it is left untouched"));
  EXPECT_EQ(content(file("other.csv")), "a,b\n1,2\n");
  std::ofstream(file("other.json")) << "{\"traceEvents\": []}\n";
  EXPECT_THAT(refusal(request({"epochs=1,2"}, file("other.json"))), HasSubstr("is not the table of a sweep"));
  std::ofstream(file("cut.json")) << "{\"sweep_of\": \"equal\", \"sweep\": [";
  EXPECT_THAT(refusal(request({"epochs=1,2"}, file("cut.json"))), HasSubstr("is damaged"));
}

}  // namespace
}  // namespace pipescope::app
