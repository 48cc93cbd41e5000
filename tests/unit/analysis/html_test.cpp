// Tests the reports in HTML: names are escaped, nothing is loaded from elsewhere, and pages stay small.
#include "profiler/export/html/html.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "profiler/base/files/file_kind.h"
#include "profiler/export/html/html_writer.h"
#include "profiler/export/html/report_findings.h"
#include "profiler/export/html/report_pictures.h"
#include "profiler/record/memory_profile.h"
#include "tests/unit/analysis/imported_trace.h"

namespace pipescope::exporting {
namespace {

using base::Bytes;
using base::Ticks;

constexpr const char* kHostile = "<script>alert('x')</script>\"&";

/// A profile whose names are hostile. One device, one stage, one step of one operator.
struct HostileProfile {
  record::MemoryProfile profile;
  std::shared_ptr<const analysis::Catalog> catalog;

  explicit HostileProfile(std::int64_t operators = 1, std::int64_t length = 300, std::int32_t stages = 1) {
    model::RowSet rows;
    model::Executable training;
    training.id = model::ExecutableId(0);
    training.name = std::string("training") + kHostile;
    training.stages = stages;
    rows.of<model::Executable>() = {training};
    model::Device device;
    device.id = model::DeviceId(0);
    device.name = kHostile;
    device.units = 4;
    rows.of<model::Device>() = {device};
    rows.of<model::Lane>() = {
        {model::LaneId(0), device.id, kHostile, model::LaneRole::compute, model::ClockDomain::emulated}};
    rows.of<model::Stage>() = {{training.id, 0, device.id, kHostile, 0, {}}};
    rows.of<model::Property>() = {{"device_model", kHostile}, {"tool_version", kHostile}};
    rows.of<model::ConfigurationEntry>() = {{kHostile, kHostile, "file"},
                                            {"execution.schedule", "\"gpipe\"", "flag"},
                                            {"execution.seed", "42", "default"}};
    rows.of<model::Outcome>() = {
        {training.id, "bubble_fraction_2g", "fraction", "", 0.25, model::OutcomeKind::forecast}};
    model::Segment segment;
    segment.id = model::SegmentId(0);
    segment.executable = training.id;
    segment.device = device.id;
    segment.lane = model::LaneId(0);
    segment.stage = 0;
    segment.name = kHostile;
    segment.ticks = Ticks(length);
    rows.of<model::Segment>() = {segment};
    for (std::int64_t i = 0; i < operators; ++i) {
      const model::DebugContextId name(i);
      rows.of<model::DebugContext>().push_back({name, {}, kHostile + std::to_string(i), "operator"});
      rows.of<model::Operator>().push_back({model::OperatorId(i), training.id, name, kHostile, 0,
                                            model::Pass::forward, 1e6, Bytes(10), kHostile});
      rows.of<model::Program>().push_back(
          {model::ProgramId(i), {}, training.id, device.id, "OnTileExecute", name, model::OperatorId(i)});
      model::Step step;
      step.segment = segment.id;
      step.lane = segment.lane;
      step.offset = Ticks(i * (length / operators));
      step.ticks = step.maxTicks = Ticks(length / operators);
      step.program = model::ProgramId(i);
      rows.of<model::Step>().push_back(step);
    }
    model::Run run;
    run.id = model::RunId(0);
    run.executable = training.id;
    run.name = kHostile;
    run.end = Ticks(length);
    rows.of<model::Run>() = {run};
    model::Placement placement;
    placement.id = model::PlacementId(0);
    placement.segment = segment.id;
    placement.device = device.id;
    placement.end = Ticks(length);
    placement.run = run.id;
    placement.stage = 0;
    placement.microBatch = placement.iteration = 0;
    rows.of<model::Placement>() = {placement};
    EXPECT_TRUE(profile.commit(rows).ok());
    EXPECT_TRUE(profile.finish(model::ProfileState::complete, kHostile).ok());
    catalog = *analysis::loadCatalog(profile);
  }

  std::string page() const {
    base::SilentProgress progress;
    const auto made = htmlReport({profile, *catalog, model::ExecutableId(0)}, kHostile, progress);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made.ok() ? *made : std::string();
  }
};

std::size_t countOf(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// The text from the last `begin` before `part` up to the next `end`.
std::string around(const std::string& page, const std::string& part, const std::string& begin,
                   const std::string& end) {
  const std::size_t at = page.find(part);
  if (at == std::string::npos) return {};
  const std::size_t from = page.rfind(begin, at);
  return page.substr(from, page.find(end, at) - from);
}

TEST(HtmlReport, NamesAreEscaped) {
  const std::string page = HostileProfile().page();
  EXPECT_EQ(countOf(page, "<script>"), 1U) << "the page's own script";
  EXPECT_EQ(page.find("alert('x')</script>"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;"), std::string::npos);
  // Every attribute ends where it should: no quote of a name ends one early.
  EXPECT_EQ(page.find("</script>\"&"), std::string::npos);
}

TEST(HtmlReport, TheVerdictIsInSentences) {
  const std::string page = HostileProfile().page();
  EXPECT_NE(page.find("The devices spend most of their time computing."), std::string::npos)
      << page.substr(page.find("verdict"), 300);
}

TEST(HtmlReport, LessThanAHalfIsNotMostOfTheTime) {
  const auto doing = [](double compute, double pipeline) {
    sections::Section summary{"summary", "Summary", {}, {}, {}};
    summary.facts = {
        {"bound_by", "Bound by", std::string("compute"), sections::Format::plain, ""},
        {"time_shares", "Where the time goes",
         sections::Breakdown{{"compute", compute}, {"pipeline", pipeline}}, sections::Format::fraction, ""}};
    return verdictOf(summary);
  };
  EXPECT_EQ(doing(0.6, 0.4), "The devices spend most of their time computing. ");
  EXPECT_EQ(doing(0.4, 0.3), "The devices spend the largest part of their time (40.0 %) computing. ");
}

TEST(HtmlReport, OneStageIsNoPipeline) {
  const std::string page = HostileProfile().page();
  for (const char* words : {"The others wait", "Imbalance", "Bubble", "bubble with", "Limiting stage"})
    EXPECT_EQ(page.find(words), std::string::npos) << words;
}

TEST(HtmlReport, TheVerdictOnATraceSaysWhatItsAcceleratorsDo) {
  using sections::Format;
  sections::Section kernels{"kernels", "Kernels", {}, {}, {}};
  kernels.tables.push_back(
      {"devices",
       "Devices",
       "",
       {{"device_name", "", Format::plain, ""},
        {"span_cycles", "", Format::ticks, ""},
        {"busy_cycles", "", Format::ticks, ""},
        {"compute_cycles", "", Format::ticks, ""},
        {"exposed_communication_cycles", "", Format::ticks, ""}},
       {{std::string("GPU 0"), std::int64_t{100}, std::int64_t{80}, std::int64_t{60}, std::int64_t{10}}}});
  EXPECT_EQ(recordedVerdictOf(kernels),
            "GPU 0 computes for 60.0 % of the time, only communicates for 10.0 %, and is idle for 20.0 %. ");
  kernels.tables[0].rows.push_back(
      {std::string("GPU 1"), std::int64_t{300}, std::int64_t{300}, std::int64_t{300}, sections::Cell()});
  EXPECT_EQ(recordedVerdictOf(kernels),
            "2 accelerators compute for 90.0 % of the time, only communicate for 2.5 %, and are idle for "
            "5.0 %. ");
  EXPECT_TRUE(recordedVerdictOf({"kernels", "Kernels", {}, {}, {}}).empty());
}

TEST(HtmlReport, AFindingSaysWhatItsChangeGains) {
  using sections::Cell;
  using sections::Format;
  sections::Section insights{"insights", "Insights", {}, {}, {}};
  sections::SectionTable table{"insights", "Findings", "", {}, {}};
  for (const char* key : {"what", "advice", "figure_meaning", "gain_reason", "changes"})
    table.columns.push_back({key, "", Format::plain, ""});
  for (const char* key : {"figure", "threshold", "gain_fraction", "gain_bound_fraction"})
    table.columns.push_back({key, "", Format::number, ""});
  const auto row = [](const char* what, const char* changes, const Cell& gain, const Cell& bound) {
    return std::vector<Cell>{std::string(what),
                             std::string("Do."),
                             std::string("a ÷ b"),
                             std::string("It is"),
                             std::string(changes),
                             0.5,
                             0.25,
                             gain,
                             bound};
  };
  table.rows = {row("First<.", "a=1", 0.125, Cell()), row("Second.", "", Cell(), 0.5),
                row("Third.", "b=2", Cell(), Cell()), row("Fourth.", "c=3", -0.25, 0.5)};
  insights.tables.push_back(table);
  const std::string html = findingsHtml(insights);
  EXPECT_EQ(countOf(html, "<div class=\"finding\">"), 4U);
  EXPECT_EQ(countOf(html, "<div"), countOf(html, "</div>"));
  const auto finding = [&](const char* what) { return around(html, what, "<div class=\"finding", "\n"); };
  EXPECT_NE(finding("1. First&lt;.").find("Rate with a=1</span><b class=\"gain good\">+12.5 %"),
            std::string::npos)
      << html;
  EXPECT_NE(finding("1. First").find("a ÷ b: 0.500; the threshold is 0.250"), std::string::npos) << html;
  EXPECT_NE(finding("2. Second").find("up to +50.0 %"), std::string::npos) << html;
  EXPECT_NE(finding("3. Third").find("not known"), std::string::npos) << html;
  EXPECT_NE(finding("4. Fourth").find("up to +50.0 %"), std::string::npos)
      << "a bound says more than a change that loses: " << html;
}

TEST(HtmlWriter, NumbersOfAColumnHaveEquallyManyDecimals) {
  sections::SectionTable table{"t", "T", "", {}, {{498.0}, {94.85}}};
  table.columns = {{"time", "Time", sections::Format::ticks, ""}};
  HtmlWriter page("t", "");
  constexpr double kTicksOfMicrosecond = 1'000;
  for (auto& row : table.rows) row[0] = std::get<double>(row[0]) * kTicksOfMicrosecond;
  page.table(table, kTicksOfMicrosecond, 10);
  EXPECT_NE(page.finish().find(">498.00<"), std::string::npos) << page.finish();
  EXPECT_NE(page.finish().find(">94.85<"), std::string::npos);
}

TEST(HtmlWriter, DevicesHaveTheirNamesAndRowsOfDataAreLeftOut) {
  using sections::Format;
  sections::SectionTable table{
      "t", "T", "", {}, {{std::int64_t{3}, std::string("IPU3")}, {std::int64_t{4}, std::string("IPU4")}}};
  table.columns = {{"device", "Device", Format::index, ""},
                   {"device_name", "Name", Format::plain, "", false}};
  table.rowsNotInText = {false, true};
  HtmlWriter page("t", "");
  page.table(table, 1, 10);
  const std::string html = page.finish();
  EXPECT_NE(html.find(">Device</th></tr></thead><tbody>\n<tr><td>IPU3</td></tr>\n</tbody>"),
            std::string::npos)
      << html;
}

TEST(HtmlReport, NothingIsLoadedFromElsewhere) {
  const std::string page = HostileProfile().page();
  EXPECT_TRUE(base::isOfKind(base::FileKind::report, page));
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(page.find("<link"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find(" src="), std::string::npos);
  EXPECT_EQ(page.find("@import"), std::string::npos);
  const std::regex address("https?://[^\" ]+");
  for (auto found = std::sregex_iterator(page.begin(), page.end(), address); found != std::sregex_iterator();
       ++found)
    EXPECT_EQ(found->str(), "http://www.w3.org/2000/svg") << "the name of SVG, which nobody loads";
}

TEST(HtmlReport, HasVerdictTimelineAndSections) {
  const std::string page = HostileProfile().page();
  for (const char* part : {"class=\"verdict", "<svg", "id=\"stages\"", "id=\"operations\"", "id=\"options\"",
                           "name=\"viewport\"", "@media print"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
}

TEST(HtmlReport, HasNamesForPeopleAndNoDefaults) {
  const std::string page = HostileProfile(1, 300, 2).page();
  EXPECT_NE(page.find("bubble with 2 × micro-batches"), std::string::npos);
  EXPECT_EQ(page.find("bubble_fraction_2g"), std::string::npos);
  EXPECT_NE(page.find("execution.schedule"), std::string::npos);
  EXPECT_EQ(page.find("execution.seed"), std::string::npos) << "nobody decided it";
}

TEST(HtmlReport, DrawsThePipelineOfAnIterationAndBarsOfStages) {
  const std::string page = HostileProfile(1, 300).page();
  const std::string pipeline = around(page, "<div class=\"pipeline\">", "<div", "</div>");
  ASSERT_NE(pipeline.find("<svg"), std::string::npos);
  EXPECT_NE(pipeline.find(">Stage 0<"), std::string::npos);
  EXPECT_NE(pipeline.find(">F0<"), std::string::npos) << "the pass of the only micro-batch";
  EXPECT_NE(pipeline.find(">forward<"), std::string::npos) << "the meaning of the colours";
  const std::string bar = around(page, "title=\"forward: 300", "<div class=\"bar\">", "</div>");
  EXPECT_NE(bar.find("width:100.00%"), std::string::npos) << bar;
  EXPECT_NE(bar.find("Stage 0"), std::string::npos) << bar;
  EXPECT_NE(page.find("print-color-adjust"), std::string::npos) << "bars must be printed with their colours";
}

/// Facts that belong to another one stand in its card, and long values below all cards.
TEST(HtmlReport, CardsAreShort) {
  using sections::Format;
  sections::Section summary{"summary", "Summary", {}, {}, {}};
  summary.facts = {
      {"a", "Step time", std::string("8 cycles"), Format::plain, ""},
      {"b", "  80 % from", std::string("7 cycles"), Format::plain, ""},
      {"c", "  interval from", std::string(60, 'x'), Format::plain, ""},
      {"d", "Limiting stage", std::string("stage 0"), Format::plain, ""},
      {"e", "Shares", sections::Breakdown{{"compute", 0.75}, {"host", 0.25}}, Format::fraction, ""}};
  HtmlWriter page("t", "s");
  page.cards(summary);
  const std::string html = page.finish();
  EXPECT_EQ(countOf(html, "<div class=\"card\">"), 2U);
  const std::string step = around(html, "Step time", "<div class=\"card\">", "</div>");
  EXPECT_NE(step.find("80 % from:</span> 7 cycles"), std::string::npos) << step;
  EXPECT_EQ(step.find("xxx"), std::string::npos) << step;
  const std::string facts = around(html, "<dl class=\"facts\">", "<dl", "</dl>");
  EXPECT_NE(facts.find("<dt title=\"\">Step time, interval from</dt><dd>xxx"), std::string::npos) << facts;
  EXPECT_NE(facts.find("Shares"), std::string::npos) << facts;
  EXPECT_EQ(countOf(html, "<div"), countOf(html, "</div>"));
  const std::string bar =
      shareBar({"summary",
                "Summary",
                {{"time_shares", "Shares", sections::Breakdown{{"compute", 0.75}, {"host", 0.25}},
                  Format::fraction, ""}},
                {},
                {}});
  EXPECT_NE(bar.find("width:75.00%"), std::string::npos) << bar;
  EXPECT_NE(bar.find("waiting for the host 25.0 %"), std::string::npos) << bar;
  EXPECT_TRUE(shareBar(summary).empty());
}

TEST(HtmlReport, BarsOfMemoryAreInProportion) {
  sections::Section memory{"memory", "Memory", {}, {}, {}};
  memory.tables.push_back({"devices",
                           "Devices",
                           "",
                           {{"name", "Name", sections::Format::plain, ""},
                            {"always_live_bytes", "", sections::Format::bytes, ""},
                            {"not_always_live_peak_bytes", "", sections::Format::bytes, ""},
                            {"bytes_per_tile", "", sections::Format::bytes, ""}},
                           {{std::string("A<"), std::int64_t{300}, std::int64_t{100}, std::int64_t{800}},
                            {std::string("B"), std::int64_t{100}, std::int64_t{100}, std::int64_t{800}}}});
  const std::string bars = memoryBars(memory);
  EXPECT_NE(bars.find("A&lt;"), std::string::npos);
  EXPECT_NE(bars.find("width:37.50%"), std::string::npos) << "300 of the capacity of 800: " << bars;
  EXPECT_EQ(countOf(bars, "width:12.50%"), 3U);
  EXPECT_TRUE(memoryBars({"memory", "Memory", {}, {}, {}}).empty());
  EXPECT_TRUE(stageBars({"stages", "Stages", {}, {}, {}}).empty());
}

TEST(HtmlReport, LongTablesAreCutAndSaySo) {
  const std::string page = HostileProfile(5'000, 50'000).page();
  EXPECT_LT(page.size(), kMostReportBytes);
  EXPECT_NE(page.find("of 5,000 rows"), std::string::npos);
}

TEST(HtmlReport, WithoutARunItSaysWhy) {
  record::MemoryProfile empty;
  model::RowSet rows;
  model::Executable training;
  training.id = model::ExecutableId(0);
  training.name = "training";
  rows.of<model::Executable>() = {training};
  ASSERT_TRUE(empty.commit(rows).ok());
  const auto catalog = *analysis::loadCatalog(empty);
  base::SilentProgress progress;
  const auto page = htmlReport({empty, *catalog, training.id}, "empty.pop", progress);
  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_NE(page->find("Nothing has run in this executable"), std::string::npos);
}

TEST(HtmlReport, ATraceOfKernelsShowsThemAndNoEmptyParts) {
  const std::filesystem::path file =
      std::filesystem::path(::testing::TempDir()) / "html_report_of_kernels.json";
  std::ofstream(file) << R"([
    {"ph":"X","cat":"user_annotation","name":"ProfilerStep#7","pid":9,"tid":9,"ts":0,"dur":50},
    {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":30,"dur":10}])";
  const analysis::ImportedTrace trace(file);
  base::SilentProgress progress;
  const auto page = htmlReport({trace.profile, *trace.catalog, model::ExecutableId(0)}, "t", progress);
  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_EQ(page->find("Nothing"), std::string::npos) << "a kernel has run";
  EXPECT_NE(page->find("href=\"#kernels\">Recorded"), std::string::npos);
  EXPECT_NE(page->find("gemm"), std::string::npos);
  for (const char* part : {"pipeline", "stages", "waits", "memory", "operations"})
    EXPECT_EQ(page->find("href=\"#" + std::string(part)), std::string::npos) << part;
}

TEST(HtmlReport, AnswersForMissingFiguresStandUnderTheFigures) {
  sections::SectionTable table{"t", "T", "", {}, {{std::int64_t{7}}, {sections::Cell()}}};
  table.columns = {{"n", "Count", sections::Format::count, ""}};
  HtmlWriter page("t", "");
  page.table(table, 1, 10);
  EXPECT_NE(page.finish().find("<td class=\"n\">–</td>"), std::string::npos);
}

TEST(HtmlComparison, NamesBothProfilesAndEscapesThem) {
  const HostileProfile before, after(3, 600);
  const auto page =
      htmlComparison({before.profile, *before.catalog, model::ExecutableId(0)},
                     {after.profile, *after.catalog, model::ExecutableId(0)}, "a<b>.pop", "c.pop");
  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_NE(page->find("a&lt;b&gt;.pop and c.pop"), std::string::npos);
  EXPECT_EQ(countOf(*page, "<script>"), 1U);
  EXPECT_NE(page->find("The iteration"), std::string::npos);
}

TEST(HtmlWriter, AHeadingBelowAnotherOneNamesBoth) {
  HtmlWriter page("title", "");
  page.table({"devices",
              "Devices",
              "",
              {{"idle", "Idle"}, {"host", "  for the host"}, {"device", "  of the device"}, {"busy", "Busy"}},
              {{"1", "2", "3", "4"}}},
             1, 10);
  const std::string html = page.finish();
  for (const char* heading : {">Idle<", ">Idle, for the host<", ">Idle, of the device<", ">Busy<"})
    EXPECT_NE(html.find(heading), std::string::npos) << heading;
}

TEST(HtmlWriter, ControlCharactersAreBlanks) {
  EXPECT_EQ(htmlText(std::string("a\0b\x1b", 4) + "<é>"), "a b &lt;é&gt;");
}

}  // namespace
}  // namespace pipescope::exporting
