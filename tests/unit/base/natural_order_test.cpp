#include "profiler/base/natural_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace pipescope::base {
namespace {

TEST(NaturalOrder, ComparesNumbersByValue) {
  const std::vector<std::string> ordered = {"",
                                            "2",
                                            "10",
                                            "layer",
                                            "layer/x",
                                            "layer01",
                                            "layer1",
                                            "layer1/b2",
                                            "layer1/b10",
                                            "layer1b",
                                            "layer2",
                                            "layer10",
                                            "layer10/a",
                                            "layer99999999999999999999",
                                            "layer100000000000000000000",
                                            "layers",
                                            "m\xC3\xA4"};
  for (std::size_t i = 0; i < ordered.size(); ++i)
    for (std::size_t j = 0; j < ordered.size(); ++j)
      EXPECT_EQ(NaturalLess()(ordered[i], ordered[j]), i < j) << ordered[i] << " and " << ordered[j];
}

}  // namespace
}  // namespace pipescope::base
