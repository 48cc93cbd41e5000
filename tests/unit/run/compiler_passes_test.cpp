// Tests the compiler's passes in complete runs. The losses must not depend on which passes are on. Also
// tests what the profile records of the passes, and the program tree.
#include <nlohmann/json.hpp>
#include <set>

#include "app/run/request/configuration_keys.h"
#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/memory/peak_attribution.h"
#include "profiler/analysis/memory/unit_liveness.h"
#include "profiler/analysis/model/operations.h"
#include "profiler/analysis/model/program_tree.h"
#include "profiler/analysis/pva/report.h"
#include "profiler/sections/frame/section.h"
#include "run_fixture.h"

namespace pipescope::app {
namespace {

const std::vector<std::string> kPasses = {"fold_constants", "common_subexpressions", "join_convolutions",
                                          "schedule",       "fuse_elementwise",      "in_place",
                                          "outline"};

class CompilerPassesTest : public RunFixture {
 protected:
  static model::ExecutableId training(const Read& profile) { return profile.catalog->executables.front().id; }

  static nlohmann::json section(const Read& profile, const std::string& name) {
    const sections::Context context{*profile.source, *profile.catalog, training(profile)};
    const auto made = sections::makeSection(*sections::sectionRegistry().find(name), context);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return nlohmann::json::parse(sections::toJson(*made));
  }

  /// A small BERT without computed numbers. `layers` is the number of layers of each stage.
  static config::Configuration bert(const std::string& mode, const std::string& layers,
                                    const std::map<std::string, std::string>& changes = {}) {
    const std::string file = (folder() / "bert.toml").string();
    std::ofstream(file)
        << "[model]\nname = \"bert\"\nbuilder = \"bert\"\nlayers = 12\nhidden = 64\nheads = 4\n"
           "feed_forward = 128\nsequence = 32\nvocabulary = 500\ndropout = 0.1\n"
           "[execution]\nnumerics = false\nmode = \""
        << mode << "\"\nlayers_per_stage = [" << layers
        << "]\n[training]\nmicro_batch_size = 2\ngradient_accumulation = 8\n"
           "[inference]\nmicro_batch_size = 2\ndevice_iterations = 8\n"
           "[data]\ndataset = \"synthetic\"\nsamples = 64\ntest_samples = 64\n";
    auto read = app::readConfiguration(file);
    EXPECT_TRUE(read.ok()) << read.error().message;
    config::Configuration configuration = std::move(read).value();
    for (const auto& [key, value] : changes) {
      const base::Status set = configuration.setText(key, value, config::Origin::flag);
      EXPECT_TRUE(set.ok()) << set.error().message;
    }
    return configuration;
  }
};

TEST_F(CompilerPassesTest, NumbersAreTheSameBitsWithAndWithout) {
  const auto losses = [](const std::map<std::string, std::string>& changes) {
    std::map<std::string, std::string> small = {{"execution.mode", "training"}, {"data.samples", "1600"}};
    small.insert(changes.begin(), changes.end());
    const auto result = run(sample("pipelined", small));
    EXPECT_TRUE(result.ok()) << result.error().message;
    return counter(read(), "loss");
  };
  const std::vector<double> all = losses({});
  ASSERT_EQ(all.size(), 2u);
  std::map<std::string, std::string> none, some;
  for (const std::string& pass : kPasses) {
    none["compile." + pass] = "false";
    if (none.size() % 2 == 1) some["compile." + pass] = "false";
  }
  EXPECT_EQ(losses(none), all);
  EXPECT_EQ(losses(some), all);
}

/// A ResNet whose first shortcut runs beside the convolution that reads the same input.
TEST_F(CompilerPassesTest, MultiConvolutionsChangeNoBit) {
  const auto losses = [](const std::string& groups, const std::string& joins) {
    const std::string file = (folder() / "resnet.toml").string();
    std::ofstream(file) << "[model]\nbuilder = \"resnet\"\ndepth = 18\nimage_size = 32\nclasses = 10\n"
                        << groups
                        << "[execution]\nmode = \"training\"\n[compile]\njoin_convolutions = " << joins
                        << "\n[training]\nmicro_batch_size = 2\ngradient_accumulation = 2\n"
                           "[data]\ndataset = \"synthetic\"\nsamples = 8\ntest_samples = 8\n";
    const auto configuration = app::readConfiguration(file);
    EXPECT_TRUE(configuration.ok()) << configuration.error().message;
    const auto result = run(*configuration);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return counter(read(), "loss");
  };
  const std::string groups =
      "[[model.multi_convs]]\nname = \"multi_conv\"\n"
      "operators = [\"layer2/block0/conv1\", \"layer2/block0/shortcut\"]\n";
  const std::vector<double> joint = losses(groups, "true");
  ASSERT_EQ(joint.size(), 2u);
  const nlohmann::json passes = section(read(), "programs")["passes"];
  EXPECT_EQ(passes[2]["changes"], 6) << "two forward, two by the input and two by the weight";
  EXPECT_EQ(losses("", "true"), joint);
  EXPECT_EQ(losses(groups, "false"), joint);
}

TEST_F(CompilerPassesTest, ProfileTellsWhatTheyChanged) {
  ASSERT_TRUE(
      run(sample("pipelined", {{"execution.numerics", "false"}, {"compile.in_place", "false"}})).ok());
  const Read profile = read();
  for (const model::Executable& executable : profile.catalog->executables) {
    const auto rows = analysis::compilerPasses(*profile.source, executable.id);
    ASSERT_TRUE(rows.ok());
    std::vector<std::string> names;
    for (const model::CompilerPass& row : *rows) {
      names.push_back(row.name);
      EXPECT_EQ(row.enabled, row.name != "in_place");
      if (row.name == "in_place") {
        EXPECT_EQ(row.changes, 0);
        EXPECT_EQ(row.summary, "switched off by compile.in_place");
      }
    }
    EXPECT_EQ(names, kPasses);
  }
  const nlohmann::json programs = section(profile, "programs");
  ASSERT_EQ(programs["passes"].size(), kPasses.size());
  EXPECT_FALSE(programs["passes"][5]["enabled"].get<bool>());
}

/// Compares step by step, because a product's temporaries may set the same peak in both runs.
TEST_F(CompilerPassesTest, WorkingInPlaceSavesMemory) {
  const auto live = [](const std::string& on) {
    EXPECT_TRUE(run(bert("training", "6, 6", {{"compile.in_place", on}})).ok());
    const Read profile = read();
    const auto rows = profile.source->rows<model::LivenessStep>();
    EXPECT_TRUE(rows.ok());
    std::vector<std::int64_t> bytes;
    for (const model::LivenessStep& row : **rows) bytes.push_back(row.notAlwaysLive.count);
    return bytes;
  };
  const std::vector<std::int64_t> with = live("true"), without = live("false");
  ASSERT_EQ(with.size(), without.size());
  std::int64_t saved = 0;
  for (std::size_t step = 0; step < with.size(); ++step) {
    EXPECT_LE(with[step], without[step]) << step;
    saved += without[step] - with[step];
  }
  EXPECT_GT(saved, 0);
}

TEST_F(CompilerPassesTest, ProgramTreeHasLoopsAndCalls) {
  ASSERT_TRUE(run(sample("pipelined", {{"execution.numerics", "false"}})).ok());
  const Read profile = read();
  const auto nodes = analysis::controlPrograms(*profile.source, *profile.catalog, training(profile));
  ASSERT_TRUE(nodes.ok());
  ASSERT_GE(nodes->size(), 4u);
  EXPECT_EQ((*nodes)[0].kind, "Sequence");
  EXPECT_EQ((*nodes)[0].name, "training");
  EXPECT_EQ((*nodes)[1].kind, "Repeat");
  EXPECT_EQ((*nodes)[1].count, 2) << "device iterations";
  EXPECT_EQ((*nodes)[2].kind, "Repeat");
  EXPECT_EQ((*nodes)[2].count, 10) << "micro-batches";
  // The tree's ticks include loop counts. They must equal each segment's ticks times its number of runs, and
  // the copies from and to stage 0.
  const model::DeviceId device = (*nodes)[0].device;
  std::int64_t expected = 0;
  for (const model::Segment& segment : profile.catalog->segments) {
    if (segment.device != device || segment.executable != training(profile)) continue;
    const bool once = segment.pass == model::Pass::update || segment.pass == model::Pass::collective;
    expected += segment.ticks.count * 2 * (once ? 1 : 10);
  }
  for (const model::Boundary& copy : profile.catalog->boundaries) {
    if (copy.executable == training(profile) && (copy.fromStage == 0 || copy.toStage == 0))
      expected += copy.ticks.count * 2 * 10;
  }
  EXPECT_EQ((*nodes)[0].ticks.count, expected);
  std::set<std::string> sequences;
  for (const analysis::ProgramNode& node : *nodes) {
    if (node.device != device || node.kind != "Sequence" || node.name == "training") continue;
    sequences.insert(node.name);
    const bool once = node.name == "stage0/update";  // runs after the loop over micro-batches
    EXPECT_EQ(node.depth, once ? 2 : 3) << node.name;
  }
  EXPECT_TRUE(sequences.contains("stage0/update") && sequences.contains("stage0/forward"));
}

TEST_F(CompilerPassesTest, RepeatedLayersAreCallsOfOneFunction) {
  // Inference with all layers on one device needs much code and few weights, so outlining saves most.
  ASSERT_TRUE(run(bert("inference", "12")).ok());
  const Read profile = read();
  const auto passes = analysis::compilerPasses(*profile.source, training(profile));
  ASSERT_TRUE(passes.ok());
  const model::CompilerPass outline = passes->back();
  ASSERT_EQ(outline.name, "outline");
  EXPECT_GT(outline.changes, 2);
  EXPECT_GT(outline.bytes.count, 0);
  EXPECT_LT(outline.ticks, 0);
  const auto nodes = analysis::controlPrograms(*profile.source, *profile.catalog, training(profile));
  ASSERT_TRUE(nodes.ok());
  std::int64_t calls = 0, callers = 0;
  for (const analysis::ProgramNode& node : *nodes) {
    calls += node.kind == "Call" ? 1 : 0;
    callers += node.callers;
    EXPECT_EQ(node.kind == "Call", !node.targetName.empty()) << node.name;
  }
  EXPECT_EQ(calls, outline.changes);
  EXPECT_EQ(callers, calls);

  // Visits the tree as libpva does: it follows calls, sees a function's body once and knows loop counts.
  struct Walk : pva::ProgramVisitor {
    std::int64_t repeats = 0, calls = 0, functions = 0, most = 0;
    void visitSequence(const pva::Program& p) override { below(p); }
    void visitRepeat(const pva::Program& p) override {
      ++repeats;
      most = std::max(most, p.count());
      below(p);
    }
    void visitCall(const pva::Program& p) override {
      ++calls;
      ASSERT_TRUE(p.target());
      EXPECT_EQ(p.target()->type(), "Function");
      EXPECT_FALSE(p.target()->children().empty());
    }
    void visitFunction(const pva::Program&) override { ++functions; }
    void below(const pva::Program& p) {
      for (const pva::Program& child : p.children()) child.accept(*this);
    }
  } walk;
  const auto report = pva::Report::make(profile.source);
  ASSERT_TRUE(report.ok());
  const auto compilation = report->compilation();
  ASSERT_TRUE(compilation.ok());
  const auto roots = compilation->rootPrograms();
  ASSERT_TRUE(roots.ok());
  for (const pva::Program& root : *roots) root.accept(walk);
  EXPECT_EQ(walk.calls, calls);
  EXPECT_GT(walk.functions, 0);
  EXPECT_GT(walk.repeats, 0);
  EXPECT_EQ(walk.most, profile.catalog->executables.front().microBatches);

  // Without the pass the run needs more memory and has no calls.
  ASSERT_TRUE(run(bert("inference", "12", {{"compile.outline", "false"}})).ok());
  const Read plain = read();
  const auto memory = [](const Read& of) {
    return analysis::memory(*of.source, *of.catalog, training(of)).value().alwaysLive.count;
  };
  EXPECT_LT(memory(profile), memory(plain));
}

TEST_F(CompilerPassesTest, OperationsAddUpByLayerOfOrigin) {
  ASSERT_TRUE(run(sample("pipelined", {{"execution.numerics", "false"}})).ok());
  const Read profile = read();
  const auto all = analysis::operations(*profile.source, *profile.catalog, training(profile));
  ASSERT_TRUE(all.ok());
  // Sums the work of the devices in an iteration, but for the sync of all devices.
  const model::Run* run = profile.catalog->lastRunOf(training(profile));
  std::int64_t ofSegments = 0, iterations = 0;
  for (const model::Placement& row : **profile.source->rows<model::Placement>()) {
    if (row.run != run->id || row.pass == model::Pass::sync) continue;
    ofSegments += (row.end - row.start).count;
    iterations = std::max<std::int64_t>(iterations, row.iteration + 1);
  }
  ASSERT_GT(iterations, 1);
  ofSegments /= iterations;
  EXPECT_EQ(all->whole.total().count, ofSegments);
  for (const auto* list : {&all->operations, &all->kinds}) {
    std::int64_t sum = 0, programs = 0;
    for (const analysis::Operation& row : *list) {
      sum += row.cost.total().count;
      programs += row.cost.programs;
      EXPECT_EQ((row.cost.compute + row.cost.exchange + row.cost.sync + row.cost.other), row.cost.total())
          << row.name;
    }
    EXPECT_EQ(sum, ofSegments);
    EXPECT_EQ(programs, all->whole.programs);
  }
  const auto conv =
      std::ranges::find(all->operations, std::string("layer1/conv"), &analysis::Operation::name);
  ASSERT_NE(conv, all->operations.end());
  EXPECT_EQ(conv->kind, "Conv");
  EXPECT_EQ(conv->stage, 0);
  for (const model::Pass pass : {model::Pass::forward, model::Pass::backward, model::Pass::update})
    EXPECT_GT(conv->cost.ticks.at(pass).count, 0);
  // The layer has 10 filters of 5 × 5 and 10 biases. AdamW keeps two moments and an accumulator for each.
  EXPECT_EQ(conv->cost.weights.count, 4 * 260 * 4);
  EXPECT_GT(conv->cost.code.count, 0);
  const nlohmann::json json = section(profile, "operations");
  EXPECT_EQ(json["operations"].size(), json["layers_of_origin"].get<std::size_t>());
  std::set<std::string> names;
  double shares = 0;
  for (const nlohmann::json& row : json["operations"]) {
    EXPECT_TRUE(names.insert(row["name"]).second) << row["name"];
    shares += row["share"].get<double>();
  }
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_TRUE(names.contains("layer4/linear") && !names.contains("layer4/linear/grad_weight"));
}

TEST_F(CompilerPassesTest, PeaksGoToLayersAndCategories) {
  ASSERT_TRUE(run(sample("pipelined", {{"execution.numerics", "false"}})).ok());
  const Read profile = read();
  const auto peaks = analysis::attributePeaks(*profile.source, *profile.catalog, training(profile));
  const auto memory = analysis::memory(*profile.source, *profile.catalog, training(profile));
  ASSERT_TRUE(peaks.ok() && memory.ok());
  ASSERT_EQ(peaks->size(), 4u);
  for (std::size_t d = 0; d < 4; ++d) {
    const analysis::StepAttribution& parts = (*peaks)[d].parts;
    EXPECT_EQ((*peaks)[d].step, memory->devices[d].peakStep);
    EXPECT_EQ(parts.notAlwaysLive, memory->devices[d].notAlwaysLivePeak);
    base::Bytes layers, categories;
    for (const analysis::LayerBytes& row : parts.layers) layers += row.alwaysLive + row.notAlwaysLive;
    for (const analysis::CategoryBytes& row : parts.categories) categories += row.bytes;
    EXPECT_EQ(layers, parts.alwaysLive + parts.notAlwaysLive);
    EXPECT_EQ(categories, layers);
  }
  EXPECT_FALSE(section(profile, "peaks")["layers"].empty());
  EXPECT_FALSE(section(profile, "peaks")["fullest_tiles"].empty());
}

/// Compares unit maps with what the lowering counted separately: the sum over tiles and the fullest tile of
/// every step.
TEST_F(CompilerPassesTest, TilesAddUpToTheirDeviceInEveryStep) {
  ASSERT_TRUE(
      run(sample("pipelined", {{"execution.numerics", "false"}, {"execution.mode", "training"}})).ok());
  const Read profile = read();
  const auto memory = analysis::memory(*profile.source, *profile.catalog, training(profile));
  ASSERT_TRUE(memory.ok());
  const analysis::DeviceMemory& device = memory->devices[2];
  const auto steps = analysis::liveness(*profile.source, *profile.catalog, training(profile), device.space);
  const auto variables = profile.source->rows<model::Variable>();
  const auto lives = profile.source->rows<model::LifeInterval>();
  const auto maps = profile.source->rows<model::VariableUnits>();
  ASSERT_TRUE(steps.ok() && variables.ok() && lives.ok() && maps.ok());
  std::map<std::int64_t, std::int64_t> mapped;
  for (const model::VariableUnits& row : **maps)
    mapped[row.variable.value] += row.bytes.count * row.unitCount;
  for (const model::Variable& row : **variables) {
    const bool onTiles = profile.catalog->memorySpaces[row.space].units > 1;
    EXPECT_EQ(mapped[row.id.value], onTiles ? row.bytes.count : 0) << row.category;
  }
  std::vector<std::int64_t> sums(steps->steps.size()), most(steps->steps.size());
  for (std::int64_t tile = 0; tile < device.units; ++tile) {
    // The query reads the whole profile for each tile, which is slow. The test therefore asks for a few only.
    std::vector<std::int64_t> live(steps->steps.size() + 1);
    std::map<std::int64_t, std::int64_t> bytes;
    for (const model::VariableUnits& row : **maps) {
      const model::Variable& variable = (**variables)[static_cast<std::size_t>(row.variable.value)];
      if (variable.space == device.space && row.firstUnit <= tile && tile < row.firstUnit + row.unitCount)
        bytes[row.variable.value] += row.bytes.count;
    }
    for (const model::LifeInterval& life : **lives) {
      const auto found = bytes.find(life.variable.value);
      if (found == bytes.end()) continue;
      for (std::int32_t s = life.firstStep; s < life.endStep; ++s)
        live[static_cast<std::size_t>(s)] += found->second;
    }
    for (std::size_t s = 0; s < sums.size(); ++s) {
      sums[s] += live[s];
      most[s] = std::max(most[s], live[s]);
    }
    if (tile % 500 != 0) continue;
    const auto asked =
        analysis::unitLiveness(*profile.source, *profile.catalog, training(profile), device.space, tile);
    ASSERT_TRUE(asked.ok());
    ASSERT_EQ(asked->notAlwaysLive.size(), sums.size());
    for (std::size_t s = 0; s < sums.size(); ++s)
      EXPECT_EQ(asked->notAlwaysLive[s].count, live[s]) << tile << " " << s;
    const auto there =
        analysis::variablesOnUnit(*profile.source, *profile.catalog, training(profile), device.space, tile,
                                  static_cast<std::int32_t>(asked->peakStep));
    ASSERT_TRUE(there.ok());
    std::int64_t held = 0;
    for (const analysis::UnitVariable& row : *there) held += row.bytes.count;
    EXPECT_EQ(held, asked->alwaysLive.count +
                        asked->notAlwaysLive[static_cast<std::size_t>(asked->peakStep)].count);
  }
  for (std::size_t s = 0; s < sums.size(); ++s) {
    EXPECT_EQ(sums[s], steps->steps[s].notAlwaysLive.count) << s;
    EXPECT_EQ(most[s], steps->steps[s].maxUnitNotAlwaysLive.count) << s;
  }
}

}  // namespace
}  // namespace pipescope::app
