#pragma once
// The samples of a run: real files, generated digits, or synthetic values.
#include <memory>
#include <optional>
#include <string>

#include "app/run/data_needs.h"
#include "engine/config/configuration.h"
#include "engine/data/dataset.h"
#include "profiler/base/executor.h"
#include "profiler/base/progress.h"

namespace pipescope::app {

/// A sentence where the configuration names no data set and the generated digits do not fit the model: then samples are
/// synthetic. `needs` are those of one executable.
std::optional<std::string> dataNotice(const config::Configuration& configuration, const DataNeeds& needs);

/// Opens what data.* asks for; generates the digits where they are asked for and not there yet.
base::Result<std::shared_ptr<const data::Dataset>> openData(const config::Configuration& configuration,
                                                            data::Split split, const DataNeeds& needs,
                                                            base::Progress& progress,
                                                            base::Executor& executor);

/// How many rows openData would give, without making or reading them where that is known.
base::Result<std::int64_t> countData(const config::Configuration& configuration, data::Split split,
                                     const DataNeeds& needs, base::Progress& progress, base::Executor& executor);

}  // namespace pipescope::app
