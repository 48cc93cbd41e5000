#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "profiler/analysis/catalog.h"
#include "profiler/import/trace_import.h"
#include "profiler/record/memory_profile.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::analysis {

constexpr std::int64_t kTicksPerUs = 1'000'000;  ///< imported times are picoseconds

/// A profile in memory of a trace that another tool recorded.
struct ImportedTrace {
  record::MemoryProfile profile;
  std::shared_ptr<const Catalog> catalog;

  explicit ImportedTrace(const std::filesystem::path& path) {
    record::Recorder recorder(profile);
    base::SilentProgress progress;
    importing::ImportRequest request;
    request.paths = {path};
    request.temporaryFolder = ::testing::TempDir();
    const auto summary = importing::importTraces(request, recorder, progress);
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    auto loaded = loadCatalog(profile);
    EXPECT_TRUE(loaded.ok());
    catalog = *loaded;
  }

  sections::Section section(const std::string& name) const {
    const auto definition = sections::findSection(name);
    EXPECT_TRUE(definition.ok());
    const sections::Context context{profile, *catalog, model::ExecutableId(0)};
    auto made = sections::makeSection(**definition, context);
    EXPECT_TRUE(made.ok());
    return made.ok() ? *made : sections::Section();
  }
};

}  // namespace pipescope::analysis
