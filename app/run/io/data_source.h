#pragma once
// The samples of a run: real files, generated digits, or synthetic values.
#include <memory>

#include "app/run/request/data_needs.h"
#include "engine/config/configuration.h"
#include "engine/data/dataset.h"
#include "profiler/base/executor.h"
#include "profiler/base/progress.h"

namespace pipescope::app {

/// Opens what data.* asks for; generates the digits where they are asked for and not there yet.
base::Result<std::shared_ptr<const data::Dataset>> openData(const config::Configuration& configuration,
                                                            data::Split split, const DataNeeds& needs,
                                                            base::Progress& progress,
                                                            base::Executor& executor);

/// How many rows openData would give, without making or reading them where that is known.
base::Result<std::int64_t> countData(const config::Configuration& configuration, data::Split split,
                                     const DataNeeds& needs, base::Progress& progress,
                                     base::Executor& executor);

}  // namespace pipescope::app
