#pragma once
// NumPy's array files: .npy (one array) and .npz (a zip archive of them). Formats: numpy.lib.format versions
// 1 to 3; PKWARE's APPNOTE for zip, with members that are stored or deflated.
#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "profiler/base/result.h"

namespace pipescope::data {

/// Row-major arrays of numbers and bools in little-endian order. Everything else is refused by name: other
/// element types, big-endian and column-major arrays, headers that do not fit the data behind them. `name` is
/// for sentences.
base::Result<graph::TensorValue> parseNpy(std::span<const std::byte> file, const std::string& name);
base::Result<graph::TensorValue> readNpy(const std::filesystem::path& file);
/// bfloat16, which NumPy does not have, is written as float32.
std::vector<std::byte> npyBytes(const graph::TensorType& type, std::span<const std::byte> values);

/// All arrays of an archive by name, without ".npy". No size in a header makes the reader take memory that
/// the file's own size does not explain.
base::Result<std::map<std::string, graph::TensorValue>> readNpz(const std::filesystem::path& file);

struct NpzMember {
  std::string name;
  graph::TensorType type;
  std::span<const std::byte> values;
};
/// Writes an archive of stored members, of less than 4 GiB; appears by one rename.
base::Status writeNpz(const std::filesystem::path& file, std::span<const NpzMember> members);

/// The whole of a plain file; `what` names its kind in sentences.
base::Result<std::vector<std::byte>> readWholeFile(const std::filesystem::path& file,
                                                   const std::string& what);

}  // namespace pipescope::data
