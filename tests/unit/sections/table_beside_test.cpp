#include "profiler/sections/frame/table_beside.h"

#include <gtest/gtest.h>

namespace pipescope::sections {
namespace {

SectionTable memoryOf(std::vector<std::vector<Cell>> rows) {
  return {"memory",
          "Memory",
          "",
          {{"device", "Index", Format::index, ""},
           {"category", "Category", Format::term, ""},
           {"bytes", "Bytes", Format::bytes, ""},
           {"cycles", "Cycles", Format::ticks, ""}},
          std::move(rows)};
}

std::int64_t whole(std::int64_t number) {
  return number;
}

TEST(TableBeside, MatchesRowsByNameAndCountsTheChange) {
  const SectionTable target = memoryOf({{whole(0), "code", whole(10), whole(100)},
                                        {whole(0), "variable", whole(20), whole(200)},
                                        {whole(1), "code", whole(30), whole(300)}});
  const SectionTable source =
      memoryOf({{whole(1), "code", whole(33), whole(50)}, {whole(0), "variable", whole(5), whole(7)}});
  const SectionTable both = withSource(target, source);
  ASSERT_EQ(both.columns.size(), 8U);
  const char* keys[] = {"device",      "category",      "source_bytes", "bytes",
                        "delta_bytes", "source_cycles", "cycles",       "delta_cycles"};
  for (std::size_t c = 0; c < 8; ++c) EXPECT_EQ(both.columns[c].key, keys[c]);
  ASSERT_EQ(both.rows.size(), 3U);
  EXPECT_EQ(both.rows[0][2], Cell()) << "the source has no code on device 0";
  EXPECT_EQ(both.rows[0][4], Cell());
  EXPECT_EQ(both.rows[1][4], Cell(whole(15)));
  EXPECT_EQ(both.rows[2][4], Cell(whole(-3)));
  EXPECT_EQ(comparedKeys(both), (std::vector<std::string>{"bytes", "cycles"}));
}

TEST(TableBeside, RowsOfTheSourceOnlyComeLast) {
  const SectionTable both = withSource(
      memoryOf({{whole(0), "code", whole(10), whole(100)}}),
      memoryOf({{whole(0), "stack", whole(4), whole(1)}, {whole(0), "code", whole(9), whole(90)}}));
  ASSERT_EQ(both.rows.size(), 2U);
  EXPECT_EQ(both.rows[0][1], Cell("code"));
  EXPECT_EQ(both.rows[1][1], Cell("stack"));
  EXPECT_EQ(both.rows[1][2], Cell(whole(4)));
  EXPECT_EQ(both.rows[1][3], Cell());
}

TEST(TableBeside, TimesAreConvertedAndLeftOutWhereTheySayNothing) {
  const SectionTable target = memoryOf({{whole(0), "code", whole(1), whole(100)}}),
                     source = memoryOf({{whole(0), "code", whole(1), whole(40)}});
  EXPECT_EQ(withSource(target, source, 2.5).rows[0][5], Cell(whole(100)));
  EXPECT_EQ(withSource(target, source, 2.5).rows[0][2], Cell(whole(1))) << "bytes have no clock";
  EXPECT_EQ(withSource(target, source, 0).rows[0][5], Cell());
}

TEST(TableBeside, OneNameIsEnoughWhereItTellsTheRowsApart) {
  const auto named = [](const char* name, const char* kind, std::int64_t value) {
    return SectionTable{"t",
                        "T",
                        "",
                        {{"name", "Name"}, {"kind", "Kind"}, {"n", "N", Format::count, ""}},
                        {{name, kind, value}}};
  };
  const SectionTable both = withSource(named("a", "conv", 3), named("a", "matmul", 5));
  ASSERT_EQ(both.rows.size(), 1U) << "the kind is no part of the name";
  EXPECT_EQ(both.rows[0].back(), Cell(whole(-2)));
}

TEST(TableBeside, RowsOfTheSameNameAreMatchedInOrder) {
  const auto rows = [](std::int64_t first, std::int64_t second) {
    return SectionTable{
        "t", "T", "", {{"name", "Name"}, {"n", "N", Format::count, ""}}, {{"a", first}, {"a", second}}};
  };
  const SectionTable both = withSource(rows(1, 2), rows(10, 20));
  ASSERT_EQ(both.rows.size(), 2U);
  EXPECT_EQ(both.rows[0][1], Cell(whole(10)));
  EXPECT_EQ(both.rows[1][1], Cell(whole(20)));
}

TEST(TableBeside, TextsThatDifferAreShownOfBoth) {
  const auto option = [](const char* value) {
    return SectionTable{"options",
                        "Options",
                        "",
                        {{"key", "Option"}, {"value", "Value"}, {"doc", "Doc"}},
                        {{"lr", value, "rate"}}};
  };
  const SectionTable both = withSource(option("0.1"), option("0.2"));
  ASSERT_EQ(both.columns.size(), 4U);
  EXPECT_EQ(both.columns[1].key, "source_value");
  EXPECT_EQ(both.rows[0][1], Cell("0.2"));
  EXPECT_EQ(both.rows[0][2], Cell("0.1"));
  EXPECT_EQ(withSource(option("0.1"), option("0.1")).columns.size(), 3U);
}

TEST(TableBeside, ARowOfOneTableOnlyDoublesNoTextsThatAreTheSameOtherwise) {
  const SectionTable one{"options",
                         "Options",
                         "",
                         {{"key", "Option"}, {"value", "Value"}, {"doc", "Doc"}},
                         {{"lr", "0.1", "rate"}, {"seed", "7", "of random numbers"}}};
  SectionTable other = one;
  other.rows.pop_back();
  const SectionTable both = withSource(one, other);
  ASSERT_EQ(both.columns.size(), 4U) << "the doc is the same wherever both have it";
  EXPECT_EQ(both.rows[1][1], Cell()) << "only the target has a seed";
  EXPECT_EQ(both.rows[1][2], Cell("7"));
  EXPECT_EQ(both.rows[1][3], Cell("of random numbers"));
}

TEST(TableBeside, TheLargestNumbersDoNotOverflow) {
  const auto row = [](std::int64_t value) {
    return SectionTable{"t", "T", "", {{"name", "Name"}, {"n", "N", Format::ticks, ""}}, {{"a", value}}};
  };
  const SectionTable both = withSource(row(INT64_MAX), row(INT64_MIN));
  EXPECT_GT(std::get<double>(both.rows[0][3]), 1.8e19);
  EXPECT_EQ(withSource(row(1), row(INT64_MAX), 1000).rows[0][1], Cell()) << "no such time";
}

}  // namespace
}  // namespace pipescope::sections
