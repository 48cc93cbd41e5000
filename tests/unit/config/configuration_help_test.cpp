// Tests the help of a small table of keys: the text about each key, and the keys that a word finds.
#include "engine/config/configuration_help.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/config/configuration.h"

namespace pipescope::config {
namespace {

Key keyOf(std::string path, KeyType type, Value fallback) {
  Key key;
  key.path = std::move(path);
  key.type = type;
  key.fallback = std::move(fallback);
  key.help = "Help of " + std::string(lastPart(key.path)) + ".";
  return key;
}

KeyTable helpTable() {
  Key epochs = keyOf("training.epochs", KeyType::integer, std::int64_t{1});
  epochs.unit = "passes";
  epochs.least = 1;
  epochs.most = 9;
  epochs.flags = {"epochs", "e"};
  Key shuffle = keyOf("training.shuffle", KeyType::boolean, true);
  shuffle.flags = {"shuffle", "mix"};
  Key rate = keyOf("training.rate", KeyType::real, 0.5);
  rate.least = 0;
  Key seed = keyOf("data.seed", KeyType::integer, std::int64_t{7});
  seed.most = 99;
  Key rule = keyOf("training.rule", KeyType::text, std::string("sgd"));
  rule.choices = {"sgd", "lamb"};
  Key count = keyOf("data.count", KeyType::integer, std::int64_t{-1});
  count.most = 64;
  count.choices = {"auto"};
  Key name = keyOf("stages[].name", KeyType::text, std::string());
  Key blocks = keyOf("stages[].blocks", KeyType::integer, std::int64_t{0});
  blocks.required = true;
  Key rows = keyOf("data.rate", KeyType::real, 2.0);
  return KeyTable({epochs, shuffle, rate, rule, seed, count, rows, name, blocks});
}

std::string factsOf(const char* path) {
  return keyFacts(*helpTable().find(path));
}

std::vector<std::string> meantBy(const char* word) {
  static const KeyTable table = helpTable();
  std::vector<std::string> paths;
  for (const Key* key : keysMeant(table, word)) paths.push_back(key->path);
  return paths;
}

using Paths = std::vector<std::string>;

TEST(ConfigurationHelp, FactsNameTypeUnitRangeAndDefault) {
  EXPECT_EQ(factsOf("training.epochs"), "a whole number, passes, 1 … 9; default 1");
  EXPECT_EQ(factsOf("training.rate").substr(factsOf("training.rate").find(", ")), ", ≥ 0; default 0.5");
  EXPECT_EQ(factsOf("data.seed"), "a whole number, ≤ 99; default 7");
  EXPECT_EQ(factsOf("data.rate").find(", "), std::string::npos) << "without a range";
  EXPECT_EQ(factsOf("training.rule"), "one of sgd, lamb; default \"sgd\"");
  EXPECT_EQ(factsOf("data.count").substr(0, 31), "a whole number, 0 … 64, auto;") << factsOf("data.count");
  EXPECT_EQ(factsOf("stages[].name"), "a text; default none");
  EXPECT_EQ(factsOf("stages[].blocks"), "a whole number; required");
}

TEST(ConfigurationHelp, AWordMeansAPathAFlagAVariableOrALastPart) {
  EXPECT_EQ(meantBy("training.epochs"), (Paths{"training.epochs"}));
  EXPECT_EQ(meantBy("epochs"), (Paths{"training.epochs"}));
  EXPECT_EQ(meantBy("--epochs"), (Paths{"training.epochs"}));
  EXPECT_EQ(meantBy("-e"), (Paths{"training.epochs"}));
  EXPECT_EQ(meantBy("--shuffle"), (Paths{"training.shuffle"}));
  EXPECT_EQ(meantBy("--no-shuffle"), (Paths{"training.shuffle"}));
  EXPECT_EQ(meantBy("--no-mix"), (Paths{"training.shuffle"}));
  EXPECT_EQ(meantBy("--no-rate"), Paths()) << "no flag";
  EXPECT_EQ(meantBy("--no-epochs"), Paths()) << "only what is true or false has the opposite";
  EXPECT_EQ(meantBy("PIPESCOPE_DATA_SEED"), (Paths{"data.seed"}));
  EXPECT_EQ(meantBy("rate"), (Paths{"training.rate", "data.rate"}));
  EXPECT_EQ(meantBy("training"), Paths());
  EXPECT_EQ(meantBy(""), Paths());
}

TEST(ConfigurationHelp, APageOfAKeySaysAllThatCanBeSet) {
  const KeyTable table = helpTable();
  EXPECT_EQ(keyHelp(*table.find("training.epochs")),
            "training.epochs\n"
            "  Help of epochs.\n\n"
            "  Type        a whole number\n"
            "  Unit        passes\n"
            "  Range       1 … 9\n"
            "  Default     1\n"
            "  Flag        --epochs, --e\n"
            "  Variable    PIPESCOPE_TRAINING_EPOCHS\n"
            "  In a file   [training] epochs = 1\n"
            "  Anywhere    --set training.epochs=…\n");
  const std::string shuffle = keyHelp(*table.find("training.shuffle"));
  EXPECT_NE(shuffle.find("--shuffle, --no-shuffle, --mix, --no-mix\n"), std::string::npos) << shuffle;
  EXPECT_EQ(shuffle.find("Range"), std::string::npos);
  // Keys of an array have neither a variable nor --set.
  const std::string blocks = keyHelp(*table.find("stages[].blocks"));
  EXPECT_NE(blocks.find("  In a file   [[stages]] blocks = 0\n"), std::string::npos) << blocks;
  EXPECT_NE(blocks.find("  Default     required\n"), std::string::npos) << blocks;
  EXPECT_EQ(blocks.find("Variable"), std::string::npos);
  EXPECT_EQ(blocks.find("Anywhere"), std::string::npos);
  EXPECT_NE(keyHelp(*table.find("training.rule")).find("  Choices     sgd, lamb\n"), std::string::npos);
}

TEST(ConfigurationHelp, ATableHasItsOwnKeysOnly) {
  const KeyTable table = helpTable();
  for (const char* name : {"data", "[data]"}) {
    const std::string page = tableHelp(table, name);
    EXPECT_EQ(page.substr(0, 14), "[data]\n\n  seed") << page;
    EXPECT_EQ(page.find("epochs"), std::string::npos);
    EXPECT_EQ(std::ranges::count(page, '['), 1) << "one heading:\n" << page;
    EXPECT_NE(page.find("\n    Help of count.\n"), std::string::npos) << page;
  }
  for (const char* name : {"stages", "[[stages]]"})
    EXPECT_EQ(tableHelp(table, name),
              "[[stages]]\n\n  name: a text; default none\n    Help of name.\n"
              "\n  blocks: a whole number; required\n    Help of blocks.\n");
  EXPECT_EQ(tableHelp(table, "dat"), "");
}

TEST(ConfigurationHelp, AValueNamesTheKeysThatMayHaveIt) {
  const KeyTable table = helpTable();
  EXPECT_EQ(valueHelp(table, "lamb"),
            "lamb is a value of this key:\n\n" + keyHelp(*table.find("training.rule")));
  EXPECT_EQ(valueHelp(table, "auto").substr(0, 37), "auto is a value of this key:\n\ndata.co");
  EXPECT_EQ(valueHelp(table, "7"), "");
}

/// Greedy breaking by hand: no line is longer than ten bytes unless one word is.
TEST(Wrapped, LinesAreAsLongAsTheyMayBe) {
  EXPECT_EQ(wrapped("12345 7890 2", 10, ""), "12345 7890\n2\n") << "ten bytes fit";
  EXPECT_EQ(wrapped("12345 78901 2", 10, "  "), "  12345\n  78901 2\n") << "eleven do not";
  EXPECT_EQ(wrapped("123456789012 4", 10, ""), "123456789012\n4\n") << "a word is never broken";
  EXPECT_EQ(wrapped("", 10, "  "), "  \n");
}

}  // namespace
}  // namespace pipescope::config
