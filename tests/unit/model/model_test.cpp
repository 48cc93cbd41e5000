#include <gmock/gmock.h>

#include <set>

#include "profiler/model/source.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::model {
namespace {

TEST(Tables, HaveUniqueNamesAndADescription) {
  std::set<std::string> names;
  EXPECT_EQ(tables().size(), kTableCount);
  for (const Table& table : tables()) {
    EXPECT_TRUE(names.insert(table.name).second) << table.name;
    EXPECT_THAT(table.name, ::testing::MatchesRegex("[a-z][a-z0-9_]*"));
    EXPECT_NE(std::string(table.doc), "") << table.name;
    EXPECT_FALSE(std::string(table.name).starts_with("store_")) << "those are the file's own";
  }
}

TEST(Tables, ColumnsAreUniqueNamedFieldsWithKnownUnits) {
  const std::set<std::string> units = {"", "ticks", "B", "B/s", "1/s", "ns", "samples", "FLOP"};
  for (const Table& table : tables()) {
    std::set<std::string> names;
    EXPECT_FALSE(table.columns.empty()) << table.name;
    for (const Column& column : table.columns) {
      EXPECT_TRUE(names.insert(column.name).second) << table.name << "." << column.name;
      EXPECT_THAT(column.name, ::testing::MatchesRegex("[a-z][a-z0-9_]*")) << table.name;
      EXPECT_TRUE(units.contains(column.unit)) << table.name << "." << column.name << ": " << column.unit;
    }
  }
}

TEST(Tables, AreInTheOrderOfTheirNumbers) {
  std::size_t number = 0;
  forEachRowType([&]<class Row>() {
    EXPECT_EQ(tableIndexOf<Row>(), number);
    EXPECT_STREQ(tables()[number].name, Row::kTable);
    EXPECT_EQ(tables()[number].columns.size(), columnsOf<Row>().size());
    ++number;
  });
  // Files contain these numbers, so they must never change.
  EXPECT_EQ(tableIndexOf<Property>(), 0u);
  EXPECT_EQ(tableIndexOf<Device>(), 3u);
  EXPECT_EQ(tableIndexOf<Placement>(), 20u);
  EXPECT_EQ(tableIndexOf<Note>(), 27u);
}

TEST(Fields, BecomeIntegersAndComeBack) {
  LaneId id;
  fromInteger(id, 7);
  EXPECT_EQ(toInteger(id), 7);
  Ticks ticks;
  fromInteger(ticks, -9);
  EXPECT_EQ(toInteger(ticks), -9);
  Pass pass = Pass::forward;
  fromInteger(pass, 2);
  EXPECT_EQ(pass, Pass::backward);
  bool flag = false;
  fromInteger(flag, 1);
  EXPECT_EQ(toInteger(flag), 1);
  EXPECT_EQ(columnTypeOf<std::string>(), ColumnType::text);
  EXPECT_EQ(columnTypeOf<double>(), ColumnType::real);
  EXPECT_EQ(columnTypeOf<Ticks>(), ColumnType::integer);
}

TEST(Enums, KnownValuesHaveNamesAndUnknownOnesSaySo) {
  EXPECT_EQ(toString(Pass::weightGradient), "weight gradient");
  EXPECT_EQ(toString(Pass::remote), "remote");
  EXPECT_EQ(toString(StepKind::remoteCopy), "remote copy");
  EXPECT_EQ(toString(LaneRole::hostThread), "host thread");
  EXPECT_EQ(toString(LaneRole::vector), "vector");
  EXPECT_EQ(laneKey(LaneRole::vector), "tpc") << "keys of reports never change";
  EXPECT_EQ(laneKey(LaneRole::compute), "compute");
  EXPECT_TRUE(isEngine(LaneRole::copy));
  EXPECT_FALSE(isEngine(LaneRole::hostThread));
  EXPECT_EQ(toString(ClockDomain::wall), "wall");
  EXPECT_EQ(toString(ExecutableKind::inference), "inference");
  EXPECT_EQ(toString(WaitCause::update), "update");
  EXPECT_EQ(toString(TransferKind::remote), "remote");
  EXPECT_EQ(toString(Severity::error), "error");
  EXPECT_EQ(toString(ProfileState::incomplete), "incomplete");
  EXPECT_EQ(toString(static_cast<Pass>(17)), "unknown (17)");
  EXPECT_TRUE(isComputePass(Pass::weightGradient));
  EXPECT_FALSE(isComputePass(Pass::update));
}

TEST(RowSet, CountsAllTables) {
  RowSet rows;
  EXPECT_TRUE(rows.empty());
  rows.of<Device>().resize(2);
  rows.of<Placement>().resize(3);
  EXPECT_EQ(rows.size(), 5u);
  rows.clear();
  EXPECT_TRUE(rows.empty());
}

/// A source of two blocks, the second of which is damaged.
class HalfDamaged : public ProfileSource {
 public:
  base::Result<SourceState> state() const override { return SourceState{}; }
  std::int64_t revision() const override { return 0; }

 protected:
  base::Result<std::vector<BlockInfo>> directory(std::size_t) const override {
    return std::vector<BlockInfo>(2);
  }
  base::Result<std::shared_ptr<const void>> decode(std::size_t, std::size_t block) const override {
    if (block == 1) return base::badInput("block 1 is damaged");
    return std::shared_ptr<const void>(std::make_shared<const std::vector<Device>>(3));
  }
};

TEST(ProfileSource, AWholeTableFailsWithItsFirstDamagedBlock) {
  const HalfDamaged source;
  EXPECT_EQ((*source.block<Device>(0))->size(), 3u);
  const auto rows = source.rows<Device>();
  ASSERT_FALSE(rows.ok());
  EXPECT_EQ(rows.error().message, "block 1 is damaged");
}

}  // namespace
}  // namespace pipescope::model
