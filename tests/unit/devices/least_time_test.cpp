// Least times of operations, and what work sends and computes, by hand.
#include "engine/devices/core/least_time.h"

#include <gtest/gtest.h>

namespace pipescope::devices {
namespace {

using graph::ElementType;

/// FLOP/s of a device: 1,000 for products of 8-bit whole numbers, 100 of float16, 10 of float32.
double peakOf(ElementType type, ElementType, std::int64_t terms) {
  if (type == ElementType::int8) return terms > 0 ? 1000 : -1;
  return type == ElementType::float16 ? 100 : type == ElementType::float32 ? 10 : 0;
}

double leastOf(const std::vector<ops::Work>& work) {
  LoweredOperator lowered;
  addLeastTime(lowered, work, peakOf);
  return lowered.leastSeconds;
}

ops::Work productOf(ElementType type, std::int64_t repeat = 1) {
  ops::Contraction product;  // 2 · 3 · 4 · 5 multiply-adds
  product.batch = 2;
  product.groups = 3;
  product.inputChannels = 4;
  product.outputChannels = 5;
  product.type = type;
  return {product, repeat, ""};
}

ops::Work mapOf(ElementType type) {
  ops::Map map;
  map.elements = 50;
  map.type = type;
  return {map, 1, ""};
}

TEST(LeastTime, IsFlopOverThePeakOfTheType) {
  EXPECT_DOUBLE_EQ(leastOf({productOf(ElementType::float16)}), 2.4);
  EXPECT_DOUBLE_EQ(leastOf({productOf(ElementType::float16, 3)}), 7.2);
  EXPECT_DOUBLE_EQ(leastOf({productOf(ElementType::int8)}), 0.24);
  EXPECT_DOUBLE_EQ(leastOf({productOf(ElementType::bfloat16)}), 24) << "no peak of its own";
  EXPECT_DOUBLE_EQ(leastOf({mapOf(ElementType::float16)}), 0.5);
  EXPECT_DOUBLE_EQ(leastOf({mapOf(ElementType::int8)}), 5) << "a mask is no faster than float32";
  EXPECT_DOUBLE_EQ(leastOf({productOf(ElementType::float16), mapOf(ElementType::float16)}), 2.9);
}

TEST(LeastTime, KnowsProductsAndAddsUpCollectives) {
  LoweredOperator lowered;
  addLeastTime(lowered, {mapOf(ElementType::float32)}, peakOf);
  EXPECT_FALSE(lowered.product);
  EXPECT_FALSE(lowered.collective.has_value());
  ops::Collective sum, gather;
  sum.elements = 100;
  gather.elements = 7;
  gather.kind = ops::Collective::Kind::allGather;
  addLeastTime(lowered, {{sum, 2, ""}, productOf(ElementType::float32), {gather, 3, ""}}, peakOf);
  EXPECT_TRUE(lowered.product);
  ASSERT_TRUE(lowered.collective.has_value());
  EXPECT_EQ(lowered.collective->kind, ops::Collective::Kind::allReduce);
  EXPECT_EQ(lowered.collective->elements, 221);
}

TEST(Work, ACollectiveSendsWhatARingOfItsChipsPassesOn) {
  using Kind = ops::Collective::Kind;
  for (const Kind kind : {Kind::allReduce, Kind::reduceScatter, Kind::allGather, Kind::broadcast,
                          Kind::allToAll, Kind::ringSend})
    EXPECT_EQ(ops::sentBytes(kind, 1200, 1), 0);
  EXPECT_EQ(ops::sentBytes(Kind::allReduce, 1200, 4), 1800);
  EXPECT_EQ(ops::sentBytes(Kind::broadcast, 1200, 4), 1800);
  EXPECT_EQ(ops::sentBytes(Kind::reduceScatter, 1200, 4), 900);
  EXPECT_EQ(ops::sentBytes(Kind::allGather, 1200, 2), 600);
  EXPECT_EQ(ops::sentBytes(Kind::allToAll, 1200, 4), 900);
  EXPECT_EQ(ops::sentBytes(Kind::ringSend, 1200, 2), 1200);
}

TEST(Work, CountsItsOperations) {
  ops::Pool pool;
  pool.batch = 2, pool.channels = 3;
  pool.output = {4, 5};
  pool.kernel = {2, 2};
  EXPECT_DOUBLE_EQ(ops::flopsOf({pool, 1, ""}), 480);
  ops::Scatter scatter;
  scatter.rows = 6, scatter.rowElements = 7;
  scatter.accumulate = true;
  EXPECT_DOUBLE_EQ(ops::flopsOf({scatter, 2, ""}), 84);
  scatter.accumulate = false;
  EXPECT_DOUBLE_EQ(ops::flopsOf({scatter, 2, ""}), 0);
  ops::Reduce reduce;
  reduce.outputs = 3, reduce.depth = 5;
  EXPECT_DOUBLE_EQ(ops::flopsOf({reduce, 1, ""}), 15);
  EXPECT_DOUBLE_EQ(ops::flopsOf(productOf(ElementType::float32)), 240);
}

}  // namespace
}  // namespace pipescope::devices
