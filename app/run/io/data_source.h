#pragma once
// Opens the samples of a run: data files, generated digits, or synthetic values.
#include <memory>

#include "app/run/request/data_needs.h"
#include "engine/config/configuration.h"
#include "engine/data/dataset.h"
#include "profiler/base/executor.h"
#include "profiler/base/progress.h"

namespace pipescope::app {

/// Opens the data set that the keys data.* choose. Generates the digits if they are chosen and not cached
/// yet.
base::Result<std::shared_ptr<const data::Dataset>> openData(const config::Configuration& configuration,
                                                            data::DataSplit split, const DataNeeds& needs,
                                                            base::Progress& progress,
                                                            base::Executor& executor);

/// The number of rows that openData would give. Avoids generating or reading them if the number is known.
base::Result<std::int64_t> countData(const config::Configuration& configuration, data::DataSplit split,
                                     const DataNeeds& needs, base::Progress& progress,
                                     base::Executor& executor);

}  // namespace pipescope::app
