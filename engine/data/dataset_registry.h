#pragma once
// Which data-set formats there are. Each format is one .cpp of this folder that says
// PIPESCOPE_REGISTER_DATASET(name).
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/data/preprocessing.h"

namespace pipescope::data {

/// What a run wants. A format says in its `doc` which fields it uses.
struct DatasetRequest {
  Split split = Split::train;
  std::filesystem::path directory;  ///< formats that read files
  Preprocessing preprocessing;      ///< formats that read bytes
  graph::Shape sampleShape;         ///< what the model takes, without the batch dimension; empty: as stored
  graph::Shape labelShape;          ///< one label; empty: a scalar
  std::int64_t classes = 10;        ///< labels are 0 … classes − 1
  std::int64_t count = 0;           ///< formats that make samples up: how many
  std::uint64_t seed = 0;           ///< formats that make samples up
  std::int64_t tokens = 0;  ///< formats that make samples up: whole numbers below this; 0: real numbers
};

struct DatasetFormat {
  std::string name;  ///< as in a configuration
  std::string doc;   ///< one sentence for help and messages
  base::Result<std::unique_ptr<Dataset>> (*open)(const DatasetRequest& request) = nullptr;
};

class DatasetRegistry {
 public:
  void add(DatasetFormat format);
  const std::vector<DatasetFormat>& formats() const { return formats_; }

 private:
  std::vector<DatasetFormat> formats_;
};

/// All formats of this folder, by name. (Defined in a file that the build generates.)
void registerDatasets(DatasetRegistry& registry);

/// Opens a data set of the named format; an unknown name gives a sentence that lists the known ones.
base::Result<std::unique_ptr<Dataset>> openDataset(std::string_view format, const DatasetRequest& request);

}  // namespace pipescope::data

#define PIPESCOPE_REGISTER_DATASET(name)           \
  void register_##name(DatasetRegistry& registry); \
  void register_##name(DatasetRegistry& registry)
