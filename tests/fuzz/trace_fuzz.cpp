// Imports bytes as a trace of any known format, with one thread and with several, and makes the reports of
// what came out. A crash, hang, leak, unbounded memory, or a result that depends on the threads is a fault;
// an error sentence is not.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "fuzz_checks.h"
#include "profiler/import/trace_import.h"
#include "profiler/record/memory_profile.h"
#include "profiler/sections/frame/section.h"

namespace {

using namespace pipescope;
using fuzz::require;

/// Divides the calls among three threads, so that the parts of an import run at the same time.
class ThreeThreads : public base::Executor {
 public:
  std::size_t threads() const override { return 3; }
  void parallelFor(std::size_t count, const std::function<void(std::size_t)>& body) override {
    const auto share = [&](std::size_t first) {
      for (std::size_t i = first; i < count; i += threads()) body(i);
    };
    std::vector<std::thread> others;
    for (std::size_t t = 1; t < std::min(count, threads()); ++t) others.emplace_back(share, t);
    share(0);
    for (std::thread& other : others) other.join();
  }
};

void makeReports(const record::MemoryProfile& profile) {
  const auto catalog = analysis::loadCatalog(profile);
  require(catalog.ok(), "the catalog of an imported profile cannot be read");
  const sections::Context context{profile, **catalog, model::ExecutableId(0)};
  for (const sections::SectionDefinition& definition : sections::sectionRegistry().all()) {
    const auto section = sections::makeSection(definition, context);
    if (section.ok()) require(!sections::toJson(*section).empty(), "a section has no JSON");
  }
}

base::Result<importing::ImportSummary> importFile(int file, base::Executor* executor,
                                                  record::MemoryProfile& profile) {
  record::Recorder recorder(profile);
  base::SilentProgress progress;
  importing::ImportRequest request;
  request.paths = {"/proc/self/fd/" + std::to_string(file)};
  request.temporaryFolder = "/tmp";
  request.executor = executor;
  return importing::importTraces(request, recorder, progress);
}

/// One input of four is imported on one thread as well.
void compareWithOneThread(int file, const base::Result<importing::ImportSummary>& summary) {
  record::MemoryProfile profile;
  const auto serial = importFile(file, nullptr, profile);
  require(summary.ok() == serial.ok(), "an error depends on the threads");
  if (!summary.ok())
    return require(summary.error().message == serial.error().message, "an error depends on the threads");
  require(summary->events == serial->events && summary->slices == serial->slices,
          "events depend on the threads");
  require(summary->findings == serial->findings, "findings depend on the threads");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int file = memfd_create("trace", MFD_CLOEXEC);
  require(file >= 0 && write(file, data, size) == static_cast<ssize_t>(size), "no memory for the input");
  record::MemoryProfile profile;
  ThreeThreads threads;
  const auto summary = importFile(file, &threads, profile);
  if (size % 4 == 0) compareWithOneThread(file, summary);
  if (summary.ok()) {
    require(summary->slices <= summary->events, "more slices than events");
    makeReports(profile);
  } else {
    require(!summary.error().message.empty(), "an error without a sentence");
  }
  close(file);
  return 0;
}
