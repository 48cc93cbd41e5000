// Imports bytes as a trace of any known format, and makes the reports of what came out. A crash, hang, leak
// or unbounded memory is a fault; an error sentence is not.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "profiler/import/trace_import.h"
#include "profiler/record/memory_profile.h"
#include "profiler/sections/section.h"

namespace {

using namespace pipescope;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void makeReports(const record::MemoryProfile& profile) {
  const auto catalog = analysis::loadCatalog(profile);
  require(catalog.ok(), "the catalog of an imported profile cannot be read");
  const sections::Context context{profile, **catalog, model::ExecutableId(0)};
  for (const sections::SectionDefinition& definition : sections::sectionRegistry().all()) {
    const auto section = sections::makeSection(definition, context);
    if (section.ok()) require(!sections::toJson(*section).empty(), "a section has no JSON");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int file = memfd_create("trace", MFD_CLOEXEC);
  require(file >= 0 && write(file, data, size) == static_cast<ssize_t>(size), "no memory for the input");
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  base::SilentProgress progress;
  importing::ImportRequest request;
  request.paths = {"/proc/self/fd/" + std::to_string(file)};
  request.temporaryFolder = "/tmp";
  const auto summary = importing::importTraces(request, recorder, progress);
  if (summary.ok()) {
    require(summary->slices <= summary->events, "more slices than events");
    makeReports(profile);
  } else {
    require(!summary.error().message.empty(), "an error without a sentence");
  }
  close(file);
  return 0;
}
