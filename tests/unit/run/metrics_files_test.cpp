// Tests the formats of Prometheus' and TensorBoard's files. golden.metrics_files decodes those of a whole
// run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "app/run/io/event_file.h"
#include "app/run/io/prometheus_file.h"

namespace pipescope::app {
namespace {

/// The check value of CRC-32C, and an example of RFC 3720, appendix B.4.
TEST(EventFile, ChecksumsAreThoseOfTheStandard) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(""), 0U);
}

/// Every event file of TensorFlow begins with a record of 24 bytes that names the version of the format.
TEST(EventFile, BeginsWithTheVersion) {
  const std::string event = eventMessage(0, 0, {});
  EXPECT_EQ(event, std::string("\x09\0\0\0\0\0\0\0\0\x1A\x0D"
                               "brain.Event:2",
                               24));
  const std::string record = tfRecord(event);
  EXPECT_EQ(record.size(), 24U + 16U);
  EXPECT_EQ(record.substr(0, 8), std::string("\x18\0\0\0\0\0\0\0", 8));
  // The masked checksum of this length, with which all of them continue.
  EXPECT_EQ(record.substr(8, 4), "\xA3\x7F\x4B\x22");
}

TEST(EventFile, RefusesWhatIsNoFolder) {
  EXPECT_FALSE(EventFile::create("/dev/null").ok());
  EXPECT_FALSE(EventFile::create("/nowhere/at/all").ok());
  EXPECT_TRUE(EventFile::create("/").ok());
}

TEST(PrometheusFile, WritesSpecialValuesAndLabels) {
  EXPECT_EQ(prometheusValue(0.5), "0.5");
  EXPECT_EQ(prometheusValue(std::nan("")), "NaN");
  EXPECT_EQ(prometheusValue(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(prometheusValue(-std::numeric_limits<double>::infinity()), "-Inf");
  EXPECT_EQ(prometheusLabel("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
}

}  // namespace
}  // namespace pipescope::app
