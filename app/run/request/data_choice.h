#pragma once
// Which data set a configuration asks for.
#include <optional>
#include <string>

#include "app/run/request/data_needs.h"
#include "engine/config/configuration.h"

namespace pipescope::app {

/// True if the configuration names a data set or a folder with data.
bool namesData(const config::Configuration& configuration);

/// The name of the data set. It is "synthetic" if the configuration names none and the generated digits do
/// not fit the model.
std::string datasetName(const config::Configuration& configuration, const DataNeeds& needs);

/// A sentence for the user if the samples will be synthetic although nobody asked for that; otherwise
/// nothing. `needs` are those of one executable.
std::optional<std::string> dataNotice(const config::Configuration& configuration, const DataNeeds& needs);

}  // namespace pipescope::app
