// Checks the borders of iterations, and the critical path within them, against times that are worked out by
// hand.
#include "profiler/analysis/iterations.h"

#include <gtest/gtest.h>

#include "profiler/analysis/pipeline/waits.h"

namespace pipescope::analysis {
namespace {

std::vector<model::Run> twoCalls() {
  std::vector<model::Run> runs(2);
  for (int i = 0; i < 2; ++i) {
    runs[static_cast<std::size_t>(i)].id = model::RunId(i);
    runs[static_cast<std::size_t>(i)].start = Ticks(1000 * i);
    runs[static_cast<std::size_t>(i)].end = Ticks(1000 * i + 900);
  }
  return runs;
}

std::vector<std::pair<std::int64_t, std::int64_t>> borders(const std::vector<IterationSpan>& spans) {
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (const IterationSpan& span : spans) found.emplace_back(span.start.count, span.end.count);
  return found;
}

using Borders = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST(Iterations, LastFromOneUpdatesEndToTheNext) {
  IterationEnds ends;
  // The update of iteration 0 ends at 400, that of iteration 1 at 850; the call goes on until 900.
  for (const auto& [iteration, end] : {std::pair(0, 100), {0, 400}, {1, 500}, {1, 850}, {0, 300}, {-1, 9999}})
    ends.add(model::RunId(0), iteration, Ticks(end));
  ends.add(model::RunId(1), 0, Ticks(1700));
  const auto spans = ends.spansOf(twoCalls());
  EXPECT_EQ(borders(spans), (Borders{{0, 400}, {400, 900}, {1000, 1900}}));
  EXPECT_DOUBLE_EQ(meanStepTime({spans[0], spans[1]}), 450);
  EXPECT_EQ(findIteration(spans, 1)->start, Ticks(400));
  EXPECT_EQ(findIteration(spans, 2), nullptr);
  EXPECT_EQ(meanStepTime({}), 0);
}

TEST(Iterations, TheMainOneIsTheFirstThatIsWhole) {
  const auto mainOf = [](const std::vector<std::pair<std::int64_t, std::int64_t>>& iterations) {
    std::vector<IterationSpan> spans;
    Ticks from;
    for (const auto& [length, placements] : iterations) {
      spans.push_back(
          {model::RunId(0), static_cast<std::int32_t>(spans.size()), from, from + Ticks(length), placements});
      from = spans.back().end;
    }
    return mainIteration(spans);
  };
  EXPECT_EQ(mainOf({}), 0U);
  EXPECT_EQ(mainOf({{5, 3}}), 0U) << "there is no other";
  EXPECT_EQ(mainOf({{100, 40}, {100, 40}, {101, 40}, {99, 40}}), 0U) << "as emulated";
  EXPECT_EQ(mainOf({{2, 1}, {76, 1}, {77, 1}, {76, 1}, {78, 1}, {81, 1}}), 1U)
      << "a recording that begins with a weight update";
  EXPECT_EQ(mainOf({{40, 9}, {60, 9}, {100, 9}, {130, 9}}), 0U) << "the lower median of four is 60";
  EXPECT_EQ(mainOf({{29, 9}, {60, 9}, {100, 9}, {130, 9}}), 1U) << "less than half of it";
  EXPECT_EQ(mainOf({{30, 9}, {60, 9}, {100, 9}, {130, 9}}), 0U) << "just half of it";
  EXPECT_EQ(mainOf({{50, 18}, {50, 20}, {50, 20}}), 0U) << "a tenth fewer placements";
  EXPECT_EQ(mainOf({{50, 17}, {50, 20}, {50, 20}}), 1U);
  EXPECT_EQ(mainOf({{60, 20}, {100, 40}, {100, 40}, {100, 40}}), 1U) << "one that begins within a step";
  EXPECT_EQ(mainOf({{70, 16}, {100, 16}, {100, 16}}), 0U) << "one step took less time";
  EXPECT_EQ(mainOf({{300, 16}, {100, 16}, {100, 16}}), 0U) << "a slow first step is whole, too";
  EXPECT_EQ(mainOf({{100, 1}, {10, 20}, {100, 20}}), 2U) << "neither of the first two is whole";
}

TEST(Iterations, APartOfTheCallDoesNotReachItsEnd) {
  IterationEnds ends;
  ends.add(model::RunId(0), 0, Ticks(400));
  ends.add(model::RunId(0), 1, Ticks(600));
  EXPECT_EQ(borders(ends.spansOf({twoCalls()[0]}, 3)), (Borders{{0, 400}, {400, 600}}));
}

TEST(Iterations, OfARecordedRunReachFromTheirFirstPlacementToTheLast) {
  IterationEnds ends;
  for (const auto& [iteration, start, end] :
       {std::tuple(0, 120, 400), {0, 100, 200}, {1, 410, 600}, {-1, 5, 880}}) {
    ends.add(model::RunId(0), iteration, Ticks(end));
    ends.addStart(model::RunId(0), iteration, Ticks(start));
  }
  EXPECT_EQ(borders(ends.spansOf({twoCalls()[0]})), (Borders{{100, 400}, {400, 600}}))
      << "of a call from 0 to 900";
}

TEST(Iterations, EndsOutsideTheirCallAreCutOff) {
  IterationEnds ends;
  ends.add(model::RunId(0), 0, Ticks(-50));
  ends.add(model::RunId(0), 1, Ticks(2000));
  EXPECT_EQ(borders(ends.spansOf({twoCalls()[0]})), (Borders{{0, 0}, {0, 900}}));
}

TEST(PathSums, CountOnlyWhatLiesInTheStretch) {
  using Kind = CriticalLink::Kind;
  const auto link = [](Kind kind, model::Pass pass, std::int64_t start, std::int64_t end) {
    CriticalLink made;
    made.kind = kind;
    made.pass = pass;
    made.start = Ticks(start);
    made.end = Ticks(end);
    return made;
  };
  const std::vector<CriticalLink> path = {link(Kind::call, model::Pass::forward, 0, 10),
                                          link(Kind::placement, model::Pass::hostIn, 10, 15),
                                          link(Kind::placement, model::Pass::forward, 15, 40),
                                          link(Kind::transfer, model::Pass::forward, 40, 47),
                                          link(Kind::placement, model::Pass::sync, 47, 48),
                                          link(Kind::placement, model::Pass::backward, 48, 80),
                                          link(Kind::placement, model::Pass::collective, 80, 84),
                                          link(Kind::placement, model::Pass::remote, 84, 86),
                                          link(Kind::placement, model::Pass::update, 86, 100)};
  const PathSums all = pathSums(path, Ticks(0), Ticks(100));
  EXPECT_EQ(all.host, Ticks(15));
  EXPECT_EQ(all.compute, Ticks(25 + 32));
  EXPECT_EQ(all.exchange, Ticks(7 + 1 + 4));
  EXPECT_EQ(all.memory, Ticks(2));
  EXPECT_EQ(all.update, Ticks(14));
  EXPECT_EQ(all.total(), Ticks(100));
  const PathSums part = pathSums(path, Ticks(30), Ticks(50));
  EXPECT_EQ(part.compute, Ticks(10 + 2));
  EXPECT_EQ(part.exchange, Ticks(8));
  EXPECT_EQ(part.total(), Ticks(20));
}

}  // namespace
}  // namespace pipescope::analysis
