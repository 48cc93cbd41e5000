// Operators that pick, write and sort by index. ONNX's node cases check their values
// (tests/conformance/onnx); this file checks gradients, corner cases and sentences.
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "index_oracle.h"

namespace pipescope::ops_test {
namespace {

using testing::HasSubstr;

const std::vector<double> kNone;

Attributes with(const std::string& name, std::int64_t value) {
  return {{name, value}};
}
std::vector<double> only(const base::Result<std::vector<Value>>& result) {
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? (*result)[0].data : kNone;
}
Value indexingConstant(Shape shape, std::vector<double> data, ElementType element = ElementType::float64) {
  return {std::move(shape), std::move(data), element, Value::Role::constant};
}

TEST(GatherElements, PicksAndAddsBack) {
  const Value x = noise({3, 4, 2}, 1);
  for (const std::int64_t axis : {0, 1, -1}) {
    const auto where = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
    Shape shape{2, 3, 2};
    shape[where] = 5;
    Value indices = noise(shape, 2);
    const auto extent = static_cast<double>(x.shape[where]);
    for (double& index : indices.data)
      index = std::floor(index * extent);  // −extent … extent − 1, some of them twice
    indices.element = ElementType::int64;
    const auto expected = byPosition(shape, [&](const Ints& to) {
      Ints from = to;
      const auto index = static_cast<std::int64_t>(at(indices, to));
      from[where] = index < 0 ? index + x.shape[where] : index;
      return at(x, from);
    });
    expectMoves("GatherElements", {x, indices}, with("axis", axis), shape, expected);
    GradientCheck("GatherElements", {x, indices}, with("axis", axis)).run();
  }
  EXPECT_THAT(refusal("GatherElements", {x, labels({3, 5, 2}, std::vector<double>(30, 0))}),
              testing::HasSubstr("none longer"));
  EXPECT_THAT(refusal("GatherElements", {x, labels({1, 1, 1}, {3})}), HasSubstr("index 3 is outside"));
  EXPECT_THAT(refusal("GradGatherElements", {labels({1}, {0}), noise({2}, 1)}, {{"input_shape", Ints{4}}}),
              HasSubstr("they must be alike"));
}

TEST(ScatterElements, WritesInOrderAndHasGradients) {
  const Value x = noise({4, 3}, 1), updates = noise({2, 3}, 2);
  const Value apart = labels({2, 3}, {0, -1, 2, 3, 0, 1});
  const Value twice = labels({2, 3}, {0, -1, 2, 0, 3, 2});
  const auto expected = [&](const Value& indices, const std::function<double(double, double)>& combine) {
    std::vector<double> y = x.data;
    for (std::int64_t i = 0; i < 2; ++i)
      for (std::int64_t j = 0; j < 3; ++j) {
        const auto index = static_cast<std::int64_t>(at(indices, {i, j}));
        double& to = y[static_cast<std::size_t>((index < 0 ? index + 4 : index) * 3 + j)];
        to = combine(to, at(updates, {i, j}));
      }
    return y;
  };
  const auto reduction = [](const std::string& name) { return Attributes{{"reduction", name}}; };
  const auto last = [](double, double update) { return update; };
  EXPECT_EQ(only(compute("ScatterElements", {x, apart, updates})), expected(apart, last));
  EXPECT_EQ(only(compute("ScatterElements", {x, twice, updates})), expected(twice, last));
  EXPECT_EQ(only(compute("Scatter", {x, twice, updates})), expected(twice, last));
  EXPECT_EQ(only(compute("ScatterElements", {x, twice, updates}, reduction("add"))),
            expected(twice, std::plus<>()));
  EXPECT_EQ(only(compute("ScatterElements", {x, twice, updates}, reduction("mul"))),
            expected(twice, std::multiplies<>()));
  EXPECT_EQ(only(compute("ScatterElements", {x, twice, updates}, reduction("max"))),
            expected(twice, [](double a, double b) { return std::max(a, b); }));
  EXPECT_EQ(only(compute("ScatterElements", {x, twice, updates}, reduction("min"))),
            expected(twice, [](double a, double b) { return std::min(a, b); }));
  GradientCheck("ScatterElements", {x, apart, updates}, {}).run();
  GradientCheck("ScatterElements", {x, twice, updates}, reduction("add")).run();
  EXPECT_THAT(refusal("ScatterElements", {x, apart, updates}, reduction("xor")),
              HasSubstr("reduction is xor"));
  EXPECT_THAT(refusal("ScatterElements", {x, apart, noise({3, 2}, 1)}), HasSubstr("its updates are 3x2"));
}

TEST(GatherNd, PicksRowsWithinBatches) {
  const Value x = noise({2, 3, 4}, 1);
  const Value pairs = labels({2, 2, 2}, {0, 1, -1, 2, 1, 0, 0, 1});
  EXPECT_EQ(only(compute("GatherND", {x, pairs})), byPosition({2, 2, 4}, [&](const Ints& to) {
              const auto index = [&](std::int64_t k) {
                return static_cast<std::int64_t>(at(pairs, {to[0], to[1], k}));
              };
              return at(x, {(index(0) + 2) % 2, index(1), to[2]});
            }));
  const Value within = labels({2, 2, 1}, {2, 0, 1, -1});
  EXPECT_EQ(
      only(compute("GatherND", {x, within}, with("batch_dims", 1))),
      byPosition({2, 2, 4}, [&](const Ints& to) {
        return at(x, {to[0], (static_cast<std::int64_t>(at(within, {to[0], to[1], 0})) + 3) % 3, to[2]});
      }));
  GradientCheck("GatherND", {x, pairs}, {}).run();
  GradientCheck("GatherND", {x, within}, with("batch_dims", 1)).run();
  EXPECT_THAT(refusal("GatherND", {x, labels({1, 4}, {0, 0, 0, 0})}), HasSubstr("its tuples have 4 indices"));
  EXPECT_THAT(refusal("GatherND", {x, labels({3, 1}, {0, 0, 0})}, with("batch_dims", 1)),
              HasSubstr("equal leading axes"));
  EXPECT_THAT(refusal("GatherND", {x, labels({1, 2}, {0, 3})}), HasSubstr("index 3 is outside"));
  EXPECT_THAT(refusal("GradGatherND", {labels({1, 1}, {0}), noise({1, 3}, 1)}, {{"input_shape", Ints{2, 2}}}),
              HasSubstr("but the output is 1x2"));
}

TEST(ScatterNd, WritesRowsAndHasGradients) {
  const Value x = noise({4, 3}, 1), updates = noise({3, 3}, 2);
  const Value apart = labels({3, 1}, {2, -4, 1}), twice = labels({3, 1}, {2, 0, 2});
  std::vector<double> expected = x.data;
  for (std::size_t j = 0; j < 3; ++j) {
    expected[6 + j] = x.data[6 + j] + updates.data[j] + updates.data[6 + j];
    expected[j] = x.data[j] + updates.data[3 + j];
  }
  const Attributes add{{"reduction", std::string("add")}};
  EXPECT_EQ(only(compute("ScatterND", {x, twice, updates}, add)), expected);
  GradientCheck("ScatterND", {x, apart, updates}, {}).run();
  GradientCheck("ScatterND", {x, twice, updates}, add).run();
  EXPECT_THAT(refusal("ScatterND", {x, apart, noise({3, 2}, 1)}), HasSubstr("its indices point at 3x3"));
}

TEST(OneHot, TakesEveryKindOfIndexAndIgnoresThoseOutside) {
  const auto rows = [](const Value& indices, std::int64_t axis) {
    return only(compute("OneHot", {indices, indexingConstant({}, {3}), indexingConstant({2}, {-1, 5})},
                        with("axis", axis)));
  };
  const std::vector<double> expected{5, -1, -1, -1, -1, 5, -1, -1, -1, -1, -1, -1};
  EXPECT_EQ(rows(labels({4}, {0, -1, 3, -4}), -1), expected);
  EXPECT_EQ(rows(labels({4}, {0, 2, 3, 255}, ElementType::uint8), 1), expected);
  EXPECT_EQ(rows(Value{{4}, {0, -1.0, 3.5, std::nan("")}}, 1), expected);
  EXPECT_EQ(rows(labels({1, 2}, {1, 0}), 0), (std::vector<double>{-1, 5, 5, -1, -1, -1}));
  EXPECT_THAT(refusal("OneHot", {labels({1}, {0}), indexingConstant({}, {-3}), noise({2}, 1)}),
              HasSubstr("depth is -3"));
  EXPECT_THAT(refusal("OneHot", {labels({1}, {0}), indexingConstant({2}, {3, 4}), noise({2}, 1)}),
              HasSubstr("must be one number"));
  EXPECT_THAT(refusal("OneHot", {labels({1}, {0}), labels({}, {3}), noise({2}, 1)}),
              HasSubstr("depends on the data of depth"));
  EXPECT_THAT(refusal("OneHot", {labels({1}, {0}), indexingConstant({}, {3}), noise({3}, 1)}),
              HasSubstr("off and on"));
  EXPECT_THAT(
      refusal("OneHot", {labels({1}, {0}, ElementType::boolean), indexingConstant({}, {3}), noise({2}, 1)}),
      HasSubstr("cannot compute in bool"));
}

TEST(TopK, SortsWithTiesAndNan) {
  const double nan = std::nan("");
  const Value x{{7}, {1, 3, nan, 3, -2, 1, 0}};
  const auto largest = compute("TopK", {x, constantInts({5})}, {}, 2);
  ASSERT_TRUE(largest.ok()) << largest.error().message;
  EXPECT_EQ((*largest)[1].data, (std::vector<double>{2, 1, 3, 0, 5}));
  const auto smallest = compute("TopK", {x, constantInts({7})}, with("largest", 0), 2);
  EXPECT_EQ((*smallest)[1].data, (std::vector<double>{4, 6, 0, 5, 1, 3, 2}));
  const Value block = noise({3, 5, 2}, 3);
  for (const std::int64_t axis : {0, 1, -1}) {
    const Attributes attributes = with("axis", axis);
    const std::int64_t k = std::min<std::int64_t>(2, block.shape[static_cast<std::size_t>((axis + 3) % 3)]);
    GradientCheck("TopK", {block, constantInts({static_cast<double>(k)})}, attributes, 2).run();
    const auto y = compute("TopK", {block, constantInts({static_cast<double>(k)})}, attributes, 2);
    EXPECT_EQ((*y)[0].data,
              only(compute("GatherElements", {block, labels((*y)[1].shape, (*y)[1].data)}, attributes)));
  }
  EXPECT_THAT(refusal("TopK", {x, constantInts({8})}),
              HasSubstr("k is 8; it must be one number, 0 to the 7"));
  EXPECT_THAT(refusal("TopK", {x, labels({1}, {1})}), HasSubstr("is computed while the model runs"));
}

TEST(Unique, GroupsNanAndSlices) {
  const double nan = std::nan("");
  const auto y = compute("Unique", {indexingConstant({6}, {2, nan, -0.0, 2, nan, 0})}, {}, 4);
  ASSERT_TRUE(y.ok()) << y.error().message;
  EXPECT_EQ((*y)[1].data, (std::vector<double>{2, 0, 1}));
  EXPECT_EQ((*y)[2].data, (std::vector<double>{1, 2, 0, 1, 2, 0}));
  EXPECT_EQ((*y)[3].data, (std::vector<double>{2, 2, 2}));
  const auto columns = compute("Unique", {indexingConstant({2, 3}, {3, 1, 3, 4, 2, 4}, ElementType::uint8)},
                               with("axis", 1), 4);
  EXPECT_EQ((*columns)[0].data, (std::vector<double>{1, 3, 2, 4}));
  EXPECT_EQ((*columns)[2].data, (std::vector<double>{1, 0, 1}));
  EXPECT_THAT(refusal("Unique", {noise({3}, 1)}, {}, 1),
              HasSubstr("the shape of its output depends on the data of X (input 0)"));
}

TEST(NonZero, CountsNanButNotNegativeZero) {
  const auto y = compute("NonZero", {indexingConstant({2, 3}, {0, std::nan(""), -0.0, 1, 0, -2})});
  ASSERT_TRUE(y.ok()) << y.error().message;
  EXPECT_EQ((*y)[0].shape, (Shape{2, 3}));
  EXPECT_EQ((*y)[0].data, (std::vector<double>{0, 1, 1, 1, 0, 2}));
  EXPECT_EQ(only(compute("NonZero", {indexingConstant({3}, {128, 0, 1}, ElementType::uint8)})),
            (std::vector<double>{0, 2}));
  EXPECT_EQ((*compute("NonZero", {indexingConstant({}, {3})}))[0].shape, (Shape{1, 1}));
  EXPECT_THAT(refusal("NonZero", {noise({2}, 1)}), HasSubstr("depends on the data of X"));
}

TEST(Compress, KeepsSlicesAndHasGradients) {
  const Value x = noise({2, 3, 2}, 1), keep = indexingConstant({3}, {1, 0, 1}, ElementType::boolean);
  EXPECT_EQ(only(compute("Compress", {x, keep}, with("axis", 1))), byPosition({2, 2, 2}, [&](const Ints& to) {
              return at(x, {to[0], to[1] * 2, to[2]});
            }));
  EXPECT_EQ(only(compute("Compress", {x, keep})), (std::vector<double>{x.data[0], x.data[2]}));
  GradientCheck("Compress", {x, keep}, with("axis", 1)).run();
  GradientCheck("Compress", {x, keep}, {}).run();
  EXPECT_THAT(refusal("Compress", {x, keep}, with("axis", 0)),
              HasSubstr("has 3 elements, but there are only 2"));
  EXPECT_THAT(refusal("Compress", {x, constantInts({1})}), HasSubstr("must be a list of bool"));
  EXPECT_THAT(refusal("Compress", {x, labels({2}, {1, 1}, ElementType::boolean)}),
              HasSubstr("depends on the data of condition"));
  EXPECT_THAT(refusal("GradCompress", {noise({3}, 1), keep}, {{"input_shape", Ints{4}}}),
              HasSubstr("but the output is 2"));
}

TEST(Range, StopsBeforeTheLimit) {
  const auto range = [](double start, double limit, double delta, ElementType type) {
    return only(compute("Range", {indexingConstant({}, {start}, type), indexingConstant({}, {limit}, type),
                                  indexingConstant({}, {delta}, type)}));
  };
  EXPECT_EQ(range(1, 10, 4, ElementType::int32), (std::vector<double>{1, 5, 9}));
  EXPECT_EQ(range(10, 2, -4, ElementType::int64), (std::vector<double>{10, 6}));
  EXPECT_EQ(range(0, 1, 0.25, ElementType::float64), (std::vector<double>{0, 0.25, 0.5, 0.75}));
  const auto sentence = [](double start, double limit, double delta, ElementType type) {
    return refusal("Range", {indexingConstant({}, {start}, type), indexingConstant({}, {limit}, type),
                             indexingConstant({}, {delta}, type)});
  };
  EXPECT_THAT(sentence(0, 1, 0, ElementType::int32), HasSubstr("is no finite range"));
  EXPECT_THAT(sentence(0, 1, std::nan(""), ElementType::float64), HasSubstr("is no finite range"));
  EXPECT_THAT(sentence(0, 1, 1, ElementType::uint8), HasSubstr("cannot compute in uint8"));
  EXPECT_THAT(
      refusal("Range", {indexingConstant({2}, {0, 1}), indexingConstant({}, {1}), indexingConstant({}, {1})}),
      HasSubstr("input 0 is 2 float64"));
}

TEST(EyeLike, SetsOneDiagonal) {
  for (const std::int64_t k : {-9, -1, 0, 2, 9}) {
    EXPECT_EQ(only(compute("EyeLike", {noise({3, 4}, 1)}, with("k", k))),
              byPosition({3, 4}, [&](const Ints& to) { return to[1] - to[0] == k ? 1.0 : 0.0; }));
  }
  EXPECT_EQ((*compute("EyeLike", {noise({2, 2}, 1)}, with("dtype", 6)))[0].element, ElementType::int32);
  EXPECT_THAT(refusal("EyeLike", {noise({2}, 1)}), HasSubstr("must be a matrix"));
  EXPECT_THAT(refusal("EyeLike", {noise({2, 2}, 1)}, with("dtype", 8)), HasSubstr("dtype is 8"));
}

TEST(Trilu, KeepsOneTriangle) {
  const Value x = noise({2, 3, 4}, 1);
  for (const std::int64_t upper : {0, 1}) {
    for (const double k : {-9, -1, 0, 1, 3, 9}) {
      const std::vector<double> expected = byPosition(x.shape, [&](const Ints& to) {
        const auto beyond = static_cast<double>(to[2] - to[1]);
        return (upper ? beyond >= k : beyond <= k) ? at(x, to) : 0.0;
      });
      EXPECT_EQ(only(compute("Trilu", {x, labels({}, {k})}, with("upper", upper))), expected);
    }
    GradientCheck("Trilu", {x, labels({}, {1})}, with("upper", upper)).run();
  }
  EXPECT_THAT(refusal("Trilu", {noise({3}, 1)}), HasSubstr("one matrix or many"));
  EXPECT_THAT(refusal("Trilu", {x, labels({2}, {1, 2})}), HasSubstr("k (input 1) is 2 int64"));
}

TEST(DepthToSpace, IsUndoneBySpaceToDepth) {
  const Value x = noise({2, 8, 2, 3}, 1);
  for (const std::string mode : {"DCR", "CRD"}) {
    const Attributes attributes{{"blocksize", std::int64_t{2}}, {"mode", mode}};
    const std::vector<double> expected = byPosition({2, 2, 4, 6}, [&](const Ints& to) {
      const std::int64_t block = to[2] % 2 * 2 + to[3] % 2;
      return at(x, {to[0], mode == "DCR" ? block * 2 + to[1] : to[1] * 4 + block, to[2] / 2, to[3] / 2});
    });
    expectMoves("DepthToSpace", {x}, attributes, {2, 2, 4, 6}, expected);
    expectMoves("SpaceToDepth", {Value{{2, 2, 4, 6}, expected}}, attributes, x.shape, x.data);
    GradientCheck("DepthToSpace", {x}, attributes).run();
    GradientCheck("SpaceToDepth", {noise({1, 2, 4, 2}, 2)}, attributes).run();
  }
  EXPECT_THAT(refusal("DepthToSpace", {x}, with("blocksize", 3)),
              HasSubstr("a multiple of blocksize² channels"));
  EXPECT_THAT(refusal("SpaceToDepth", {x}, with("blocksize", 2)), HasSubstr("multiples of blocksize"));
  EXPECT_THAT(refusal("DepthToSpace", {x}, {{"blocksize", std::int64_t{2}}, {"mode", std::string("X")}}),
              HasSubstr("mode is X"));
}

TEST(ReverseSequence, IsItsOwnGradient) {
  const Value x = noise({4, 3, 2}, 1);
  for (const std::int64_t batchAxis : {0, 1}) {
    const Attributes attributes{{"batch_axis", batchAxis}, {"time_axis", 1 - batchAxis}};
    const Value lengths = batchAxis == 0 ? labels({4}, {3, 0, 1, 2}) : labels({3}, {4, 1, 3});
    EXPECT_EQ(only(compute("ReverseSequence", {x, lengths}, attributes)), byPosition(x.shape, [&](Ints to) {
                auto& t = to[static_cast<std::size_t>(1 - batchAxis)];
                const auto length = static_cast<std::int64_t>(
                    lengths.data[static_cast<std::size_t>(to[static_cast<std::size_t>(batchAxis)])]);
                if (t < length) t = length - 1 - t;
                return at(x, to);
              }));
    GradientCheck("ReverseSequence", {x, lengths}, attributes).run();
  }
  EXPECT_THAT(refusal("ReverseSequence", {x, labels({3}, {1, 5, 1})}),
              HasSubstr("sequence 1 is said to be 5 long"));
  EXPECT_THAT(refusal("ReverseSequence", {x, labels({2}, {1, 1})}), HasSubstr("it must be 3 int64"));
  EXPECT_THAT(refusal("ReverseSequence", {x, labels({3}, {1, 1, 1})}, with("batch_axis", 2)),
              HasSubstr("axes 0 and 1 must be"));
}

TEST(NonMaxSuppression, NeedsItsData) {
  const auto box = [](Value::Role role) {
    Value boxes{{1, 2, 4}, {0, 0, 1, 1, 0, 0.1, 1, 1.1}, ElementType::float32, role};
    return boxes;
  };
  const Value scores = indexingConstant({1, 1, 2}, {0.5, 0.9}, ElementType::float32),
              most = constantInts({5});
  const Value overlap = indexingConstant({}, {0.5}, ElementType::float32);
  EXPECT_EQ(only(compute("NonMaxSuppression", {box(Value::Role::constant), scores, most, overlap})),
            (std::vector<double>{0, 0, 1}));
  EXPECT_THAT(refusal("NonMaxSuppression", {box(Value::Role::input), scores}),
              HasSubstr("depends on the data of boxes"));
  EXPECT_THAT(refusal("NonMaxSuppression", {box(Value::Role::constant),
                                            indexingConstant({1, 1, 3}, {1, 2, 3}, ElementType::float32)}),
              HasSubstr("it needs batch, boxes and 4"));
  EXPECT_THAT(refusal("NonMaxSuppression", {box(Value::Role::constant), scores, most, overlap},
                      with("center_point_box", 2)),
              HasSubstr("center_point_box is 2"));
  EXPECT_THAT(refusal("NonMaxSuppression", {box(Value::Role::constant), indexingConstant({1, 1, 2}, {1, 2})}),
              HasSubstr("scores (input 1) is"));
}

}  // namespace
}  // namespace pipescope::ops_test
