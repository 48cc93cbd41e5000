// The names of Work's functions, which profiles record.
#include "engine/ops/core/functions.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace pipescope::ops {
namespace {

TEST(Functions, HaveTheNamesThatProfilesRecord) {
  EXPECT_STREQ(toString(MapFunction::abs), "abs");
  EXPECT_STREQ(toString(MapFunction::adamStep), "adam_step");
  EXPECT_STREQ(toString(MapFunction::logicalNot), "not");
  EXPECT_STREQ(toString(MapFunction::thresholdedReluGradient), "thresholded_relu_gradient");
  EXPECT_STREQ(toString(ReduceFunction::squareSum), "square_sum");
  EXPECT_STREQ(toString(ReduceFunction::argmin), "argmin");
  EXPECT_STREQ(toString(PoolFunction::average), "average");
}

TEST(Functions, EveryNameIsOfOneFunctionAndInSnakeCase) {
  std::set<std::string> names;
  for (const MapFunction function : allMapFunctions()) {
    const std::string name = toString(function);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos) << name;
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(MapFunction::thresholdedReluGradient) + 1);
}

}  // namespace
}  // namespace pipescope::ops
