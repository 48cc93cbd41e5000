#pragma once
#include <filesystem>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/model/rows.h"

namespace pipescope::store {

/// Replaces the notes of a profile that nobody is writing, in one transaction; ids are given anew, from 0.
/// Refuses (io, badInput) what ProfileReader refuses, a folder that cannot be written, and a profile whose
/// run goes on.
base::Status writeNotes(const std::filesystem::path& path, std::vector<model::Note> notes);

}  // namespace pipescope::store
