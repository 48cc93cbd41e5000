#pragma once
// Finds the four files of MNIST in a folder.
#include <filesystem>
#include <string>

#include "engine/data/dataset.h"
#include "engine/data/idx_file.h"
#include "profiler/base/result.h"

namespace pipescope::data {

/// "train-images-idx3-ubyte", "t10k-labels-idx1-ubyte" …
std::string mnistFileName(DataSplit split, IdxKind kind);

/// The file of that split and kind in `directory`, plain or with ".gz", also as "train-images.idx3-ubyte" and
/// below "MNIST/raw" (where torchvision puts them). A missing folder or file gives a sentence with the names
/// looked for.
base::Result<std::filesystem::path> findMnistFile(const std::filesystem::path& directory, DataSplit split,
                                                  IdxKind kind);

}  // namespace pipescope::data
