#include "profiler/store/prediction.h"

#include <limits>
#include <random>

#include "profiler/store/block_codec.h"
#include "profiler/store/row_columns.h"
#include "store_testing.h"

namespace pipescope::store::testing {
namespace {

using Values = std::vector<std::int64_t>;

Values residualsOf(const std::vector<ColumnData>& columns, const Prediction& prediction,
                   const std::vector<Prediction>& others) {
  Values residuals;
  store::residualsOf(columns, columns[prediction.column].integers.size(), prediction, others, residuals);
  return residuals;
}

std::vector<ColumnData> columnsOf(const std::vector<Values>& all) {
  std::vector<ColumnData> columns;
  for (const Values& values : all) columns.emplace_back().integers = values;
  return columns;
}

TEST(Prediction, AColumnThatOthersForetellIsNothing) {
  // Two lanes, each going on where it ended; lengths that depend on the program alone.
  const Values lane = {0, 1, 0, 1, 0, 1}, program = {3, 4, 3, 4, 3, 4}, ticks = {10, 7, 10, 7, 10, 7},
               offset = {0, 0, 10, 7, 20, 14};
  const auto columns = columnsOf({lane, offset, ticks, program});
  const Prediction length{2, 3, Prediction::kNone, Prediction::kNone}, start{1, 0, Prediction::kNone, 2};
  EXPECT_EQ(residualsOf(columns, length, {}), (Values{10, -3, 0, 0, 0, 0}));
  EXPECT_EQ(residualsOf(columns, start, {length}), (Values{0, -10, 0, 0, 0, 0}));
}

TEST(Prediction, AnyValuesComeBack) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 300; ++i) {
    std::vector<Values> all(4, Values(50));
    for (Values& values : all) {
      for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() >> random() % 64);
    }
    const std::vector<Prediction> predicted = {{3, 0, Prediction::kNone, Prediction::kNone},
                                               {2, 3, 1, Prediction::kNone},
                                               {1, static_cast<std::uint8_t>(i % 2 == 0 ? 0 : 3), Prediction::kNone, 2}};
    const auto columns = columnsOf(all);
    auto stored = columns;
    for (const Prediction& p : predicted) stored[p.column].integers = residualsOf(columns, p, predicted);
    ASSERT_TRUE(resolvePredictions(stored, 50, predicted));
    for (std::size_t c = 0; c < all.size(); ++c) ASSERT_EQ(stored[c].integers, all[c]) << c;
  }
}

TEST(Prediction, TheFirstNumberDoesNotWidenTheOthers) {
  // Two columns of small differences, which begin far out.
  std::vector<model::Step> steps(4096);
  std::int64_t at = std::int64_t{1} << 60;
  std::mt19937_64 random(7);
  for (model::Step& step : steps) {
    step.offset = model::Ticks(at);
    step.ticks = model::Ticks(static_cast<std::int64_t>(random() % 100'000));
    at += step.ticks.count + static_cast<std::int64_t>(random() % 200);
  }
  BlockEncoder encoder;
  const auto columns = toColumns<model::Step>(steps);
  const auto coding = encoder.choose(columns, steps.size(), predictionsFor(model::columnsOf<model::Step>()));
  ASSERT_TRUE(coding.columns[2].prediction.has_value()) << "offset";
  const auto block = encoder.encode(columns, steps.size(), coding);
  ASSERT_OK(block);
  EXPECT_LT(block->rawBytes, 4096 * 5) << "ticks take three bytes a row, offsets one";
  for (const DecodedPart part : {DecodedPart::all, DecodedPart::integers}) {
    const auto decoded = decodeBlock(block->payload, steps.size(), block->rawBytes, columnTypesOf<model::Step>(), part);
    ASSERT_OK(decoded);
    EXPECT_EQ(decoded->columns[2].integers, columns[2].integers);
    EXPECT_EQ(decoded->columns[9].reals.empty(), part == DecodedPart::integers);
  }
  // One row, and rows that are all foretold.
  const std::vector<model::Step> one(steps.begin(), steps.begin() + 1), same(50, steps[0]);
  for (const auto& rows : {one, same}) {
    const auto few = toColumns<model::Step>(rows);
    const auto coded = encoder.encode(few, rows.size(), coding);
    ASSERT_OK(coded);
    auto back = decodeBlock(coded->payload, rows.size(), coded->rawBytes, columnTypesOf<model::Step>());
    ASSERT_OK(back);
    const IntegerView offsets(back->columns[2]);
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(offsets[i], rows[i].offset.count);
  }
}

TEST(Prediction, CirclesAndForeignColumnsAreRefused) {
  const std::uint8_t none = Prediction::kNone;
  const auto resolve = [&](std::vector<Prediction> predicted) {
    auto columns = columnsOf({{1, 2}, {3, 4}, {5, 6}});
    columns.emplace_back().type = model::ColumnType::text;
    columns.back().texts = {"a", "b"};
    return resolvePredictions(columns, 2, predicted);
  };
  EXPECT_TRUE(resolve({{0, 1, none, none}}));
  EXPECT_FALSE(resolve({{9, none, none, none}})) << "no such column";
  EXPECT_FALSE(resolve({{3, none, none, none}})) << "a text";
  EXPECT_FALSE(resolve({{0, 3, none, none}})) << "a text as key";
  EXPECT_FALSE(resolve({{0, 0, none, none}})) << "its own key";
  EXPECT_FALSE(resolve({{0, none, 0, none}})) << "its own base";
  EXPECT_FALSE(resolve({{0, none, none, 0}})) << "its own length";
  EXPECT_FALSE(resolve({{0, none, none, 77}})) << "no such length";
  EXPECT_FALSE(resolve({{0, 1, none, none}, {1, 0, none, none}})) << "each other's key";
  EXPECT_FALSE(resolve({{0, none, 1, none}, {1, none, 0, none}})) << "each other's base";
  EXPECT_FALSE(resolve({{0, none, none, 1}, {1, none, none, 0}})) << "each other's length";
}

TEST(Prediction, IsOnlyUsedWhereItPaysOff) {
  model::RowSet rows;
  std::mt19937_64 random(5);
  std::int64_t at[4] = {};
  for (int i = 0; i < 16'384; ++i) {
    model::Step step;
    step.lane = model::LaneId(static_cast<std::int64_t>(random() % 4));
    auto& free = at[step.lane.value];
    step.offset = model::Ticks(free);
    step.ticks = model::Ticks(1000 + static_cast<std::int64_t>(random() % 8));
    free += step.ticks.count;
    rows.of<model::Step>().push_back(step);
  }
  const auto columns = toColumns<model::Step>(rows.of<model::Step>());
  BlockEncoder plain, predicting;
  const auto without = plain.encode(columns, 16'384, plain.choose(columns, 16'384));
  const auto with = 
      predicting.encode(columns, 16'384, predicting.choose(columns, 16'384, predictionsFor(model::columnsOf<model::Step>())));
  ASSERT_OK(without);
  ASSERT_OK(with);
  EXPECT_LT(with->payload.size() * 2, without->payload.size()) << "offsets need no bytes any more";
  const auto decoded = decodeBlock(with->payload, 16'384, with->rawBytes, columnTypesOf<model::Step>());
  ASSERT_OK(decoded);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].type != model::ColumnType::integer) continue;
    const IntegerView found(decoded->columns[c]), written(columns[c]);
    for (std::size_t i = 0; i < 16'384; ++i) ASSERT_EQ(found[i], written[i]) << c;
  }
}

}  // namespace
}  // namespace pipescope::store::testing
