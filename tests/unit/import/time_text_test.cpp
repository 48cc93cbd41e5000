#include "profiler/import/read/time_text.h"

#include <gtest/gtest.h>

#include <string>

namespace pipescope::importing {
namespace {

constexpr std::int64_t kMicro = 1'000'000;

TEST(TimeText, KeepsEveryDigit) {
  EXPECT_EQ(parseTime("113", kMicro), Picoseconds{113'000'000});
  EXPECT_EQ(parseTime("-0.5", kMicro), Picoseconds{-500'000});
  EXPECT_EQ(parseTime("1.5e3", kMicro), Picoseconds{1'500'000'000});
  EXPECT_EQ(parseTime("15E-1", kMicro), Picoseconds{1'500'000});
  EXPECT_EQ(parseTime("+7", 1), Picoseconds{7});
  // A time since 1970 in nanoseconds has 19 digits, more than a double keeps.
  EXPECT_EQ(parseTime("1695835542514261.123", kMicro), Picoseconds{1'695'835'542'514'261'123} * 1'000);
  EXPECT_EQ(parseTime("1695835542514261123", 1'000), Picoseconds{1'695'835'542'514'261'123} * 1'000);
  EXPECT_EQ(parseTime("848671.6747283936", kMicro), Picoseconds{848'671'674'728});
}

TEST(TimeText, RoundsWhatIsFinerThanAPicosecond) {
  EXPECT_EQ(parseTime("0.0000004", kMicro), Picoseconds{0});
  EXPECT_EQ(parseTime("0.0000005", kMicro), Picoseconds{1});
  EXPECT_EQ(parseTime("0.00000149", kMicro), Picoseconds{1});
  EXPECT_EQ(parseTime("1." + std::string(5000, '3'), kMicro), Picoseconds{1'333'333});
  EXPECT_EQ(parseTime("1e-300", kMicro), Picoseconds{0});
}

TEST(TimeText, RefusesWhatIsNoTime) {
  for (const char* text : {"", "-", ".", "abc", "1.2.3", "12x", "1e", "0x10", "nan", "1e999999999", "--1"})
    EXPECT_FALSE(parseTime(text, kMicro)) << text;
  EXPECT_FALSE(parseTime("1e30", kMicro)) << "longer than the age of the Earth";
  EXPECT_FALSE(parseTime(std::string(400, '9'), kMicro));
  EXPECT_EQ(parseTime("0e300", kMicro), Picoseconds{0});
}

}  // namespace
}  // namespace pipescope::importing
