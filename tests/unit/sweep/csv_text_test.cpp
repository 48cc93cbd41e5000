#include "profiler/sections/frame/csv_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/sweep/sweep_fixture.h"

namespace pipescope::app {
namespace {

using sections::CsvTable;
using sections::parseCsv;
using sections::readCsv;
using testing::ElementsAre;

TEST(CsvText, ReadsQuotesBlanksAndLineEnds) {
  const CsvTable table =
      parseCsv("\xEF\xBB\xBF a , b\r\n1, \"x, \"\"y\"\"\"\r\n\r\n \"two\nlines\" ,\r\n3,4", "f").value();
  EXPECT_THAT(table.headings, ElementsAre("a", "b"));
  EXPECT_THAT(table.rows, ElementsAre(ElementsAre("1", "x, \"y\""), ElementsAre("two\nlines", ""),
                                      ElementsAre("3", "4")));
  EXPECT_THAT(table.lines, ElementsAre(2, 4, 6));
}

TEST(CsvText, RefusesWhatIsNoTable) {
  const auto refusal = [](std::string_view text) { return parseCsv(text, "f.csv").error().message; };
  EXPECT_EQ(refusal(""), "f.csv is empty: its first line must name the columns.");
  EXPECT_EQ(refusal("\n\n"), "f.csv is empty: its first line must name the columns.");
  EXPECT_EQ(refusal("a,,b\n"), "f.csv:1: column 2 has no heading.");
  EXPECT_EQ(refusal("a,b,a\n"), "f.csv:1: two columns are called a.");
  EXPECT_EQ(refusal("a,b\n1,2\n1\n"), "f.csv:3: the row has 1 cell, but there are 2 headings.");
  EXPECT_EQ(refusal("a,b\n1,2,3\n"), "f.csv:2: the row has 3 cells, but there are 2 headings.");
  EXPECT_EQ(refusal("a,b\n1,\"2\n3,4\n"), "f.csv:2: a quoted cell has no end.");
  EXPECT_EQ(refusal(std::string_view("a,b\n1,\0", 7)),
            "f.csv is no table of comma-separated values: it holds bytes that are no text.");
}

class CsvFile : public SweepFixture {};

TEST_F(CsvFile, RefusesMissingFilesAndFolders) {
  EXPECT_EQ(readCsv("/nowhere/x.csv").error().message,
            "Cannot read the table /nowhere/x.csv: there is no such plain file.");
  EXPECT_FALSE(readCsv("/").ok());
  std::ofstream(file("t.csv")) << "a\n1\n";
  EXPECT_THAT(readCsv(file("t.csv"))->rows, ElementsAre(ElementsAre("1")));
}

}  // namespace
}  // namespace pipescope::app
