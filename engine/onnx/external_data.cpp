#include <fmt/format.h>

#include <fstream>

#include "engine/onnx/tensors.h"

namespace pipescope::onnx {

using base::badInput;
namespace fs = std::filesystem;

namespace {

/// Finds the file that a location means. Error: why it may not be read.
base::Result<fs::path> locate(const fs::path& folder, const std::string& location, const std::string& what) {
  const fs::path relative(location);
  const auto refuse = [&](const std::string& why) {
    return badInput(
        fmt::format("{} keeps its data in \"{}\", which {}; external data must be a plain file "
                    "in the model's own folder.",
                    what, location, why));
  };
  if (folder.empty()) return refuse("cannot be found, because the model is no file");
  if (location.empty() || location.find('\0') != std::string::npos) return refuse("is no file name");
  if (relative.is_absolute()) return refuse("is an absolute path");
  for (const fs::path& part : relative) {
    if (part == "..") return refuse("leaves that folder");
  }
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) return refuse("cannot be reached");
  const fs::path file = fs::canonical(root / relative, error);
  if (error) return refuse("does not exist");
  const fs::path inside = file.lexically_relative(root);
  if (inside.empty() || *inside.begin() == "..") return refuse("leaves that folder through a symbolic link");
  if (!fs::is_regular_file(file, error)) return refuse("is not a plain file");
  return file;
}

}  // namespace

base::Result<std::vector<std::byte>> readExternal(const fs::path& folder, const std::string& location,
                                                  std::int64_t offset, std::int64_t length,
                                                  const std::string& what) {
  PIPESCOPE_ASSIGN(const fs::path file, locate(folder, location, what));
  std::error_code error;
  const auto size = static_cast<std::int64_t>(fs::file_size(file, error));
  if (error) return base::ioError(fmt::format("{}: cannot read {}: {}.", what, location, error.message()));
  if (offset < 0 || offset > size || length < -1 || length > size - offset) {
    return badInput(
        fmt::format("{} asks for {} bytes from byte {} of {}, which has {} bytes: the file of "
                    "external data is cut or belongs to another model.",
                    what, length, offset, location, size));
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(length < 0 ? size - offset : length));
  std::ifstream stream(file, std::ios::binary);
  stream.seekg(offset);
  if (!stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())))
    return base::ioError(fmt::format("{}: cannot read {}.", what, location));
  return bytes;
}

}  // namespace pipescope::onnx
