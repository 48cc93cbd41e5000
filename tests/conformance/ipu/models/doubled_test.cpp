// Whole programs on machines that are twice as fast in everything (tiles, links, collectives, host, streaming
// memory) take the same ticks, each half as long.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <regex>
#include <set>
#include <sstream>

#include "engine/emulate/emulator.h"
#include "model_checks.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::conformance {
namespace {

/// The file with every clock and bandwidth doubled and every latency halved.
std::string twiceAsFast(const std::filesystem::path& file) {
  std::ifstream stream(file);
  EXPECT_TRUE(stream.good()) << file;
  static const std::regex figure("value = ([-+0-9.e]+), unit = \"(Hz|B/s|bit/s|s)\"");
  std::ostringstream out;
  out << std::setprecision(17);
  for (std::string line; std::getline(stream, line);) {
    std::smatch match;
    if (std::regex_search(line, match, figure)) {
      const double factor = match[2] == "s" ? 0.5 : 2;
      out << match.prefix() << "value = " << std::stod(match[1]) * factor << ", unit = \"" << match[2] << '"'
          << match.suffix() << '\n';
    } else {
      out << line << '\n';
    }
  }
  return out.str();
}

/// A user's folder that replaces each chip and system of the program by one twice as fast.
class FastFolder {
 public:
  FastFolder()
      : folder_(std::filesystem::temp_directory_path() / ("pipescope-fast-" + std::to_string(::getpid()))) {
    for (const char* kind : {"devices", "systems"}) {
      const std::filesystem::path to = folder_ / "pipescope" / kind;
      std::filesystem::create_directories(to);
      for (const auto& entry :
           std::filesystem::directory_iterator(std::string(PIPESCOPE_SOURCE_DIR "/resources/") + kind)) {
        if (entry.path().extension() != ".toml" || entry.path().stem() == "bands") continue;
        std::ofstream(to / entry.path().filename()) << twiceAsFast(entry.path());
      }
    }
    ::setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
  }
  ~FastFolder() {
    ::unsetenv("XDG_CONFIG_HOME");
    std::filesystem::remove_all(folder_);
  }

 private:
  std::filesystem::path folder_;
};

/// Two calls of each executable, without the length of a tick.
struct Emulated {
  std::int64_t ticksPerSecond = 0;
  std::vector<std::int64_t> calls;
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> placements, transfers;
  std::set<model::Pass> passes;
};

Emulated emulate(const std::string& toml) {
  const compile::Compilation compilation = compileModel(toml);
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  const auto recorded = compile::recordCompilation(recorder, compilation, emulate::RecordLevel::stages);
  emulate::Emulator emulator(recorder, *compilation.system, recorded.ids, emulate::RecordLevel::stages);
  Emulated result;
  result.ticksPerSecond = compilation.system->devices().front().ticksPerSecond;
  for (const emulate::EmulatedExecutable& executable : recorded.executables) {
    for (int call = 0; call < 2; ++call) {
      const model::Run run = emulator.call(executable, {});
      result.calls.push_back((run.end - run.start).count);
    }
  }
  EXPECT_TRUE(recorder.finish(model::ProfileState::complete).ok());
  for (const model::Placement& p : **profile.rows<model::Placement>()) {
    result.placements.emplace_back(p.device.value, p.start.count, p.end.count);
    result.passes.insert(p.pass);
  }
  for (const model::Transfer& t : **profile.rows<model::Transfer>())
    result.transfers.emplace_back(t.fromLane.value, t.start.count, t.end.count);
  return result;
}

const char* const kEncoder = R"(
[model]
builder = "bert"
layers = 4
hidden = 256
heads = 4
feed_forward = 512
sequence = 64
[[stages]]
blocks = ["embeddings", "encoder/layer0"]
[[stages]]
blocks = ["encoder/layer1..2"]
[[stages]]
blocks = ["encoder/layer3", "head"]
[training]
gradient_accumulation = 6
device_iterations = 2
replication_factor = 2
micro_batch_size = 2
optimizer = "adamw"
[inference]
device_iterations = 5
[system]
name = "pod16"
[data]
dataset = "synthetic"
samples = 256
[execution]
numerics = false
precision = "float16"
)";

class TwiceAsFast : public ::testing::TestWithParam<const char*> {};

TEST_P(TwiceAsFast, AWholeProgramTakesHalfTheTime) {
  const std::string toml = std::string(kEncoder) + GetParam();
  const Emulated normal = emulate(toml);
  const FastFolder folder;
  const Emulated fast = emulate(toml);
  EXPECT_EQ(fast.ticksPerSecond, 2 * normal.ticksPerSecond);
  EXPECT_EQ(fast.calls, normal.calls);
  EXPECT_EQ(fast.placements, normal.placements);
  EXPECT_EQ(fast.transfers, normal.transfers);
  EXPECT_FALSE(normal.transfers.empty());
  for (const model::Pass pass : {model::Pass::hostIn, model::Pass::collective, model::Pass::update})
    EXPECT_TRUE(normal.passes.contains(pass)) << model::toString(pass);
}

INSTANTIATE_TEST_SUITE_P(Programs, TwiceAsFast,
                         ::testing::Values("schedule = \"popart\"\noffload_optimizer = true\n",
                                           "schedule = \"1f1b\"\noffload_activations = true\n",
                                           "strategy = \"sharded\"\nio_tiles = 32\noverlap_io = true\n"));

}  // namespace
}  // namespace pipescope::conformance
