// Tests the configuration keys of all registered parts, and which of them a profile records.
#include "app/run/request/configuration_keys.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "app/run/request/optimizer_choice.h"
#include "engine/config/configuration_help.h"

namespace pipescope::app {
namespace {

TEST(ConfigurationKeys, AreUniqueDocumentedAndInTheHelpPage) {
  std::set<std::string> flags;
  for (const config::Key& key : configurationKeys().all()) {
    EXPECT_FALSE(key.help.empty()) << key.path;
    for (const std::string& flag : key.flags) EXPECT_TRUE(flags.insert(flag).second) << flag;
  }
  std::ifstream file(std::string(PIPESCOPE_SOURCE_DIR) + "/resources/help/configuration.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), config::configurationHelp(configurationKeys()))
      << "Regenerate it: pipescope run --help-keys > resources/help/configuration.md";
}

TEST(ConfigurationKeys, OneMoreRegistryEntryIsOneMoreKeyOrChoice) {
  builders::BuilderRegistry builders;
  builders.add({"tower", "", {{"storeys", std::int64_t{3}, 1, 9, {}, "Storeys."}}, nullptr});
  compile::PassRegistry passes;
  passes.add({.name = "tidy_up", .doc = "Tidies up.", .onIr = [](compile::ExecutableIr&) {
                return compile::PassEffect();
              }});
  data::DatasetRegistry datasets;
  datasets.add({"tapes",
                "samples on tape",
                [](const data::DatasetRequest&) -> base::Result<std::unique_ptr<data::Dataset>> {
                  return base::ioError("no tape");
                },
                {{.name = "speed", .fallback = 1.5, .most = 3, .help = "Speed of the tape."}}});
  optimizers::OptimizerRegistry optimizers;
  optimizers.add(
      {"walk", {{.name = "stride", .fallback = 0.5, .most = 2, .help = "Stride.", .hasFlag = true}}});
  const config::KeyTable keys = joinKeys({builders, passes, datasets, optimizers});
  EXPECT_EQ(keys.find("training.optimizer")->choices, (std::vector<std::string>{"walk"}));
  EXPECT_EQ(keys.find("data.dataset")->choices, (std::vector<std::string>{"tapes"}));
  EXPECT_EQ(keys.find("compile.fold_constants"), nullptr);
  const std::string page = config::configurationHelp(keys);
  for (const char* row : {"| `storeys` | a whole number | tower `3` | 1 … 9 |  | tower: Storeys. |",
                          "| `tidy_up` | true or false | `true` |  |  | Tidies up. |",
                          "| `speed` | a number | tapes `1.5` | 0 … 3 |  | tapes: Speed of the tape. |",
                          "| `stride` | a number | walk `0.5` | 0 … 2 | `--stride` | walk: Stride. |"})
    EXPECT_NE(page.find(row), std::string::npos) << row << "\n" << page;
  const auto c = config::Configuration::parse(
      keys, "[training]\noptimizer = \"walk\"\nstride = 1.5\n[data]\ndataset = \"tapes\"\n", "t.toml");
  ASSERT_TRUE(c.ok()) << c.error().message;
  EXPECT_EQ(c->real("training.stride"), 1.5);
  EXPECT_EQ(c->real("data.speed"), 1.5);
}

std::map<std::string, config::OptionRow> options(const config::Configuration& c) {
  std::map<std::string, config::OptionRow> rows;
  for (const config::OptionRow& row : c.dump()) rows[row.path] = row;
  return rows;
}

TEST(ConfigurationKeys, EveryOptimizersOptionsAreThoseThatItUses) {
  // The expected defaults of weight_decay come from the optimizers' papers and from PyTorch and PopTorch.
  const std::map<std::string, std::string> decays{{"adam", "0.0"},  {"adamax", "0.0"},  {"adamw", "0.01"},
                                                  {"lamb", "0.01"}, {"lars", "0.0001"}, {"rmsprop", "0.0"},
                                                  {"sgd", "0.0"}};
  ASSERT_EQ(optimizers::optimizerRegistry().definitions().size(), decays.size());
  for (const auto& [name, decay] : decays) {
    auto c = parseConfiguration("[training]\noptimizer = \"" + name + "\"\n", "t.toml");
    ASSERT_TRUE(c.ok()) << c.error().message;
    EXPECT_TRUE(chooseOptimizer(*c).ok()) << name;
    auto rows = options(*c);
    EXPECT_EQ(rows.at("training.weight_decay").value, decay) << name;
    EXPECT_EQ(rows.at("training.weight_decay").origin, "default") << name;
    EXPECT_EQ(rows.contains("training.momentum"), name == "sgd" || name == "rmsprop" || name == "lars")
        << name;
    EXPECT_EQ(rows.contains("training.beta1"), name.starts_with("adam") || name == "lamb") << name;
    EXPECT_FALSE(rows.contains("model.depth"));
    ASSERT_TRUE(c->setText("training.weight_decay", "0.25", config::Origin::flag).ok());
    EXPECT_EQ(options(*c).at("training.weight_decay").value, "0.25") << name;
  }
}

TEST(ConfigurationKeys, ABuildersOptionsAreThoseThatItUses) {
  const auto c = parseConfiguration("[model]\nbuilder = \"resnet\"\n", "t.toml");
  ASSERT_TRUE(c.ok()) << c.error().message;
  const auto rows = options(*c);
  EXPECT_EQ(rows.at("model.depth").value, "50");
  EXPECT_FALSE(rows.contains("model.heads"));
}

TEST(ConfigurationKeys, SettingsOfSomethingElseAreRefused) {
  const auto refusal = [](const std::string& toml) {
    const auto c = parseConfiguration(toml, "t.toml");
    EXPECT_TRUE(c.ok()) << c.error().message;
    const base::Status status = c->checkApplies();
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(refusal("[training]\nmomentum = 0.9\n"),
            "training.momentum is given, but training.optimizer adamw has no such setting: leave it out.");
  EXPECT_EQ(
      refusal("[training]\nlr_gamma = 0.5\n"),
      "training.lr_gamma is given, but training.lr_schedule constant has no such setting: leave it out.");
  EXPECT_EQ(refusal("[model]\ndepth = 18\n"),
            "model.depth is given, but model.builder is not: set it, or leave this out.");
  EXPECT_EQ(refusal("[data]\ndataset = \"synthetic\"\nmean = 0.5\n"),
            "data.mean is given, but data.dataset synthetic has no such setting: leave it out.");
}

}  // namespace
}  // namespace pipescope::app
