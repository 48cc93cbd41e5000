#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "engine/config/configuration_help.h"
#include "engine/config/setting_key.h"
#include "engine/config/suggestion.h"
#include "tests/unit/config/core_table.h"

namespace pipescope::config {
namespace {

std::string refusal(const std::string& toml) {
  const auto parsed = Configuration::parse(coreTable(), toml, "run.toml");
  return parsed.ok() ? "" : parsed.error().message;
}

TEST(Configuration, ReadsTablesAndArraysOfTables) {
  const auto c = Configuration::parse(coreTable(), R"(
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
  EXPECT_EQ(c->real("training.learning_rate"), 1.0);  // a real key accepts a whole number
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
  auto c = Configuration::parse(coreTable(), "[training]\nepochs = 2\n", "run.toml");
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
            "run.toml:2: training.epochs is \"three\", but it must be a whole number.");
  EXPECT_EQ(refusal("[training]\nepochs = 0\n"),
            "run.toml:2: training.epochs is 0, but it must be between 1 and 1000000.");
  EXPECT_EQ(refusal("[execution]\nstrategy = \"piped\"\n"),
            "run.toml:2: execution.strategy is \"piped\", but it must be one of pipelined, sharded, "
            "serial_phased, parallel_phased.");
  EXPECT_EQ(refusal("[execution]\nstrategy = \"pipeline\"\n"),
            "run.toml:2: execution.strategy is \"pipeline\", but it must be one of pipelined, sharded, "
            "serial_phased, parallel_phased; did you mean \"pipelined\"?");
  EXPECT_EQ(refusal("stages = 4\n"), "run.toml:1: stages must be an array of tables: [[stages]].");
  EXPECT_EQ(refusal("[training]\nepochs = 2020-01-01\n"),
            "run.toml:2: training.epochs must be a whole number.");
  EXPECT_EQ(refusal("[training]\nlearning_rate = nan\n"),
            "run.toml:2: training.learning_rate is nan, but it must be between 0 and 1000000.");
  EXPECT_NE(refusal("[[stages]]\ndevice = 1\n").find("stages[].blocks is missing"), std::string::npos);
  EXPECT_NE(refusal("[training\n").find("run.toml:1: this is not TOML"), std::string::npos);
  EXPECT_NE(refusal("[zzzzzzzzzz]\nqqqqqqqqqqq = 1\n").find("lists all keys"), std::string::npos);
}

TEST(Configuration, AMisspeltTableIsComparedWithTables) {
  EXPECT_EQ(refusal("[sytem]\nname = \"fixed\"\n"),
            "run.toml:1: unknown table sytem; did you mean [system]?");
  EXPECT_EQ(refusal("[[stage]]\nblocks = []\n"), "run.toml:1: unknown table stage; did you mean [[stages]]?");
  EXPECT_EQ(refusal("[system]\n[[fixed.stage]]\n"),
            "run.toml:2: unknown table fixed.stage; did you mean [[fixed.stages]]?");
  for (const char* text : {"[[training]]\nepochs = 1\n", "training = 3\n"}) {
    EXPECT_EQ(refusal(text),
              "run.toml:1: training is a table: write [training] once, and its keys below it.");
  }
}

/// A text stands for the name of a table whose name picks something.
TEST(Configuration, ATextInPlaceOfATableIsItsName) {
  const auto c = Configuration::parse(coreTable(), "host = \"poptorch\"\nsystem = \"pod16\"\n", "run.toml");
  ASSERT_TRUE(c.ok()) << c.error().message;
  EXPECT_EQ(c->text("host.name"), "poptorch");
  EXPECT_EQ(c->text("system.name"), "pod16");
  EXPECT_EQ(refusal("model = \"bert\"\n"),
            "run.toml:1: model is a table: write [model] once, and its keys below it.");
  EXPECT_EQ(refusal("host = 3\n"), "run.toml:1: host is a table: write [host] once, and its keys below it.");
}

TEST(Configuration, NumbersAreReadAsPeopleTypeThem) {
  Configuration c(coreTable());
  const std::pair<const char*, double> reals[] = {
      {".5", 0.5}, {"5.", 5}, {"007", 7}, {"+.5e1", 5}, {"1e-3", 1e-3}};
  for (const auto& [text, value] : reals) {
    EXPECT_TRUE(c.setText("training.learning_rate", text, Origin::flag).ok()) << text;
    EXPECT_EQ(c.real("training.learning_rate"), value) << text;
  }
  EXPECT_TRUE(c.setText("training.epochs", "012", Origin::flag).ok());
  EXPECT_EQ(c.integer("training.epochs"), 12);
  for (const char* text : {".", "", "1e", "1.5.2", "0.5x", "1,5", "1e400", "--1"})
    EXPECT_FALSE(c.setText("training.learning_rate", text, Origin::flag).ok()) << text;
  for (const char* text : {"1.5", ".5", "1e3", "5."})
    EXPECT_FALSE(c.setText("training.epochs", text, Origin::flag).ok()) << text;
}

TEST(Configuration, LargeWholeNumbersAreComparedExactly) {
  Configuration c(coreTable());
  EXPECT_TRUE(c.setText("execution.seed", "9007199254740992", Origin::flag).ok());
  EXPECT_EQ(c.setText("execution.seed", "9007199254740993", Origin::flag).error().message,
            "execution.seed is 9007199254740993, but it must be between 0 and 9007199254740992.");
}

TEST(Suggestions, CapitalLettersAreNoSlip) {
  EXPECT_EQ(base::didYouMean("FLOAT16", {"float32", "float16"}), "; did you mean \"float16\"?");
  EXPECT_EQ(base::didYouMean("IPU", {"auto", "hpu", "ipu"}), "; did you mean \"ipu\"?");
}

TEST(Configuration, TextValuesAreCheckedLikeTheFile) {
  Configuration c(coreTable());
  EXPECT_NE(c.setText("training.epochs", "many", Origin::flag).error().message.find("a whole number"),
            std::string::npos);
  EXPECT_NE(c.setText("training.epochs", "1\nother = 2", Origin::flag).error().message.find("a whole number"),
            std::string::npos);
  EXPECT_NE(c.setText("training.epoch", "1", Origin::flag).error().message.find("did you mean"),
            std::string::npos);
  for (const char* path : {"stages[].blocks", "stages[0].blocks"}) {
    EXPECT_EQ(
        c.setText(path, "[]", Origin::flag).error().message,
        std::string(path) + " belongs to an entry of [[stages]]: only a configuration file can set it.");
  }
  EXPECT_NE(c.setText("stages[0].block", "[]", Origin::flag).error().message.find("unknown key"),
            std::string::npos);
  EXPECT_EQ(c.setText("training.epochs", "99999999999999999999", Origin::flag).error().message,
            "training.epochs is 1e+20, but it must be between 1 and 1000000.");
  EXPECT_EQ(c.setText("training.epochs", "-99999999999999999999", Origin::flag).error().message,
            "training.epochs is -1e+20, but it must be between 1 and 1000000.");
  EXPECT_TRUE(c.setText("data.directory", "a b\"c", Origin::flag).ok());
  EXPECT_EQ(c.text("data.directory"), "a b\"c");
  EXPECT_FALSE(c.applyEnvironment([](const char* name) {
                  return std::string(name) == "PIPESCOPE_TRAINING_EPOCHS" ? "-1" : nullptr;
                }).ok());
}

TEST(Configuration, MissingAndAbsurdFiles) {
  EXPECT_NE(
      Configuration::read(coreTable(), "/nonexistent/run.toml").error().message.find("/nonexistent/run.toml"),
      std::string::npos);
  EXPECT_FALSE(Configuration::read(coreTable(), "/").ok());
}

TEST(Configuration, PathsInAFileStartAtItsFolder) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("pipescope_paths_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "run.toml") << "[model]\nonnx = \"m/../net.onnx\"\n[data]\ndirectory = \"/data\"\n";
  const auto read = Configuration::read(coreTable(), (folder / "run.toml").string());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->text("model.onnx"), (folder / "net.onnx").string());
  EXPECT_EQ(read->text("data.directory"), "/data");
  std::filesystem::remove_all(folder);
}

TEST(Nearest, TheKnownWordOfTheSmallestDistanceIfItIsSmall) {
  EXPECT_EQ(nearest("pod5", {"mk2", "pod4", "bow"}), "pod4");
  EXPECT_EQ(nearest("something else", {"mk2"}), "");
  EXPECT_EQ(nearest("", {"c2"}), "") << "nothing was typed";
  // A name that begins with the word is meant, although another one is fewer edits away.
  EXPECT_EQ(nearest("--fail", {"--tile", "--fail-if"}), "--fail-if");
  EXPECT_EQ(suggestion("rellu", {"relu", "gelu"}), "; did you mean relu?");
  EXPECT_EQ(suggestion("something else", {"mk2", "bow"}), "; known are mk2, bow");
  EXPECT_EQ(suggestion("anything", {}), "; it takes none");
}

/// A table in which the value of "shape" decides which keys are valid and what they mean.
KeyTable shapes() {
  Key shape{.path = "shape",
            .fallback = std::string("square"),
            .help = "A shape.",
            .choices = {"circle", "square"}};
  SettingKeys settings("", "shape");
  settings.add("circle", {.name = "size", .fallback = 2.5, .most = 10, .help = "Its radius."});
  settings.add("square", {.name = "size", .fallback = 4.0, .least = 1, .most = 20, .help = "Its edge."});
  settings.add("circle", {.name = "dashed", .fallback = false, .help = "Interrupted.", .hasFlag = true});
  std::vector<Key> keys = settings.take();
  keys.insert(keys.begin(), shape);
  return KeyTable(std::move(keys));
}

TEST(SettingKeys, JoinWhatSeveralThingsHave) {
  const KeyTable table = shapes();
  EXPECT_EQ(table.paths(), (std::vector<std::string>{"shape", "size", "dashed"}));
  EXPECT_EQ(table.find("size")->help, "circle: Its radius. square: Its edge.");
  EXPECT_EQ(table.find("size")->least, 0);
  EXPECT_EQ(table.find("size")->most, 20);
  EXPECT_EQ(table.find("dashed")->flags, (std::vector<std::string>{"dashed"}));
  const std::string page = configurationHelp(table);
  EXPECT_NE(page.find("| circle `2.5`; square `4.0` | 0 … 20 |"), std::string::npos) << page;
}

TEST(SettingKeys, ChoicesOfSeveralThingsAreJoinedAndOnlyNumbersHaveLimits) {
  SettingKeys settings("pen.", "shape");
  settings.add("circle", {.name = "line", .fallback = std::string("thin"), .choices = {"thin", "thick"}});
  settings.add("square", {.name = "line", .fallback = std::string("none"), .choices = {"none", "thin"}});
  settings.add("circle", {.name = "size", .fallback = std::int64_t{2}, .least = 1, .most = 3});
  const std::vector<Key> keys = settings.take();
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0].choices, (std::vector<std::string>{"thin", "thick", "none"}));
  EXPECT_TRUE(std::isinf(keys[0].least) && std::isinf(keys[0].most));
  EXPECT_EQ(keys[1].least, 1);
  EXPECT_EQ(keys[1].most, 3);
  EXPECT_TRUE(std::isinf(shapes().find("dashed")->least));
}

TEST(SettingKeys, HelpOfAChoiceHasItsKeysWithItsDefaults) {
  EXPECT_EQ(choiceHelp(shapes(), "square"),
            "shape = square\n  Its keys, with the defaults that they have here:\n"
            "\n  size = 4.0\n    circle: Its radius. square: Its edge.\n");
  SettingKeys settings("", "shape");
  settings.add("circle", {.name = "colour", .fallback = std::string("red"), .help = "The filling."});
  settings.add("disc", {.name = "colour", .fallback = std::string("blue"), .isVariant = true});
  settings.add("circle", {.name = "size", .fallback = 1.0, .most = 9, .help = "The radius.", .unit = "mm"});
  std::vector<Key> keys = settings.take();
  keys.insert(
      keys.begin(),
      {.path = "shape", .type = KeyType::text, .fallback = std::string("circle"), .help = "A shape."});
  const KeyTable table(std::move(keys));
  EXPECT_EQ(choiceHelp(table, "circle"),
            "shape = circle\n  Its keys, with the defaults that they have here:\n"
            "\n  colour = \"red\"\n    The filling.\n"
            "\n  size = 1.0 mm\n    The radius.\n");
  EXPECT_EQ(choiceHelp(table, "disc"),
            "shape = disc\n  Its keys, with the defaults that they have here:\n"
            "\n  colour = \"blue\"\n    The filling.\n");
  EXPECT_EQ(choiceHelp(table, "star"), "");
}

TEST(Keys, AreInsertedBehindTheOneThatIsNamed) {
  const auto named = [](const char* path) {
    Key key;
    key.path = path;
    return key;
  };
  std::vector<Key> keys = {named("a"), named("b"), named("c")};
  insertAfter(keys, "b", {named("x"), named("y")});
  std::string order;
  for (const Key& key : keys) order += key.path;
  EXPECT_EQ(order, "abxyc");
}

TEST(Keys, ANumberIsAWordOnlyIfThereIsOne) {
  Key key;
  key.type = KeyType::integer;
  key.choices = {"auto", "most"};
  EXPECT_EQ(toToml(key, std::int64_t{-1}), "\"auto\"");
  EXPECT_EQ(toToml(key, std::int64_t{-2}), "\"most\"");
  EXPECT_EQ(toToml(key, std::int64_t{-3}), "-3");
  EXPECT_EQ(toToml(key, std::int64_t{0}), "0");
}

TEST(Configuration, RangesOpenAtOneEndAreToldAsSuch) {
  Key rate, seed;
  rate.path = "rate", rate.type = KeyType::real, rate.fallback = 1.0, rate.least = 0;
  seed.path = "seed", seed.type = KeyType::integer, seed.fallback = std::int64_t{1}, seed.most = 99;
  const KeyTable table({rate, seed});
  Configuration c(table);
  EXPECT_TRUE(c.setText("rate", "0", Origin::flag).ok());
  EXPECT_TRUE(c.setText("seed", "99", Origin::flag).ok());
  EXPECT_EQ(c.setText("rate", "-1", Origin::flag).error().message, "rate is -1, but it must be at least 0.");
  EXPECT_EQ(c.setText("seed", "100", Origin::flag).error().message,
            "seed is 100, but it must be at most 99.");
}

TEST(SettingKeys, DefaultAndMeaningFollowTheChoice) {
  const KeyTable table = shapes();
  Configuration c(table);
  EXPECT_EQ(c.real("size"), 4.0);
  EXPECT_TRUE(c.checkApplies().ok());
  EXPECT_EQ(c.dump().size(), 2u);  // squares are never dashed
  ASSERT_TRUE(c.setText("shape", "circle", Origin::flag).ok());
  EXPECT_EQ(c.real("size"), 2.5);
  EXPECT_EQ(c.dump().size(), 3u);
  EXPECT_EQ(c.dump()[1].value, "2.5");
  EXPECT_EQ(c.dump()[1].origin, "default");
  ASSERT_TRUE(c.setText("size", "3", Origin::flag).ok());
  EXPECT_EQ(c.dump()[1].value, "3.0");
  EXPECT_EQ(c.dump()[1].origin, "flag");
}

TEST(SettingKeys, SettingsOfAnotherChoiceAreRefused) {
  const KeyTable table = shapes();
  Configuration c(table);
  ASSERT_TRUE(c.setText("dashed", "true", Origin::flag).ok());
  EXPECT_EQ(c.checkApplies().error().message,
            "dashed is given, but shape square has no such setting: leave it out.");
}

TEST(Configuration, AListIsGivenInBracketsOrAsOneElement) {
  Configuration c(coreTable());
  const auto set = [&](const char* path, const char* text) {
    const Status status = c.setText(path, text, Origin::flag);
    EXPECT_TRUE(status.ok()) << status.error().message;
  };
  using Texts = std::vector<std::string>;
  set("execution.checkpoints", "*/relu");
  EXPECT_EQ(c.texts("execution.checkpoints"), Texts{"*/relu"});
  set("execution.checkpoints", "a, b");
  EXPECT_EQ(c.texts("execution.checkpoints"), Texts{"a, b"});
  set("execution.checkpoints", "[ab]*");
  EXPECT_EQ(c.texts("execution.checkpoints"), Texts{"[ab]*"}) << "a pattern, not a list";
  set("execution.checkpoints", " [\"a\", 'b']");
  EXPECT_EQ(c.texts("execution.checkpoints"), (Texts{"a", "b"}));
  set("execution.layers_per_stage", "3,7, 7");
  EXPECT_EQ(c.integers("execution.layers_per_stage"), (std::vector<std::int64_t>{3, 7, 7}));
  set("execution.layers_per_stage", "[4]");
  EXPECT_EQ(c.integers("execution.layers_per_stage"), std::vector<std::int64_t>{4});
  EXPECT_EQ(c.setText("execution.layers_per_stage", "three", Origin::flag).error().message,
            "execution.layers_per_stage is \"three\", but it must be a list of whole numbers.");
  EXPECT_EQ(c.setText("execution.layers_per_stage", "0", Origin::flag).error().message,
            "execution.layers_per_stage is 0, but it must be between 1 and 1000000000.");
}

TEST(Configuration, AnOptionGivenSeveralTimesJoinsLists) {
  Configuration c(coreTable());
  using Texts = std::vector<std::string>;
  EXPECT_TRUE(c.setTexts("execution.checkpoints", {"a", "[\"b\", \"c\"]", "d, e"}, Origin::flag).ok());
  EXPECT_EQ(c.texts("execution.checkpoints"), (Texts{"a", "b", "c", "d, e"}));
  EXPECT_TRUE(c.setTexts("execution.layers_per_stage", {"1", "2,3"}, Origin::flag).ok());
  EXPECT_EQ(c.integers("execution.layers_per_stage"), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(c.setTexts("training.epochs", {"1", "2"}, Origin::flag).error().message,
            "training.epochs is given 2 times, but it takes one value: leave all but one out.");
}

TEST(Configuration, WordsOfANumberAreNotGivenAsNegativeNumbers) {
  Configuration c(coreTable());
  EXPECT_TRUE(c.setText("system.devices", "auto", Origin::flag).ok());
  EXPECT_EQ(c.integer("system.devices"), -1);
  EXPECT_EQ(c.setText("system.devices", "-1", Origin::flag).error().message,
            "system.devices is -1, but it must be between 0 and 131072, or auto.");
  // A text that is neither a word nor digits is no number.
  const auto given = [](const std::string& devices) {
    return Configuration::parse(coreTable(), "system.devices = \"" + devices + "\"", "run.toml");
  };
  EXPECT_EQ(given("8")->integer("system.devices"), 8);
  EXPECT_FALSE(given("8x").ok());
  EXPECT_FALSE(given("99999999999999999999").ok());
  EXPECT_FALSE(given("").ok());
}

TEST(Configuration, AListOfTextsAndNumbersIsRefused) {
  EXPECT_NE(refusal("[[stages]]\nblocks = [\"B1\", 2]"), "");
  EXPECT_NE(refusal("[model]\ninput = [1, \"28\"]"), "");
  EXPECT_EQ(refusal("[model]\ninput = [1, 28]"), "");
}

TEST(Configuration, TheDumpKeepsWhatWasGivenAndSaysWhatTheProgramDerived) {
  Configuration c(coreTable());
  const auto row = [&](const std::string& path) {
    for (const OptionRow& each : c.dump())
      if (each.path == path) return each.value + " from " + each.origin;
    return std::string("none");
  };
  EXPECT_TRUE(c.setText("system.devices", "auto", Origin::file).ok());
  EXPECT_TRUE(c.resolve("system.devices", std::int64_t{8}).ok());
  EXPECT_EQ(c.integer("system.devices"), 8);
  EXPECT_EQ(row("system.devices"), "\"auto\" from file");
  EXPECT_FALSE(c.resolve("system.devices", std::int64_t{200'000}).ok());

  EXPECT_TRUE(c.setText("system.name", "pod4", Origin::flag).ok());
  EXPECT_TRUE(c.replace("system.name", std::string("hls-gaudi2")).ok());
  EXPECT_EQ(row("system.name"), "\"hls-gaudi2\" from derived");

  EXPECT_TRUE(c.set("training.epochs", std::int64_t{3}, Origin::derived).ok());
  EXPECT_EQ(row("training.epochs"), "3 from derived");
  EXPECT_TRUE(c.setText("training.epochs", "2", Origin::file).ok());
  EXPECT_EQ(row("training.epochs"), "2 from file") << "what somebody gave is stronger";
}

TEST(Configuration, VariablesCloseToAKeysAreNoted) {
  const auto notes = misspeltVariables(
      coreTable(), {"PIPESCOPE_TRAINING_EPOCHS", "PIPESCOPE_TRAINNG_EPOCHS", "PIPESCOPE_EPOCHS",
                    "PIPESCOPE_CACHE", "PATH", "PIPESCOPE_", "XPIPESCOPE_TRAINING_EPOCH"});
  EXPECT_EQ(notes, (std::vector<std::string>{
                       "The environment variable PIPESCOPE_TRAINNG_EPOCHS has no effect; did you mean "
                       "PIPESCOPE_TRAINING_EPOCHS?",
                       "The environment variable PIPESCOPE_EPOCHS has no effect; did you mean "
                       "PIPESCOPE_TRAINING_EPOCHS?"}));
}

TEST(Configuration, VariablesNamedAfterAFlagOrAnotherTableAreNoted) {
  const std::pair<const char*, const char*> cases[] = {
      {"PIPESCOPE_DEVICES", "PIPESCOPE_SYSTEM_DEVICES"},  // not PIPESCOPE_EXECUTION_CUT_DEVICES
      {"PIPESCOPE_SYSTEM_REPLICATION_FACTOR", "PIPESCOPE_TRAINING_REPLICATION_FACTOR"},
      {"PIPESCOPE_SYSTEM_EPOCHS", "PIPESCOPE_TRAINING_EPOCHS"},
  };
  for (const auto& [name, meant] : cases) {
    const auto notes = misspeltVariables(coreTable(), {name});
    ASSERT_EQ(notes.size(), 1U) << name;
    EXPECT_TRUE(notes[0].ends_with(std::string("did you mean ") + meant + "?")) << notes[0];
  }
  EXPECT_TRUE(misspeltVariables(coreTable(), {"PIPESCOPE_LAUNCHER_EPOCHS"}).empty())
      << "no table of that name";
  EXPECT_EQ(misspeltVariables(coreTable(), {"PIPESCOPE_TRNING_EPOCHS"}).size(), 1U)
      << "two letters are missing";
  EXPECT_TRUE(misspeltVariables(coreTable(), {"PIPESCOPE_TRNNG_EPOCHS"}).empty()) << "three are";
}

TEST(Configuration, HelpKnowsAKeyByItsVariable) {
  const auto meant = keysMeant(coreTable(), "PIPESCOPE_TRAINING_EPOCHS");
  ASSERT_EQ(meant.size(), 1U);
  EXPECT_EQ(meant[0]->path, "training.epochs");
  EXPECT_TRUE(keysMeant(coreTable(), "PIPESCOPE_EPOCHS").empty());
}

TEST(Configuration, AWrongValueOfAVariableNamesTheVariable) {
  Configuration c(coreTable());
  const auto zero = [](const char* name) {
    return std::string_view(name) == "PIPESCOPE_TRAINING_MICRO_BATCH_SIZE" ? "0" : nullptr;
  };
  EXPECT_EQ(c.applyEnvironment(zero).error().message,
            "The environment variable PIPESCOPE_TRAINING_MICRO_BATCH_SIZE is 0, but it must be between 1 and "
            "1000000.");
}

TEST(KeyTableTest, KnowsItsTables) {
  const KeyTable& table = coreTable();
  for (const char* path : {"training", "data", "execution", "model", "fixed.stages[]"})
    EXPECT_TRUE(table.isTable(path)) << path;
  for (const char* path : {"", "train", "training.epochs", "training.", "trainings", "zzz"})
    EXPECT_FALSE(table.isTable(path)) << path;
}

TEST(ConfigurationHelp, FactsOfAKeyNameItsDefault) {
  const auto facts = [](const char* path) {
    const Key* key = coreTable().find(path);
    return key ? keyFacts(*key) : std::string("no such key");
  };
  EXPECT_EQ(facts("training.epochs"), "a whole number, 1 … 1000000; default 1");
  EXPECT_EQ(facts("model.onnx"), "a text; default none");
  EXPECT_EQ(facts("model.name"), "a text; default \"model\"");
}

}  // namespace
}  // namespace pipescope::config
