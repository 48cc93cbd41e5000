#include "app/run/sweep/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tests/unit/sweep/sweep_fixture.h"

namespace pipescope::app {
namespace {

using testing::HasSubstr;

/// The example of Spearman's coefficient in Wikipedia (IQ and hours of television): −29/165.
TEST(Agreement, RanksAsInATextbook) {
  const std::vector<double> iq = {106, 100, 86, 101, 99, 103, 97, 113, 112, 110},
                            hours = {7, 27, 2, 50, 28, 29, 20, 12, 6, 17};
  EXPECT_NEAR(*agreementOf(iq, hours).rankCorrelation, -29.0 / 165.0, 1e-12);
  // Ranks of equal values are means: (1.5, 1.5, 3) and (1, 2, 3) have the correlation √3 ÷ 2.
  EXPECT_NEAR(*agreementOf({5, 5, 9}, {1, 2, 3}).rankCorrelation, std::sqrt(3.0) / 2, 1e-12);
  EXPECT_FALSE(agreementOf({5, 5}, {1, 2}).rankCorrelation);
}

TEST(Agreement, CountsPairsBiasAndErrors) {
  const Agreement agreement = agreementOf({2, 8, 6, 16}, {1, 4, 4, 8});
  EXPECT_EQ(agreement.pairs, 4);
  EXPECT_NEAR(agreement.bias, std::pow(2.0 * 2.0 * 1.5 * 2.0, 0.25), 1e-12);
  EXPECT_DOUBLE_EQ(agreement.p90, 1.0);  // the errors are 1, 1, 0.5 and 1
  EXPECT_EQ(agreement.ordered, 5);       // the pair of equal measurements has no order
  EXPECT_EQ(agreement.inOrder, 5);
  const Agreement wrong = agreementOf({3, 2, 1}, {1, 2, 3});
  EXPECT_EQ(wrong.inOrder, 0);
  EXPECT_NEAR(*wrong.rankCorrelation, -1, 1e-12);
  // Nine of the ten errors 0.00 … 0.09 do not exceed 0.08.
  std::vector<double> emulated, measured(10, 1.0);
  for (int i = 0; i < 10; ++i) emulated.push_back(1 + 0.01 * i);
  EXPECT_NEAR(agreementOf(emulated, measured).p90, 0.08, 1e-12);
}

class ValidationTest : public SweepFixture {
 protected:
  base::Result<Validation> validateTable(const std::string& csv) {
    std::ofstream(file("m.csv")) << csv;
    const config::Configuration configuration = equalStages();
    PIPESCOPE_ASSIGN(const MeasuredTable measured, readMeasured(configuration.keys(), file("m.csv")));
    base::SilentProgress progress;
    return validate(configuration, measured, 2, progress);
  }
  std::string refusal(const std::string& csv) {
    const auto result = validateTable(csv);
    EXPECT_FALSE(result.ok()) << csv;
    return result.ok() ? "" : result.error().message.substr(result.error().message.find("m.csv"));
  }
};

/// Emulated steps of 100 µs with an interval of 90 to 120 µs, and rates of 10/s.
TEST(Coverage, CountsTheMeasurementsWithinTheInterval) {
  constexpr auto kStep = static_cast<std::size_t>(Measure::stepTimeUs),
                 kRate = static_cast<std::size_t>(Measure::samplesPerSecond);
  Validation validation;
  for (const double measured : {89.0, 91.0, 119.0, 121.0}) {
    ValidatedRow row{{}, {}};
    row.emulated[kStep] = 100;
    row.measured.measured[kStep] = measured;
    row.emulated[kRate] = 10;
    row.measured.measured[kRate] = 1000 / measured;  // as many samples in a step
    row.interval = std::pair(0.9, 1.2);
    validation.rows.push_back(row);
  }
  validation.rows.push_back(validation.rows.back());
  validation.rows.back().interval.reset();
  for (const Measure measure : {Measure::stepTimeUs, Measure::samplesPerSecond}) {
    EXPECT_EQ(coverageOf(validation, measure).inside, 2);
    EXPECT_EQ(coverageOf(validation, measure).rows, 4);
  }
  EXPECT_EQ(coverageOf(validation, Measure::memoryBytes).rows, 0);
}

/// 3 · (G + 3) units, and a unit counts as a second.
TEST_F(ValidationTest, ComparesStepTimesWithMeasurements) {
  const Validation validation =
      validateTable(
          "name,gradient_accumulation,measured_step_time_us\nfour,4,21e6\neight,8,30000000\n,,42e6\n")
          .value();
  ASSERT_EQ(validation.rows.size(), 3U);
  EXPECT_DOUBLE_EQ(*validation.rows[0].emulated[0], 21e6);
  EXPECT_DOUBLE_EQ(*validation.rows[1].emulated[0], 33e6);
  EXPECT_DOUBLE_EQ(*validation.rows[2].emulated[0], 21e6);  // an empty cell leaves the configuration's value
  const Agreement agreement = agreementOf(validation, Measure::stepTimeUs).value();
  EXPECT_NEAR(agreement.bias, std::cbrt(1.0 * 1.1 * 0.5), 1e-12);
  EXPECT_EQ(agreement.ordered, 3);
  EXPECT_EQ(agreement.inOrder, 1);
  EXPECT_FALSE(agreementOf(validation, Measure::samplesPerSecond));
  const std::string text = sections::toText(validationSection(validation));
  EXPECT_THAT(text, HasSubstr("eight"));
  EXPECT_THAT(text, HasSubstr("Nothing was fitted to the measurements."));
}

TEST_F(ValidationTest, KeepsVariantsThatCannotRun) {
  // PopART's schedule needs 2 · 4 − 1 micro-batches.
  const Validation validation =
      validateTable("execution.schedule,measured_step_time_us\npopart,1\ngpipe,21e6\n").value();
  EXPECT_THAT(validation.rows[0].error, HasSubstr("needs gradient_accumulation of at least 7"));
  EXPECT_TRUE(validation.rows[1].error.empty());
  EXPECT_EQ(agreementOf(validation, Measure::stepTimeUs)->pairs, 1);
  EXPECT_THAT(sections::toText(validationSection(validation)), HasSubstr("1 of 2 variants cannot run"));
}

TEST_F(ValidationTest, SaysWhatIsComparedWithNothing) {
  const Validation validation = validateTable("measured_memory_bytes\n100\n").value();
  EXPECT_THAT(sections::toText(validationSection(validation)),
              HasSubstr("measured_memory_bytes is compared with nothing, because no emulated variant"));
}

TEST_F(ValidationTest, RefusesWrongTables) {
  EXPECT_EQ(refusal("gradient_accumulation\n4\n"),
            "m.csv has no measurement: name at least one of the columns measured_step_time_us, "
            "measured_samples_per_second, measured_tokens_per_second, measured_memory_bytes.");
  EXPECT_EQ(refusal("measured_step_time_us\n"), "m.csv has headings, but no rows.");
  EXPECT_THAT(refusal("measured_step_time,gradient_accumulation\n1,4\n"),
              HasSubstr("did you mean measured_step_time_us?"));
  EXPECT_EQ(refusal("gradient_accumulation,measured_step_time_us\n4,fast\n"),
            "m.csv:2: measured_step_time_us is \"fast\", but it must be a number above 0, or empty.");
  EXPECT_EQ(refusal("measured_step_time_us\n-3\n"),
            "m.csv:2: measured_step_time_us is \"-3\", but it must be a number above 0, or empty.");
  EXPECT_EQ(refusal("gradient_accumulation,measured_step_time_us\n4,1\n0,1\n"),
            "m.csv:3: training.gradient_accumulation is 0, but it must be between 1 and 1000000.");
  EXPECT_EQ(refusal("epochs,training.epochs,measured_step_time_us\n1,1,1\n"),
            "m.csv: two columns set the key training.epochs.");
}

}  // namespace
}  // namespace pipescope::app
