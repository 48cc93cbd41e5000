// Operators of mixtures of experts, compared with the loops of their definitions.
#include <gmock/gmock.h>

#include <algorithm>

#include "op_runner.h"

namespace pipescope::ops_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Value chosenExperts(Shape shape, std::vector<double> experts) {
  return labels(std::move(shape), std::move(experts));
}

TEST(ExpertDispatch, LaysRowsOutByExpert) {
  // Tokens 0 … 3 with rows (0, 1), (2, 3) …; each chooses two of three experts.
  const Value x{{4, 2}, {0, 1, 2, 3, 4, 5, 6, 7}};
  const Value choices = chosenExperts({4, 2}, {1, 0, 2, 1, 1, 2, 0, 2});
  const auto all = compute("ExpertDispatch", {x, choices}, {{"experts", std::int64_t{3}}}, 4);
  ASSERT_TRUE(all.ok()) << all.error().message;
  // Expert 0: first choice of token 3, second of 0. Expert 1: first of 0 and 2, second of 1.
  EXPECT_THAT((*all)[0].data, ElementsAre(6, 7, 0, 1, 0, 1, 4, 5, 2, 3, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT((*all)[1].data, ElementsAre(2, 3, 3));
  EXPECT_THAT((*all)[2].data, ElementsAre(2, 1, 5, 4, 3, 6, 0, 7));
  EXPECT_THAT((*all)[3].data, ElementsAre(2, 3, 3));
  // With room for two rows, the second choice of token 1 (expert 1) and of token 3 (expert 2) are dropped.
  const auto few = compute("ExpertDispatch", {x, choices},
                           {{"experts", std::int64_t{3}}, {"capacity", std::int64_t{2}}}, 4);
  ASSERT_TRUE(few.ok()) << few.error().message;
  EXPECT_THAT((*few)[0].data, ElementsAre(6, 7, 0, 1, 0, 1, 4, 5, 2, 3, 4, 5));
  EXPECT_THAT((*few)[1].data, ElementsAre(2, 2, 2));
  EXPECT_THAT((*few)[2].data, ElementsAre(2, 1, 4, -1, 3, 5, 0, -1));
  EXPECT_THAT((*few)[3].data, ElementsAre(2, 3, 3));
  // A capacity that one expert does not use leaves slots empty.
  const auto uneven = compute("ExpertDispatch", {x, chosenExperts({4, 1}, {2, 2, 2, 0})},
                              {{"experts", std::int64_t{3}}, {"capacity", std::int64_t{1}}}, 4);
  ASSERT_TRUE(uneven.ok()) << uneven.error().message;
  EXPECT_THAT((*uneven)[0].data, ElementsAre(6, 7, 0, 1, 0, 0)) << "three slots, of which two are used";
}

TEST(ExpertDispatch, SaysWhatItCannotTake) {
  const Value x = noise({2, 3}, 1);
  const Attributes three{{"experts", std::int64_t{3}}};
  EXPECT_THAT(refusal("ExpertDispatch", {x, chosenExperts({2, 1}, {0, 3})}, three, 4),
              HasSubstr("index 3 is outside"));
  EXPECT_THAT(refusal("ExpertDispatch", {x, chosenExperts({3, 1}, {0, 1, 2})}, three, 4),
              HasSubstr("one row for each token"));
  EXPECT_THAT(refusal("ExpertDispatch", {x, labels({2}, {0, 1})}, three, 4),
              HasSubstr("int64 with the axes tokens and choices"));
  EXPECT_THAT(refusal("ExpertDispatch", {x, chosenExperts({2, 1}, {0, 1})}, {}, 4),
              HasSubstr("0 experts with room for 0 rows"));
}

TEST(ExpertDispatch, SendsGradientsBack) {
  const Value x = noise({5, 3}, 1), choices = chosenExperts({5, 2}, {0, 1, 2, 0, 1, 2, 2, 0, 2, 1});
  for (const std::int64_t capacity : {0, 2})
    GradientCheck("ExpertDispatch", {x, choices}, {{"experts", std::int64_t{3}}, {"capacity", capacity}}, 4)
        .run();
}

TEST(ExpertCombine, AddsWeightedRows) {
  const Value rows = noise({6, 3}, 1), weights = noise({4, 2}, 2);
  const Value slots = chosenExperts({4, 2}, {2, 1, 5, -1, 3, 0, -1, -1});
  std::vector<double> expected;
  for (std::size_t t = 0; t < 4; ++t)
    for (std::size_t i = 0; i < 3; ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < 2; ++k) {
        const double slot = slots.data[t * 2 + k];
        if (slot >= 0) sum += weights.data[t * 2 + k] * rows.data[static_cast<std::size_t>(slot) * 3 + i];
      }
      expected.push_back(sum);
    }
  const auto y = compute("ExpertCombine", {rows, slots, weights});
  ASSERT_TRUE(y.ok()) << y.error().message;
  expectNear((*y)[0], expected, 1e-12);
  GradientCheck("ExpertCombine", {rows, slots, weights}, {}).run();
  GradientCheck("ExpertCombine", {rows, slots}, {}).run();
  EXPECT_THAT(refusal("ExpertCombine", {rows, chosenExperts({1, 1}, {6}), noise({1, 1}, 1)}),
              HasSubstr("index 6 is outside"));
  EXPECT_THAT(refusal("ExpertCombine", {rows, slots, noise({4, 3}, 1)}), HasSubstr("the axes of the slots"));
}

TEST(ExpertProduct, MultipliesEachRowWithItsExpert) {
  const Value rows = noise({7, 3}, 1), weights = noise({4, 2, 3}, 2), counts = labels({4}, {2, 0, 3, 1});
  std::vector<double> expected(14, 0.0);
  const std::vector<std::size_t> expertOf{0, 0, 2, 2, 2, 3};
  for (std::size_t row = 0; row < expertOf.size(); ++row)
    for (std::size_t o = 0; o < 2; ++o)
      for (std::size_t i = 0; i < 3; ++i)
        expected[row * 2 + o] += rows.data[row * 3 + i] * weights.data[(expertOf[row] * 2 + o) * 3 + i];
  for (const ElementType type : {ElementType::float64, ElementType::float32}) {
    const auto y = compute("ExpertProduct", {rows, weights, counts}, {}, 1, type);
    ASSERT_TRUE(y.ok()) << y.error().message;
    expectNear((*y)[0], expected, type == ElementType::float64 ? 1e-12 : 1e-6);
  }
  GradientCheck("ExpertProduct", {rows, weights, counts}, {}).run();
  EXPECT_THAT(refusal("ExpertProduct", {rows, weights, labels({4}, {2, 0, 3, 3})}),
              HasSubstr("more rows than the 7"));
  EXPECT_THAT(refusal("ExpertProduct", {rows, weights, labels({3}, {2, 0, 3})}),
              HasSubstr("do not fit 3 experts"));
  EXPECT_THAT(refusal("ExpertProduct", {noise({7, 2}, 1), weights, counts}), HasSubstr("do not fit 4"));
}

/// The products of a layer do rows · choices multiply-adds of a dense one, whatever the number of experts.
TEST(ExpertProduct, CostsItsRows) {
  for (const std::int64_t experts : {2, 8, 64}) {
    const auto one = oneNode("ExpertProduct",
                             {noise({128, 16}, 1), noise({experts, 32, 16}, 2),
                              labels({experts}, std::vector<double>(static_cast<std::size_t>(experts), 0))},
                             {}, 1, ElementType::float32);
    ASSERT_TRUE(one.ok());
    const auto work = ops::workOf(one->graph, one->graph.nodes()[0], ops::standardOperators());
    ASSERT_TRUE(work.ok());
    ASSERT_EQ(work->size(), 1U);
    EXPECT_DOUBLE_EQ(ops::flopsOf(work->front()), 2.0 * 128 * 16 * 32) << experts;
  }
}

}  // namespace
}  // namespace pipescope::ops_test
