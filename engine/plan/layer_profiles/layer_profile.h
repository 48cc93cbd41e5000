#pragma once
// The measured costs of a model's layers, as planners take them: PipeDream's layer profiles, and the same as
// CSV.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/base/result.h"

namespace pipescope::plan {

/// One layer. Times are of one micro-batch.
struct Layer {
  std::string id;
  std::string description;
  double forwardMs = 0, backwardMs = 0;
  double activationBytes = 0;  ///< bytes of all outputs, for one micro-batch
  double parameterBytes = 0;
  std::vector<std::size_t> inputs = {};  ///< layers whose outputs it reads, ascending, each once
};

/// The layers in an order in which they can run. Each layer reads only earlier ones.
struct LayerProfile {
  std::vector<Layer> layers;
};

/// Reads a layer profile. `file` names it in errors.
///
/// PipeDream's text (github.com/msr-fiddle/pipedream, graph.txt) has a line for each layer, "ID --
/// description -- forward_compute_time=ms, backward_compute_time=ms, activation_size=bytes,
/// parameter_size=bytes", where the size of several outputs is a list "[1.0; 2.0]", and an indented line "ID
/// -- ID" for each edge. A part "-- stage_id=N" at the end of a line, which PipeDream's own planner adds, has
/// no effect.
///
/// CSV has a line of headings: id (or node, layer), forward_ms, backward_ms, activation_bytes and
/// parameter_bytes (or PipeDream's names of them), and if wanted name (or description) and inputs (or
/// predecessors), the ids of the layers that are read, separated by blanks or semicolons. Headings may have
/// capital letters, blanks and brackets; semicolons or tabs may separate the columns. Without the column of
/// inputs each layer reads the one before it.
///
/// The order of the layers is topological. If several layers could come next, the one with the smallest id
/// does; numbers in ids are compared by value.
///
/// Errors name the line: missing or doubled ids, edges to unknown layers, cycles, costs that are not finite
/// numbers of at least 0, and lines that end early.
base::Result<LayerProfile> parseLayerProfile(std::string_view text, const std::string& file);
/// Reads the file and parses it.
base::Result<LayerProfile> readLayerProfile(const std::string& file);

/// Compares ids by their letters and by the value of the numbers in them, so that "node9" comes before
/// "node10".
bool idBefore(std::string_view a, std::string_view b);

/// Bytes that cross each cut from earlier to later layers: element i is the cut before layer i, and there is
/// one more at the end. Each output counts once, however many later layers read it.
std::vector<double> crossingBytes(const LayerProfile& profile);

}  // namespace pipescope::plan
