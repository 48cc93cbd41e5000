// Reads a trace that is parsed in several rounds.
#include <functional>
#include <thread>

#include "tests/unit/import/import_fixture.h"

namespace pipescope::importing {
namespace {

/// Runs what comes first last, on two threads.
class BackwardThreads : public base::Executor {
 public:
  std::size_t threads() const override { return 2; }
  void parallelFor(std::size_t count, const std::function<void(std::size_t)>& body) override {
    std::thread other([&] {
      for (std::size_t i = count; i-- > 0;)
        if (i % 2 == 1) body(i);
    });
    for (std::size_t i = count; i-- > 0;)
      if (i % 2 == 0) body(i);
    other.join();
  }
};

class TraceRounds : public ImportFixture {};

TEST_F(TraceRounds, DoNotDependOnTheNumberOfThreads) {
  // The text is longer than what is parsed at a time. Names, processes and texts of arguments first occur
  // all over it, names of threads are stated late, and every 5,000th event is damaged.
  constexpr int kEvents = 60'000;
  std::string text = R"([{"ph":"M","name":"process_name","pid":"p0","args":{"name":"first"}})";
  for (int i = 0; i < kEvents; ++i) {
    const std::string number = std::to_string(i), process = "p" + std::to_string(i / 20'000);
    text += R"(,{"ph":"X","pid":")" + process + R"(","tid":)" + std::to_string(i % 3) + R"(,"name":"work )" +
            std::to_string(i / 50 % 997) + R"(","cat":"c)" + std::to_string(i / 30'000) + R"(","ts":)" +
            std::to_string(1'700'000'000'000'000 + 10 * i) + R"(.25,"dur":9,"args":{"Collective name":"op )" +
            std::to_string(i / 7) + R"(","External id":)" + number + "}";
    text += i % 5'000 == 4'999 ? R"(,"cat":"\u12"})" : "}";
  }
  text += R"(,{"ph":"M","name":"thread_name","pid":"p1","tid":2,"args":{"name":"late"}}])";
  ImportRequest request;
  request.paths = {write("long.json", text)};
  const auto alone = import(request);
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(alone->slices, kEvents);
  const auto slicesAlone = slices();
  const auto countOf = [&](const std::string& lane) {
    return std::count_if(slicesAlone.begin(), slicesAlone.end(),
                         [&](const std::string& slice) { return slice.starts_with(lane + ": "); });
  };
  EXPECT_EQ(countOf("late"), 6'667);
  const auto lanesAlone = rows<model::Lane>();
  const auto namesAlone = rows<model::DebugContext>();
  BackwardThreads threads;
  request.executor = &threads;
  const auto together = import(request);
  ASSERT_TRUE(together.ok());
  EXPECT_EQ(slices(), slicesAlone);
  EXPECT_EQ(together->findings, alone->findings);
  const auto lanes = rows<model::Lane>();
  ASSERT_EQ(lanes.size(), lanesAlone.size());
  for (std::size_t i = 0; i < lanes.size(); ++i) EXPECT_EQ(lanes[i].name, lanesAlone[i].name);
  const auto names = rows<model::DebugContext>();
  ASSERT_EQ(names.size(), namesAlone.size());
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(names[i].name, namesAlone[i].name);
}

}  // namespace
}  // namespace pipescope::importing
