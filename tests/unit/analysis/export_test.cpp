#include "profiler/analysis/export/export.h"

#include <map>
#include <nlohmann/json.hpp>

#include "trace_fixture.h"

namespace pipescope::analysis {
namespace {

using testing::TraceFixture;

template <class Body>
std::string textOf(Body&& body) {
  std::string text;
  const base::Status status = body([&](std::string_view part) { return text += part, base::Status(); });
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return text;
}

TEST(Export, ChromeTracesHaveProcessesLanesStepsArrowsAndCounters) {
  const TraceFixture fixture(6);
  const auto catalog = loadCatalog(*fixture.profile).value();
  base::SilentProgress progress;
  for (const bool steps : {true, false}) {
    const std::string text = textOf([&](const Writer& write) {
      return exportChrome({*fixture.profile, *catalog, model::ExecutableId(0), steps}, write, progress);
    });
    const nlohmann::json json = nlohmann::json::parse(text);
    EXPECT_EQ(json["otherData"]["times"], "emulated, made up");
    std::map<std::string, int> byPhase;
    std::map<std::pair<int, int>, double> reached;
    for (const auto& event : json["traceEvents"]) {
      ++byPhase[event["ph"]];
      if (event["ph"] != "X" || event["cat"] == "transfer") continue;
      double& end = reached[{event["pid"], event["tid"]}];
      EXPECT_GE(event["ts"].get<double>() + 1e-9, end) << "lanes never overlap";
      end = event["ts"].get<double>() + event["dur"].get<double>();
    }
    EXPECT_EQ(byPhase["X"], 18 + 1 + (steps ? 180 : 0));  // placements, a transfer, steps
    EXPECT_EQ(byPhase["s"], 1);
    EXPECT_EQ(byPhase["f"], 1);
    EXPECT_EQ(byPhase["C"], 1);
    EXPECT_EQ(byPhase["M"], 3 * 3 + 6);
    EXPECT_NEAR((reached[{1, 0}]), static_cast<double>(fixture.rows.of<model::Placement>()[5].end.count), 1e-6)
        << "a tick is a microsecond here";
  }
}

TEST(Export, CsvIsQuotedWhereItMustBe) {
  const TraceFixture fixture(1);
  base::SilentProgress progress;
  const auto csv = [&](const std::string& table) {
    return textOf([&](const Writer& write) { return exportCsv(*fixture.profile, table, write, progress); });
  };
  EXPECT_EQ(csv("debug_context"),
            "id,parent,name,layer\r\n0,-1,layer,\r\n1,0,MatMul,\r\n2,0,\"Relu, \"\"quick\"\"\",\r\n");
  EXPECT_EQ(csv("counter_sample"), "counter,time,run,value\r\n0,7,0,0.5\r\n");
  const base::Status unknown = exportCsv(*fixture.profile, "x", [](std::string_view) { return base::Status(); }, progress);
  ASSERT_FALSE(unknown.ok());
  EXPECT_TRUE(unknown.error().message.starts_with("A profile has no table \"x\"; known are property, configuration"));
}

TEST(Export, SvgHasARowALaneAndSaysWhatItShows) {
  const TraceFixture fixture(50);
  const std::shared_ptr<const Catalog> catalog = loadCatalog(*fixture.profile).value();
  base::SilentProgress progress;
  const std::string svg = textOf([&](const Writer& write) {
    return exportSvg(fixture.profile, catalog, model::ExecutableId(0), write, progress);
  });
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("call &lt;1>"), std::string::npos);
  EXPECT_NE(svg.find("emulated, made up · test 1"), std::string::npos);
  for (const char* lane : {"D0 compute", "D0 exchange", "D2 exchange"}) EXPECT_NE(svg.find(lane), std::string::npos) << lane;
}

TEST(Export, AWriterThatFailsEndsTheExport) {
  const TraceFixture fixture(5);
  const auto catalog = loadCatalog(*fixture.profile).value();
  base::SilentProgress progress;
  const base::Status status =
      exportChrome({*fixture.profile, *catalog, model::ExecutableId(0), true},
                   [](std::string_view) -> base::Status { return base::refused("full"); }, progress);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "full");
}

}  // namespace
}  // namespace pipescope::analysis
