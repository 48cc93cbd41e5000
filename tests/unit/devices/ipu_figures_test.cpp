// Well-known figures of the chips and systems.
#include <map>

#include "engine/devices/core/figures.h"
#include "ipu_fixtures.h"

namespace pipescope::devices {
namespace {

std::map<std::string, Figure> figuresOf(const std::string& system) {
  std::map<std::string, Figure> figures;
  for (const Figure& figure : testing::systemOf(system)->figures()) figures[figure.name] = figure;
  return figures;
}

std::string text(const Figure& figure) {
  return figure.value + " " + figure.unit;
}

TEST(IpuFigures, Mk2) {
  auto figures = figuresOf("mk2");
  EXPECT_EQ(text(figures["tiles"]), "1,472 tiles");
  EXPECT_EQ(text(figures["threads"]), "8,832 threads");
  EXPECT_EQ(text(figures["chip_memory"]), "897 MiB");
  EXPECT_EQ(text(figures["memory_bandwidth"]), "47.5 TB/s");
  EXPECT_EQ(text(figures["exchange_bandwidth"]), "8 TB/s");
  EXPECT_EQ(text(figures["on_chip_exchange"]), "7.831 TB/s");
  EXPECT_EQ(text(figures["peak_fp16"]), "250.6 TFLOP/s");
  EXPECT_EQ(text(figures["peak_fp16_fp32"]), "125.3 TFLOP/s");
  EXPECT_EQ(text(figures["peak_fp32"]), "62.65 TFLOP/s");
  EXPECT_EQ(figures["tiles"].grade, "D");
  EXPECT_EQ(figures["threads"].grade, "X");
}

TEST(IpuFigures, OtherChips) {
  EXPECT_EQ(text(figuresOf("mk1")["chip_memory"]), "304 MiB");
  EXPECT_EQ(text(figuresOf("mk1")["peak_fp16_fp32"]), "124.5 TFLOP/s");
  EXPECT_EQ(text(figuresOf("mk1")["peak_fp16"]),
            "124.5 TFLOP/s");  // the datasheet states no other for float16
  EXPECT_EQ(text(figuresOf("mk1")["peak_fp32"]), "31.13 TFLOP/s");
  EXPECT_EQ(text(figuresOf("bow")["peak_fp16"]), "348.6 TFLOP/s");
  EXPECT_EQ(text(figuresOf("bow")["peak_fp32"]), "87.14 TFLOP/s");
  EXPECT_EQ(text(figuresOf("c600")["peak_fp8"]), "565.2 TFLOP/s");
}

TEST(IpuFigures, Systems) {
  EXPECT_EQ(text(figuresOf("m2000")["system_peak_fp16"]), "1.002 PFLOP/s");
  EXPECT_EQ(text(figuresOf("bow-2000")["system_peak_fp16"]), "1.394 PFLOP/s");
  EXPECT_EQ(text(figuresOf("pod4")["link_to_partner"]), "58.41 GB/s");
  EXPECT_EQ(text(figuresOf("pod4")["link_up"]), "29.21 GB/s");
  EXPECT_EQ(text(figuresOf("pod4")["system_memory"]), "3.504 GiB");
}

TEST(IpuFigures, EachHasGradeAndSource) {
  for (const std::string& name : knownSystems()) {
    for (const Figure& figure : testing::systemOf(name)->figures()) {
      EXPECT_TRUE(isGrade(figure.grade) || figure.grade == "exact") << name << ' ' << figure.name;
      EXPECT_FALSE(figure.source.empty()) << name << ' ' << figure.name;
      EXPECT_FALSE(figure.value.empty()) << name << ' ' << figure.name;
    }
  }
}

TEST(Figures, AreScaledForPeople) {
  const auto show = [](double value, const std::string& unit) {
    return text(readableFigure("x", value, unit, "D", "s"));
  };
  EXPECT_EQ(show(638976, "B"), "624 KiB");
  EXPECT_EQ(show(1.3e-6, "s"), "1.3 µs");
  EXPECT_EQ(show(1'330'000'000, "Hz"), "1.33 GHz");
  EXPECT_EQ(show(0.85, "1"), "0.85 ");
  EXPECT_EQ(show(1234567, "tiles"), "1,234,567 tiles");
  EXPECT_EQ(show(0, "B"), "0 B");
}

}  // namespace
}  // namespace pipescope::devices
