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

/// Reads row-major arrays of numbers and bools in little-endian order. Everything else is refused by name:
/// other element types, big-endian and column-major arrays, headers that do not fit the data. `name` appears
/// in the errors.
base::Result<graph::TensorValue> parseNpy(std::span<const std::byte> file, const std::string& name);
base::Result<graph::TensorValue> readNpy(const std::filesystem::path& file);
/// Reads the type of an array from the header of its file. The length of the file must fit it.
base::Result<graph::TensorType> readNpyType(const std::filesystem::path& file);
/// The same from the first bytes of an array file of `size` bytes. kNpyStart of them suffice.
base::Result<graph::TensorType> parseNpyType(std::span<const std::byte> start, std::size_t size,
                                             const std::string& name);
/// Far more than the header of an array of numbers has.
inline constexpr std::size_t kNpyStart = 1 << 17;
/// Writes an array. bfloat16 is written as float32, because NumPy does not have it.
std::vector<std::byte> npyBytes(const graph::TensorType& type, std::span<const std::byte> values);

/// Reads all arrays of an archive, by name without ".npy". A size in a header never makes the reader take
/// more memory than the file's own size explains.
base::Result<std::map<std::string, graph::TensorValue>> readNpz(const std::filesystem::path& file);

/// Reads the types of all arrays of an archive from its directory and the headers of its members.
base::Result<std::map<std::string, graph::TensorType>> readNpzTypes(const std::filesystem::path& file);

struct NpzMember {
  std::string name;
  graph::TensorType type;
  std::span<const std::byte> values;
};
/// Writes an archive with stored members, smaller than 4 GiB. It appears by one rename.
base::Status writeNpz(const std::filesystem::path& file, std::span<const NpzMember> members);

/// Bytes of a plain file. `what` names its kind in errors.
base::Result<std::uintmax_t> plainFileSize(const std::filesystem::path& file, const std::string& what);
/// Reads a part of a plain file that it has.
base::Result<std::vector<std::byte>> readFilePart(const std::filesystem::path& file, std::uint64_t offset,
                                                  std::size_t bytes, const std::string& what);
/// Reads a whole plain file. `what` names its kind in errors.
base::Result<std::vector<std::byte>> readWholeFile(const std::filesystem::path& file,
                                                   const std::string& what);

}  // namespace pipescope::data
