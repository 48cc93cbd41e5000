#include "profiler/sections/section.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "profiler/record/memory_profile.h"

namespace pipescope::sections {
namespace {

TEST(FormatCell, ShowsNumbersAsPeopleReadThem) {
  EXPECT_EQ(formatCell(Cell(), Format::bytes), "–");
  EXPECT_EQ(formatCell(std::int64_t{1472}, Format::count), "1,472");
  EXPECT_EQ(formatCell(std::int64_t{-1234567}, Format::ticks), "-1,234,567");
  EXPECT_EQ(formatCell(std::int64_t{999}, Format::count), "999");
  EXPECT_EQ(formatCell(std::int64_t{1472}, Format::plain), "1472");
  EXPECT_EQ(formatCell(std::int64_t{0}, Format::bytes), "0 B");
  EXPECT_EQ(formatCell(std::int64_t{1023}, Format::bytes), "1,023 B");
  EXPECT_EQ(formatCell(std::int64_t{1024}, Format::bytes), "1.00 KiB");
  EXPECT_EQ(formatCell(std::int64_t{624} * 1024, Format::bytes), "624 KiB");
  EXPECT_EQ(formatCell(std::int64_t{3} << 29, Format::bytes), "1.50 GiB");
  EXPECT_EQ(formatCell(0.4546, Format::fraction), "45.5 %");
  EXPECT_EQ(formatCell(1.6, Format::ratio), "1.600");
  EXPECT_EQ(formatCell(0.00502, Format::seconds), "5.02 ms");
  EXPECT_EQ(formatCell(723237.4, Format::rate), "723,237 /s");
  EXPECT_EQ(formatCell(std::nan(""), Format::plain), "not a number");
  EXPECT_EQ(formatCell(true, Format::plain), "yes");
  EXPECT_EQ(formatCell(Breakdown{{"fill", 2e6}, {"drain", 4e6}}, Format::ticks, 1e6), "fill 2 · drain 4");
}

Section small() {
  Section section{"small", "Small", {}, {}, {"A remark."}};
  section.facts.push_back({"total_cycles", "Total", std::int64_t{1500}, Format::ticks, ""});
  section.facts.push_back({"nothing", "Nothing", Cell(), Format::plain, ""});
  section.facts.push_back({"infinite", "Infinite", INFINITY, Format::plain, ""});
  Table table{"devices",
              "Devices",
              "per call",
              {{"name", "Name", Format::plain, ""}, {"by_kind", "By kind", Format::ticks, ""}},
              {}};
  table.rows.push_back({std::string("IPU0, \"first\""), Breakdown{{"sync", 12}}});
  section.tables.push_back(table);
  return section;
}

TEST(Section, TextHasTitleUnitsAndRemarks) {
  EXPECT_EQ(toText(small()),
            "Small\n=====\n  Total     1,500\n  Nothing   –\n  Infinite  infinite\n"
            "\nDevices (per call)\n  Name           By kind\n  IPU0, \"first\"  sync 12\n\nA remark.\n");
}

TEST(Section, JsonHasRawValuesAndNullForWhatIsNoNumber) {
  EXPECT_EQ(toJson(small()), R"({
  "total_cycles": 1500,
  "nothing": null,
  "infinite": null,
  "devices": [
    {
      "name": "IPU0, \"first\"",
      "by_kind": {
        "sync": 12.0
      }
    }
  ],
  "remarks": [
    "A remark."
  ]
})");
}

TEST(Section, CsvQuotesWhatNeedsIt) {
  EXPECT_EQ(toCsv(small()),
            "key,value\ntotal_cycles,1500\nnothing,\ninfinite,inf\n\ndevices\nname,by_kind\n\"IPU0, "
            "\"\"first\"\"\",sync=12\n");
}

TEST(SectionRegistry, HasEverySectionOnceInOrder) {
  std::set<std::string> names;
  int last = -1;
  for (const SectionDefinition& definition : sectionRegistry().all()) {
    EXPECT_TRUE(names.insert(definition.name).second);
    EXPECT_GE(definition.order, last);
    last = definition.order;
    EXPECT_FALSE(definition.doc.empty());
  }
  for (const char* name : {"summary", "execution", "stages", "waits", "memory", "liveness"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(Sections, OfAProfileInWhichNothingRan) {
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  recorder.add(model::Executable());
  ASSERT_TRUE(recorder.commit().ok());
  const auto catalog = *analysis::loadCatalog(profile);
  const Context context{profile, *catalog, model::ExecutableId(0)};
  for (const SectionDefinition& definition : sectionRegistry().all()) {
    const auto section = makeSection(definition, context);
    EXPECT_TRUE(section.ok()) << definition.name << ": " << (section.ok() ? "" : section.error().message);
  }
  EXPECT_FALSE(catalog->findExecutable("no-such").ok());
}

}  // namespace
}  // namespace pipescope::sections
