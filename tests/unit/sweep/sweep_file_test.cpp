// Tests what the window reads of a sweep's table.
#include "profiler/sections/frame/sweep_file.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>

#include "profiler/store/profile_reader.h"
#include "tests/unit/sweep/sweep_fixture.h"

namespace pipescope::app {
namespace {

using sections::readSweepFile;
using sections::SweepFile;
using testing::ElementsAre;
using testing::HasSubstr;

class SweepFileTest : public SweepFixture {
 protected:
  std::string written(const std::string& name, const std::string& text) const {
    std::ofstream(file(name)) << text;
    return file(name);
  }
  std::string refusal(const std::string& name, const std::string& text) const {
    const auto read = readSweepFile(written(name, text));
    return read.ok() ? std::string() : read.error().message;
  }
  SweepRequest request(const std::string& output) const {
    SweepRequest made;
    made.name = "equal";
    made.keys = {{"training.gradient_accumulation", {"4", "8"}}};
    made.output = file(output);
    return made;
  }
};

TEST_F(SweepFileTest, ReadsWhatASweepHasWritten) {
  for (const char* name : {"table.csv", "table.json"}) {
    SweepRequest asked = request(name);
    asked.profiles = file("profiles");
    base::SilentProgress progress;
    ASSERT_TRUE(sweep(equalStages(), asked, progress).ok());
    EXPECT_TRUE(sections::isSweepFile(file(name)));
    const auto read = readSweepFile(file(name));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->varied, 1U);
    EXPECT_EQ(read->table.columns.front().heading, "gradient_accumulation");
    EXPECT_THAT(read->fits, ElementsAre(true, true));
    ASSERT_EQ(read->profiles.size(), 2U);
    // A step of gpipe with four equal stages of 3 units takes 3 · (G + 3) units.
    const auto step = std::ranges::find(read->table.columns, "step_time_us", &sections::SectionColumn::key);
    ASSERT_NE(step, read->table.columns.end());
    const auto column = static_cast<std::size_t>(step - read->table.columns.begin());
    EXPECT_EQ(step->heading, "Step time, cost units");
    EXPECT_DOUBLE_EQ(*figures::numberIn(read->table.rows[0][column]), 21);
    EXPECT_DOUBLE_EQ(*figures::numberIn(read->table.rows[1][column]), 33);
    for (const std::string& profile : read->profiles) {
      const auto reader = store::ProfileReader::open(profile);
      ASSERT_TRUE(reader.ok()) << reader.error().message;
      const auto properties = (*reader)->everything();
      ASSERT_TRUE(properties.ok());
      const auto& all = properties->of<model::Property>();
      const auto table = std::ranges::find(all, "sweep_table", &model::Property::key);
      ASSERT_NE(table, all.end());
      EXPECT_EQ(table->value, file(name));
      EXPECT_EQ(properties->of<model::Run>().size(), 2U);
    }
  }
}

TEST_F(SweepFileTest, EmulatesAgainWhereAProfileIsMissing) {
  SweepRequest asked = request("table.csv");
  base::SilentProgress progress;
  ASSERT_TRUE(sweep(equalStages(), asked, progress).ok());
  asked.profiles = file("profiles");
  const auto first = sweep(equalStages(), asked, progress);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->resumed, 0) << "no combination has a profile yet";
  EXPECT_EQ(sweep(equalStages(), asked, progress)->resumed, 2);
}

TEST_F(SweepFileTest, RefusesAFolderThatIsAFile) {
  SweepRequest asked = request("table.csv");
  asked.profiles = written("file", "x");
  base::SilentProgress progress;
  EXPECT_THAT(sweep(equalStages(), asked, progress).error().message, HasSubstr("Cannot make the folder"));
}

TEST_F(SweepFileTest, TheFrontHoldsWhatNoOtherCombinationBeats) {
  const std::string text =
      "micro_batch_size,fits,samples_per_second,memory_bytes,note,error,configuration_hash\n"
      "1,true,100,1000,,,a\n"
      "2,true,150,2000,,,b\n"
      "3,true,120,2500,,,c\n"   // slower than b, and needs more
      "4,false,900,9000,,,d\n"  // does not fit
      "5,,,,,It cannot run.,e\n"
      "6,true,100,1000,,,f\n";  // equal to a, so neither beats the other
  const auto read = readSweepFile(written("t.csv", text));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_THAT(sections::paretoRows(*read, {2, 3}), ElementsAre(true, true, false, false, false, true));
  EXPECT_THAT(sections::paretoRows(*read, {2}), ElementsAre(false, true, false, false, false, false));
  EXPECT_THAT(sections::paretoRows(*read, {0}), ElementsAre(true, false, false, false, false, false));
  EXPECT_EQ(std::get<std::string>(read->table.rows[4].back()), "It cannot run.");
}

TEST_F(SweepFileTest, RefusesOtherTables) {
  EXPECT_THAT(refusal("t.csv", "a,b\n1,2\n"), HasSubstr("is no table of a sweep"));
  EXPECT_THAT(refusal("t.json", "{}"), HasSubstr("is no table of a sweep"));
  EXPECT_THAT(refusal("t.json", "{\"sweep\": [1]}"), HasSubstr("is no table of a sweep"));
  EXPECT_THAT(refusal("t.json", "{\"sweep\": "), HasSubstr("is no table of a sweep"));
  EXPECT_THAT(refusal("t.csv", "a,fits,configuration_hash\n"), HasSubstr("holds no combination"));
  EXPECT_THAT(readSweepFile("/no/table.json").error().message, HasSubstr("no such plain file"));
  EXPECT_THAT(readSweepFile("/no/table.csv").error().message, HasSubstr("no such plain file"));
  EXPECT_FALSE(sections::isSweepFile(written("t.csv", "a,b\n1,2\n")));
  EXPECT_FALSE(sections::isSweepFile(written("t.txt", "fits,configuration_hash\n")));
  EXPECT_FALSE(sections::isSweepFile("/no/table.csv"));
}

}  // namespace
}  // namespace pipescope::app
