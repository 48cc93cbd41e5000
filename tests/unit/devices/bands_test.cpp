// The embedded error bands, and every way in which a file of bands can be wrong.
#include "engine/devices/core/bands.h"

#include <gmock/gmock.h>

namespace pipescope::devices {
namespace {

using ::testing::HasSubstr;

constexpr const char* kBand = R"([[band]]
device = "mk2"
kind = "convolution"
quantity = "cycles"
points = 56
median = 0.065
p90 = 0.172
bias = -0.061
against = "something measured"
)";

std::string fault(std::string text, const std::string& part, const std::string& by) {
  text.replace(text.find(part), part.size(), by);
  const auto bands = parseBands(text);
  EXPECT_FALSE(bands.ok());
  return bands.ok() ? "" : bands.error().message;
}

TEST(Bands, AFewPointsHaveNoP90) {
  std::string text = kBand;
  text.erase(text.find("p90 = 0.172\n"), std::string("p90 = 0.172\n").size());
  const auto bands = parseBands(text);
  ASSERT_TRUE(bands.ok()) << bands.error().message;
  EXPECT_EQ(bands->front().describe(),
            "56 points, |ln| median 0.065, bias -0.061; against something measured");
}

TEST(Bands, SayWhatTheyAreWorth) {
  const auto bands = parseBands(kBand);
  ASSERT_TRUE(bands.ok()) << bands.error().message;
  ASSERT_EQ(bands->size(), 1u);
  EXPECT_EQ(bands->front().describe(),
            "56 points, |ln| median 0.065, p90 0.172, bias -0.061; against something measured");
}

TEST(Bands, TheWidestTimeErrorIsThatOfNoMemory) {
  const auto bands = embeddedBands();
  ASSERT_TRUE(bands.ok()) << bands.error().message;
  const std::optional<double> widest = widestTimeError("mk2");
  ASSERT_TRUE(widest.has_value());
  bool reached = false;
  for (const Band& band : *bands) {
    if (band.device != "mk2" || band.quantity.ends_with("_bytes") || !band.p90) continue;
    EXPECT_LE(*band.p90, *widest) << band.kind;
    reached = reached || *band.p90 == *widest;
  }
  EXPECT_TRUE(reached);
  EXPECT_FALSE(widestTimeError("a chip that nobody measured").has_value());
}

TEST(Bands, TheProgramsOwnCoverBothIpus) {
  const auto bands = embeddedBands();
  ASSERT_TRUE(bands.ok()) << bands.error().message;
  for (const char* chip : {"mk1", "mk2"}) {
    for (const char* kind : {"matrix product", "fully connected", "convolution"}) {
      EXPECT_TRUE(std::any_of(bands->begin(), bands->end(),
                              [&](const Band& band) {
                                return band.device == chip && band.kind == kind &&
                                       band.quantity == "cycles" && band.points > 10;
                              }))
          << chip << " " << kind;
    }
  }
}

TEST(Bands, FaultsNameTheEntry) {
  EXPECT_THAT(fault(kBand, "\"mk2\"", "2"), HasSubstr("band 1: \"device\" must be a text"));
  EXPECT_THAT(fault(kBand, "points = 56", "points = 0"),
              HasSubstr("\"points\" must be a whole number above 0"));
  EXPECT_THAT(fault(kBand, "p90 = 0.172", "p90 = \"x\""), HasSubstr("\"p90\" must be a number"));
  EXPECT_THAT(fault(kBand, "[[band]]", "band = [1]\n[other]"), HasSubstr("must be tables"));
  EXPECT_THAT(fault(kBand, "[[band]]", "[[band"), HasSubstr("line "));
}

}  // namespace
}  // namespace pipescope::devices
