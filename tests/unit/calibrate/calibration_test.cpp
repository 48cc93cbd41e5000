#include "app/run/calibrate/calibration.h"

#include <gmock/gmock.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "app/run/request/configuration_keys.h"

namespace pipescope::app {
namespace {

using testing::HasSubstr;

/// Returns a decoder. Products, memory and starts of kernels take different shares of its steps in different
/// rows of measurements.
config::Configuration decoder() {
  const auto parsed = parseConfiguration(
      "[model]\nbuilder = \"decoder\"\nlayers = 1\nvocabulary = 512\n[execution]\nmode = \"inference\"\n"
      "precision = \"bfloat16\"\nnumerics = false\n",
      "decoder.toml");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return *parsed;
}

constexpr const char* kRows[] = {"64,4,16,1",      "256,4,64,1",     "1024,8,512,1", "2048,16,1024,1",
                                 "4096,32,2048,1", "4096,32,1024,4", "4096,32,16,1", "8192,64,16,1"};
constexpr const char* kHeadings =
    "model.hidden,model.heads,model.sequence,inference.micro_batch_size,measured_samples_per_second\n";

class CalibrationTest : public testing::Test {
 protected:
  CalibrationTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("pipescope_calibration_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~CalibrationTest() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  base::Result<Calibration> calibrateTable(const std::string& system, const std::string& csv,
                                           std::vector<std::string> only = {}) {
    std::ofstream(file("m.csv")) << csv;
    const config::Configuration configuration = decoder();
    request_ = {system, file("m.csv"), {}, std::move(only), 2};
    PIPESCOPE_ASSIGN(request_.measured, readMeasured(configuration.keys(), file("m.csv")));
    base::SilentProgress progress;
    return calibrate(configuration, request_, progress);
  }
  std::string refusal(const std::string& system, const std::string& csv, std::vector<std::string> only = {}) {
    const auto calibration = calibrateTable(system, csv, std::move(only));
    EXPECT_FALSE(calibration.ok());
    return calibration.ok() ? "" : calibration.error().message;
  }
  /// Measurements of the rows on a card with other figures, each with an error of up to 2 %.
  std::string measuredOn(const std::string& system) {
    std::string csv = kHeadings;
    for (const char* row : kRows) csv += row + std::string(",1\n");
    std::ofstream(file("blank.csv")) << csv;
    config::Configuration configuration = decoder();
    EXPECT_TRUE(configuration.setText("system.name", system, config::Origin::flag).ok());
    const MeasuredTable table = readMeasured(configuration.keys(), file("blank.csv")).value();
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < table.rows.size(); ++i) all.push_back(i);
    base::SilentProgress progress;
    const auto rows = emulateRows(configuration, table, all, 2, progress).value();
    csv = kHeadings;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].error, "");
      const double error = 0.01 * (static_cast<double>(i * 3 % 5) - 2);
      const auto rate = rows[i].emulated[static_cast<std::size_t>(Measure::samplesPerSecond)];
      csv += std::string(kRows[i]) + "," + std::to_string(rate.value_or(1) * (1 + error)) + "\n";
    }
    return csv;
  }
  const CalibratedProperty& property(const Calibration& calibration, const std::string& name) {
    for (const CalibratedProperty& each : calibration.properties) {
      if (each.property.name == name) return each;
    }
    ADD_FAILURE() << name;
    return calibration.properties.front();
  }
  std::vector<std::pair<int, double>> bytes_ = {{64, 0}, {256, 0}, {1024, 0}};
  CalibrationRequest request_;

 private:
  std::filesystem::path folder_;
};

TEST_F(CalibrationTest, FindsThePlantedFiguresOfACardAndWritesThem) {
  std::ofstream(file("planted.toml"))
      << "base = \"h100\"\n[figures]\n"
         "product_efficiency = { value = 0.5, unit = \"1\", grade = \"M\", source = \"planted\" }\n"
         "hbm_efficiency = { value = 0.7, unit = \"1\", grade = \"M\", source = \"planted\" }\n";
  const auto calibration =
      calibrateTable("h100", measuredOn(file("planted.toml")), {"peak_share", "bandwidth_share"});
  ASSERT_TRUE(calibration.ok()) << calibration.error().message;
  for (const auto& [name, planted] :
       {std::pair("peak_share", 0.5 / 0.803), {"bandwidth_share", 0.7 / 0.91}}) {
    const CalibratedProperty& found = property(*calibration, name);
    EXPECT_EQ(found.refusal, "") << name;
    EXPECT_LE(found.least, planted) << name;
    EXPECT_GE(found.most, planted) << name;
    EXPECT_NEAR(found.factor, planted, 0.1 * planted) << name;
  }
  for (const CalibratedRow& row : calibration->rows) EXPECT_NEAR(row.after, 0, 0.05) << row.row->line;
  // The file is a device like any other.
  std::ofstream(file("mine.toml")) << calibratedToml(*calibration, request_);
  const auto mine = devices::figuresOf(file("mine.toml"), {});
  ASSERT_TRUE(mine.ok()) << mine.error().message;
  const devices::FigureValue& share = mine->chip.figures.at("product_efficiency");
  EXPECT_EQ(share.grade, "M");
  EXPECT_NEAR(share.value, 0.5, 0.05);
  ASSERT_TRUE(share.interval);
  EXPECT_LE(share.interval->first, 0.5);
  EXPECT_EQ(mine->chip.figures.at("kernel_start").grade, "R") << "it was not fitted";
  EXPECT_TRUE(devices::makeSystem(file("mine.toml")).ok());
}

TEST_F(CalibrationTest, RefusesWhatTheRowsDoNotTell) {
  // One card has no links, so that no row depends on them.
  const std::string csv = measuredOn("h100");
  const auto calibration = calibrateTable("dgx-h100:1", csv, {"kernel_start", "link_bandwidth"});
  ASSERT_TRUE(calibration.ok()) << calibration.error().message;
  EXPECT_THAT(property(*calibration, "link_bandwidth").refusal,
              HasSubstr("hardly depend on it. Measure a row with larger tensor_parallel"));
  EXPECT_THAT(calibratedToml(*calibration, request_), ::testing::Not(HasSubstr("link_efficiency")));
}

TEST_F(CalibrationTest, SaysWhatIsWrong) {
  const std::string good = kHeadings + std::string("64,4,16,1,100\n64,4,32,1,50\n");
  EXPECT_THAT(refusal("pod4", good), HasSubstr("no figures of family \"ipu\" are corrected"));
  EXPECT_THAT(refusal("h100", good, {"peak_shar"}), HasSubstr("did you mean \"peak_share\"?"));
  EXPECT_THAT(refusal("h101", good), HasSubstr("did you mean \"h100\"?"));
  EXPECT_THAT(refusal(file("mine.toml"), good), HasSubstr("starts from a system by its name"));
  EXPECT_THAT(refusal("h100", kHeadings + std::string("64,4,16,1,100\n")), HasSubstr("at least two rows"));
  EXPECT_THAT(refusal("h100", kHeadings + std::string("64,4,16,1,\n64,4,16,1,\n")),
              HasSubstr("no row has a measured time"));
  EXPECT_THAT(refusal("h100", kHeadings + std::string("64,4,16,1,-3\n")),
              HasSubstr("must be a number above 0"));
  EXPECT_THAT(refusal("h100", kHeadings + std::string("64,4,16,1,5 ms\n")),
              HasSubstr("must be a number above 0"));
  EXPECT_THAT(refusal("h100", "model.hiden,measured_step_time_us\n1,2\n"), HasSubstr("model.hidden"));
  EXPECT_THAT(refusal("h100", "model.hidden\n64\n"), HasSubstr("has no measurement"));
  EXPECT_THAT(refusal("h100", "system.name,measured_step_time_us\nh100,2\nh100,3\n"),
              HasSubstr("one system, h100, is calibrated"));
  EXPECT_THAT(refusal("h100", kHeadings + std::string("64,5,16,1,100\n64,4,32,1,50\n")),
              HasSubstr("m.csv:2: the row cannot be emulated"));
  EXPECT_THAT(refusal("h100", ""), HasSubstr("m.csv"));
}

/// Three programs that hold 1 GiB more than their tensors.
TEST_F(CalibrationTest, FindsMemoryBesidesTensors) {
  const std::string headings = "model.hidden,model.heads,measured_step_time_us,measured_memory_bytes\n";
  const auto table = [&](double more) {
    std::string csv = headings;
    for (const auto& [hidden, bytes] : bytes_)
      csv += std::to_string(hidden) + ",4,100," + std::to_string(bytes + more) + "\n";
    return csv;
  };
  // Without an addition, emulated bytes are learned from the errors before.
  for (auto& [hidden, bytes] : bytes_) bytes = 1e9;
  const auto first = calibrateTable("h100", table(0), {"kernel_start"});
  ASSERT_TRUE(first.ok()) << first.error().message;
  ASSERT_TRUE(first->workspace);
  for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i].second = 1e9 * (1 + first->workspace->before[i]);
  const auto second = calibrateTable("h100", table(1 << 30), {"kernel_start"});
  ASSERT_TRUE(second.ok() && second->workspace);
  EXPECT_NEAR(second->workspace->bytes, 1 << 30, 1e4);
  EXPECT_TRUE(second->hasWorkspace());
  EXPECT_THAT(calibratedToml(*second, request_), HasSubstr("hbm_reserved = { value = 1986422374"));
}

}  // namespace
}  // namespace pipescope::app
