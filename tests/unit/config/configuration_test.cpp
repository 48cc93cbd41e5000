#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "engine/config/configuration.h"

namespace pipescope::config {
namespace {

std::string refusal(const std::string& toml) {
  const auto parsed = Configuration::parse(toml, "run.toml");
  return parsed.ok() ? "" : parsed.error().message;
}

TEST(Configuration, ReadsTablesAndArraysOfTables) {
  const auto c = Configuration::parse(R"(
[training]
epochs = 3
learning_rate = 1
[[stages]]
blocks = ["B1", "B2"]
[[stages]]
blocks = ["B3"]
device = 0
[model]
input = [1, 28, 28]
)",
                                      "run.toml");
  ASSERT_TRUE(c.ok()) << c.error().message;
  EXPECT_EQ(c->integer("training.epochs"), 3);
  EXPECT_EQ(c->real("training.learning_rate"), 1.0);  // a whole number is a number
  EXPECT_EQ(c->integer("training.gradient_accumulation"), 1);
  EXPECT_FALSE(c->given("training.gradient_accumulation"));
  ASSERT_EQ(c->tables("stages").size(), 2u);
  EXPECT_EQ(c->tables("stages")[0].texts("blocks"), (std::vector<std::string>{"B1", "B2"}));
  EXPECT_EQ(c->tables("stages")[0].integer("device"), -1);
  EXPECT_EQ(c->tables("stages")[1].integer("device"), 0);
  EXPECT_EQ(c->integers("model.input"), (std::vector<std::int64_t>{1, 28, 28}));
  EXPECT_TRUE(c->tables("model.layers").empty());
}

TEST(Configuration, PrecedenceIsDefaultFileEnvironmentFlag) {
  auto c = Configuration::parse("[training]\nepochs = 2\n", "run.toml");
  ASSERT_TRUE(c.ok());
  ASSERT_TRUE(c->setText("training.epochs", "9", Origin::flag).ok());
  const auto environment = [](const char* name) -> const char* {
    if (std::string(name) == "PIPESCOPE_TRAINING_EPOCHS") return "5";
    if (std::string(name) == "PIPESCOPE_SYSTEM_NAME") return "pod16";
    return nullptr;
  };
  ASSERT_TRUE(c->applyEnvironment(environment).ok());
  EXPECT_EQ(c->integer("training.epochs"), 9);
  EXPECT_EQ(c->text("system.name"), "pod16");
  EXPECT_EQ(toString(c->origin("training.epochs")), "flag");
  EXPECT_EQ(toString(c->origin("system.name")), "environment");
  EXPECT_EQ(toString(c->origin("training.loss")), "default");
}

TEST(Configuration, RefusalsSayWhereWhatAndWhatToDo) {
  EXPECT_EQ(refusal("[training]\nepoch = 3\n"),
            "run.toml:2: unknown key training.epoch; did you mean training.epochs?");
  EXPECT_EQ(refusal("epochs = 3\n"), "run.toml:1: unknown key epochs; did you mean training.epochs?");
  EXPECT_EQ(refusal("[training]\nepochs = \"three\"\n"),
            "run.toml:2: training.epochs must be a whole number, but \"three\" was given.");
  EXPECT_EQ(refusal("[training]\nepochs = 0\n"),
            "run.toml:2: training.epochs = 0 is out of range: it must be between 1 and 1000000.");
  EXPECT_EQ(refusal("[execution]\nstrategy = \"piped\"\n"),
            "run.toml:2: execution.strategy = \"piped\" is not known: it must be one of pipelined, sharded, "
            "serial_phased, parallel_phased.");
  EXPECT_EQ(refusal("stages = 4\n"), "run.toml:1: stages must be an array of tables: [[stages]].");
  EXPECT_EQ(refusal("[training]\nepochs = 2020-01-01\n"),
            "run.toml:2: training.epochs must be a whole number.");
  EXPECT_EQ(refusal("[training]\nlearning_rate = nan\n"),
            "run.toml:2: training.learning_rate = nan is out of range: it must be between 0 and 1000000.");
  EXPECT_NE(refusal("[[stages]]\ndevice = 1\n").find("stages[].blocks is missing"), std::string::npos);
  EXPECT_NE(refusal("[training\n").find("run.toml:1: this is not TOML"), std::string::npos);
  EXPECT_NE(refusal("[zzzzzzzzzz]\nqqqqqqqqqqq = 1\n").find("lists all keys"), std::string::npos);
}

TEST(Configuration, TextValuesAreCheckedLikeTheFile) {
  Configuration c;
  EXPECT_NE(c.setText("training.epochs", "many", Origin::flag).error().message.find("a whole number"),
            std::string::npos);
  EXPECT_NE(c.setText("training.epochs", "1\nother = 2", Origin::flag).error().message.find("a whole number"),
            std::string::npos);
  EXPECT_NE(c.setText("training.epoch", "1", Origin::flag).error().message.find("did you mean"),
            std::string::npos);
  EXPECT_NE(c.setText("stages[].blocks", "[]", Origin::flag).error().message.find("unknown key"),
            std::string::npos);
  EXPECT_TRUE(c.setText("data.directory", "a b\"c", Origin::flag).ok());
  EXPECT_EQ(c.text("data.directory"), "a b\"c");
  EXPECT_FALSE(c.applyEnvironment([](const char* name) {
                  return std::string(name) == "PIPESCOPE_TRAINING_EPOCHS" ? "-1" : nullptr;
                }).ok());
}

TEST(Configuration, MissingAndAbsurdFiles) {
  EXPECT_NE(Configuration::read("/nonexistent/run.toml").error().message.find("/nonexistent/run.toml"),
            std::string::npos);
  EXPECT_FALSE(Configuration::read("/").ok());
}

TEST(Configuration, PathsInAFileStartAtItsFolder) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("pipescope_paths_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "run.toml") << "[model]\nonnx = \"m/../net.onnx\"\n[data]\ndirectory = \"/data\"\n";
  const auto read = Configuration::read((folder / "run.toml").string());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->text("model.onnx"), (folder / "net.onnx").string());
  EXPECT_EQ(read->text("data.directory"), "/data");
  std::filesystem::remove_all(folder);
}

TEST(Keys, AreUniqueDocumentedAndInTheHelpPage) {
  std::set<std::string> paths, flags;
  for (const Key& key : keys()) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path;
    EXPECT_FALSE(key.help.empty()) << key.path;
    for (const std::string& flag : key.flags) EXPECT_TRUE(flags.insert(flag).second) << flag;
  }
  std::ifstream file(std::string(PIPESCOPE_SOURCE_DIR) + "/resources/help/configuration.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), configurationHelp())
      << "Regenerate it: pipescope run --help-keys > resources/help/configuration.md";
}

}  // namespace
}  // namespace pipescope::config
