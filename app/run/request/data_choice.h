#pragma once
// Finds which data set a configuration chooses.
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

/// A notice for the user if the samples will be synthetic although the configuration does not ask for them;
/// otherwise nothing. `needs` are those of one executable.
std::optional<std::string> dataNotice(const config::Configuration& configuration, const DataNeeds& needs);

}  // namespace pipescope::app
