#include "profiler/store/blocks/column_prediction.h"

#include <zstd.h>

#include <algorithm>
#include <limits>
#include <random>

#include "profiler/store/blocks/block_codec.h"
#include "profiler/store/blocks/row_columns.h"
#include "profiler/store/format.h"
#include "store_testing.h"

namespace pipescope::store::testing {
namespace {

using Values = std::vector<std::int64_t>;

Values residualsOf(const std::vector<ColumnData>& columns, const ColumnPrediction& prediction,
                   const std::vector<ColumnPrediction>& others, const std::vector<Priors>& priors = {}) {
  Values residuals;
  store::residualsOf(columns, columns[prediction.column].integers.size(), prediction, others, priors,
                     residuals);
  return residuals;
}

std::vector<ColumnData> columnsOf(const std::vector<Values>& all) {
  std::vector<ColumnData> columns;
  for (const Values& values : all) columns.emplace_back().integers = values;
  return columns;
}

TEST(ColumnPrediction, AColumnThatOthersForetellIsNothing) {
  // Two lanes, each of which continues where it ended. The lengths depend on the program alone.
  const Values lane = {0, 1, 0, 1, 0, 1}, program = {3, 4, 3, 4, 3, 4}, ticks = {10, 7, 10, 7, 10, 7},
               offset = {0, 0, 10, 7, 20, 14};
  const auto columns = columnsOf({lane, offset, ticks, program});
  const ColumnPrediction length{2, 3, ColumnPrediction::kNone, ColumnPrediction::kNone},
      start{1, 0, ColumnPrediction::kNone, 2};
  EXPECT_EQ(residualsOf(columns, length, {}), (Values{10, -3, 0, 0, 0, 0}));
  EXPECT_EQ(residualsOf(columns, start, {length}), (Values{0, -10, 0, 0, 0, 0}));
  // The priors of another block: for one program of this block, and for one that this block does not have.
  const std::vector<Priors> priors = {{2, {4, 9}, {6, 100}}};
  EXPECT_EQ(residualsOf(columns, length, {}, priors), (Values{10, 1, 0, 0, 0, 0}));
  EXPECT_EQ(residualsOf(columns, start, {length}, priors), (Values{0, -10, 0, 0, 0, 0}))
      << "of another column";
  const Priors left = priorsOf(columns, 6, length);
  EXPECT_EQ(left.keys, (Values{3, 4}));
  EXPECT_EQ(left.values, (Values{10, 7}));
  EXPECT_EQ(residualsOf(columns, length, {}, {left}), Values(6, 0));
}

TEST(ColumnPrediction, PriorsAreTheLastOfEveryKey) {
  const std::int64_t far = std::int64_t{1} << 62;
  const ColumnPrediction ofKey{1, 0, ColumnPrediction::kNone, ColumnPrediction::kNone},
      aboveBase{1, 0, 2, ColumnPrediction::kNone};
  EXPECT_FALSE(mayHavePriors({1, 0, ColumnPrediction::kNone, 2})) << "moves on by its length";
  EXPECT_FALSE(mayHavePriors({1, ColumnPrediction::kNone, ColumnPrediction::kNone, ColumnPrediction::kNone}));
  const auto check = [&](const Values& keys, const Values& wantedKeys, const Values& wanted,
                         const Values& wantedAbove) {
    const auto columns = columnsOf({keys, {10, 20, 30, 40}, {1, 2, 3, 4}});
    EXPECT_EQ(priorsOf(columns, 4, ofKey).keys, wantedKeys);
    EXPECT_EQ(priorsOf(columns, 4, ofKey).values, wanted);
    EXPECT_EQ(priorsOf(columns, 4, aboveBase).values, wantedAbove);
  };
  check({7, 5, 7, 6}, {5, 6, 7}, {20, 40, 30}, {18, 36, 27});
  check({-far, far, -far, far}, {-far, far}, {30, 40}, {27, 36});
  check({3, 3, 3, 3}, {3}, {40}, {36});
}

TEST(ColumnPrediction, AnyValuesComeBack) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 300; ++i) {
    std::vector<Values> all(4, Values(50));
    for (Values& values : all) {
      for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() >> random() % 64);
    }
    if (i % 2 == 0) {  // keys that lie close together
      for (std::int64_t& key : all[0]) key &= 63;
    }
    const std::vector<ColumnPrediction> predicted = {
        {3, 0, ColumnPrediction::kNone, ColumnPrediction::kNone},
        {2, 3, 1, ColumnPrediction::kNone},
        {1, static_cast<std::uint8_t>(i % 2 == 0 ? 0 : 3), ColumnPrediction::kNone, 2}};
    std::vector<Priors> priors;
    if (i % 3 > 0) {  // for some of these keys and for others
      Priors& some = priors.emplace_back();
      some.column = i % 3 == 1 ? 3 : 2;
      some.keys = all[i % 3 == 1 ? 0 : 3];
      some.keys.resize(30);
      for (int other = 0; other < 20; ++other) some.keys.push_back(static_cast<std::int64_t>(random() % 64));
      std::ranges::sort(some.keys);
      some.keys.erase(std::unique(some.keys.begin(), some.keys.end()), some.keys.end());
      for (std::size_t k = 0; k < some.keys.size(); ++k)
        some.values.push_back(static_cast<std::int64_t>(random()));
    }
    const auto columns = columnsOf(all);
    auto stored = columns;
    for (const ColumnPrediction& p : predicted)
      stored[p.column].integers = residualsOf(columns, p, predicted, priors);
    ASSERT_TRUE(resolvePredictions(stored, 50, predicted, priors));
    for (std::size_t c = 0; c < all.size(); ++c) ASSERT_EQ(stored[c].integers, all[c]) << c;
  }
}

TEST(ColumnPrediction, TheFirstNumberDoesNotWidenTheOthers) {
  // Two columns with small differences and large first values.
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
    const auto decoded =
        decodeBlock(block->bytes, steps.size(), block->rawBytes, columnTypesOf<model::Step>(), part);
    ASSERT_OK(decoded);
    EXPECT_EQ(decoded->columns[2].integers, columns[2].integers);
    EXPECT_EQ(decoded->columns[9].reals.empty(), part == DecodedPart::integers);
  }
  // One row alone, and rows that are all predicted.
  const std::vector<model::Step> one(steps.begin(), steps.begin() + 1), same(50, steps[0]);
  for (const auto& rows : {one, same}) {
    const auto few = toColumns<model::Step>(rows);
    const auto coded = encoder.encode(few, rows.size(), coding);
    ASSERT_OK(coded);
    auto back = decodeBlock(coded->bytes, rows.size(), coded->rawBytes, columnTypesOf<model::Step>());
    ASSERT_OK(back);
    const IntegerView offsets(back->columns[2]);
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(offsets[i], rows[i].offset.count);
  }
}

TEST(ColumnPrediction, CirclesAndForeignColumnsAreRefused) {
  const std::uint8_t none = ColumnPrediction::kNone;
  const auto resolve = [&](std::vector<ColumnPrediction> predicted) {
    auto columns = columnsOf({{1, 2}, {3, 4}, {5, 6}});
    columns.emplace_back().type = model::ColumnType::text;
    columns.back().texts = {"a", "b"};
    return resolvePredictions(columns, 2, predicted);
  };
  EXPECT_TRUE(resolve({{0, 1, none, none}}));
  EXPECT_FALSE(resolve({{9, none, none, none}})) << "no such column";
  // The first number behind the columns is as foreign as any other.
  EXPECT_FALSE(resolve({{4, none, none, none}}));
  EXPECT_FALSE(resolve({{0, 4, none, none}}));
  EXPECT_FALSE(resolve({{0, none, 4, none}}));
  EXPECT_FALSE(resolve({{0, none, none, 4}}));
  EXPECT_FALSE(resolve({{0, none, 3, none}})) << "a text as base";
  EXPECT_FALSE(resolve({{0, none, none, 3}})) << "a text as length";
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

TEST(ColumnPrediction, IsOnlyUsedWhereItPaysOff) {
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
  const auto with = predicting.encode(
      columns, 16'384, predicting.choose(columns, 16'384, predictionsFor(model::columnsOf<model::Step>())));
  ASSERT_OK(without);
  ASSERT_OK(with);
  EXPECT_LT(with->bytes.size() * 2, without->bytes.size()) << "offsets need no bytes any more";
  const auto decoded = decodeBlock(with->bytes, 16'384, with->rawBytes, columnTypesOf<model::Step>());
  ASSERT_OK(decoded);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].type != model::ColumnType::integer) continue;
    const IntegerView found(decoded->columns[c]), written(columns[c]);
    for (std::size_t i = 0; i < 16'384; ++i) ASSERT_EQ(found[i], written[i]) << c;
  }
}

/// Each program has its own length. The order of programs differs from block to block.
std::vector<model::Step> stepsOfPrograms(std::size_t count) {
  std::mt19937_64 random(11);
  std::vector<model::Step> steps(count);
  for (model::Step& step : steps) {
    step.program = model::ProgramId(static_cast<std::int64_t>(random() % 1000));
    step.ticks = model::Ticks(static_cast<std::int64_t>(
        std::mt19937_64(static_cast<std::uint64_t>(step.program.value))() % 100'000));
  }
  return steps;
}

TEST(Priors, AreSharedWhereThatPays) {
  const auto steps = stepsOfPrograms(2000);
  const auto columns = toColumns<model::Step>(steps);
  BlockEncoder encoder;
  const auto coding = encoder.choose(columns, steps.size(), predictionsFor(model::columnsOf<model::Step>()));
  EXPECT_FALSE(coding.mayHavePriors(1)) << "nothing to share";
  ASSERT_TRUE(coding.mayHavePriors(4));
  EXPECT_TRUE(encoder.priors(columns, steps.size(), coding, 1).empty());
  const auto priors = encoder.priors(columns, steps.size(), coding, 4);
  ASSERT_EQ(priors.size(), 1U);
  EXPECT_EQ(priors[0].column, 3) << "ticks, by program";
  const std::string bytes = encoder.encodePriors(priors);
  const auto decoded = decodePriors(bytes);
  ASSERT_OK(decoded);
  ASSERT_EQ(decoded->size(), 1U);
  EXPECT_EQ((*decoded)[0].keys, priors[0].keys);
  EXPECT_EQ((*decoded)[0].values, priors[0].values);
  const auto with = encoder.encode(columns, steps.size(), coding, priors),
             without = encoder.encode(columns, steps.size(), coding);
  ASSERT_OK(with);
  ASSERT_OK(without);
  EXPECT_LT(with->bytes.size() + 1000, without->bytes.size());
  const auto block = decodeBlock(with->bytes, steps.size(), with->rawBytes, columnTypesOf<model::Step>(),
                                 DecodedPart::all, *decoded);
  ASSERT_OK(block);
  EXPECT_EQ(block->columns[3].integers, columns[3].integers);
}

TEST(Priors, LieInAFileAsTheReadmeSays) {
  const auto text = [](std::initializer_list<int> bytes) {
    std::string all;
    for (const int byte : bytes) all.push_back(static_cast<char>(byte));
    return all;
  };
  // Keys 6, 7, 9 with x 40, 20, 5 for the column at place 1, as varints.
  const std::string raw = text({1, 3, 3, 12, 14, 18, 3, 80, 40, 10});
  std::string frame(ZSTD_compressBound(raw.size()), ' ');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), raw.data(), raw.size(), 1));
  const auto priors = decodePriors(frame);
  ASSERT_OK(priors);
  // Keys 7, 5, 7, 6. x is 1 more than the prior, 9 more than in the previous row, 1 more than the last one of
  // this key, and 1 less than the prior.
  const std::string block = text({3, 14, 10, 14, 12, 5, 0, 255, 255, 2, 3, 0, 18, 2, 1});
  const auto columns = decodeColumns(block, 4, {model::ColumnType::integer, model::ColumnType::integer},
                                     DecodedPart::all, *priors);
  ASSERT_OK(columns);
  EXPECT_EQ((*columns)[0].integers, (Values{7, 5, 7, 6}));
  EXPECT_EQ((*columns)[1].integers, (Values{21, 30, 22, 39}));
}

TEST(Priors, DamageIsNamed) {
  BlockEncoder encoder;
  EXPECT_EQ(encoder.encodePriors({}), "");
  EXPECT_TRUE(decodePriors("").value().empty());
  const std::string bytes = encoder.encodePriors({{3, {1, 5, 6}, {10, 10, 10}}, {4, {0}, {9}}});
  const auto decoded = decodePriors(bytes);
  ASSERT_OK(decoded);
  EXPECT_EQ((*decoded)[0].values, Values(3, 10));
  EXPECT_EQ((*decoded)[1].keys, Values{0});
  const auto malformed = FailsWith("what its rows are predicted from is malformed");
  EXPECT_THAT(decodePriors(bytes.substr(0, bytes.size() - 1)), malformed);
  EXPECT_THAT(decodePriors("no zstd frame"), malformed);
  EXPECT_THAT(decodePriors(encoder.encodePriors({{3, {5, 5}, {1, 2}}})), malformed) << "a key twice";
  EXPECT_THAT(decodePriors(encoder.encodePriors({{3, {6, 5}, {1, 2}}})), malformed) << "keys that descend";
  const std::vector<Priors> many(5, {3, Values(kMostRowsPerPayload), Values(kMostRowsPerPayload)});
  EXPECT_THAT(decodePriors(encoder.encodePriors(many)), malformed) << "a few bytes that claim to be much";
}

TEST(Priors, AFileWithThemComesBackAndItsHolesAreNamed) {
  const Folder folder;
  model::RowSet rows;
  rows.of<model::Step>() = stepsOfPrograms(10 * kShortBlock);
  writeProfile(folder / "p.pop", {rows});
  for (const std::int64_t bytes :
       selectNumbers(folder / "p.pop", "SELECT prior_bytes FROM store_block WHERE rows = 4096"))
    EXPECT_GT(bytes, 1000);
  EXPECT_EQ(readProfile(folder / "p.pop"), render(rows));
  {
    const auto reader = ProfileReader::open(folder / "p.pop");
    ASSERT_OK(reader);
    for (const std::size_t block : {std::size_t{9}, std::size_t{3}, std::size_t{3}}) {
      const auto columns = (*reader)->columns<model::Step>(block);
      ASSERT_OK(columns);
      for (std::size_t i = 0; i < kShortBlock; ++i)
        ASSERT_EQ((*columns)->columns[3][i], rows.of<model::Step>()[block * kShortBlock + i].ticks.count);
    }
  }
  // Changes a byte of what all blocks share.
  runSql(folder / "p.pop", "UPDATE store_payload SET payload = CAST(x'00' || substr(payload, 2) AS BLOB)");
  const auto damaged = ProfileReader::open(folder / "p.pop");
  ASSERT_OK(damaged);
  EXPECT_THAT(
      (*damaged)->block<model::Step>(0),
      FailsWith("rows 0 to 4095 of table step cannot be read: the block does not agree with its checksum"));
  EXPECT_THAT((*damaged)->columns<model::Step>(9),
              FailsWith("rows 36864 to 40959 of table step cannot be read: the block does not agree"));
}

}  // namespace
}  // namespace pipescope::store::testing
