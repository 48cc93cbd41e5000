#include "profiler/export/chrome.h"

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "profiler/export/csv.h"
#include "profiler/export/sqlite.h"
#include "profiler/export/svg.h"
#include "trace_fixture.h"

namespace pipescope::exporting {
namespace {

using analysis::Catalog;
using analysis::loadCatalog;
using analysis::testing::TraceFixture;
using base::Ticks;

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
      if (event["ph"] != "X") continue;
      double& end = reached[{event["pid"], event["tid"]}];
      EXPECT_GE(event["ts"].get<double>() + 1e-9, end) << "slices of a thread never overlap";
      end = event["ts"].get<double>() + event["dur"].get<double>();
    }
    EXPECT_EQ(byPhase["X"], 18 + 2 + (steps ? 180 : 0));  // placements, one transfer at both ends, and steps
    EXPECT_EQ(byPhase["s"], 1);
    EXPECT_EQ(byPhase["f"], 1);
    EXPECT_EQ(byPhase["C"], 1);
    EXPECT_NEAR(reached.lower_bound({1, 0})->second,
                static_cast<double>(fixture.rows.of<model::Placement>()[5].end.count), 1e-6)
        << "a tick is a microsecond here";
  }
}

TEST(Export, ChromeTracesHaveTheHostsSpansBesideTheCallTheyBelongTo) {
  const TraceFixture fixture(6);
  model::RowSet rows = fixture.rows;
  model::Run& call = rows.of<model::Run>()[0];
  call.wallStartNs = 5'000;
  call.wallEndNs = 9'000;
  rows.of<model::HostThread>() = {{model::HostThreadId(0), "", "main"}};
  rows.of<model::HostName>() = {{model::HostNameId(0), "numerics", "compute"},
                                {model::HostNameId(1), "data", "load"}};
  const auto span = [&](int name, std::int64_t start, std::int64_t end) {
    rows.of<model::HostSpan>().push_back(
        {model::HostThreadId(0), model::HostNameId(name), Ticks(start), Ticks(end)});
  };
  span(1, 1'000, 4'000);  // before the call, when the devices have no time
  span(0, 6'000, 7'000);  // the second quarter of the call
  span(1, 4'500, 8'000);
  record::MemoryProfile profile;
  ASSERT_TRUE(profile.commit(rows).ok());
  const auto catalog = loadCatalog(profile).value();
  base::SilentProgress progress;
  const nlohmann::json json = nlohmann::json::parse(textOf([&](const Writer& write) {
    return exportChrome({profile, *catalog, model::ExecutableId(0), false}, write, progress);
  }));
  std::string process, thread;
  std::map<std::string, nlohmann::json> spans;
  for (const auto& event : json["traceEvents"]) {
    if (event["pid"] != 4) continue;  // after three devices
    if (event["name"] == "process_name") process = event["args"]["name"];
    if (event["name"] == "thread_name") thread = event["args"]["name"];
    if (event["ph"] == "X") spans[event["name"]] = event;
  }
  EXPECT_EQ(process, "host");
  EXPECT_EQ(thread, "main (wall clock)");
  ASSERT_EQ(spans.size(), 2U);
  const auto length = static_cast<double>(call.end.count);  // a tick is a microsecond here
  EXPECT_NEAR(spans["compute"]["ts"].get<double>(), length / 4, 1);
  EXPECT_NEAR(spans["compute"]["dur"].get<double>(), length / 4, 1);
  EXPECT_EQ(spans["compute"]["cat"], "numerics");
  EXPECT_EQ(spans["compute"]["args"]["wall_ns"], 1'000);
  EXPECT_EQ(spans["load"]["ts"].get<double>(), 0) << "what lies before the call is cut off";
  EXPECT_NEAR(spans["load"]["dur"].get<double>(), length * 3 / 4, 1);
  EXPECT_EQ(spans["load"]["args"]["wall_ns"], 3'500) << "the whole length";
}

TEST(Export, EveryEventOfAChromeTraceHasItsPlace) {
  // The trace event format binds a flow to the slice of the same process and thread that contains its time.
  TraceFixture fixture(6);
  model::RowSet more;
  for (int i = 1; i <= 3; ++i) {  // the transfers overlap
    more.of<model::Transfer>().push_back({model::TransferId(i),
                                          model::LaneId(1),
                                          model::LaneId(3),
                                          {},
                                          {},
                                          model::Bytes(5),
                                          Ticks(4 + i),
                                          Ticks(20 + i),
                                          {},
                                          model::RunId(0),
                                          0,
                                          0,
                                          0});
  }
  more.of<model::Transfer>().push_back({model::TransferId(4),
                                        {},
                                        model::LaneId(3),
                                        {},
                                        model::TransferKind::activation,
                                        model::Bytes(5),
                                        Ticks(1),
                                        Ticks(2),
                                        {},
                                        model::RunId(0),
                                        0,
                                        0,
                                        0});
  ASSERT_TRUE(fixture.profile->commit(more).ok());
  const auto catalog = loadCatalog(*fixture.profile).value();
  base::SilentProgress progress;
  const nlohmann::json json = nlohmann::json::parse(textOf([&](const Writer& write) {
    return exportChrome({*fixture.profile, *catalog, model::ExecutableId(0), true}, write, progress);
  }));
  using Thread = std::pair<int, int>;
  std::map<int, std::string> processes;
  std::map<Thread, std::string> threads;
  std::set<int> numbers;
  std::map<Thread, std::vector<std::pair<double, double>>> slices;
  std::map<int, std::vector<nlohmann::json>> flows;
  for (const auto& event : json["traceEvents"]) {
    const std::string phase = event["ph"], name = event["name"];
    if (phase == "M" && name == "process_name") processes[event["pid"]] = event["args"]["name"];
    if (phase == "M" && name == "thread_name") {
      threads[{event["pid"], event["tid"]}] = event["args"]["name"];
      EXPECT_TRUE(numbers.insert(event["tid"].get<int>()).second)
          << "some readers go by a thread's number alone";
    }
    if (phase == "X")
      slices[{event["pid"], event["tid"]}].push_back(
          {event["ts"], event["ts"].get<double>() + event["dur"].get<double>()});
    if (phase == "s" || phase == "f") flows[event["id"]].push_back(event);
    if (phase == "C") {
      EXPECT_TRUE(event["args"]["value"].is_number());
      EXPECT_TRUE(processes.contains(event["pid"]));
    }
  }
  EXPECT_EQ(processes, (std::map<int, std::string>{
                           {1, "D0 (emulated test)"}, {2, "D1 (emulated test)"}, {3, "D2 (emulated test)"}}));
  for (auto& [thread, list] : slices) {
    EXPECT_TRUE(threads.contains(thread) && processes.contains(thread.first));
    EXPECT_FALSE(processes.contains(thread.second)) << "which would be a main thread's number";
    EXPECT_GT(thread.second, 0);
    std::sort(list.begin(), list.end());
    for (std::size_t i = 1; i < list.size(); ++i)
      EXPECT_GE(list[i].first + 1e-9, list[i - 1].second) << threads[thread];
  }
  ASSERT_EQ(flows.size(), 4U);
  for (const auto& [id, pair] : flows) {
    ASSERT_EQ(pair.size(), 2U);
    EXPECT_EQ(pair[0]["ph"], "s");
    EXPECT_EQ(pair[1]["ph"], "f");
    EXPECT_EQ(pair[1]["bp"], "e");
    EXPECT_LE(pair[0]["ts"].get<double>(), pair[1]["ts"].get<double>());
    for (const char* key : {"name", "cat"}) EXPECT_EQ(pair[0][key], pair[1][key]);
    for (const auto& end : pair) {
      const auto& list = slices[{end["pid"], end["tid"]}];
      const double time = end["ts"];
      EXPECT_TRUE(std::any_of(list.begin(), list.end(),
                              [&](const auto& s) { return s.first <= time && time < s.second; }));
    }
    EXPECT_TRUE(threads[Thread(pair[0]["pid"], pair[0]["tid"])].starts_with("to D1"));
    EXPECT_TRUE(threads[Thread(pair[1]["pid"], pair[1]["tid"])].starts_with("from D0"));
  }
}

TEST(Export, StepsOfACollectiveNameTheAxis) {
  const TraceFixture fixture(6);
  model::RowSet rows = fixture.rows;
  for (int op = 0; op < 2; ++op) {
    model::Operator row;
    row.id = model::OperatorId(op);
    row.executable = model::ExecutableId(0);
    row.kind = op == 0 ? "RankSum" : "Relu";
    rows.of<model::Operator>().push_back(row);
    rows.of<model::Program>()[static_cast<std::size_t>(op + 1)].op = row.id;
  }
  rows.of<model::Collective>() = {
      {model::OperatorId(0), model::MeshAxis::context, "AllGather", 4, model::Bytes(64), model::Bytes(48)}};
  record::MemoryProfile profile;
  ASSERT_TRUE(profile.commit(rows).ok());
  const auto catalog = loadCatalog(profile).value();
  base::SilentProgress progress;
  const nlohmann::json json = nlohmann::json::parse(textOf([&](const Writer& write) {
    return exportChrome({profile, *catalog, model::ExecutableId(0), true}, write, progress);
  }));
  int collectives = 0, others = 0;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] != "X" || !event["args"].contains("operator")) continue;
    if (event["args"]["operator"] != "RankSum") {
      ++others;
      EXPECT_FALSE(event["args"].contains("axis"));
      continue;
    }
    ++collectives;
    EXPECT_EQ(event["args"]["axis"], "context");
    EXPECT_EQ(event["args"]["ranks"], 4);
    EXPECT_EQ(event["args"]["collective"], "AllGather");
  }
  EXPECT_GT(collectives, 0);
  EXPECT_GT(others, 0);
}

TEST(Export, AChromeTraceHoldsWhatItsExecutableDidInTheCallThatWasAskedFor) {
  TraceFixture fixture(2);  // 6 placements, a transfer and a sample belong to call 0
  model::RowSet more;
  model::Executable inference;
  inference.id = model::ExecutableId(1), inference.name = "inference";
  more.of<model::Executable>() = {inference};
  const auto call = [&](int id, int executable) {
    model::Run run;
    run.id = model::RunId(id), run.executable = model::ExecutableId(executable);
    run.start = Ticks(1000 * id), run.end = Ticks(1000 * id + 500);
    more.of<model::Run>().push_back(run);
    model::Transfer transfer = fixture.rows.of<model::Transfer>()[0];
    transfer.id = model::TransferId(id), transfer.run = run.id;
    transfer.start = run.start + Ticks(3), transfer.end = run.start + Ticks(9);
    more.of<model::Transfer>().push_back(transfer);
    more.of<model::CounterSample>().push_back({model::CounterId(0), run.start, run.id, 0.25});
    model::Placement placement = fixture.rows.of<model::Placement>()[0];
    placement.id = model::PlacementId(100 + id), placement.run = run.id;
    placement.start = run.start, placement.end = run.start + Ticks(400);
    if (executable == 1) placement.segment = model::SegmentId(6);
    more.of<model::Placement>().push_back(placement);
  };
  model::Segment segment = fixture.rows.of<model::Segment>()[0];
  segment.id = model::SegmentId(6), segment.executable = model::ExecutableId(1);
  more.of<model::Segment>() = {segment};
  call(1, 0), call(2, 1);
  ASSERT_TRUE(fixture.profile->commit(more).ok());
  const auto catalog = loadCatalog(*fixture.profile).value();
  base::SilentProgress progress;
  struct Expected {
    int executable;
    std::optional<model::RunId> run;
    int passes, transfers, samples;
  };
  for (const Expected& expected :
       {Expected{0, {}, 7, 2, 2}, Expected{1, {}, 1, 1, 0}, Expected{0, model::RunId(1), 1, 1, 1},
        Expected{0, model::RunId(0), 6, 1, 1}}) {
    const nlohmann::json json = nlohmann::json::parse(textOf([&](const Writer& write) {
      return exportChrome(
          {*fixture.profile, *catalog, model::ExecutableId(expected.executable), false, expected.run}, write,
          progress);
    }));
    std::map<std::string, int> slices;
    int counters = 0;
    for (const auto& event : json["traceEvents"]) {
      if (event["ph"] == "X") ++slices[event["cat"]];
      if (event["ph"] == "C") ++counters;
    }
    EXPECT_EQ(slices["pass"], expected.passes);
    EXPECT_EQ(slices["transfer"], 2 * expected.transfers) << "at both ends";
    EXPECT_EQ(counters, expected.samples);
  }
  const auto first = catalog->findCall(catalog->executables.front(), 2);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ((*first)->id, model::RunId(1));
  for (const std::int64_t none : {0, 3}) {
    const auto missing = catalog->findCall(catalog->executables.front(), none);
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().message,
              "training has no call " + std::to_string(none) + "; its calls are 1 to 2.");
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
  const base::Status unknown = exportCsv(
      *fixture.profile, "x", [](std::string_view) { return base::Status(); }, progress);
  ASSERT_FALSE(unknown.ok());
  EXPECT_TRUE(unknown.error().message.starts_with(
      "A profile has no table \"x\". Its tables are property, configuration"));
}

/// A rectangle or text of an SVG picture. Its position includes the offset of the group around it.
struct Drawn {
  int x = 0, y = 0, width = 0, height = 0;
  std::string fill, text;
};

/// Reads the elements of a picture that has one element per line.
std::vector<Drawn> drawnIn(const std::string& svg) {
  std::vector<Drawn> all;
  std::istringstream lines(svg);
  int dx = 0, dy = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto attribute = [&](const std::string& name) {
      const std::size_t at = line.find(" " + name + "=\"");
      if (at == std::string::npos) return std::string();
      const std::size_t from = at + name.size() + 3;
      return line.substr(from, line.find('"', from) - from);
    };
    const auto number = [&](const char* name) { return std::atoi(attribute(name).c_str()); };
    if (line.starts_with("<g ")) std::sscanf(line.c_str(), "<g transform=\"translate(%d %d)\"", &dx, &dy);
    if (line == "</g>") dx = dy = 0;
    if (!line.starts_with("<rect ") && !line.starts_with("<text ")) continue;
    Drawn drawn{number("x") + dx, number("y") + dy, number("width"), number("height"), attribute("fill"), ""};
    if (line.starts_with("<text "))
      drawn.text = line.substr(line.find('>') + 1, line.find("</text>") - line.find('>') - 1);
    all.push_back(std::move(drawn));
  }
  return all;
}

std::string svgOf(const TraceFixture& fixture) {
  const std::shared_ptr<const Catalog> catalog = loadCatalog(*fixture.profile).value();
  base::SilentProgress progress;
  return textOf([&](const Writer& write) {
    return exportSvg(*fixture.profile, *catalog, model::ExecutableId(0), write, progress);
  });
}

TEST(Export, SvgSaysWhatItShows) {
  const std::string svg = svgOf(TraceFixture(50));
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  std::set<std::string> texts;
  for (const Drawn& drawn : drawnIn(svg)) texts.insert(drawn.text);
  for (const char* words :
       {"call &lt;1&gt;", "emulated, made up · test 1", "D0", "D1", "D2", "compute", "forward", "backward"})
    EXPECT_TRUE(texts.contains(words)) << words;
}

TEST(Export, SvgDrawsEveryPassAtItsTimeInTheRowOfItsDevice) {
  const TraceFixture fixture(5);
  const std::vector<Drawn> drawn = drawnIn(svgOf(fixture));
  std::map<std::int64_t, int> top;  // y of each device's title
  for (const Drawn& one : drawn) {
    for (int d = 0; d < 3; ++d) {
      if (one.text == "D" + std::to_string(d)) top[d] = one.y;
    }
  }
  ASSERT_EQ(top.size(), 3U);
  EXPECT_LT(top[0], top[1]);
  EXPECT_LT(top[1], top[2]);
  top[3] = 1 << 20;
  // The titles take 190 of the 1,600 pixels. The timeline takes the other 1,410.
  const double scale = 1410.0 / static_cast<double>(fixture.end().count);
  for (const model::Placement& p : fixture.rows.of<model::Placement>()) {
    const double from = 190 + scale * static_cast<double>(p.start.count),
                 to = 190 + scale * static_cast<double>(p.end.count);
    // These are the colours of forward and backward passes in the light theme.
    const std::string colour = p.pass == model::Pass::forward ? "#86b6f4" : "#67c29d";
    const bool found = std::any_of(drawn.begin(), drawn.end(), [&](const Drawn& box) {
      return box.fill == colour && box.height > 10 && std::abs(box.x - from) <= 1.5 &&
             std::abs(box.x + box.width - to) <= 2.5 && box.y >= top[p.device.value] - 12 &&
             box.y < top[p.device.value + 1] - 12;
    });
    EXPECT_TRUE(found) << "placement " << p.id.value << " from " << from << " to " << to;
  }
}

TEST(Export, SvgNeedsACall) {
  const TraceFixture fixture(1);
  const std::shared_ptr<const Catalog> catalog = loadCatalog(*fixture.profile).value();
  base::SilentProgress progress;
  const base::Status status = exportSvg(
      *fixture.profile, *catalog, model::ExecutableId(7), [](std::string_view) { return base::Status(); },
      progress);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "Nothing has run in this executable, so there is no timeline to draw.");
}

TEST(Export, SqliteWritesADatabaseAndReplacesOnlyExports) {
  const TraceFixture fixture(1);
  base::SilentProgress progress;
  const std::string path = ::testing::TempDir() + "export_test.sqlite";
  std::remove(path.c_str());
  const base::Status written = exportSqlite(*fixture.profile, path, progress);
  ASSERT_TRUE(written.ok()) << written.error().message;
  std::ifstream file(path, std::ios::binary);
  std::string head(15, ' ');
  file.read(head.data(), 15);
  EXPECT_EQ(head, "SQLite format 3");
  EXPECT_TRUE(exportSqlite(*fixture.profile, path, progress).ok()) << "an export is replaced";
  std::ofstream(path, std::ios::binary) << "a letter";
  const base::Status again = exportSqlite(*fixture.profile, path, progress);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().message, path +
                                       " exists and is not a database that pipescope exported; it is left "
                                       "untouched. Choose another name.");
  std::remove(path.c_str());
}

TEST(Export, ADatabaseThatCannotGrowIsToldByItsOwnName) {
  const TraceFixture fixture(1);
  base::SilentProgress progress;
  const std::string path = ::testing::TempDir() + "export_small.sqlite";
  std::remove(path.c_str());
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const base::Status written = exportSqlite(*fixture.profile, path, progress);
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().message.find(path), 0U) << written.error().message;
  EXPECT_EQ(written.error().message.find(".partial"), std::string::npos) << written.error().message;
  EXPECT_FALSE(std::ifstream(path).good());
}

TEST(Export, AWriterThatFailsEndsTheExport) {
  const TraceFixture fixture(5);
  const auto catalog = loadCatalog(*fixture.profile).value();
  base::SilentProgress progress;
  const base::Status status = exportChrome(
      {*fixture.profile, *catalog, model::ExecutableId(0), true},
      [](std::string_view) -> base::Status { return base::refused("full"); }, progress);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "full");
}

}  // namespace
}  // namespace pipescope::exporting
