#pragma once
// Which data-set formats there are. Each format is one .cpp of this folder that says
// PIPESCOPE_REGISTER_DATASET(name).
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/setting_key.h"
#include "engine/data/dataset.h"
#include "engine/data/preprocessing.h"

namespace pipescope::data {

/// One value that the model takes for each row.
struct FieldRequest {
  std::string name;
  graph::TensorType type;     ///< of one row
  std::int64_t limit = 0;     ///< whole numbers: made-up ones are 0 … limit − 1, at least 1
  double low = -1, high = 1;  ///< real numbers: made-up ones are in [low, high)
  bool labels = false;        ///< what predictions are compared with
};

/// What a run wants. A format says in its `doc` what it uses.
struct DatasetRequest {
  Split split = Split::train;
  std::filesystem::path directory;   ///< formats that read files
  Preprocessing preprocessing;       ///< formats that read bytes
  std::vector<FieldRequest> fields;  ///< empty: as stored
  std::int64_t count = 0;            ///< formats that make rows up: how many
  std::uint64_t seed = 0;            ///< formats that make rows up

  /// The one field that is not labels; null where there is none or more.
  const FieldRequest* onlySample() const;
  const FieldRequest* labels() const;
};

struct DatasetFormat {
  std::string name;  ///< as in a configuration
  std::string doc;   ///< one sentence for help and messages
  base::Result<std::unique_ptr<Dataset>> (*open)(const DatasetRequest& request) = nullptr;
  std::vector<config::SettingRow> settings = {};  ///< keys of [data] that only some formats make use of
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
/// All formats, made once.
const DatasetRegistry& datasetRegistry();

/// Opens a data set of the named format; an unknown name gives a sentence that lists the known ones.
base::Result<std::unique_ptr<Dataset>> openDataset(std::string_view format, const DatasetRequest& request);

}  // namespace pipescope::data

#define PIPESCOPE_REGISTER_DATASET(name)           \
  void register_##name(DatasetRegistry& registry); \
  void register_##name(DatasetRegistry& registry)
