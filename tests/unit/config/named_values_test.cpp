// Tests [model.assume], a table whose keys the user chooses.
#include <gmock/gmock.h>

#include "tests/unit/config/core_table.h"

namespace pipescope::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NamedValues, ATableOfWholeNumbersIsAListOfTexts) {
  const auto c =
      Configuration::parse(coreTable(), "[model.assume]\nsequence = 128\n\"a/shape\" = [1, 2]\n", "t.toml");
  ASSERT_TRUE(c.ok()) << c.error().message;
  EXPECT_THAT(c->texts("model.assume"), testing::UnorderedElementsAre("sequence = 128", "a/shape = [1, 2]"));
}

TEST(NamedValues, AListOfTextsIsTakenToo) {
  const auto c = Configuration::parse(coreTable(), "[model]\nassume = [\"sequence = 128\"]\n", "t.toml");
  ASSERT_TRUE(c.ok()) << c.error().message;
  EXPECT_THAT(c->texts("model.assume"), ElementsAre("sequence = 128"));
}

TEST(NamedValues, OtherValuesAndOtherKeysAreRefused) {
  const auto text = Configuration::parse(coreTable(), "[model.assume]\nsequence = \"long\"\n", "t.toml");
  ASSERT_FALSE(text.ok());
  EXPECT_THAT(text.error().message, HasSubstr("model.assume must be a list of texts"));
  const auto table = Configuration::parse(coreTable(), "[model.frozen]\na = 1\n", "t.toml");
  ASSERT_FALSE(table.ok());
  EXPECT_THAT(table.error().message, HasSubstr("model.frozen must be a list of texts"));
}

TEST(NamedValues, DevicesAreANumberDigitsOrAuto) {
  const auto devices = [](const std::string& value) {
    const auto c = Configuration::parse(coreTable(), "[system]\ndevices = " + value + "\n", "t.toml");
    return c.ok() ? std::to_string(c->integer("system.devices")) : c.error().message;
  };
  EXPECT_EQ(devices("8"), "8");
  EXPECT_EQ(devices("\"8\""), "8");
  EXPECT_EQ(devices("\"auto\""), "-1");
  EXPECT_THAT(devices("\"all\""), HasSubstr("system.devices is \"all\", but it must be a whole number."));
  EXPECT_THAT(devices("[0, 1]"), HasSubstr("system.devices is [0, 1], but it must be a whole number"));
  Configuration c(coreTable());
  ASSERT_TRUE(c.setText("system.devices", "auto", Origin::flag).ok());
  EXPECT_EQ(c.integer("system.devices"), -1);
}

}  // namespace
}  // namespace pipescope::config
