#include "app/run/sweep/varied_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/run/request/configuration_keys.h"

namespace pipescope::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> valuesOf(const std::string& text) {
  const base::Result<VariedKey> varied = parseVaried(configurationKeys(), text);
  EXPECT_TRUE(varied.ok()) << varied.error().message;
  return varied.ok() ? varied->values : std::vector<std::string>();
}

std::string refusalOf(const std::string& text) {
  const base::Result<VariedKey> varied = parseVaried(configurationKeys(), text);
  EXPECT_FALSE(varied.ok()) << text;
  return varied.ok() ? "" : varied.error().message;
}

TEST(VariedKeys, ReadsListsAndRanges) {
  EXPECT_THAT(valuesOf("training.epochs=3,1,2"), ElementsAre("3", "1", "2"));
  EXPECT_THAT(valuesOf("training.epochs = 1 , 2"), ElementsAre("1", "2"));
  EXPECT_THAT(valuesOf("training.epochs=1..4"), ElementsAre("1", "2", "3", "4"));
  EXPECT_THAT(valuesOf("gradient_accumulation=1..64*2"), ElementsAre("1", "2", "4", "8", "16", "32", "64"));
  EXPECT_THAT(valuesOf("gradient_accumulation=3..20*3"), ElementsAre("3", "9"));
  EXPECT_THAT(valuesOf("gradient_accumulation=10..50+20"), ElementsAre("10", "30", "50"));
  EXPECT_THAT(valuesOf("learning_rate=0.1..0.3+0.1"), ElementsAre("0.1", "0.2", "0.3"));
  EXPECT_THAT(valuesOf("system=pod4,bow-pod16"), ElementsAre("pod4", "bow-pod16"));
  EXPECT_THAT(valuesOf("execution.layers_per_stage=[1,2],[2,1]"), ElementsAre("[1,2]", "[2,1]"));
  EXPECT_THAT(valuesOf("training.epochs=7..7"), ElementsAre("7"));
}

TEST(VariedKeys, FindsKeysByPathFlagAndLastWord) {
  const auto named = [](const char* word) { return keyNamed(configurationKeys(), word).value(); };
  EXPECT_EQ(named("training.epochs"), "training.epochs");
  EXPECT_EQ(named("epochs"), "training.epochs");
  EXPECT_EQ(named("system"), "system.name");
  // Both [training] and [inference] have it, but the flag belongs to one of them.
  EXPECT_EQ(named("micro_batch_size"), "training.micro_batch_size");
  EXPECT_EQ(named("gradient-accumulation"), "training.gradient_accumulation");
}

TEST(VariedKeys, RefusesWhatIsWrong) {
  EXPECT_EQ(refusalOf("epochs"), "--vary takes KEY=A,B,C or KEY=1..64*2, but \"epochs\" was given.");
  EXPECT_THAT(refusalOf("epocs=1,2"), HasSubstr("There is no key epocs; did you mean training.epochs?"));
  EXPECT_EQ(refusalOf("=1,2"), "The name of the key is missing.");
  EXPECT_EQ(refusalOf("epochs="), "--vary epochs=: a value is empty.");
  EXPECT_EQ(refusalOf("epochs=1,,2"), "--vary epochs=1,,2: a value is empty.");
  EXPECT_EQ(refusalOf("epochs=1,2,1"), "--vary epochs=1,2,1: the value 1 is given twice.");
  EXPECT_EQ(refusalOf("epochs=0,1"),
            "--vary epochs=0,1: training.epochs is 0, but it must be between 1 and 1000000.");
  EXPECT_THAT(refusalOf("epochs=a,b"), HasSubstr("must be a whole number"));
  EXPECT_THAT(refusalOf("epochs=4..1"), HasSubstr("the range never reaches its end"));
  EXPECT_THAT(refusalOf("epochs=1..4*1"), HasSubstr("the range never reaches its end"));
  EXPECT_THAT(refusalOf("epochs=1..4+0"), HasSubstr("the range never reaches its end"));
  EXPECT_THAT(refusalOf("epochs=1..4+-1"), HasSubstr("the range never reaches its end"));
  EXPECT_THAT(refusalOf("epochs=1..100000"), HasSubstr("the range has more than 10000 values"));
  EXPECT_THAT(refusalOf("learning_rate=0.1..0.2+1e-300"), HasSubstr("the range has more than 10000 values"));
  EXPECT_THAT(refusalOf("stages[].blocks=a"), HasSubstr("stands in an array of tables"));
  EXPECT_THAT(parseAllVaried(configurationKeys(), {"epochs=1,2", "training.epochs=3"}).error().message,
              HasSubstr("--vary names training.epochs twice"));
}

TEST(VariedKeys, CountsAndOrdersCombinations) {
  const std::vector<VariedKey> keys = {{"a", {"1", "2"}}, {"b", {"x", "y", "z"}}};
  EXPECT_EQ(countCombinations(keys).value(), 6);
  std::vector<std::string> all;
  for (std::int64_t i = 0; i < 6; ++i) {
    const std::vector<std::string> values = combination(keys, i);
    all.push_back(values[0] + values[1]);
  }
  EXPECT_THAT(all, ElementsAre("1x", "1y", "1z", "2x", "2y", "2z"));
  const std::vector<std::string> thousand(1000, "v");
  EXPECT_EQ(countCombinations({{"a", thousand}, {"b", thousand}, {"c", thousand}}).error().message,
            "There are 1000000000 combinations (1000 × 1000 × 1000), but a sweep takes at most 100000: vary "
            "fewer keys, or fewer values.");
  EXPECT_EQ(countCombinations({{"a", thousand}, {"b", std::vector<std::string>(100, "v")}}).value(), 100000);
}

}  // namespace
}  // namespace pipescope::app
