// Reads bytes as each kind of text that a user writes: a configuration, which is checked as before a run, a
// description of a device or system, rules of an import, an order of passes, a pipeline layout, a table. A
// crash, hang, leak or unbounded memory is a fault; an error sentence is not.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "app/plan/plan_start.h"
#include "app/run/request/compile_run.h"
#include "app/run/request/configuration_keys.h"
#include "app/run/request/fixed/fixed_configuration.h"
#include "app/run/request/schedule_table.h"
#include "engine/devices/system_registry.h"
#include "engine/plan/layer_profiles/layer_profile.h"
#include "fuzz_checks.h"
#include "profiler/import/recognise/rules.h"
#include "profiler/replay/planned_order.h"
#include "profiler/sections/frame/csv_text.h"

namespace {

using namespace pipescope;
using fuzz::hasResultOrSentence, fuzz::require;

/// A file in memory with the bytes of the input.
class InputFile {
 public:
  InputFile(const std::uint8_t* data, std::size_t size)
      : path_("/dev/shm/pipescope_fuzz_" + std::to_string(getpid()) + ".toml") {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A number of this size may make a model of any size, which is no fault: the user asked for it.
bool hasLongNumber(const std::string& text) {
  std::size_t digits = 0;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    digits = digit || (c == '_' && digits > 0) ? digits + 1 : 0;
    if (digits > 3) return true;
  }
  return text.find("0x") != std::string::npos;
}

void checkConfiguration(const std::string& text) {
  const auto configuration = app::parseConfiguration(text, "fuzz.toml");
  if (!hasResultOrSentence(configuration)) return;
  require(!configuration->dump().empty(), "a configuration without options");
  const std::string& system = configuration->text("system.name");
  if (system == "fixed") {
    auto run = app::fixedRun(*configuration);
    if (!hasResultOrSentence(run) || hasLongNumber(text)) return;
    run->deviceIterations = run->replicas = 1;
    const auto table = app::scheduleTable(*run);
    if (hasResultOrSentence(table))
      require(!app::toText(*table).empty() && !app::toJson(*table).empty(), "a table without text");
  } else if (!hasLongNumber(text)) {
    hasResultOrSentence(app::checkRun(*configuration));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  checkConfiguration(text);
  hasResultOrSentence(importing::Rules::parse(text, "fuzz.toml"));
  hasResultOrSentence(replay::parsePlan(text, "fuzz.csv"));
  hasResultOrSentence(sections::parseCsv(text, "fuzz.csv"));
  const std::vector<std::string> blocks{"embedding", "0", "1", "2", "3", "4", "5", "head"};
  hasResultOrSentence(app::readStartPlan(text, blocks));
  const InputFile file(data, size);
  hasResultOrSentence(devices::makeSystem(file.path()));
  hasResultOrSentence(plan::readLayerProfile(file.path()));
  return 0;
}
