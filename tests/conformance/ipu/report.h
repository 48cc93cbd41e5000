#pragma once
// The comparison as text, JSON and error bands.
#include <string>
#include <vector>

#include "tests/conformance/ipu/statistics.h"

namespace pipescope::conformance {

/// Every row, then a table for each kind.
std::string toText(const std::vector<LayerResult>& results);
/// An array of {name, target, tool, cycles: {ours, theirs}, total_bytes: {…}, max_tile_bytes: {…}}. A layer
/// that is not modelled has "modelled": false; one without a figure has "error".
std::string toJson(const std::vector<LayerResult>& results);
/// The text of resources/devices/bands.toml, with the errors of the devices' figures. `source` names the
/// table.
std::string toBands(const std::vector<LayerResult>& results, const std::string& source);

}  // namespace pipescope::conformance
