#pragma once
// The comparison as text, JSON and error bands.
#include <string>
#include <vector>

#include "tests/conformance/ipu/statistics.h"

namespace pipescope::conformance {

/// Every row, then a table per kind.
std::string toText(const std::vector<LayerResult>& results);
/// An array of {name, target, tool, cycles: {ours, theirs}, total_bytes: {…}, max_tile_bytes: {…}}; a layer
/// that is not modelled has "modelled": false, one without a figure "error".
std::string toJson(const std::vector<LayerResult>& results);
/// resources/devices/bands.toml: how far the devices' figures are from measured ones. `source` names the
/// table.
std::string toBands(const std::vector<LayerResult>& results, const std::string& source);

}  // namespace pipescope::conformance
