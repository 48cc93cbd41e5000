// Tests who arrives last at collectives, in made data-parallel jobs in which one rank is late by 200 ms in
// every step. The sum of gradients ends on all ranks at once, so that their steps look equally long.
#include "profiler/analysis/pipeline/recorded/late_arrivals.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "tests/unit/analysis/imported_trace.h"

namespace pipescope::analysis {
namespace {

/// The reason why the rank is late: longer passes, or a host that gives it data late.
enum class Late { passes, host };

constexpr int kSteps = 5, kMicroBatches = 4;
constexpr double kLateUs = 200'000, kPassUs = 40'000, kSumUs = 25'000;

std::string event(int rank, const std::string& category, const std::string& queue, double start,
                  double length, int step, int microBatch) {
  return R"({"ph":"X","cat":")" + category + R"(","name":")" + category + R"(","pid":)" +
         std::to_string(rank) + R"(,"tid":"PP rank 0, TP rank 0, )" + queue + R"(","ts":)" +
         std::to_string(start) + R"(,"dur":)" + std::to_string(length) + R"(,"args":{"step":)" +
         std::to_string(step) + R"(,"mb_id":)" + std::to_string(microBatch) + "}},";
}

/// A Megatron-style timeline of data-parallel ranks. Each pass varies by 1 %.
std::string jobWith(int ranks, int lateRank, Late late, std::mt19937& random) {
  std::uniform_real_distribution<double> vary(0.99, 1.01);
  std::string events = "[";
  double begin = 1e6;
  for (int rank = 0; rank < ranks; ++rank)
    events += R"({"ph":"M","pid":)" + std::to_string(rank) +
              R"(,"name":"process_name","args":{"name":"DP rank [)" + std::to_string(rank) + R"(]"}},)";
  for (int step = 0; step < kSteps; ++step) {
    std::vector<double> ready;
    for (int rank = 0; rank < ranks; ++rank) {
      const bool isLate = rank == lateRank;
      double now = begin + (isLate && late == Late::host ? kLateUs : 0);
      const double more = isLate && late == Late::passes ? kLateUs / (2 * kMicroBatches) : 0;
      for (const char* pass : {"forward-compute", "backward-compute"})
        for (int m = 0; m < kMicroBatches; ++m) {
          const double length = kPassUs * vary(random) + more;
          events += event(rank, pass, "compute", now, length, step, m);
          now += length + 5;
        }
      ready.push_back(now);
    }
    const double end = *std::ranges::max_element(ready) + kSumUs;
    for (int rank = 0; rank < ranks; ++rank)
      events += event(rank, "grads-all-reduce", "gradients", ready[static_cast<std::size_t>(rank)],
                      end - ready[static_cast<std::size_t>(rank)], step, 0) +
                event(rank, "optimizer", "compute", end + 5, 3000, step, 0);
    begin = end + 4000;
  }
  events.back() = ']';
  return events;
}

TEST(LateArrivals, FindTheCulpritOfTwentyJobs) {
  std::mt19937 random(7);
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "late_rank.json";
  for (int job = 0; job < 20; ++job) {
    const int ranks = 2 + static_cast<int>(random() % 7),
              culprit = static_cast<int>(random() % static_cast<unsigned>(ranks));
    const Late late = job % 2 == 0 ? Late::passes : Late::host;
    std::ofstream(file) << jobWith(ranks, culprit, late, random);
    const ImportedTrace trace(file);
    const sections::Section section = trace.section("stragglers");
    const auto fact = [&](const char* key) {
      return std::ranges::find(section.facts, key, &sections::Fact::key)->value;
    };
    EXPECT_EQ(fact("last_to_arrive"),
              sections::Cell("DP rank [" + std::to_string(culprit) + "], PP rank 0, TP rank 0"))
        << "job " << job << " of " << ranks << " ranks";
    const auto arrivals = std::ranges::find(section.tables, "arrivals", &sections::SectionTable::key);
    ASSERT_FALSE(arrivals->rows.empty());
    EXPECT_EQ(arrivals->rows[0][2], sections::Cell(std::int64_t{ranks - 1}));
    const double waited = std::get<double>(arrivals->rows[0][3]) / kTicksPerUs;
    EXPECT_NEAR(waited, kLateUs, 0.08 * kLateUs) << "passes vary by 1 %, and the device sums for 25 ms, too";
  }
  std::filesystem::remove(file);
}

TEST(LateArrivals, NobodyIsNamedWhereAllArriveTogether) {
  std::mt19937 random(11);
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "even_ranks.json";
  std::ofstream(file) << jobWith(6, -1, Late::passes, random);
  const sections::Section section = ImportedTrace(file).section("stragglers");
  EXPECT_EQ(std::ranges::find(section.facts, "last_to_arrive", &sections::Fact::key)->value,
            sections::Cell());
  std::filesystem::remove(file);
}

TEST(LateArrivals, CountOnlyWaitsForOthersAtCollectives) {
  const auto group = [](int device, int other, model::WaitCause cause, double share) {
    WaitGroup made;
    made.device = model::DeviceId(device);
    made.waitedForDevice = model::DeviceId(other);
    made.cause = cause;
    made.share = share;
    made.ticksPerIteration = 1000 * share;
    return made;
  };
  using Cause = model::WaitCause;
  const std::vector<LateArrival> found =
      lateArrivals({group(0, 2, Cause::collective, 0.3), group(1, 2, Cause::collective, 0.1),
                    group(0, 1, Cause::collective, 0.05), group(2, 2, Cause::collective, 0.4),
                    group(3, 2, Cause::slowerStage, 0.5)});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].device, model::DeviceId(2));
  EXPECT_EQ(found[0].waiting, 2);
  EXPECT_DOUBLE_EQ(found[0].share, 0.2);
  EXPECT_DOUBLE_EQ(found[0].ticksPerIteration, 200);
  EXPECT_EQ(lastToArrive(found), &found[0]);
  EXPECT_EQ(lastToArrive({}), nullptr);
  EXPECT_EQ(lastToArrive({{model::DeviceId(0), 1, 10, 0.03},
                          {model::DeviceId(1), 1, 9, 0.029},
                          {model::DeviceId(2), 1, 9, 0.028}}),
            nullptr)
      << "none of them makes up most of the waits";
}

}  // namespace
}  // namespace pipescope::analysis
