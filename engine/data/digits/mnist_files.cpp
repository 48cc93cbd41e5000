#include "engine/data/digits/mnist_files.h"

#include <fmt/format.h>

#include <array>
#include <system_error>

namespace pipescope::data {

namespace fs = std::filesystem;

std::string toString(DataSplit split) {
  return split == DataSplit::train ? "training" : "test";
}

std::string mnistFileName(DataSplit split, IdxKind kind) {
  return fmt::format("{}-{}", split == DataSplit::train ? "train" : "t10k",
                     kind == IdxKind::images ? "images-idx3-ubyte" : "labels-idx1-ubyte");
}

base::Result<fs::path> findMnistFile(const fs::path& directory, DataSplit split, IdxKind kind) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    return base::ioError(
        fmt::format("the data folder '{}' does not exist or is not a folder; name the folder that holds the "
                    "MNIST files ({} …)",
                    directory.string(), mnistFileName(split, kind)));
  }
  const std::string name = mnistFileName(split, kind);
  std::string dotted = name;
  dotted.replace(dotted.find("-idx"), 1, ".");
  const std::array<std::string, 4> names = {name, name + ".gz", dotted, dotted + ".gz"};
  for (const fs::path& folder : {directory, directory / "MNIST" / "raw"}) {
    for (const std::string& candidate : names) {
      if (fs::exists(folder / candidate, error)) return folder / candidate;
    }
  }
  return base::ioError(
      fmt::format("no {} {} in '{}': looked for {}, {}, {} and {}, there and in its sub-folder MNIST/raw; "
                  "put the file there or name the folder that holds it",
                  toString(split), kind == IdxKind::images ? "images" : "labels", directory.string(),
                  names[0], names[1], names[2], names[3]));
}

}  // namespace pipescope::data
