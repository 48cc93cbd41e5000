// Figures of the catalogue and their texts, from analyses that are made by hand.
#include <gtest/gtest.h>

#include "profiler/analysis/catalog.h"
#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/pipeline/execution.h"
#include "profiler/analysis/pipeline/stages.h"
#include "profiler/figures/figure.h"
#include "profiler/figures/stage_figure.h"
#include "profiler/figures/text.h"

namespace pipescope::figures {
namespace {

double numberOf(const char* key, const Analyses& from) {
  const Cell value = figure(key).value(from);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&value);
  return real == nullptr ? -1 : *real;
}

TEST(Figures, SamplesOfAPriceNeedBoth) {
  analysis::Execution execution;
  execution.samples = 10;
  execution.samplesPerSecond = 2;
  Analyses from;
  EXPECT_EQ(numberOf("samples_per_currency_unit", from), -1);
  from.pricePerHour = 36;
  EXPECT_EQ(numberOf("samples_per_currency_unit", from), -1) << "nothing ran";
  from.execution = &execution;
  EXPECT_DOUBLE_EQ(numberOf("samples_per_currency_unit", from), 200);  // 7,200 an hour
  from.pricePerHour = 0;
  EXPECT_EQ(numberOf("samples_per_currency_unit", from), -1) << "nobody stated a price";
}

/// Two devices of 100,000 bytes that hold caches for two samples of 300 tokens: one token takes 10 bytes on
/// the first and 20 on the second, beside 40,000 and 64,000 bytes of other things.
struct Caches {
  Caches() {
    model::Executable& executable = catalog.executables.emplace_back();
    executable.id = model::ExecutableId(0);
    executable.microBatchSize = 2;
    executable.microBatches = 1;
    catalog.properties.push_back({"cache_tokens_per_sample.0", "300"});
    for (const auto& [cache, others] : {std::pair(6000, 40'000), std::pair(12'000, 64'000)}) {
      analysis::DeviceMemory device;
      device.units = 4;
      device.bytesPerUnit = base::Bytes(25'000);
      device.byCategory["cache"] = base::Bytes(cache);
      device.totalIncludingGaps = base::Bytes(cache + others);
      memory.devices.push_back(device);
    }
    from.catalog = &catalog;
    from.memory = &memory;
    from.executable = model::ExecutableId(0);
  }
  Caches(const Caches&) = delete;
  Caches& operator=(const Caches&) = delete;
  analysis::Catalog catalog;
  analysis::Memory memory;
  Analyses from;
};

TEST(Figures, CachesHaveRoomForWholeBlocks) {
  Caches made;
  EXPECT_DOUBLE_EQ(numberOf("cache_block_bytes", made.from), 30 * 128);
  // 60,000 ÷ 1,280 are 46 blocks on the first device, 36,000 ÷ 2,560 are 14 on the second. A sample needs 3.
  EXPECT_EQ(numberOf("cache_blocks", made.from), 14);
  EXPECT_EQ(numberOf("cache_samples", made.from), 4);
  made.catalog.properties[0].value = "256";  // two blocks, and each token takes more
  EXPECT_EQ(numberOf("cache_blocks", made.from), 12);
  EXPECT_EQ(numberOf("cache_samples", made.from), 6);
  made.catalog.properties[0].value = "257";
  EXPECT_EQ(numberOf("cache_samples", made.from), 4);
  for (const char* none : {"0", "-3", "many"}) {
    made.catalog.properties[0].value = none;
    EXPECT_EQ(numberOf("cache_samples", made.from), -1) << none;
  }
}

TEST(Figures, StagesAddUpTheirParts) {
  analysis::StageReport stage;
  stage.backward = 20;
  stage.weightGradient = 7;
  stage.hostIn = 3;
  stage.hostOut = 2;
  const auto valueOf = [&](const char* key) { return std::get<double>(stageFigure(key).value(stage)); };
  EXPECT_DOUBLE_EQ(valueOf("backward_cycles"), 27);
  EXPECT_DOUBLE_EQ(valueOf("host_copies_cycles"), 5);
  analysis::StagesReport report;
  report.stages = {stage, stage};
  EXPECT_FALSE(hasRecompute(report));
  report.stages[1].recompute = 1;
  EXPECT_TRUE(hasRecompute(report));
}

TEST(FigureTexts, ATimeInLargeLettersIsGivenInBothUnits) {
  const ShownTime cycles{1, "cycles", 2e6}, other{1, "cycles", 0}, seconds{2, "µs", 2e6};
  EXPECT_EQ(cardText(std::int64_t{1500}, Format::ticks, cycles), "1,500 cycles (750 µs)");
  EXPECT_EQ(cardText(1500.0, Format::ticks, cycles), "1,500 cycles (750 µs)");
  EXPECT_EQ(cardText(std::int64_t{1500}, Format::ticks, other), "1,500 cycles") << "of no known clock";
  EXPECT_EQ(cardText(std::int64_t{1500}, Format::ticks, seconds), "750 µs (1,500 cycles)");
  EXPECT_EQ(cardText(std::int64_t{1500}, Format::count, cycles), "1,500");
  EXPECT_EQ(cardText(Cell(), Format::ticks, cycles), "–");
}

TEST(FigureTexts, ABreakdownNamesWhatIsThere) {
  EXPECT_EQ(
      formatCell(Breakdown{{"a_b", std::int64_t{3}}, {"c", std::int64_t{0}}, {"d", 2.0}}, Format::count),
      "a_b 3 · d 2");
  EXPECT_EQ(formatCell(Breakdown{{"a", std::int64_t{0}}}, Format::count), "0");
  EXPECT_EQ(formatCell(Breakdown{{"a", Amount()}, {"b", std::int64_t{0}}}, Format::count), "0");
  EXPECT_EQ(formatCell(Breakdown{{"a", Amount()}}, Format::count), "–");
  EXPECT_EQ(formatCell(Breakdown{}, Format::count), "–");
}

TEST(FigureTexts, LongListsAreShort) {
  EXPECT_EQ(shortList("one  two"), "one  two") << "short enough as it is";
  EXPECT_EQ(shortList("encoder0 encoder1 encoder2 encoder3"), "encoder0..3");
  EXPECT_EQ(shortList("embedding  encoder0 encoder1 encoder2"), "embedding encoder0..2");
  EXPECT_EQ(shortList("north east south west anywhere else"), "north … else (6)");
  EXPECT_EQ(shortList("northwards eastwards southwards"), "northwards eastwards southwards");
}

TEST(FigureTexts, AUnitStandsOnce) {
  EXPECT_EQ(fromToText("1,160 cycles", "835 cycles"), "1,160 → 835 cycles");
  EXPECT_EQ(fromToText("1.2 ms", "835 µs"), "1.2 ms → 835 µs");
  EXPECT_EQ(fromToText("12 cost units", "9 cost units"), "12 → 9 cost units");
  EXPECT_EQ(fromToText("none", "9"), "none → 9");
}

}  // namespace
}  // namespace pipescope::figures
