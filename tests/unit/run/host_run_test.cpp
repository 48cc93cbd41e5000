// Tests named hosts: their figures are the defaults of [host], a user may add some, and a host may be too
// small.
#include <gmock/gmock.h>

#include <cstdlib>

#include "app/run/request/compile_run.h"
#include "app/run/request/host_defaults.h"
#include "engine/devices/core/device_files.h"
#include "profiler/sections/frame/section.h"
#include "run_fixture.h"

namespace pipescope::app {
namespace {

using ::testing::HasSubstr;

class HostRunTest : public RunFixture {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder() / "pipescope" / "hosts");
    setenv("XDG_CONFIG_HOME", folder().c_str(), 1);
  }
  void TearDown() override { unsetenv("XDG_CONFIG_HOME"); }

  static void writeHost(const std::string& name, const std::string& figures) {
    std::ofstream(folder() / "pipescope" / "hosts" / (name + ".toml")) << "[figures]\n" << figures;
  }
  static config::Configuration parsed(const std::string& toml) {
    auto parsed = parseConfiguration(toml, "run.toml");
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    return std::move(parsed).value();
  }
  static config::Configuration hosted(const std::string& toml) {
    auto hosted = withHostDefaults(parsed(toml));
    EXPECT_TRUE(hosted.ok()) << hosted.error().message;
    return std::move(hosted).value();
  }
  static std::string hostRefusal(const std::string& toml) {
    const auto hosted = withHostDefaults(parsed(toml));
    return hosted.ok() ? "" : hosted.error().message;
  }
  static std::string refusalOfInferenceHost(const std::string& name) {
    const auto other = withInferenceHost(hosted("host = \"slow\"\n[inference]\nhost = \"" + name + "\"\n"));
    EXPECT_FALSE(other.ok());
    return other.ok() ? "" : other.error().message;
  }
  static sections::Cell hostInSummary(const Read& profile) {
    const sections::Context context{*profile.source, *profile.catalog,
                                    profile.catalog->executables.front().id};
    const auto summary = sections::makeSection(*sections::sectionRegistry().find("summary"), context);
    EXPECT_TRUE(summary.ok());
    for (const sections::Fact& fact : summary->facts) {
      if (fact.key == "host") return fact.value;
    }
    return "there is no such fact";
  }
};

/// Each figure of each host that comes with the program is a key of [host] with the right unit.
TEST_F(HostRunTest, EveryHostCanBeNamed) {
  const devices::DeviceFiles files({});
  EXPECT_THAT(files.hosts(), ::testing::IsSupersetOf({"poptorch", "popart", "deepspeed", "optimum-habana"}));
  for (const std::string& name : files.hosts()) {
    const config::Configuration c = hosted("host = \"" + name + "\"\n");
    const devices::FigureFile file = files.host(name).value();
    EXPECT_FALSE(file.description.empty()) << name;
    EXPECT_FALSE(file.figures.empty()) << name;
    for (const auto& [key, figure] : file.figures)
      EXPECT_EQ(c.origin("host." + key), config::Origin::derived) << name << " " << key;
  }
}

TEST_F(HostRunTest, WhatIsGivenWins) {
  const config::Configuration c = hosted("[host]\nname = \"deepspeed\"\nseconds_per_step = 0.5\n");
  EXPECT_EQ(c.real("host.seconds_per_step"), 0.5);
  EXPECT_EQ(c.origin("host.seconds_per_step"), config::Origin::file);
  EXPECT_TRUE(c.boolean("host.reads_results")) << "from optimum-habana, its base";
  EXPECT_EQ(c.integer("host.processes"), 8);
}

TEST_F(HostRunTest, UsersAddHosts) {
  writeHost("mine",
            "seconds_per_step = { value = 0.25, unit = \"s\", grade = \"M\", source = \"a trace\" }\n");
  EXPECT_EQ(hosted("host = \"mine\"").real("host.seconds_per_step"), 0.25);
  writeHost("typo", "second_per_step = { value = 1, unit = \"s\", grade = \"M\", source = \"a trace\" }\n");
  EXPECT_THAT(hostRefusal("host = \"typo\""),
              HasSubstr("figure \"second_per_step\" is no key of [host]; did you mean "
                        "\"seconds_per_step\"?"));
  writeHost("unit", "seconds_per_step = { value = 1, unit = \"ms\", grade = \"M\", source = \"a trace\" }\n");
  EXPECT_THAT(hostRefusal("host = \"unit\""), HasSubstr("has the unit \"ms\", but must have \"s\"."));
  writeHost("below",
            "seconds_per_step = { value = -1, unit = \"s\", grade = \"M\", source = \"a trace\" }\n");
  EXPECT_THAT(hostRefusal("host = \"below\""), HasSubstr("hosts/below.toml: "));
  EXPECT_THAT(hostRefusal("host = \"poptorh\""),
              HasSubstr("There is no host \"poptorh\"; did you mean \"poptorch\"?"));
}

/// A call of the sample has two weight updates, over which the host's work for a call is spread.
TEST_F(HostRunTest, TheSummaryNamesTheHostOfItsRate) {
  writeHost("slow",
            "seconds_per_call = { value = 0.5, unit = \"s\", grade = \"M\", source = \"a trace\" }\n"
            "reads_results = { value = 1, unit = \"1\", grade = \"M\", source = \"a trace\" }\n");
  std::map<std::string, std::string> changes{{"execution.numerics", "false"}, {"execution.mode", "training"}};
  ASSERT_TRUE(run(sample("pipelined", changes)).ok());
  EXPECT_EQ(hostInSummary(read()), sections::Cell("no host stated"));
  const model::Run alone = read().catalog->runs.back();
  changes["host.name"] = "slow";
  ASSERT_TRUE(run(sample("pipelined", changes)).ok());
  EXPECT_EQ(hostInSummary(read()), sections::Cell("slow"));
  const Read profile = read();
  const model::Run hosted = profile.catalog->runs.back();
  const double clock = static_cast<double>(profile.catalog->devices.front().ticksPerSecond);
  EXPECT_NEAR(
      static_cast<double>((hosted.end - hosted.start).count - (alone.end - alone.start).count) / clock, 0.5,
      1e-6);
  changes.erase("host.name");
  changes["host.seconds_per_step"] = "0.1";
  ASSERT_TRUE(run(sample("pipelined", changes)).ok());
  EXPECT_EQ(hostInSummary(read()), sections::Cell("stated by keys"));
}

/// Training has a slow host; inference has a faster one, or none. Each lies beside the rate of its
/// executable.
TEST_F(HostRunTest, InferenceMayHaveAHostOfItsOwn) {
  const auto figures = [](const char* seconds) {
    return std::string("seconds_per_call = { value = ") + seconds +
           ", unit = \"s\", grade = \"M\", source = \"a trace\" }\n"
           "reads_results = { value = 1, unit = \"1\", grade = \"M\", source = \"a trace\" }\n";
  };
  writeHost("slow", figures("0.5"));
  writeHost("quick", figures("0.25"));
  const auto secondsOfInference = [&](const std::string& host) {
    std::map<std::string, std::string> changes{
        {"execution.numerics", "false"}, {"execution.mode", "inference"}, {"host.name", "slow"}};
    if (!host.empty()) changes["inference.host"] = host;
    EXPECT_TRUE(run(sample("pipelined", changes)).ok());
    const Read profile = read();
    EXPECT_EQ(hostInSummary(profile), sections::Cell(host.empty()     ? "slow"
                                                     : host == "none" ? "no host stated"
                                                                      : host));
    const model::Run last = profile.catalog->runs.back();
    const double clock = static_cast<double>(profile.catalog->devices.front().ticksPerSecond);
    return static_cast<double>((last.end - last.start).count) / clock;
  };
  const double alone = secondsOfInference("none");
  EXPECT_NEAR(secondsOfInference("") - alone, 0.5, 1e-6);
  EXPECT_NEAR(secondsOfInference("quick") - alone, 0.25, 1e-6);
  EXPECT_THAT(refusalOfInferenceHost("slwo"), HasSubstr("slow"));
}

/// Eight cards have eight processes, each of which reads all weights, 0.36 MB. The images of a call are 1 MB.
TEST_F(HostRunTest, AHostMayBeTooSmall) {
  std::map<std::string, std::string> changes{
      {"execution.numerics", "false"}, {"execution.mode", "training"}, {"system.name", "hls-gaudi2"},
      {"system.devices", "8"},         {"host.memory", "3000000"},     {"training.micro_batch_size", "20"}};
  const auto small = run(sample("eight_gaudis", changes));
  ASSERT_TRUE(small.ok()) << small.error().message;
  EXPECT_FALSE(small->fits);
  ASSERT_EQ(small->overflow.size(), 1U);
  EXPECT_THAT(small->overflow.front(),
              HasSubstr("Host: its 8 processes read the weights of the whole model"));
  const Read profile = read();
  const sections::Context context{*profile.source, *profile.catalog, profile.catalog->executables.front().id};
  const auto summary = sections::makeSection(*sections::sectionRegistry().find("summary"), context);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->facts.front().key, "fits");
  EXPECT_EQ(summary->facts.front().value, sections::Cell(false));
  changes["host.processes"] = "4";
  const auto fewer = run(sample("eight_gaudis", changes));
  ASSERT_TRUE(fewer.ok());
  EXPECT_TRUE(fewer->fits) << fewer->overflow.front();
}

}  // namespace
}  // namespace pipescope::app
