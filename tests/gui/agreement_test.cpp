// Runs each sample and compares the figures that several sections and pages show: step time, busy and idle
// time, compute share, critical path, memory, limiting stage, and bytes sent and received. Every new sample
// takes part.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "app/run/execute/run.h"
#include "app/run/orders/replay_schedules.h"
#include "app/run/request/configuration_keys.h"
#include "profiler/analysis/device_places.h"
#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/memory/unit_layout.h"
#include "profiler/analysis/memory/unit_vertices.h"
#include "profiler/analysis/model/model_graph.h"
#include "profiler/analysis/model/program_tree.h"
#include "profiler/analysis/pipeline/pipeline_grid.h"
#include "profiler/analysis/rows_of_run.h"
#include "profiler/analysis/timeline/far_statistics.h"
#include "profiler/replay/what_if.h"
#include "profiler/sections/program_rows.h"
#include "profiler/sections/replays.h"
#include "profiler/sections/reports.h"
#include "profiler/store/profile_reader.h"
#include "views/pages/parts/facts.h"
#include "views/pages/parts/memory_data.h"
#include "views/pages/parts/panel.h"
#include "views/pages/parts/range_table.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using base::Ticks;
using model::StepKind;
using nlohmann::json;

struct Sample {
  std::string name, path;
};

/// Names the sample in lists of tests.
void PrintTo(const Sample& sample, std::ostream* out) {
  *out << sample.name;
}

std::vector<Sample> allSamples() {
  std::vector<Sample> samples;
  const std::filesystem::path folder = std::string(PIPESCOPE_SOURCE_DIR) + "/samples";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".toml")
      samples.push_back({entry.path().parent_path().filename().string() + "_" + entry.path().stem().string(),
                         entry.path().string()});
  }
  std::ranges::sort(samples, {}, &Sample::name);
  return samples;
}

/// A profile of one sample, without numerics.
struct Recorded {
  std::shared_ptr<model::ProfileSource> source;
  std::shared_ptr<const analysis::Catalog> catalog;
};

std::shared_ptr<Recorded> record(const Sample& sample) {
  auto read = app::readConfiguration(sample.path);
  if (!read.ok()) return ADD_FAILURE() << read.error().message, nullptr;
  config::Configuration configuration = std::move(read).value();
  EXPECT_TRUE(configuration.setText("execution.numerics", "false", config::Origin::flag).ok());
  const auto file = std::filesystem::temp_directory_path() /
                    ("agreement_" + std::to_string(getpid()) + "_" + sample.name + ".pop");
  base::SilentProgress progress;
  const auto ran = app::runConfiguration(configuration, {file.string(), "test"}, progress);
  if (!ran.ok()) return ADD_FAILURE() << ran.error().message, nullptr;
  auto recorded = std::make_shared<Recorded>();
  recorded->source = store::ProfileReader::open(file.string()).value();
  recorded->catalog = analysis::loadCatalog(*recorded->source).value();
  std::filesystem::remove(file);  // the reader keeps it open
  return recorded;
}

/// All figures of one executable.
class Figures {
 public:
  Figures(const Recorded& recorded, model::ExecutableId executable)
      : context_{*recorded.source, *recorded.catalog, executable}, run_(catalog().lastRunOf(executable)) {
    for (const char* name : {"summary", "execution", "engines", "stages", "waits", "memory", "liveness",
                             "system", "operations", "insights"}) {
      const auto made = sections::makeSection(*sections::sectionRegistry().find(name), context_);
      EXPECT_TRUE(made.ok()) << name << ": " << (made.ok() ? "" : made.error().message);
      if (made.ok()) sections_[name] = json::parse(sections::toJson(*made));
    }
    base::SilentProgress progress;
    analysis::TraceRequest request;
    request.executable = executable;
    trace_ = analysis::loadTrace(*recorded.source, catalog(), request, progress).value();
    for (int i = 0; i < 1 || i < grids_.front().iterations; ++i) {
      analysis::PipelineRequest asked;
      asked.executable = executable;
      asked.iteration = i;
      grids_.push_back(analysis::pipelineGrid(*recorded.source, catalog(), asked, progress).value());
    }
  }

  const json& operator[](const char* section) const { return sections_.at(section); }
  const analysis::Catalog& catalog() const { return context_.catalog; }
  const sections::Context& context() const { return context_; }
  const model::Run& run() const { return *run_; }
  std::int64_t replicas() const { return catalog().executable(context_.executable)->replicas; }
  bool ran() const { return run_ != nullptr; }
  const analysis::Trace& trace() const { return *trace_; }
  const std::vector<analysis::PipelineGrid>& grids() const { return grids_; }
  /// The compute passes of an iteration of the first replica.
  std::vector<model::Placement> passes(std::int32_t iteration) const {
    std::vector<model::Placement> found;
    const auto rows = analysis::rowsOfRun<model::Placement>(context_.source, *run_).value();
    for (const model::Placement& p : rows) {
      if (model::isComputePass(p.pass) && p.replica == 0 && p.iteration == iteration) found.push_back(p);
    }
    return found;
  }
  double callTicks() const { return static_cast<double>((run_->end - run_->start).count); }
  const analysis::Execution& execution() const { return **sections::executionOf(context_); }
  const analysis::StagesReport& stages() const { return **sections::stagesOf(context_); }
  const analysis::Memory& memory() const { return **sections::memoryOf(context_); }
  /// The recorded devices over the whole call.
  std::vector<analysis::RangeStatistics> ranges() const {
    return analysis::rangeStatistics(*trace_, run_->start, run_->end);
  }

 private:
  sections::Context context_;
  const model::Run* run_;
  std::map<std::string, json> sections_;
  std::shared_ptr<const analysis::Trace> trace_;
  std::vector<analysis::PipelineGrid> grids_;
};

constexpr double kRounding = 2;  ///< ticks; figures of single parts are rounded

void expectStepTimesAgree(const Figures& of) {
  const double step = of["stages"]["step_cycles"].get<double>();
  const auto& spans = of.trace().iterations;
  ASSERT_FALSE(spans.empty());
  EXPECT_EQ(spans.size(), of.grids().size());
  EXPECT_NEAR(step, of.callTicks() / static_cast<double>(spans.size()), 1e-6 * step);
  EXPECT_NEAR(analysis::meanStepTime(spans), step, 1e-6 * step);
  double flush = 0;
  for (std::size_t i = 0; i < spans.size() && i < of.grids().size(); ++i) {
    const analysis::PipelineGrid& grid = of.grids()[i];
    EXPECT_NEAR(grid.meanStepTime, step, 1e-6 * step) << i;
    EXPECT_EQ(grid.span.start, spans[i].start) << i;
    EXPECT_EQ(grid.span.end, spans[i].end) << i;
    EXPECT_GE(grid.start, grid.span.start) << "a flush lies in its iteration";
    EXPECT_LE(grid.end, grid.span.end);
    flush += static_cast<double>((grid.end - grid.start).count) / static_cast<double>(spans.size());
  }
  EXPECT_NEAR(of["stages"]["flush_cycles"].get<double>(), flush, 1e-6 * flush);
  const json& stages = of["stages"];
  double sum = 0;
  for (const char* part : {"useful_cycles", "lost_fill_and_drain_cycles", "lost_imbalance_cycles",
                           "lost_exchange_update_host_cycles"})
    sum += stages[part].get<double>();
  EXPECT_NEAR(sum, step, 1e-6 * step);
}

void expectBusyAgrees(const Figures& of) {
  std::map<int, double> ofStages, ofGrid;  // by device, per iteration
  for (const analysis::StageReport& stage : of.stages().stages)
    ofStages[stage.device] += stage.busy * static_cast<double>(of.stages().microBatches);
  double idle = 0, flush = 0;
  for (const analysis::PipelineGrid& grid : of.grids()) {
    for (const analysis::PipelineRow& row : grid.rows) {
      const auto busy = static_cast<double>(row.busy.count);
      ofGrid[static_cast<int>(row.device.value)] += busy / static_cast<double>(of.grids().size());
      flush = static_cast<double>((grid.end - grid.start).count);
      idle += (1 - busy / flush) / static_cast<double>(grid.rows.size() * of.grids().size());
    }
  }
  // The parts of the bubble, from the phases that the pipeline page shows.
  double rampUp = 0, rampDown = 0;
  for (const analysis::PipelineGrid& grid : of.grids()) {
    const auto idleIn = [&](Ticks from, Ticks to) {
      std::int64_t idleTicks = (to - from).count * static_cast<std::int64_t>(grid.rows.size());
      for (const model::Placement& p : of.passes(grid.iteration))
        idleTicks -= std::max<std::int64_t>(0, (std::min(p.end, to) - std::max(p.start, from)).count);
      return static_cast<double>(idleTicks) /
             static_cast<double>((grid.end - grid.start).count * static_cast<std::int64_t>(grid.rows.size()));
    };
    rampUp += idleIn(grid.start, grid.rampUpEnd) / static_cast<double>(of.grids().size());
    rampDown += idleIn(grid.rampDownStart, grid.end) / static_cast<double>(of.grids().size());
  }
  EXPECT_NEAR(of["stages"]["bubble_ramp_up"].get<double>(), rampUp, 1e-6);
  EXPECT_NEAR(of["stages"]["bubble_ramp_down"].get<double>(), rampDown, 1e-6);
  ASSERT_EQ(ofStages.size(), ofGrid.size());
  for (const auto& [device, busy] : ofStages) EXPECT_NEAR(ofGrid[device], busy, 1e-6 * busy) << device;
  EXPECT_NEAR(of["stages"]["bubble_fraction"].get<double>(), idle, 1e-6);
  EXPECT_EQ(of["stages"]["bubble_fraction"], of["summary"]["bubble_fraction"]);
  EXPECT_EQ(of["stages"]["imbalance"], of["summary"]["imbalance"]);
}

void expectTimesOfDevicesAgree(const Figures& of) {
  const std::vector<analysis::RangeStatistics> ranges = of.ranges();
  base::SilentProgress progress;
  const auto far =
      analysis::farStatistics(of.context().source, of.trace(), of.run().start, of.run().end, progress);
  ASSERT_TRUE(far.ok());
  const auto& devices = of.execution().devices;
  ASSERT_EQ(devices.size(), of["execution"]["devices"].size());
  double compute = 0, total = 0;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const analysis::DeviceExecution& device = devices[d];
    const auto index = of.trace().deviceIndex(model::DeviceId(device.index));
    const auto same = [&](const auto& row) { return row.device == index; };
    const auto range = std::ranges::find_if(ranges, same);
    ASSERT_NE(range, ranges.end()) << device.name;
    EXPECT_EQ(range->total, device.total) << device.name;
    EXPECT_EQ(range->idle, device.idle) << device.name;
    for (std::size_t kind = 0; kind < analysis::kStepKinds; ++kind) {
      EXPECT_NEAR(static_cast<double>(range->byKind[kind]), static_cast<double>(device.byKind[kind]),
                  kRounding)
          << device.name << ": " << model::toString(static_cast<StepKind>(kind));
    }
    const auto afar = std::ranges::find_if(*far, same);
    ASSERT_NE(afar, far->end());
    EXPECT_NEAR(static_cast<double>(afar->byKind[analysis::kindIndex(StepKind::compute)]),
                static_cast<double>(device.ofKind(StepKind::compute).count), kRounding)
        << device.name;
    std::int64_t sum = device.idle.count;
    for (const std::int64_t ticks : device.byKind) sum += ticks;
    EXPECT_EQ(sum, device.total.count) << device.name;
    EXPECT_LE(device.exposed, device.communicating) << device.name;
    EXPECT_NEAR(range->tileBalance, device.tileBalance, 1e-9) << device.name;
    EXPECT_NEAR(range->parallelEfficiency, device.parallelEfficiency, 1e-6) << device.name;
    EXPECT_EQ(range->streamIn, device.streamIn) << device.name;
    EXPECT_EQ(range->streamOut, device.streamOut) << device.name;
    EXPECT_EQ(range->globalIn, device.globalIn) << device.name;
    EXPECT_EQ(range->globalOut, device.globalOut) << device.name;
    EXPECT_EQ(afar->streamIn, device.streamIn) << device.name;
    EXPECT_EQ(afar->globalOut, device.globalOut) << device.name;
    if (!device.holdsStage) continue;
    Ticks waits = device.transfersAlone - device.transfersOutside;
    for (const auto& [cause, ticks] : device.waits) waits += ticks;
    EXPECT_EQ(waits, device.idle) << device.name << ": every idle moment is a wait with a cause";
    compute += static_cast<double>(device.ofKind(StepKind::compute).count);
    total += static_cast<double>(device.total.count);
  }
  double shares = 0;
  for (const auto& [name, share] : of["summary"]["time_shares"].items()) {
    shares += share.get<double>();
    EXPECT_GE(share.get<double>(), -1e-9) << name;
  }
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_NEAR(of["summary"]["time_shares"]["unknown"].get<double>(), 0, 1e-9)
      << "every gap of a device has a cause";
  EXPECT_NEAR(of["summary"]["time_shares"]["compute"].get<double>(), compute / total, 1e-9);
}

/// The waits of a device per iteration, from the table of stages and from the table of waits.
void expectWaitsAgree(const Figures& of) {
  std::map<int, double> ofDevices;
  for (const json& row : of["waits"]["waits"]) {
    ofDevices[row["device"].get<int>()] += row["cycles"].get<double>();
    EXPECT_NE(row["device"], row["waits_for_device"])
        << "a device waits for something else: " << row["sentence"];
  }
  for (const analysis::StageReport& stage : of.stages().stages) {
    double sum = 0;
    for (const auto& [cause, ticks] : stage.waits) sum += ticks;
    EXPECT_NEAR(ofDevices[stage.device], sum, 1e-6 * sum) << stage.deviceName;
  }
}

void expectEnginesAgree(const Figures& of) {
  for (const json& engine : of["engines"]["devices"]) {
    const json& devices = of["execution"]["devices"];
    const auto device =
        std::ranges::find_if(devices, [&](const json& each) { return each["index"] == engine["index"]; });
    ASSERT_NE(device, devices.end());
    const double total = (*device)["total_cycles"].get<double>();
    EXPECT_NEAR(engine["idle_share"].get<double>(), (*device)["idle_cycles"].get<double>() / total, 1e-9);
    EXPECT_NEAR(engine["any_busy"].get<double>() + engine["control_share"].get<double>() +
                    engine["idle_share"].get<double>(),
                1, 1e-9);
    EXPECT_LE(engine["exposed_communication_cycles"], engine["communication_cycles"]);
    double most = 0;
    for (const auto& [key, value] : engine.items()) {
      if (key.ends_with("_utilisation") && value.is_number()) most = std::max(most, value.get<double>());
    }
    EXPECT_GE(engine["any_busy"].get<double>() + engine["control_share"].get<double>(), most - 1e-6)
        << "no lane works longer than all together";
  }
}

void expectPathsAgree(const Figures& of) {
  const json& waits = of["waits"];
  EXPECT_EQ(waits["critical_path_cycles"].get<double>(), of.callTicks());
  double sum = 0;
  for (const char* part : {"compute", "exchange", "update", "memory", "host"})
    sum += waits["critical_path_" + std::string(part) + "_cycles"].get<double>();
  EXPECT_EQ(sum, of.callTicks());
  analysis::PathSums all;
  for (const analysis::PipelineGrid& grid : of.grids()) {
    ASSERT_TRUE(grid.criticalKnown);
    EXPECT_EQ(grid.path.total(), grid.span.length());
    all.compute += grid.path.compute;
    all.host += grid.path.host;
  }
  EXPECT_EQ(all.compute.count, waits["critical_path_compute_cycles"].get<std::int64_t>());
  EXPECT_EQ(all.host.count, waits["critical_path_host_cycles"].get<std::int64_t>());
  std::int64_t table = 0;
  for (const json& row : waits["critical_path"]) table += row["cycles"].get<std::int64_t>();
  EXPECT_EQ(table, waits["critical_path_cycles"].get<std::int64_t>());
}

void expectLimitingStagesAgree(const Figures& of) {
  EXPECT_EQ(of["summary"]["limiting_stage"], of["stages"]["limiting_stage"]);
  EXPECT_EQ(of["summary"]["slowest_stage"], of["stages"]["slowest_stage"]);
  const json& table = of["stages"]["stages"];
  double longest = 0;
  for (const json& stage : table) longest = std::max(longest, stage["occupied_cycles"].get<double>());
  for (const json& stage : table) {
    EXPECT_GE(stage["occupied_cycles"].get<double>(), stage["busy_cycles"].get<double>() * (1 - 1e-12));
    EXPECT_EQ(stage["limits"].get<bool>(), stage["occupied_cycles"].get<double>() >= 0.99 * longest);
    if (stage["index"] == of["stages"]["limiting_stage"]) {
      EXPECT_EQ(stage["occupied_cycles"].get<double>(), longest);
    }
  }
  for (const json& row : of["stages"]["slowest_operations"])
    EXPECT_EQ(row["stage"], of["stages"]["limiting_stage"]);
}

void expectMemoryAgrees(const Figures& of) {
  const json& memory = of["memory"];
  std::int64_t total = 0, categories = 0, always = 0, peaks = 0;
  for (const json& device : memory["devices"]) {
    total += device["total_bytes"].get<std::int64_t>();
    const json& spaces = of["system"]["memory_spaces"];
    const auto space = std::ranges::find_if(spaces, [&](const json& each) {
      return each["device"] == device["index"] && each["used_bytes"] == device["total_bytes"];
    });
    EXPECT_NE(space, spaces.end()) << device["name"];
    if (space != spaces.end()) {
      EXPECT_EQ((*space)["fullest_bytes"], device["max_tile_bytes"]);
      EXPECT_EQ((*space)["largest_span_bytes"], device["max_tile_bytes_including_gaps"]);
    }
    EXPECT_LE(device["total_bytes"], device["total_bytes_including_gaps"]);
    for (const json& stage : of["stages"]["memory"]) {
      const json& row = of["stages"]["stages"][stage["index"].get<std::size_t>()];
      if (row["device"] != device["index"]) continue;
      EXPECT_EQ(stage["worst_tile_bytes"], device["max_tile_bytes"]);
      EXPECT_EQ(stage["worst_tile"], device["worst_tile"]);
      EXPECT_EQ(stage["largest_span_bytes"], device["max_tile_bytes_including_gaps"]);
      EXPECT_EQ(stage["always_live_bytes"], device["always_live_bytes"]);
    }
  }
  if (memory["devices"].empty()) {
    EXPECT_TRUE(memory["total_bytes"].is_null());
    return;
  }
  for (const auto& [name, bytes] : memory["by_category"].items()) categories += bytes.get<std::int64_t>();
  for (const json& row : of["liveness"]["devices"]) {
    always += row["always_live_bytes"].get<std::int64_t>();
    peaks += row["peak_bytes"].get<std::int64_t>();
  }
  EXPECT_EQ(memory["total_bytes"].get<std::int64_t>(), total);
  EXPECT_EQ(categories, total);
  EXPECT_EQ(memory["always_live_bytes"].get<std::int64_t>(), always);
  EXPECT_EQ(memory["not_always_live_peak_bytes"].get<std::int64_t>(), peaks);
  const auto page = pages::collectMemory(of.context(), {});
  ASSERT_TRUE(page.ok()) << page.error().message;
  std::int64_t drawn = 0;
  for (const pages::MemoryLayer& layer : page->layers) {
    for (const std::int64_t bytes : layer.values) drawn += bytes;
  }
  EXPECT_EQ(drawn, total);
  EXPECT_EQ(*std::ranges::max_element(page->used), memory["max_tile_bytes"].get<std::int64_t>());
  EXPECT_EQ(*std::ranges::max_element(page->spans),
            memory["max_tile_bytes_including_gaps"].get<std::int64_t>());
}

/// The addresses of single variables add up to the figures of their unit, and so do its vertices.
void expectAddressesAgree(const Figures& of) {
  base::SilentProgress progress;
  const analysis::Memory& memory = of.memory();
  for (std::size_t d = 0; d < std::min<std::size_t>(2, memory.devices.size()); ++d) {
    const analysis::DeviceMemory& device = memory.devices[d];
    const sections::Context& context = of.context();
    const analysis::UnitUse use =
        analysis::unitUse(context.source, of.catalog(), context.executable, device.space).value();
    const auto byCategory =
        analysis::unitUseByCategory(context.source, of.catalog(), context.executable, device.space).value();
    for (const std::int64_t unit : {device.worstUnit, device.spanUnit, device.units / 3, device.units - 1}) {
      SCOPED_TRACE(device.name + ", unit " + std::to_string(unit));
      const auto at = static_cast<std::size_t>(unit);
      const analysis::UnitLayout layout =
          analysis::unitLayout(context.source, of.catalog(), context.executable, device.space, unit).value();
      ASSERT_TRUE(layout.known);
      EXPECT_EQ(layout.end, use.includingGaps[at]);
      EXPECT_EQ(layout.used.count, use.excludingGaps[at]);
      std::int64_t code = 0, state = 0, lists = 0;
      const auto vertices = analysis::unitVertices(context.source, of.catalog(), context.executable,
                                                   device.space, {unit}, progress);
      for (const analysis::VertexType& type : vertices.value().types) {
        code += type.code.count;
        state += type.state.count;
        lists += type.lists.count;
      }
      const auto held = [&](const char* category) {
        const auto found = byCategory.find(category);
        return found == byCategory.end() ? 0 : found->second[at];
      };
      EXPECT_EQ(code, held("vertexCode"));
      EXPECT_EQ(state, held("vertexInstanceState"));
      EXPECT_EQ(lists, held("vertexFieldData"));
    }
  }
}

void expectBytesAgree(const Figures& of) {
  std::int64_t host = 0, links = 0;
  if (of.catalog().target.tickMeaning == model::TickMeaning::cost) {
    EXPECT_TRUE(of["execution"]["traffic"][0]["global_in_bytes"].is_null()) << "costs have no sizes";
    return;
  }
  for (const json& row : of["execution"]["traffic"])
    host += row["stream_in_bytes"].get<std::int64_t>() + row["stream_out_bytes"].get<std::int64_t>();
  std::int64_t collectives = 0, sent = 0;
  for (const json& row : of["execution"]["traffic"]) sent += row["global_out_bytes"].get<std::int64_t>();
  for (const json& row : of["system"]["links"]) {
    const std::int64_t bytes = row["bytes"].is_null() ? 0 : row["bytes"].get<std::int64_t>();
    if (row["from"] == "host" || row["to"] == "host") links += bytes;
    if (row["to"] == "other replicas") collectives += bytes;
  }
  EXPECT_LE(collectives, sent);
  const auto places = analysis::devicePlaces(of.catalog(), of.context().executable);
  std::map<std::string, std::int32_t> replicaOf;
  for (const model::Device& device : of.catalog().devices)
    replicaOf[device.name] = places.find(device.id)->stages.empty() ? -1 : places.find(device.id)->replica;
  for (const json& row : of["system"]["links"]) {
    const auto from = replicaOf.find(row["from"]), to = replicaOf.find(row["to"]);
    if (collectives == 0 || from == replicaOf.end() || to == replicaOf.end()) continue;
    if (from->second < 0 || to->second < 0 || from->second == to->second) continue;
    EXPECT_TRUE(row["bytes"].is_null() || row["bytes"].get<std::int64_t>() > 0)
        << row["from"] << " → " << row["to"] << " may carry a part of the collectives, so 0 B would be wrong";
  }
  if (!of["system"]["links"].empty()) {
    EXPECT_EQ(links, host);
  }
}

/// The ticks of all steps of the call in the first replica, but for launches (control) and the sync of all
/// devices, which belong to no layer.
double ticksOfWork(const Figures& of) {
  std::map<std::int64_t, std::int64_t> ofSegment;
  const auto steps = of.context().source.rows<model::Step>().value();
  for (const model::Step& step : *steps) {
    if (step.kind != StepKind::control) ofSegment[step.segment.value] += step.ticks.count;
  }
  double sum = 0;
  const auto placements = analysis::rowsOfRun<model::Placement>(of.context().source, of.run()).value();
  for (const model::Placement& p : placements) {
    if (p.replica == 0 && p.pass != model::Pass::sync) sum += static_cast<double>(ofSegment[p.segment.value]);
  }
  return sum;
}

/// What the layers take is what the stages compute, copy and update. Where the host launches work (control),
/// that is no work of a layer, and a collective belongs to no stage's passes.
void expectOperationsAgree(const Figures& of) {
  double stages = 0, blocks = 0;
  for (const json& stage : of["stages"]["stages"]) {
    stages += stage["update_cycles"].get<double>();
    for (const char* key : {"busy_cycles", "host_in_cycles", "host_out_cycles", "remote_cycles"})
      stages += static_cast<double>(of.stages().microBatches) * stage[key].get<double>();
  }
  for (const char* table : {"operations", "kinds"}) {
    double shares = 0, cycles = 0;
    for (const json& row : of["operations"][table]) {
      const auto sumOf = [&](std::initializer_list<const char*> keys) {
        double sum = 0;
        for (const char* key : keys) sum += row[key].get<double>();
        return sum;
      };
      const double all = row["cycles"].get<double>();
      EXPECT_NEAR(sumOf({"forward_cycles", "recompute_cycles", "backward_cycles", "weight_gradient_cycles",
                         "update_cycles", "collective_cycles", "copy_cycles"}),
                  all, kRounding)
          << row["name"];
      EXPECT_NEAR(sumOf({"compute_cycles", "exchange_cycles", "sync_cycles", "other_cycles"}), all, kRounding)
          << row["name"];
      shares += row["share"].get<double>();
      cycles += all;
    }
    EXPECT_NEAR(shares, 1, 1e-9) << table;
    EXPECT_NEAR(cycles * static_cast<double>(of.trace().iterations.size()), ticksOfWork(of), 1e-6 * cycles)
        << "every step belongs to some row";
  }
  for (const json& block : of["operations"]["blocks"]) blocks += block["cycles"].get<double>();
  const double layers = of["operations"]["cycles"].get<double>();
  EXPECT_LE(blocks, layers * (1 + 1e-9));
  const auto controls = [](const json& engine) { return engine["control_share"].get<double>() > 0; };
  if (std::ranges::any_of(of["engines"]["devices"], controls) || of.replicas() > 1) return;
  // Stages have the mean over all micro-batches; layers have the passes as compiled, which single
  // micro-batches may shorten.
  EXPECT_NEAR(layers, stages, 1e-3 * stages);
}

/// A stage whose costs are given is one box of the graph.
void expectGraphAgrees(const Figures& of) {
  if (of.catalog().target.tickMeaning != model::TickMeaning::cost) return;
  const auto graph = analysis::modelGraph(of.context().source, of.catalog(), of.context().executable);
  ASSERT_TRUE(graph.ok());
  for (const json& stage : of["stages"]["stages"]) {
    const auto node =
        std::ranges::find(graph->nodes, stage["index"].get<std::int32_t>(), &analysis::ModelNode::stage);
    ASSERT_NE(node, graph->nodes.end());
    EXPECT_EQ(static_cast<double>(node->ticks.count),
              static_cast<double>(of.stages().microBatches) * stage["busy_cycles"].get<double>() +
                  stage["update_cycles"].get<double>());
  }
}

/// What runs within a function is counted where it is called: there is no figure for its parts, rather than
/// 0.
void expectProgramsAgree(const Figures& of) {
  const auto rows = sections::programRows(of.context());
  ASSERT_TRUE(rows.ok());
  constexpr std::size_t kType = 2, kCycles = 4;
  std::vector<bool> within(rows->parents.size(), false);
  for (std::size_t i = 0; i < rows->parents.size(); ++i) {
    if (rows->parents[i] < 0) continue;
    const auto parent = static_cast<std::size_t>(rows->parents[i]);
    within[i] = within[parent] || rows->table.rows[parent][kType] == sections::Cell(std::string("Function"));
    const auto* cycles = std::get_if<std::int64_t>(&rows->table.rows[i][kCycles]);
    EXPECT_TRUE(cycles == nullptr ? within[i] : !within[i] || *cycles > 0) << i;
  }
}

/// A copy between devices takes as long in the trees of both devices as in the table of boundaries.
void expectCopiesAgree(const Figures& of) {
  double tree = 0, boundaries = 0;
  std::map<int, int> deviceOf;
  for (const analysis::StageReport& stage : of.stages().stages) deviceOf[stage.index] = stage.device;
  for (const json& row : of["stages"]["boundaries"]) {
    if (deviceOf[row["from_stage"].get<int>()] != deviceOf[row["to_stage"].get<int>()])
      boundaries += 2 * row["cycles"].get<double>();
  }
  const auto nodes =
      analysis::programTree(of.context().source, of.catalog(), of.context().executable).value();
  for (const analysis::ProgramNode& node : nodes) {
    if (node.kind == "GlobalExchange" && !of.catalog().programs[node.id].op.valid())
      tree += static_cast<double>(node.ticks.count);
  }
  EXPECT_EQ(tree, boundaries);
}

/// The time of the passes of a stage in which none of its steps but launches runs, per micro-batch.
double launchesOf(const Figures& of, int stage) {
  std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>> spans;  // by segment
  const auto steps = of.context().source.rows<model::Step>().value();
  for (const model::Step& step : *steps) {
    if (step.kind != StepKind::control)
      spans[step.segment.value].emplace_back(step.offset.count, (step.offset + step.ticks).count);
  }
  double sum = 0;
  const auto placements = analysis::rowsOfRun<model::Placement>(of.context().source, of.run()).value();
  for (const model::Placement& p : placements) {
    if (p.replica != 0 || p.stage != stage || !model::isComputePass(p.pass)) continue;
    auto& own = spans[p.segment.value];
    std::ranges::sort(own);
    std::int64_t gaps = (p.end - p.start).count, reached = 0;
    for (const auto& [from, to] : own) {
      gaps -= std::max<std::int64_t>(0, to - std::max(from, reached));
      reached = std::max(reached, to);
    }
    sum += static_cast<double>(gaps);
  }
  return sum / static_cast<double>(of.trace().iterations.size()) /
         static_cast<double>(of.stages().microBatches);
}

/// What makes the limiting stage slow does not leave out the time in which its kernels are launched.
void expectLaunchesAgree(const Figures& of) {
  const int stage = of["stages"]["limiting_stage"].get<int>();
  const double launches = launchesOf(of, stage);
  const json& rows = of["stages"]["slowest_operations"];
  const auto row = std::ranges::find_if(rows, [](const json& each) { return each["pass"] == "launch"; });
  if (row != rows.end()) {
    EXPECT_NEAR((*row)["cycles"].get<double>(), launches, 1e-6 * launches);
  } else if (launches > 0) {
    for (const json& each : rows)
      EXPECT_GE(each["cycles"].get<double>(), launches) << "the ten largest are shown";
    EXPECT_EQ(rows.size(), 10U);
  }
}

/// What is shown of the recorded step before its replay is what the replay gives.
void expectRecordedStepAgrees(const Figures& of) {
  const replay::Schedules schedules = app::replaySchedules();
  const replay::ChangeContext context{of.context().source, of.catalog(), &schedules};
  const model::ExecutableId executable = of.context().executable;
  const auto first = replay::recordedAnswer(context, executable, of.stages());
  const auto recording = replay::readRecording(context.source, context.catalog, executable, &schedules);
  ASSERT_EQ(first.has_value(), recording.ok());
  if (!first) return;
  const auto replayed = replay::whatIf(context, *recording, {});
  ASSERT_TRUE(replayed.ok()) << replayed.error().message;
  const sections::Section before = sections::whatIfSection(of.catalog(), *first),
                          after = sections::whatIfSection(of.catalog(), *replayed);
  EXPECT_EQ(before.remarks, after.remarks);
  ASSERT_EQ(before.facts.size(), after.facts.size());
  for (std::size_t i = 0; i < before.facts.size(); ++i) {
    const auto shown = [](const sections::Fact& fact) { return formatCell(fact.value, fact.format); };
    EXPECT_EQ(shown(before.facts[i]), shown(after.facts[i])) << before.facts[i].key;
  }
  for (std::size_t t = 0; t < after.tables.size(); ++t) {
    const sections::SectionTable &own = before.tables[t], &other = after.tables[t];
    if (other.key == "memory") continue;  // it is shown once the stashes are known
    ASSERT_EQ(own.rows.size(), other.rows.size()) << other.key;
    for (std::size_t r = 0; r < other.rows.size(); ++r) {
      for (std::size_t c = 0; c < other.columns.size(); ++c)
        EXPECT_EQ(formatCell(own.rows[r][c], own.columns[c].format),
                  formatCell(other.rows[r][c], other.columns[c].format))
            << other.key << " " << r << " " << other.columns[c].key;
    }
  }
}

void expectInsightsAgree(const Figures& of) {
  const json& stages = of["stages"];
  for (const json& finding : of["insights"]["insights"]) {
    const std::string reason =
        finding["gain_reason"].is_null() ? "" : finding["gain_reason"].get<std::string>();
    if (reason.find("but it is") != std::string::npos) {
      EXPECT_TRUE(reason.starts_with("A run with ")) << "a value that the run does not have: " << reason;
    }
    const double figure = finding["figure"].get<double>();
    if (finding["rule"] == "imbalance") {
      EXPECT_NEAR(figure, stages["imbalance"].get<double>(), 1e-9);
    }
    if (finding["rule"] == "fill_and_drain") {
      EXPECT_NEAR(figure,
                  stages["lost_fill_and_drain_cycles"].get<double>() / stages["step_cycles"].get<double>(),
                  1e-6);
    }
    if (finding["rule"] == "memory_overflow") {
      EXPECT_GT(figure, 1);
      EXPECT_FALSE(of["summary"]["fits"].get<bool>());
    }
  }
}

class Agreement : public WindowTest, public ::testing::WithParamInterface<Sample> {
 protected:
  QString cardValue(const QString& caption) const {
    for (pages::FigureCard* card : window->currentPage()->findChildren<pages::FigureCard*>()) {
      if (card->caption() == caption) return card->value();
    }
    return {};
  }
  QString fact(const QString& label) const {
    for (pages::FactGrid* grid : window->currentPage()->findChildren<pages::FactGrid*>()) {
      if (!grid->value(label).isEmpty()) return grid->value(label);
    }
    return {};
  }
};

/// The unit in which a new window shows times.
geometry::TimeScale scaleOf(const analysis::Catalog& catalog) {
  const std::int64_t ticks = catalog.timebase({}).ticksPerSecond;
  switch (catalog.target.tickMeaning) {
    case model::TickMeaning::time:
      return {geometry::TimeUnit::time, ticks};
    case model::TickMeaning::cost:
      return {geometry::TimeUnit::costUnits, ticks};
    case model::TickMeaning::clockCycle:
      break;
  }
  return {geometry::TimeUnit::cycles, ticks};
}

TEST_P(Agreement, SectionsAndPageModelsShowTheSameFigures) {
  const auto recorded = record(GetParam());
  ASSERT_NE(recorded, nullptr);
  for (const model::Executable& executable : recorded->catalog->executables) {
    const Figures figures(*recorded, executable.id);
    SCOPED_TRACE(executable.name);
    expectMemoryAgrees(figures);
    expectAddressesAgree(figures);
    if (!figures.ran()) continue;
    expectStepTimesAgree(figures);
    expectBusyAgrees(figures);
    expectTimesOfDevicesAgree(figures);
    expectWaitsAgree(figures);
    expectEnginesAgree(figures);
    expectPathsAgree(figures);
    expectLimitingStagesAgree(figures);
    expectBytesAgree(figures);
    expectOperationsAgree(figures);
    expectGraphAgrees(figures);
    expectInsightsAgree(figures);
    expectProgramsAgree(figures);
    expectCopiesAgree(figures);
    expectLaunchesAgree(figures);
    expectRecordedStepAgrees(figures);
  }
}

TEST_P(Agreement, PagesShowTheFiguresOfTheSections) {
  const auto recorded = record(GetParam());
  ASSERT_NE(recorded, nullptr);
  const Figures figures(*recorded, recorded->catalog->executables.front().id);
  ASSERT_TRUE(figures.ran());
  open(recorded->source, QStringLiteral("summary"));
  const QString limiting = cardValue(QStringLiteral("Limiting stage"));
  EXPECT_FALSE(limiting.isEmpty());
  showPage(QStringLiteral("stages"));
  EXPECT_EQ(cardValue(QStringLiteral("Limiting stage")), limiting);
  EXPECT_EQ(cardValue(QStringLiteral("Bubble")),
            QString::fromStdString(sections::formatCell(figures["summary"]["bubble_fraction"].get<double>(),
                                                        sections::Format::fraction)));
  showPage(QStringLiteral("pipeline"));
  const geometry::TimeScale scale = scaleOf(figures.catalog());
  const auto time = [&](Ticks ticks) { return QString::fromStdString(formatDuration(ticks, scale)); };
  const analysis::PipelineGrid& first = figures.grids().front();
  EXPECT_EQ(fact(QStringLiteral("Step time")), time(figures.trace().iterations.front().length()));
  EXPECT_EQ(fact(QStringLiteral("Flush")), time(first.end - first.start));
  EXPECT_EQ(fact(QStringLiteral("Critical path")), fact(QStringLiteral("Step time")));
  showPage(QStringLiteral("trace"));
  const auto* ranges = window->currentPage()->findChild<pages::RangeTable*>();
  ASSERT_NE(ranges, nullptr);
  ASSERT_TRUE(waitFor([&] { return !ranges->ranges()->rows().empty(); }));
  for (const analysis::RangeStatistics& row : ranges->ranges()->rows())
    EXPECT_EQ(row.total, figures.trace().iterations.front().length()) << "the trace opens on an iteration";
}

INSTANTIATE_TEST_SUITE_P(Samples, Agreement, ::testing::ValuesIn(allSamples()),
                         [](const auto& sample) { return sample.param.name; });

}  // namespace
}  // namespace pipescope::testing
