#pragma once
#include <filesystem>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/model/rows.h"

namespace pipescope::store {

/// Replaces the notes of a profile that nobody is writing, in one transaction. Notes get new ids, from 0.
/// Errors (io, badInput): what ProfileReader refuses, a folder that cannot be written, a profile whose run is
/// still going on.
base::Status writeNotes(const std::filesystem::path& path, std::vector<model::Note> notes);

}  // namespace pipescope::store
