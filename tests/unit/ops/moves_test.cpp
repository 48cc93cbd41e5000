// Operators that move elements: Transpose, Gather, Concat, Split, Slice, Squeeze, Unsqueeze, Expand, Tile,
// Pad.
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/ops/moves/element_move.h"
#include "engine/ops/standard_operators.h"
#include "index_oracle.h"

namespace pipescope::ops_test {
namespace {

using testing::HasSubstr;

Attributes ints(const std::string& name, Ints values) {
  return {{name, std::move(values)}};
}

TEST(Transpose, MovesEveryPermutation) {
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{19, 1, 17, 3}, Shape{1, 1, 33, 40}}) {
    const Value x = noise(shape, 1);
    Ints perm{0, 1, 2, 3};
    do {
      Shape result;
      for (const std::int64_t axis : perm) result.push_back(shape[static_cast<std::size_t>(axis)]);
      const std::vector<double> expected = byPosition(result, [&](const Ints& to) {
        Ints from(4);
        for (std::size_t i = 0; i < 4; ++i) from[static_cast<std::size_t>(perm[i])] = to[i];
        return at(x, from);
      });
      expectMoves("Transpose", {x}, ints("perm", perm), result, expected);
    } while (std::ranges::next_permutation(perm).found);
  }
  expectMoves("Transpose", {Value{{2, 3}, {1, 2, 3, 4, 5, 6}}}, {}, {3, 2}, {1, 4, 2, 5, 3, 6});
  GradientCheck("Transpose", {noise({2, 3, 4}, 2)}, ints("perm", {2, 0, 1})).run();
}

TEST(Transpose, RefusesWhatIsNoPermutation) {
  EXPECT_THAT(refusal("Transpose", {noise({2, 3}, 1)}, ints("perm", {0})), HasSubstr("must name each once"));
  EXPECT_THAT(refusal("Transpose", {noise({2, 3}, 1)}, ints("perm", {0, 0})),
              HasSubstr("names axis 0 twice"));
  EXPECT_THAT(refusal("Transpose", {noise({2, 3}, 1)}, ints("perm", {0, 2})),
              HasSubstr("perm is 2; the tensor has 2 axes, so it must be -2 to 1"));
}

TEST(ElementMove, MovesElementsOfEverySize) {
  const Shape shape{18, 5, 33};
  const std::vector<std::size_t> order{2, 1, 0};
  for (const std::int64_t size : {1, 2, 4, 8}) {
    std::vector<std::byte> from(static_cast<std::size_t>(graph::elementCount(shape) * size)), to(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 256);
    const ops::ElementMove setup = ops::transposition(shape, order, size);
    setup.run(from.data(), to.data());
    EXPECT_EQ(setup.elements(), graph::elementCount(shape));
    EXPECT_EQ(setup.runElements(), 1);
    for (std::int64_t i = 0; i < 18; ++i)
      for (std::int64_t j = 0; j < 5; ++j)
        for (std::int64_t k = 0; k < 33; ++k)
          for (std::int64_t b = 0; b < size; ++b)
            ASSERT_EQ(to[static_cast<std::size_t>(((k * 5 + j) * 18 + i) * size + b)],
                      from[static_cast<std::size_t>(((i * 5 + j) * 33 + k) * size + b)]);
  }
  EXPECT_EQ(ops::transposition({4, 5, 6}, {1, 0, 2}, 4).runElements(), 6);
  EXPECT_EQ(ops::transposition({4, 1, 6}, {1, 0, 2}, 4).runElements(), 24);
}

TEST(Gather, PicksAlongEveryAxis) {
  const Value x = noise({3, 4, 5}, 1);
  for (const ElementType type : {ElementType::int64, ElementType::int32}) {
    const Value indices = labels({2, 3}, {0, -1, 2, 2, -3, 1}, type);
    for (std::int64_t axis = -3; axis < 3; ++axis) {
      const auto where = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
      Shape result = x.shape;
      result.erase(result.begin() + static_cast<std::ptrdiff_t>(where));
      result.insert(result.begin() + static_cast<std::ptrdiff_t>(where), {2, 3});
      const std::vector<double> expected = byPosition(result, [&](const Ints& to) {
        Ints from(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(where));
        const double index = at(indices, {to[where], to[where + 1]});
        from.push_back(static_cast<std::int64_t>(index) + (index < 0 ? x.shape[where] : 0));
        from.insert(from.end(), to.begin() + static_cast<std::ptrdiff_t>(where) + 2, to.end());
        return at(x, from);
      });
      expectMoves("Gather", {x, indices}, {{"axis", axis}}, result, expected);
      GradientCheck("Gather", {x, indices}, {{"axis", axis}}).run();
    }
  }
  expectMoves("Gather", {noise({4}, 1), labels({}, {2})}, {}, {}, {noise({4}, 1).data[2]});
}

TEST(Gather, RefusesIndicesOutsideTheAxis) {
  EXPECT_THAT(refusal("Gather", {noise({3, 2}, 1), labels({1}, {3})}),
              HasSubstr("Gather node: index 3 is outside the axis; it must be -3 to 2"));
  EXPECT_THAT(refusal("Gather", {noise({3, 2}, 1), labels({1}, {-4}, ElementType::int32)}),
              HasSubstr("index -4"));
  EXPECT_THAT(refusal("Gather", {noise({3, 2}, 1), noise({1}, 2)}), HasSubstr("must be int64 or int32"));
  EXPECT_THAT(refusal("Gather", {noise({}, 1), labels({1}, {0})}), HasSubstr("a scalar has no axes"));
  EXPECT_THAT(refusal("GradGather", {labels({2}, {0, 1}), noise({3, 2}, 2)}, ints("input_shape", {4, 2})),
              HasSubstr("the gradient by its output is 3x2, but the output is 2x2"));
}

TEST(Concat, JoinsAlongEveryAxis) {
  for (std::int64_t axis = -3; axis < 3; ++axis) {
    const auto where = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
    std::vector<Value> inputs;
    Shape result{2, 3, 4};
    result[where] = 0;
    for (const std::int64_t extent : {2, 1, 3}) {
      Shape shape{2, 3, 4};
      shape[where] = extent;
      result[where] += extent;
      inputs.push_back(noise(shape, static_cast<unsigned>(extent)));
    }
    const std::vector<double> expected = byPosition(result, [&](Ints to) {
      std::size_t input = 0;
      while (to[where] >= inputs[input].shape[where]) to[where] -= inputs[input++].shape[where];
      return at(inputs[input], to);
    });
    expectMoves("Concat", inputs, {{"axis", axis}}, result, expected);
    GradientCheck("Concat", inputs, {{"axis", axis}}).run();
  }
}

TEST(Concat, RefusesWhatDoesNotFit) {
  EXPECT_THAT(refusal("Concat", {noise({2, 3}, 1), noise({2, 4}, 1)}, {{"axis", std::int64_t{0}}}),
              HasSubstr("must have one element type and be alike but for axis 0"));
  EXPECT_THAT(refusal("Concat", {noise({2, 3}, 1), noise({2}, 1)}, {{"axis", std::int64_t{1}}}),
              HasSubstr("input 1 is"));
  EXPECT_THAT(refusal("Concat", {noise({2, 3}, 1)}), HasSubstr("attribute axis is missing"));
  EXPECT_THAT(refusal("Concat", {noise({2, 3}, 1), absent()}, {{"axis", std::int64_t{1}}}),
              HasSubstr("input 1 is left out"));
}

TEST(Split, CutsGivenAndEqualPieces) {
  const Value x = noise({2, 6, 3}, 1);
  const auto piece = [&](std::int64_t begin, std::int64_t length) {
    return byPosition({2, length, 3}, [&](Ints to) {
      to[1] += begin;
      return at(x, to);
    });
  };
  const Attributes axis{{"axis", std::int64_t{1}}};
  const auto given = compute("Split", {x, constantInts({1, 3, 2})}, axis, 3);
  ASSERT_TRUE(given.ok()) << given.error().message;
  EXPECT_EQ((*given)[0].data, piece(0, 1));
  EXPECT_EQ((*given)[1].data, piece(1, 3));
  EXPECT_EQ((*given)[2].data, piece(4, 2));
  const auto equal = compute("Split", {x}, axis, 2);
  ASSERT_TRUE(equal.ok()) << equal.error().message;
  EXPECT_EQ((*equal)[0].data, piece(0, 3));
  EXPECT_EQ((*equal)[1].data, piece(3, 3));
}

TEST(Split, RefusesLengthsThatDoNotAddUp) {
  const Attributes axis{{"axis", std::int64_t{1}}};
  EXPECT_THAT(refusal("Split", {noise({2, 6}, 1)}, axis, 4), HasSubstr("which 4 outputs cannot share alike"));
  EXPECT_THAT(refusal("Split", {noise({2, 6}, 1), constantInts({1, 4})}, axis, 2),
              HasSubstr("split is 1, 4; it must give 2 lengths that add up to the 6 of axis 1"));
  EXPECT_THAT(refusal("Split", {noise({2, 6}, 1), constantInts({7, -1})}, axis, 2),
              HasSubstr("add up to the 6"));
  EXPECT_THAT(refusal("GradSplit", {absent(), absent()},
                      {{"axis", std::int64_t{0}}, {"split", Ints{1, 1}}, {"input_shape", Ints{2}}}),
              HasSubstr("the gradient of one at least"));
  EXPECT_THAT(refusal("GradSplit", {absent(), noise({2}, 1)},
                      {{"axis", std::int64_t{0}}, {"split", Ints{1, 1}}, {"input_shape", Ints{2}}}),
              HasSubstr("input 1 is 2 float64, but its piece is 1 float64"));
}

TEST(Split, GivesZerosWhereAPieceHasNoGradient) {
  const Value second = noise({2, 3}, 1);
  const auto dx = compute("GradSplit", {absent(), second},
                          {{"axis", std::int64_t{1}}, {"split", Ints{1, 3}}, {"input_shape", Ints{2, 4}}});
  ASSERT_TRUE(dx.ok()) << dx.error().message;
  EXPECT_EQ((*dx)[0].data, byPosition({2, 4}, [&](const Ints& to) {
              return to[1] == 0 ? 0.0 : at(second, {to[0], to[1] - 1});
            }));
}

TEST(Slice, FollowsNumpy) {
  const Value x = noise({7, 5}, 1);
  struct Case {
    std::int64_t start, end, step;
    Ints rows;  ///< as Python's range gives them
  };
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kBegin = std::numeric_limits<std::int64_t>::min();
  for (const Case& c :
       {Case{1, 4, 1, {1, 2, 3}}, Case{0, kEnd, 3, {0, 3, 6}}, Case{-3, -1, 1, {4, 5}},
        Case{6, kBegin, -2, {6, 4, 2, 0}}, Case{kEnd, 2, -1, {6, 5, 4, 3}}, Case{-1, -8, -3, {6, 3, 0}},
        Case{-100, 2, 1, {0, 1}}, Case{5, 100, kEnd, {5}}, Case{5, kBegin, kBegin, {5}}}) {
    const Shape result{static_cast<std::int64_t>(c.rows.size()), 5};
    const std::vector<double> expected = byPosition(result, [&](const Ints& to) {
      return at(x, {c.rows[static_cast<std::size_t>(to[0])], to[1]});
    });
    const Attributes attributes{
        {"starts", Ints{c.start}}, {"ends", Ints{c.end}}, {"axes", Ints{0}}, {"steps", Ints{c.step}}};
    expectMoves("Slice", {x}, attributes, result, expected);
    GradientCheck("Slice", {x}, attributes).run();
  }
  const Value inner = noise({3, 4, 5}, 2);
  expectMoves(
      "Slice",
      {inner, constantInts({-1, 1}), constantInts({0, 3}), constantInts({2, -2}), constantInts({-2, 2})}, {},
      {3, 1, 2}, byPosition({3, 1, 2}, [&](const Ints& to) {
        return at(inner, {to[0], 1, 4 - 2 * to[2]});
      }));
}

TEST(Slice, RefusesListsThatDoNotFit) {
  const Value x = noise({4, 5}, 1);
  EXPECT_THAT(refusal("Slice", {x, constantInts({0}), constantInts({1, 2})}), HasSubstr("1 starts, 2 ends"));
  EXPECT_THAT(refusal("Slice", {x}), HasSubstr("give starts and ends, as inputs 1 and 2"));
  EXPECT_THAT(refusal("Slice", {x, labels({1}, {0}), constantInts({1})}),
              HasSubstr("starts (input 1) is computed while the model runs"));
  EXPECT_THAT(
      refusal("Slice", {x, constantInts({0}), constantInts({1}), constantInts({0}), constantInts({0})}),
      HasSubstr("a step is 0"));
  EXPECT_THAT(refusal("Slice", {x, constantInts({0}), constantInts({1})}, ints("starts", {0})),
              HasSubstr("starts is given as attribute and as input 1; leave one out"));
  EXPECT_THAT(
      refusal("GradSlice", {x}, {{"input_shape", Ints{4, 4}}, {"begin", Ints{0, 0}}, {"steps", Ints{1, 1}}}),
      HasSubstr("a slice of 4x5 does not fit into 4x4"));
}

TEST(Squeeze, DropsAxesAndUnsqueezeAddsThem) {
  const Value x = noise({1, 3, 1, 2}, 1);
  expectMoves("Squeeze", {x}, {}, {3, 2}, x.data);
  expectMoves("Squeeze", {x, constantInts({-2})}, {}, {1, 3, 2}, x.data);
  expectMoves("Unsqueeze", {x, constantInts({0, -1, 2})}, {}, {1, 1, 1, 3, 1, 2, 1}, x.data);
  GradientCheck("Squeeze", {x, constantInts({0})}, {}).run();
  GradientCheck("Unsqueeze", {x, constantInts({1})}, {}).run();
  EXPECT_THAT(refusal("Squeeze", {x, constantInts({1})}), HasSubstr("cannot drop axis 1 of 1x3x1x2"));
  EXPECT_THAT(refusal("Unsqueeze", {x}), HasSubstr("give the axes to add"));
  EXPECT_THAT(refusal("Unsqueeze", {x, constantInts({5})}), HasSubstr("must be -5 to 4"));
}

TEST(Expand, BroadcastsBothWays) {
  const Value x = noise({3, 1, 4}, 1);
  expectMoves("Expand", {x, constantInts({2, 1, 5, 1})}, {}, {2, 3, 5, 4},
              byPosition({2, 3, 5, 4}, [&](const Ints& to) {
                return at(x, {to[1], 0, to[3]});
              }));
  expectMoves("Expand", {noise({}, 2), constantInts({2, 2})}, {}, {2, 2},
              std::vector<double>(4, noise({}, 2).data[0]));
  GradientCheck("Expand", {x, constantInts({2, 1, 5, 1})}, {}).run();
  GradientCheck("Expand", {x, constantInts({3, 1, 4})}, {}).run();
  EXPECT_THAT(refusal("Expand", {x, constantInts({2, 1, 4})}), HasSubstr("cannot expand 3x1x4 to 2x1x4"));
  EXPECT_THAT(refusal("Expand", {x}), HasSubstr("give the shape"));
  EXPECT_THAT(refusal("Expand", {x, constantInts({1e9, 1e9, 1, 1, 1})}),
              HasSubstr("more elements than any memory"));
}

TEST(Tile, RepeatsEachAxis) {
  const Value x = noise({2, 3}, 1);
  expectMoves("Tile", {x, constantInts({3, 2})}, {}, {6, 6}, byPosition({6, 6}, [&](const Ints& to) {
                return at(x, {to[0] % 2, to[1] % 3});
              }));
  GradientCheck("Tile", {x, constantInts({3, 2})}, {}).run();
  GradientCheck("Tile", {noise({2, 1, 2}, 2), constantInts({1, 4, 1})}, {}).run();
  EXPECT_THAT(refusal("Tile", {x, constantInts({3})}),
              HasSubstr("repeats has 1 numbers; its input has 2 axes"));
  EXPECT_THAT(refusal("Tile", {x, constantInts({3, -1})}),
              HasSubstr("cannot repeat 3 elements -1 times along axis 1"));
}

/// Source of a padded position by the rules of numpy.pad, one axis after another.
std::int64_t padSource(std::int64_t at, std::int64_t extent, const std::string& mode) {
  if (mode == "edge") return std::min(std::max<std::int64_t>(at, 0), extent - 1);
  while (at < 0 || at >= extent) at = at < 0 ? -at : 2 * (extent - 1) - at;
  return at;
}

TEST(Pad, FillsMirrorsAndExtends) {
  const Value x = noise({4, 5}, 1);
  for (const std::string mode : {"reflect", "edge"}) {
    const Shape result{10, 7};
    expectMoves("Pad", {x, constantInts({5, 2, 1, 0})}, {{"mode", mode}}, result,
                byPosition(result, [&](const Ints& to) {
                  return at(x, {padSource(to[0] - 5, 4, mode), padSource(to[1] - 2, 5, mode)});
                }));
    GradientCheck("Pad", {x, constantInts({5, 2, 1, 0})}, {{"mode", mode}}).run();
  }
  for (const bool value : {false, true}) {
    std::vector<Value> inputs{x, constantInts({1, -2, -1, 3})};
    if (value) inputs.push_back({{}, {0.5}});
    expectMoves("Pad", inputs, {}, {4, 6}, byPosition({4, 6}, [&](const Ints& to) {
                  const std::int64_t i = to[0] - 1, j = to[1] + 2;
                  return i < 0 || j >= 5 ? (value ? 0.5 : 0.0) : at(x, {i, j});
                }));
  }
  GradientCheck("Pad", {x, constantInts({1, -2, -1, 3})}, {}).run();
}

TEST(Pad, RefusesWhatCannotBePadded) {
  const Value x = noise({4, 5}, 1);
  EXPECT_THAT(refusal("Pad", {x, constantInts({1, 1})}),
              HasSubstr("pads has 2 numbers; its input has 2 axes and needs 4"));
  EXPECT_THAT(refusal("Pad", {x, constantInts({-3, 0, -3, 0})}),
              HasSubstr("cannot pad axis 0 of extent 4 by -3 and -3"));
  EXPECT_THAT(refusal("Pad", {x, constantInts({0, 0, 0, 0})}, {{"mode", std::string("wrap")}}),
              HasSubstr("mode is wrap; it must be constant, reflect or edge"));
  EXPECT_THAT(refusal("Pad", {x}), HasSubstr("give pads"));
  EXPECT_THAT(refusal("Pad", {x, constantInts({0, 0, 0, 0}), noise({2}, 1)}),
              HasSubstr("it must be one number"));
  EXPECT_THAT(refusal("Pad", {x, constantInts({0, 0, 0, 0}), labels({}, {1})}),
              HasSubstr("give both one element type"));
  EXPECT_THAT(refusal("GradPad", {x}, {{"input_shape", Ints{4, 5}}, {"pads", Ints{1, 0, 0, 0}}}),
              HasSubstr("the gradient by its output is 4x5, but the output is 5x5"));
}

TEST(Constant, HoldsEveryKindOfValue) {
  const auto one = [](const std::string& name, graph::Attribute value) {
    return (*compute("Constant", {}, {{name, std::move(value)}}))[0];
  };
  EXPECT_EQ(one("value_int", std::int64_t{7}).data, std::vector<double>{7});
  EXPECT_EQ(one("value_int", std::int64_t{7}).shape, Shape{});
  EXPECT_EQ(one("value_ints", Ints{1, 2}).shape, Shape{2});
  EXPECT_EQ(one("value_float", 0.5).data, std::vector<double>{0.5});
  EXPECT_EQ(one("value_floats", std::vector<double>{0.5, 2}).data, (std::vector<double>{0.5, 2}));
  const Value tensor = noise({2, 2}, 3);
  const auto value = std::make_shared<const graph::TensorValue>(
      graph::TensorValue{{ElementType::float64, {2, 2}}, encode(tensor, ElementType::float64)});
  EXPECT_EQ(one("value", value).data, tensor.data);
  EXPECT_THAT(refusal("Constant", {}), HasSubstr("give one of value, value_float"));

  const auto filled = compute("ConstantOfShape", {constantInts({2, 3})}, {});
  ASSERT_TRUE(filled.ok()) << filled.error().message;
  EXPECT_EQ((*filled)[0].data, std::vector<double>(6, 0));
  EXPECT_EQ((*filled)[0].element, ElementType::float32);
  EXPECT_THAT(refusal("ConstantOfShape", {constantInts({2})}, {{"value", value}}),
              HasSubstr("it must be one number"));
  EXPECT_THAT(refusal("ConstantOfShape", {constantInts({-2})}), HasSubstr("no extent may be negative"));
}

TEST(ShapeAndSize, AreKnownBeforeTheRun) {
  const Value x = noise({2, 3, 4}, 1);
  const auto shape = [&](const Attributes& attributes) {
    return (*compute("Shape", {x}, attributes))[0].data;
  };
  EXPECT_EQ(shape({}), (std::vector<double>{2, 3, 4}));
  EXPECT_EQ(shape({{"start", std::int64_t{-1}}}), (std::vector<double>{4}));
  EXPECT_EQ(shape({{"start", std::int64_t{-9}}, {"end", std::int64_t{-1}}}), (std::vector<double>{2, 3}));
  EXPECT_EQ((*compute("Size", {x}))[0].data, std::vector<double>{24});
}

TEST(Identity, PassesValueAndGradient) {
  expectMoves("Identity", {noise({3}, 1)}, {}, {3}, noise({3}, 1).data);
  GradientCheck("Identity", {noise({3}, 1)}, {}).run();
}

TEST(Pad, AGiantMirrorTakesNothingBeforeItRuns) {
  // Kernels are made before anyone asks whether the machine has memory for their tensors.
  graph::Graph graph;
  const graph::TensorId x = graph.addTensor("x", {ElementType::float32, {4, 8}}, graph::TensorRole::input);
  graph::Node pad;
  pad.op = "Pad";
  pad.name = "pad";
  pad.inputs = {x};
  pad.attributes = {{"mode", "reflect"}, {"pads", Ints{0, std::int64_t{1} << 38, 0, 0}}};
  ASSERT_TRUE(
      ops::appendNode(graph, pad, {"y"}, graph::TensorRole::activation, ops::standardOperators()).ok());
  const auto kernel = ops::standardOperators().find("Pad")->kernel(ops::callOf(graph, graph.nodes().back()));
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  EXPECT_EQ(kernel->scratchBytes, 0);
}

}  // namespace
}  // namespace pipescope::ops_test
