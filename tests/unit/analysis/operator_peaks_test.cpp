// Reads the list of operators by peak, also where it is damaged.
#include "profiler/analysis/model/operator_peaks.h"

#include <gtest/gtest.h>

namespace pipescope::analysis {
namespace {

OperatorPeaks peaksOf(const std::string& text) {
  Catalog catalog;
  catalog.properties.push_back({"operator_peaks.1", text});
  return {catalog, model::ExecutableId(1)};
}

TEST(OperatorPeaks, OperatorsHaveThePeakOfTheirList) {
  const OperatorPeaks peaks = peaksOf("4e+14:0-3,7;8e+14:4-6,9");
  EXPECT_EQ(peaks.highest(), 8e14);
  const double expected[] = {4e14, 4e14, 4e14, 4e14, 8e14, 8e14, 8e14, 4e14, 0, 8e14, 0};
  for (std::int64_t op = 0; op < 11; ++op) EXPECT_EQ(peaks.of(model::OperatorId(op)), expected[op]) << op;
  EXPECT_EQ(peaks.of(model::OperatorId()), 0);
}

TEST(OperatorPeaks, WhatIsDamagedIsLeftOut) {
  EXPECT_EQ(peaksOf("").highest(), 0);
  for (const char* text : {"x:0-3", "inf:0-3", "-1:0-3", "0:0-3", "4e14", "4e14:", "4e14:x", "4e14:3-0",
                           "4e14:0-99999999999999999999", ";;:;,-"}) {
    const OperatorPeaks peaks = peaksOf(text);
    EXPECT_EQ(peaks.of(model::OperatorId(0)), 0) << text;
    EXPECT_EQ(peaks.highest(), 0) << text;
  }
  EXPECT_EQ(peaksOf("x:1;2:x,5,9-8;").of(model::OperatorId(5)), 2);
}

}  // namespace
}  // namespace pipescope::analysis
