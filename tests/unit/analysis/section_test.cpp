#include "profiler/sections/frame/section.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "profiler/record/memory_profile.h"
#include "profiler/sections/frame/column_text.h"
#include "profiler/sections/frame/words.h"
#include "trace_fixture.h"

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
  EXPECT_EQ(formatCell(std::int64_t{6}, Format::bytes), "6 B") << "there are no parts of a byte";
  EXPECT_EQ(formatCell(0.031, Format::bytes), "< 1 B");
  EXPECT_EQ(formatCell(0.831, Format::amount), "0.831") << "small amounts are not rounded to 0";
  EXPECT_EQ(formatCell(12.0, Format::amount), "12");
  EXPECT_EQ(formatCell(12.34, Format::amount), "12.3");
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
  section.facts.push_back(
      {"infinite", "Infinite", std::numeric_limits<double>::infinity(), Format::plain, ""});
  SectionTable table{"devices",
                     "Devices",
                     "per call",
                     {{"name", "Name", Format::plain, ""},
                      {"by_kind", "By kind", Format::ticks, "", true, {"sync", "slower stage", "MME"}}},
                     {}};
  table.rows.push_back({std::string("IPU0, \"first\""),
                        Breakdown{{"sync", std::int64_t{12}}, {"slower stage", 0.0}, {"MME", Amount()}}});
  section.tables.push_back(table);
  return section;
}

/// A profile of one device.
struct OneDevice {
  record::MemoryProfile profile;
  std::shared_ptr<const analysis::Catalog> catalog;
  OneDevice(model::TickMeaning meaning, std::int64_t ticksPerSecond, std::int64_t units,
            const std::vector<model::LaneRole>& roles = {});
};

OneDevice::OneDevice(model::TickMeaning meaning, std::int64_t ticksPerSecond, std::int64_t units,
                     const std::vector<model::LaneRole>& roles) {
  model::RowSet rows;
  rows.of<model::Target>() = {{"test", "", "", 1, 1, meaning}};
  model::Device device;
  device.id = model::DeviceId(0);
  device.ticksPerSecond = ticksPerSecond;
  device.units = units;
  rows.of<model::Device>() = {device};
  rows.of<model::Property>() = {model::laneTitleProperty(model::LaneRole::copy, "DMA"),
                                model::laneTitleProperty(model::LaneRole::network, "NIC")};
  for (const model::LaneRole role : roles)
    rows.of<model::Lane>().push_back({model::LaneId(static_cast<std::int64_t>(rows.of<model::Lane>().size())),
                                      model::DeviceId(0),
                                      "lane",
                                      role,
                                      {}});
  EXPECT_TRUE(profile.commit(rows).ok());
  catalog = analysis::loadCatalog(profile).value();
}

TEST(FormatCell, ASmallShareIsNotSaidToBeNone) {
  EXPECT_EQ(formatCell(0.0004, Format::fraction), "< 0.1 %");
  EXPECT_EQ(formatCell(1e-6, Format::fraction), "< 0.1 %");
  EXPECT_EQ(formatCell(1e-16, Format::fraction), "0.0 %") << "a rounding error";
  EXPECT_EQ(formatCell(0.0006, Format::fraction), "0.1 %");
  EXPECT_EQ(formatCell(0.0, Format::fraction), "0.0 %");
  EXPECT_EQ(formatCell(-0.0, Format::fraction), "0.0 %");
  EXPECT_EQ(formatCell(std::int64_t{0}, Format::fraction), "0.0 %");
  EXPECT_EQ(formatCell(-0.0004, Format::fraction), "> -0.1 %");
  EXPECT_EQ(relativeText(0.0004), "< +0.1 %");
  EXPECT_EQ(relativeText(-0.0004), "> -0.1 %");
  EXPECT_EQ(relativeText(0.123), "+12.3 %");
  EXPECT_EQ(relativeText(0), "0.0 %");
  EXPECT_EQ(changeText("delta", Format::fraction, formatCell(0.0004, Format::fraction), 0.0004),
            "< +0.1 points");
}

TEST(FormatCell, ManyPercentHaveNoTenths) {
  EXPECT_EQ(formatCell(9.994, Format::fraction), "999.4 %");
  EXPECT_EQ(formatCell(285.397, Format::fraction), "28,540 %");
  EXPECT_EQ(formatCell(-285.397, Format::fraction), "-28,540 %");
}

TEST(OutcomeValue, KeepsDigitsOfSlowRates) {
  model::Outcome rate;
  rate.name = "host_samples_per_second";
  rate.unit = "samples/s";
  for (const auto& [value, text] :
       {std::pair(0.2345, "0.234 samples/s"), {12.0, "12 samples/s"}, {45678.4, "45,678 samples/s"}}) {
    rate.value = value;
    EXPECT_EQ(outcomeValue(rate), text);
  }
}

TEST(FromToText, NamesAUnitOnceWhereItIsTheSame) {
  EXPECT_EQ(fromToText("1,160,126 cycles", "835,653 cycles"), "1,160,126 → 835,653 cycles");
  EXPECT_EQ(fromToText("1.2 MiB", "840 KiB"), "1.2 MiB → 840 KiB");
  EXPECT_EQ(fromToText("1.466", "1.528"), "1.466 → 1.528");
  EXPECT_EQ(withoutUnitOf("636,628 /s", "178,057 /s"), "178,057");
  EXPECT_EQ(withoutUnitOf("840 KiB", "-4 MiB"), "-4 MiB");
  EXPECT_EQ(fromToText("27 cost units", "63 cost units"), "27 → 63 cost units");
  EXPECT_EQ(withoutUnitOf("63 cost units", "36 cost units"), "36");
  EXPECT_EQ(fromToText("< 0.1 %", "2.0 %"), "< 0.1 → 2.0 %");
  const ShownTime time{1, "µs", 0}, cycles{1, "cycles", 0};
  const auto range = [](double least, double most, const ShownTime& shown) {
    return figures::rangeText(least, most, Format::ticks, shown);
  };
  EXPECT_EQ(range(681'030, 1'197'200, time), "0.6810 … 1.1972 s") << "in one unit";
  EXPECT_EQ(range(494.5, 870.2, time), "494.5 … 870.2 µs");
  EXPECT_EQ(range(9'500, 12'250, time), "9.50 … 12.25 ms");
  EXPECT_EQ(range(730'448, 1'067'272, cycles), "730,448 … 1,067,272 cycles");
}

TEST(FormatCell, AZeroHasNoSign) {
  EXPECT_EQ(formatCell(-0.0001, Format::ratio), "0.000");
  EXPECT_EQ(formatCell(-1e-16, Format::fraction), "0.0 %");
  EXPECT_EQ(formatCell(-0.2, Format::ticks), "0");
  EXPECT_EQ(formatCell(-0.5, Format::ratio), "-0.500");
  EXPECT_EQ(formatCell(std::string("-0"), Format::plain), "-0") << "words stay as they are";
}

TEST(ColumnText, ColumnsWithoutAnyFigureAreLeftOutOfText) {
  SectionTable table{"stages", "Stages", "", {}, {}};
  table.columns = {{"stage", "Stage", Format::index, ""},
                   {"forward_cycles", "Forward", Format::ticks, ""},
                   {"backward_cycles", "Backward", Format::ticks, ""},
                   {"update_cycles", "Update", Format::ticks, ""},
                   {"shape", "Shape", Format::plain, ""}};
  table.rows = {{std::int64_t{0}, 7.5, 0.0, 0.0, {}}, {std::int64_t{1}, 2.5, std::int64_t{0}, 1.0, {}}};
  hideUnused(table, {"forward_cycles", "backward_cycles", "update_cycles", "shape"});
  const Section section{"stages", "Stages", {}, {table}, {}};
  const std::string text = toText(section);
  EXPECT_NE(text.find("Forward"), std::string::npos);
  EXPECT_NE(text.find("Update"), std::string::npos) << "one stage has an update";
  EXPECT_EQ(text.find("Backward"), std::string::npos);
  EXPECT_EQ(text.find("Shape"), std::string::npos);
  EXPECT_NE(toCsv(section, "stages").value().find("backward_cycles"), std::string::npos)
      << "programs read the same columns of every profile";
  EXPECT_NE(toJson(section).find("backward_cycles"), std::string::npos);
}

TEST(ColumnText, TextLeavesOutWhatAProfileCannotFill) {
  SectionTable traffic{"traffic", "Traffic", "", {}, {}};
  traffic.columns = {{"index", "Device", Format::index, ""},
                     {"in_bytes", "Received", Format::bytes, ""},
                     {"out_bytes", "Sent", Format::bytes, ""}};
  traffic.rows = {{std::int64_t{0}, {}, {}}, {std::int64_t{1}, {}, {}}};
  const auto textOf = [&] { return toText({"execution", "Execution", {}, {traffic}, {}}); };
  EXPECT_EQ(textOf().find("Traffic"), std::string::npos) << "names alone say nothing";
  traffic.rows[1][2] = std::int64_t{0};
  EXPECT_NE(textOf().find("Device  Sent"), std::string::npos) << "0 is a figure";
  EXPECT_EQ(textOf().find("Received"), std::string::npos);
  EXPECT_NE(toJson({"execution", "Execution", {}, {traffic}, {}}).find("in_bytes"), std::string::npos);
}

TEST(ColumnText, PlainNumbersHaveThousandsSeparatorsInTextOnly) {
  EXPECT_EQ(formatCell(843962.0, Format::number), "843,962");
  EXPECT_EQ(formatCell(12345.6, Format::number), "12,345.6");
  EXPECT_EQ(formatCell(72.22391, Format::fraction), "7,222 %");
  EXPECT_EQ(formatCell(0.0269, Format::number), "0.0269");
  EXPECT_EQ(formatCell(2.52e8, Format::number), "2.52e+08");
  EXPECT_EQ(plainNumber(843962), "843962");
}

TEST(Words, SentencesAndFactsWriteTimesInTheUnitThatSuitsThem) {
  const ShownTime cycles, micros{1e6, "µs"}, costs{1e6, "cost units"};
  EXPECT_EQ(timeText(1'169'615e6, micros), "1.17 s");
  EXPECT_EQ(timeText(412'300e6, micros), "412 ms");
  EXPECT_EQ(timeText(3.24e6, micros), "3.24 µs");
  EXPECT_EQ(timeText(281'400, cycles), "281,000 cycles");
  EXPECT_EQ(timeText(1, cycles), "1 cycle");
  EXPECT_EQ(timeText(2.5e6, costs), "2.5 cost units");
  EXPECT_EQ(timeText(1e6, costs), "1 cost unit");
  // Times that are compared keep more digits.
  EXPECT_EQ(timeText(2'002'638e6, micros, sections::TimeStyle::exact), "2.0026 s");
  EXPECT_EQ(timeText(975.3e6, micros, sections::TimeStyle::exact), "975.3 µs");
  EXPECT_EQ(timeText(0, micros, sections::TimeStyle::exact), "0 s");
  EXPECT_EQ(timeText(772'675, cycles, sections::TimeStyle::exact), "772,675 cycles");
  Section section{"stages", "Stages", {}, {}, {}};
  const Fact flush{"flush_cycles", "Flush", std::int64_t{2'428'977'000'000}, Format::ticks, ""};
  EXPECT_EQ(factText(section, flush), "2,428,977,000,000 cycles");
  showTimesIn(micros, section);
  EXPECT_EQ(factText(section, flush), "2.429 s");
  EXPECT_EQ(factText(section, {"flush_cycles", "Flush", {}, Format::ticks, ""}), "–");
}

TEST(Words, TimesAreReadAsTheDevicesCountThem) {
  const Words chip = wordsOf(*OneDevice(model::TickMeaning::clockCycle, 1'330'000'000, 1472).catalog);
  EXPECT_STREQ(chip.time.unit, "cycles");
  EXPECT_EQ(chip.time.ticks, 1);
  EXPECT_EQ(chip.basis("last call"), "last call");
  EXPECT_EQ(chip.per("step"), "cycles per step");
  EXPECT_STREQ(chip.cycles(), "Cycles");
  const Words card = wordsOf(*OneDevice(model::TickMeaning::time, 1'000'000'000'000, 1).catalog);
  EXPECT_STREQ(card.time.unit, "µs");
  EXPECT_EQ(card.time.ticks, 1e6);
  EXPECT_EQ(card.basis("last call"), "last call; times in µs");
  EXPECT_EQ(card.basis(""), "times in µs");
  EXPECT_STREQ(card.cycles(), "Time");
  const Words costs = wordsOf(*OneDevice(model::TickMeaning::cost, 1'000'000, 1).catalog);
  EXPECT_STREQ(costs.time.unit, "cost units");
  EXPECT_EQ(costs.time.ticks, 1e6);
}

TEST(Words, DevicesInOnePieceHaveNoTiles) {
  const Words chip = wordsOf(*OneDevice(model::TickMeaning::clockCycle, 1'330'000'000, 1472).catalog);
  EXPECT_EQ(chip.overTiles("at its peak"), "at its peak, sum over tiles");
  EXPECT_EQ(chip.overTiles(), "sum over tiles");
  EXPECT_EQ(chip.exchange, "Exchange");
  const OneDevice one(model::TickMeaning::time, 1'000'000'000'000, 1,
                      {model::LaneRole::matrix, model::LaneRole::network, model::LaneRole::copy});
  const Words card = wordsOf(*one.catalog);
  EXPECT_EQ(card.overTiles("at its peak"), "at its peak");
  EXPECT_EQ(card.overTiles(), "");
  EXPECT_EQ(card.exchange, "DMA, NIC");
  for (const SectionDefinition& definition : sectionRegistry().all()) {
    const auto section = makeSection(definition, {one.profile, *one.catalog, model::ExecutableId(0)});
    if (!section.ok()) continue;
    for (const SectionTable& table : section->tables) {
      if (table.rows.empty()) continue;
      EXPECT_EQ(table.basis.find("tile"), std::string::npos) << definition.name << ": " << table.basis;
      for (const SectionColumn& column : table.columns) {
        if (column.inText) {
          EXPECT_EQ(column.heading.find("tile"), std::string::npos) << definition.name;
        }
      }
    }
  }
}

TEST(Section, TextHasTitleUnitsAndRemarks) {
  EXPECT_EQ(toText(small()),
            "Small\n=====\n  Total     1,500 cycles\n  Nothing   –\n  Infinite  infinite\n"
            "\nDevices (per call)\n  Name           By kind\n  IPU0, \"first\"  sync 12\n\nA remark.\n");
}

TEST(Section, TimesOfAColumnHaveAsManyDecimals) {
  Section section{"s", "S", {}, {}, {}};
  section.ticksPerShownUnit = 1e6;
  SectionTable table{"t", "T", "times in µs", {{"name", "Name"}, {"total", "Total", Format::ticks}}, {}};
  table.columns.push_back({"part", "Part", Format::ticks});
  table.columns.push_back({"value", "Value", Format::plain});
  table.rows = {{"a", std::int64_t{5'864'550'000}, 225'725.0, 0.75},
                {"b", std::int64_t{843'791'000}, 37'555'800.0, Cell()},
                {"c", std::int64_t{1'512'000'000}, std::int64_t{0}, 12.0},
                {"d", Cell(), -0.25, 1407.86}};
  section.tables = {table};
  EXPECT_EQ(toText(section),
            "S\n=\n"
            "\nT (times in µs)\n"
            "  Name    Total    Part     Value\n"
            "  a     5,864.6   0.226      0.75\n"
            "  b       843.8  37.556      –\n"
            "  c     1,512.0   0.000     12\n"
            "  d           –   0.000  1,407.86\n");
  // Cost units are written as exactly as they need.
  section.tables[0].columns.resize(3);
  section.tables[0].rows = {{"a", std::int64_t{437'500}, std::int64_t{1'000'000}},
                            {"b", std::int64_t{6'437'500}, std::int64_t{20'000'000}}};
  EXPECT_EQ(toText(section),
            "S\n=\n"
            "\nT (times in µs)\n"
            "  Name   Total  Part\n"
            "  a     0.4375     1\n"
            "  b     6.4375    20\n");
  // Exponents are no decimals.
  section.tables[0].columns = {{"value", "Value", Format::plain}};
  section.tables[0].rows = {{0.5}, {1.5e9}};
  EXPECT_EQ(toText(section), "S\n=\n\nT (times in µs)\n    Value\n      0.5\n  1.5e+09\n");
  EXPECT_EQ(formatCell(20'344'600.0, Format::ticks, 1e6), "20.345");
  EXPECT_EQ(formatCell(std::int64_t{1'210'180'000}, Format::ticks, 1e6), "1,210.2");
  EXPECT_EQ(formatCell(std::int64_t{252'000'000}, Format::ticks, 1e6), "252");
}

TEST(Section, ChangesHaveASign) {
  Section section{"s", "S", {}, {}, {}};
  section.facts = {{"delta_cycles", "Change", std::int64_t{12}, Format::ticks},
                   {"cycles", "Cycles", std::int64_t{12}, Format::ticks}};
  SectionTable table{"t", "T", "", {{"after_bytes", "After", Format::bytes}}, {}};
  table.columns.push_back({"delta_bytes", "Change", Format::bytes});
  table.columns.push_back({"delta", "Any", Format::ofRow});
  table.columns.push_back({"relative", "÷ before", Format::fraction});
  table.rows = {{std::int64_t{2}, std::int64_t{1024}, 0.5, 0.00001},
                {std::int64_t{2}, std::int64_t{-3}, -0.5, 1.5},
                {std::int64_t{2}, std::int64_t{0}, Cell(), Cell()}};
  table.rowFormats = {Format::ratio, Format::ratio, Format::ratio};
  section.tables = {table};
  EXPECT_EQ(toText(section),
            "S\n=\n  Change  +12 cycles\n  Cycles  12 cycles\n"
            "\nT\n"
            "  After     Change     Any  ÷ before\n"
            "    2 B  +1.00 KiB  +0.500  < +0.1 %\n"
            "    2 B       -3 B  -0.500  +150.0 %\n"
            "    2 B        0 B       –         –\n");
}

TEST(Section, DifferencesOfPercentagesAreInPoints) {
  Section section{"s", "S", {}, {}, {}};
  SectionTable table{"t", "T", "", {{"after", "After", Format::ofRow}}, {}};
  table.columns.push_back({"delta", "Change", Format::ofRow});
  table.columns.push_back({"relative", "In percent", Format::fraction});
  table.rows = {{0.45, -0.039, Cell()}, {120.0, 20.0, 0.2}};
  table.rowFormats = {Format::fraction, Format::count};
  section.tables = {table};
  EXPECT_EQ(toText(section),
            "S\n=\n\nT\n"
            "   After       Change  In percent\n"
            "  45.0 %  -3.9 points           –\n"
            "     120          +20     +20.0 %\n");
}

TEST(Section, FiguresOfSeveralKindsHaveTheDecimalsThatTheyNeed) {
  SectionTable table{"t", "T", "", {{"after", "After", Format::ofRow}}, {{7'062'500.0}, {16.0}}};
  table.rowFormats = {Format::ticks, Format::count};
  const int decimals = columnDecimals(table, 0, 1e6);
  EXPECT_EQ(formatInColumn(table.rows[0][0], Format::ticks, 1e6, decimals), "7.0625");
  EXPECT_EQ(formatInColumn(table.rows[1][0], Format::count, 1e6, decimals), "16");
}

TEST(Section, PlainNumbersOfAColumnHaveEqualDecimals) {
  SectionTable table{"t", "T", "", {{"count", "Count", Format::number}}, {}};
  table.columns.push_back({"figure", "Figure", Format::number});
  table.columns.push_back({"wide", "Wide", Format::number});
  table.rows = {{6.0, 0.9901, 2.0}, {0.25, 128.0, 3e9}, {16.0, 0.35, 0.5}};
  const auto shown = [&](std::size_t row, std::size_t column) {
    return formatInColumn(table.rows[row][column], Format::number, 1, columnDecimals(table, column, 1));
  };
  EXPECT_EQ(shown(0, 0), "6.00");
  EXPECT_EQ(shown(1, 0), "0.25");
  EXPECT_EQ(shown(0, 1), "0.9901") << "no digit is lost";
  EXPECT_EQ(shown(1, 1), "128") << "and none is made up";
  EXPECT_EQ(shown(1, 2), "3e+09");
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
        "sync": 12,
        "slower_stage": 0,
        "mme": null
      }
    }
  ],
  "remarks": [
    "A remark."
  ]
})");
  const Section empty{"e", "E", {}, {SectionTable{"t", "T", "", {}, {}}}, {}};
  EXPECT_EQ(toJson(empty), "{\n  \"t\": [],\n  \"remarks\": []\n}");
  EXPECT_EQ(toJson(std::vector<Section>{empty}),
            "{\n  \"e\": {\n    \"t\": [],\n    \"remarks\": []\n  }\n}");
}

TEST(Section, NumbersAreExactOrHaveTwelveDigits) {
  Section section{"s", "S", {}, {}, {}};
  section.facts = {{"whole", "", std::int64_t{9'007'199'254'740'993}, Format::count, ""},
                   {"mean", "", 12337.00000000002, Format::ticks, ""},
                   {"third", "", 1.0 / 3, Format::ratio, ""},
                   {"none", "", -0.0, Format::ratio, ""},
                   {"large", "", 1e300, Format::ticks, ""}};
  EXPECT_EQ(toJson(section),
            "{\n  \"whole\": 9007199254740993,\n  \"mean\": 12337,\n  \"third\": 0.333333333333,\n"
            "  \"none\": 0,\n  \"large\": 1e+300,\n  \"remarks\": []\n}");
  EXPECT_EQ(toCsv(section, "facts").value(),
            "key,value\nwhole,9007199254740993\nmean,12337\nthird,0.333333333333\nnone,0\nlarge,1e+300\n");
}

TEST(Section, TitlesOfPartsStandInTextOnly) {
  Section section = small();
  section.tables[0].columns[1].titles = {{"sync", "waiting"}, {"nothing", "unused"}};
  EXPECT_NE(toText(section).find("waiting 12"), std::string::npos) << toText(section);
  EXPECT_EQ(toText(section).find("sync 12"), std::string::npos) << toText(section);
  EXPECT_EQ(toJson(section), toJson(small())) << "keys stay, whatever a device calls its parts";
  EXPECT_EQ(toCsv(section, "devices").value(), toCsv(small(), "devices").value());
}

TEST(Section, KeysAreInSnakeCase) {
  EXPECT_EQ(snakeCase("forward_cycles"), "forward_cycles");
  EXPECT_EQ(snakeCase("slower stage"), "slower_stage");
  EXPECT_EQ(snakeCase("globalExchangePacketHeader"), "global_exchange_packet_header");
  EXPECT_EQ(snakeCase("MME"), "mme");
  EXPECT_EQ(snakeCase("IPU0"), "ipu0");
  EXPECT_EQ(snakeCase("a - b"), "a_b");
}

TEST(Section, CsvIsOneTableOfPlainCells) {
  EXPECT_EQ(toCsv(small(), "facts").value(), "key,value\ntotal_cycles,1500\nnothing,\ninfinite,\n");
  EXPECT_EQ(toCsv(small(), "devices").value(),
            "name,by_kind.sync,by_kind.slower_stage,by_kind.mme\n\"IPU0, \"\"first\"\"\",12,0,\n");
  EXPECT_EQ(toCsv(small(), "x").error().message,
            "There is no table \"x\" in small; its tables are facts, devices.");
  Section open{"open", "Open", {}, {SectionTable{"t", "T", "", {}, {}}}, {}};
  open.tables[0].columns = {{"by_category", "", Format::bytes, "", true, kAnyParts},
                            {"last", "", Format::truth, ""}};
  open.tables[0].rows = {{Breakdown{{"vertexCode", std::int64_t{1}}}, true},
                         {Breakdown{{"stack", std::int64_t{2}}}, Cell()}};
  EXPECT_EQ(toCsv(open, "t").value(), "by_category.vertex_code,by_category.stack,last\n1,,true\n,2,\n");
  open.facts = {{"parts", "", Breakdown{{"slower stage", 1.5}}, Format::ticks, "", true, {"slower stage"}}};
  EXPECT_EQ(toCsv(open, "facts").value(), "key,value\nparts.slower_stage,1.5\n");
}

TEST(Section, TheMainTableIsTheOneThatASectionIsNamedAfter) {
  EXPECT_EQ(mainTable(small()), "facts");
  Section section{"devices", "Devices", {}, {}, {}};
  section.tables = {SectionTable{"links", "Links", "", {}, {}}};
  EXPECT_EQ(mainTable(section), "links");
  section.facts = small().facts;
  EXPECT_EQ(mainTable(section), "facts");
  section.tables.push_back(small().tables[0]);
  EXPECT_EQ(mainTable(section), "devices");
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
    ASSERT_TRUE(section.ok()) << definition.name << ": " << section.error().message;
    for (const Fact& fact : section->facts) {
      const auto* number = std::get_if<double>(&fact.value);
      EXPECT_TRUE(number == nullptr) << definition.name << "." << fact.key << " has a value, but nothing ran";
    }
  }
  EXPECT_FALSE(catalog->findExecutable("no-such").ok());
}

TEST(ShortList, NamesTheEndsOfALongList) {
  EXPECT_EQ(formatCell(110'406.25e6, Format::ticks, 1e6), "110,406");
  EXPECT_EQ(formatCell(-3'115.25e6, Format::ticks, 1e6), "-3,115.2");
  EXPECT_EQ(formatCell(999.5e6, Format::ticks, 1e6), "999.5");
  EXPECT_EQ(formatCell(1e15, Format::ticks, 1e6), "1,000,000,000");
  EXPECT_TRUE(countsBefore("stages[2].blocks", "stages[10].blocks"));
  EXPECT_FALSE(countsBefore("stages[10].blocks", "stages[2].blocks"));
  EXPECT_TRUE(countsBefore("a", "a1"));
  EXPECT_TRUE(countsBefore("layer9", "layer10/x"));
  EXPECT_FALSE(countsBefore("layer07", "layer7"));
  EXPECT_FALSE(countsBefore("layer7", "layer07"));
  EXPECT_EQ(shortList(""), "");
  EXPECT_EQ(shortList("conv1 pool fc"), "conv1 pool fc");
  EXPECT_EQ(shortList("B1 B2 B3 B4"), "B1 B2 B3 B4") << "short as it is";
  EXPECT_EQ(shortList("embedding encoder0 encoder1 head"), "embedding encoder0..1 head");
  EXPECT_EQ(shortList("encoder/layer9 encoder/layer10 encoder/layer11"), "encoder/layer9..11");
  EXPECT_EQ(shortList("encoder/layer2 encoder/layer4 encoder/layer3"),
            "encoder/layer2 encoder/layer4 encoder/layer3");
  EXPECT_EQ(shortList("encoder/layer01 encoder/layer02"), "encoder/layer01 encoder/layer02")
      << "a name, not a count";
  EXPECT_EQ(shortList("stem layer1/block0 layer1/block1 layer2/block0 layer2/block1 head"),
            "stem … head (6)");
  EXPECT_EQ(formatCell(std::string("embedding encoder0 encoder1 head"), Format::list),
            "embedding encoder0..1 head");
}

/// A device with three tiles. All hold a weight, and the last two hold an activation.
struct TileProfile {
  record::MemoryProfile profile;
  std::shared_ptr<const analysis::Catalog> catalog;

  explicit TileProfile(std::int64_t tiles = 3, bool maps = true) {
    record::Recorder recorder(profile);
    recorder.add(model::Target{"tiny", "ipu", "", 1, 1});
    model::Device device;
    device.name = "IPU0";
    device.units = tiles;
    device.unitName = "tile";
    const model::DeviceId id = recorder.add(device);
    const auto space =
        recorder.add(model::MemorySpace{{}, id, "tile_memory", tiles, base::Bytes(1000), base::Bytes(0)});
    const auto executable = recorder.add(model::Executable());
    recorder.add(model::UnitMemory{executable, space, "variable", "", true, 0, tiles, base::Bytes(40)});
    const auto add = [&](const char* name, bool always, std::int64_t first, std::int64_t count,
                         std::int64_t bytes) {
      const auto context = recorder.add(model::DebugContext{{}, {}, name, "variable"});
      const auto variable = recorder.add(model::Variable{{},
                                                         executable,
                                                         space,
                                                         context,
                                                         "variable",
                                                         "",
                                                         base::Bytes(bytes * count),
                                                         base::Bytes(bytes),
                                                         always,
                                                         0});
      if (maps) recorder.add(model::VariableUnits{variable, first, count, base::Bytes(bytes)});
      if (!always) recorder.add(model::LifeInterval{variable, 1, 2});
    };
    add("weight", true, 0, 3, 40);
    add("activation", false, 1, 2, 25);
    for (int step = 0; step < 2; ++step)
      recorder.add(model::LivenessStep{
          executable, space, step, {}, model::Pass::forward, base::Bytes(50 * step), base::Bytes(25 * step)});
    EXPECT_TRUE(recorder.commit().ok());
    catalog = *analysis::loadCatalog(profile);
  }

  base::Result<Section> liveness(std::int64_t unit) const {
    return makeSection(*sectionRegistry().find("liveness"),
                       {profile, *catalog, model::ExecutableId(0), unit});
  }
};

TEST(LivenessSection, TellsOfOneTile) {
  const TileProfile tiles;
  const auto last = tiles.liveness(2);
  ASSERT_TRUE(last.ok()) << last.error().message;
  const SectionTable& table = last->tables.at(2);
  EXPECT_EQ(table.title, "One tile of each device");
  EXPECT_EQ(std::get<std::int64_t>(table.rows[0][2]), 40) << "always live";
  EXPECT_EQ(std::get<std::int64_t>(table.rows[0][3]), 1) << "the step with most";
  EXPECT_EQ(std::get<std::int64_t>(table.rows[0][5]), 25);
  ASSERT_EQ(last->tables.at(3).rows.size(), 2U);
  EXPECT_EQ(std::get<std::string>(last->tables.at(3).rows[0][1]), "weight");
  const auto first = tiles.liveness(0);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(std::get<std::int64_t>(first->tables.at(2).rows[0][5]), 0) << "the activation is not on it";
}

TEST(LivenessSection, RefusesTilesThatItCannotTellOf) {
  EXPECT_EQ(TileProfile().liveness(3).error().message, "IPU0 has tiles 0 to 2; there is no tile 3.");
  EXPECT_EQ(
      TileProfile(3, false).liveness(0).error().message,
      "This profile does not say which tile holds what. Run again with --record steps or --record tiles.");
  EXPECT_EQ(TileProfile(1).liveness(0).error().message,
            "These devices have no tiles. Leave --tile out to see when most of their memory is live.");
}

TEST(Summary, AStoppedRunShowsItsLastLoss) {
  const analysis::testing::TraceFixture fixture(1);  // it has a counter of losses, but no outcome
  const auto catalog = analysis::loadCatalog(*fixture.profile).value();
  ASSERT_TRUE(catalog->outcomes.empty());
  const Context context{*fixture.profile, *catalog, model::ExecutableId(0)};
  const Section section = makeSection(*sectionRegistry().find("summary"), context).value();
  const auto loss = std::ranges::find(section.facts, "final_loss", &Fact::key);
  ASSERT_NE(loss, section.facts.end());
  EXPECT_EQ(loss->value, Cell(0.5));
}

}  // namespace
}  // namespace pipescope::sections
