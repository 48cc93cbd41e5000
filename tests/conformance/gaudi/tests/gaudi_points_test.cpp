// The published points, each within its tolerance; and what the table's reader refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "tests/conformance/gaudi/point.h"

namespace pipescope::conformance {
namespace {

void expectWithin(const std::string& workload) {
  const auto points = readPoints(PIPESCOPE_GAUDI_POINTS);
  ASSERT_TRUE(points.ok()) << points.error().message;
  int judged = 0;
  for (const Point& point : *points) {
    if (point.workload != workload || point.tolerance <= 0) continue;
    const auto ours = emulate(point);
    ASSERT_TRUE(ours.ok()) << point.device << " " << point.source << ": " << ours.error().message;
    const double error = *ours / point.measured - 1;
    std::printf("%-8s %d  %-44s %10.4g measured %10.4g  error %+.1f %%\n", point.device.c_str(), point.cards,
                point.source.c_str(), *ours, point.measured, 100 * error);
    EXPECT_LE(std::abs(error), point.tolerance) << point.device << " " << point.source;
    ++judged;
  }
  EXPECT_GT(judged, 0);
}

TEST(GaudiPoints, MatrixProducts) {
  expectWithin("gemm");
}
TEST(GaudiPoints, AllReduce) {
  expectWithin("all_reduce");
}
TEST(GaudiPoints, Decoding) {
  expectWithin("decode");
}
TEST(GaudiPoints, Training) {
  expectWithin("train");
}
TEST(GaudiPoints, Scaling) {
  expectWithin("scaling");
}

std::string refusal(const std::string& rows) {
  const auto points = parsePoints("device,cards,workload,parameters,measured\n" + rows, "points.csv");
  if (!points.ok()) return points.error().message;
  const auto value = emulate(points->front());
  return value.ok() ? "" : value.error().message;
}

TEST(GaudiPoints, RefusesWhatItCannotRead) {
  EXPECT_EQ(parsePoints("", "points.csv").error().message,
            "points.csv: no line with the names of the columns.");
  EXPECT_EQ(parsePoints("device,cards\n", "points.csv").error().message,
            "points.csv, line 1: there is no column \"workload\".");
  EXPECT_EQ(refusal("gaudi2,1\n"), "points.csv, line 2: 2 fields, but there are 5 columns.");
  EXPECT_EQ(refusal("gaudi2,many,gemm,m=1,1\n"),
            "points.csv, line 2: \"many\" is not a number for column cards.");
  EXPECT_EQ(refusal("gaudi2,0.5,gemm,m=1,1\n"),
            "points.csv, line 2: 0.5 cards; give a whole number from 1 to 4096.");
  EXPECT_EQ(refusal("gaudi2,1,gemm,m=1,0\n"), "points.csv, line 2: measured must be above 0.");
  EXPECT_EQ(refusal("gaudi2,1,gemm,m,1\n"), "points.csv, line 2: \"m\" is not key=value.");
  EXPECT_EQ(refusal("gaudi2,1,gemm,m=1,1\n"), "A gemm point needs the parameter n.");
  EXPECT_EQ(refusal("gaudi2,1,gemm,m=0,1\n"), "m is \"0\", but must be a whole number from 1 on.");
  EXPECT_EQ(refusal("gaudi2,1,gemm,m=1 n=1 k=1 type=int4,1\n"),
            "type is \"int4\"; it may be float32, float16 or bfloat16.");
  EXPECT_EQ(refusal("gaudi2,1,train,colour=red,1\n"), "There is no configuration key \"colour\".");
  EXPECT_EQ(refusal("gaudi2,1,guess,m=1,1\n"),
            "The workload \"guess\" is not known; there are gemm, all_reduce, train, decode and scaling.");
  EXPECT_EQ(readPoints("/no/such/file.csv").error().message,
            "Cannot read /no/such/file.csv; check that it is a readable, non-empty file.");
}

}  // namespace
}  // namespace pipescope::conformance
