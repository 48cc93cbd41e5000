#pragma once
// Rows of a table of measured layers: the tool that built the layer, its options, and the measurements.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/graph/tensor_type.h"
#include "profiler/base/result.h"

namespace pipescope::conformance {

/// Measured or emulated figures. The bytes are the sum over tiles without gaps, and the largest tile with
/// gaps.
struct LayerFigures {
  std::int64_t cycles = 0, totalBytes = 0, maxTileBytes = 0;
};

struct LayerRow {
  std::string target;  ///< "IpuModel1" or "IpuModel2"
  std::string name;
  std::string tool;    ///< the program of PopLibs: "single_conv_layer" …
  std::string params;  ///< options of the tool
  LayerFigures measured;
};

/// Reads a CSV with columns target, name, tool, params, cycles, total_memory_bytes and
/// max_tile_memory_incl_gaps_bytes, in any order; fields with commas are quoted. Lines that begin with # are
/// comments. Errors name file and line.
base::Result<std::vector<LayerRow>> readLayers(const std::filesystem::path& file);

/// The options of a row: `--name value` or `--name=value`, where a value in braces is a list. The code asks
/// for each option that it knows; an option that nobody asked for is an error.
class LayerOptions {
 public:
  static base::Result<LayerOptions> parse(const std::string& params);

  bool has(const std::string& name) const { return values_.contains(name); }
  std::string text(const std::string& name, const std::string& fallback = "");
  /// One of the named values.
  std::string choice(const std::string& name, const std::vector<std::string>& values,
                     const std::string& fallback);
  /// An extent, at least 1.
  std::int64_t number(const std::string& name, std::int64_t fallback);
  double real(const std::string& name, double fallback);
  bool flag(const std::string& name, bool fallback);
  /// A list of `count` numbers; one number stands for all.
  std::vector<std::int64_t> list(const std::string& name, std::size_t count, std::int64_t fallback,
                                 std::int64_t least = 1);
  /// A list of any length from 1 on.
  std::vector<std::int64_t> list(const std::string& name, std::int64_t least = 1);
  /// Fails if a tensor has no elements or too many.
  void checkShapes(const std::vector<graph::Shape>& shapes);
  void require(const std::string& name);
  /// Skips options about how the tool reports or checks, not about what it builds.
  void ignore(const std::vector<std::string>& names);

  /// The first fault: a missing, malformed or unknown option.
  base::Status status() const;

 private:
  std::int64_t parseNumber(const std::string& name, const std::string& text, std::int64_t least);
  void fail(std::string fault);

  std::map<std::string, std::string> values_;
  std::map<std::string, bool> used_;
  std::string fault_;
};

}  // namespace pipescope::conformance
