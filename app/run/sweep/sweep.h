#pragma once
// Emulates every combination of the values of some keys, in parallel processes.
#include <memory>

#include "app/run/sweep/sweep_table.h"
#include "engine/numerics/instances.h"
#include "profiler/base/progress.h"

namespace pipescope::app {

struct SweepRequest {
  std::string name = {};  ///< name of the configuration, for the table
  std::vector<VariedKey> keys;
  VariantOptions variant;
  int processes = 1;
  std::string output = {};    ///< .csv or .json; empty: no file
  std::string profiles = {};  ///< folder for a profile of each combination; empty: none are written
  base::OutputRules rules = {};
  /// The instances that share the work; null: this process does all of it. Only the first one needs an
  /// output.
  std::shared_ptr<const numerics::Instances> instances = {};
};

struct SweepResult {
  SweepTable table;
  std::int64_t resumed = 0;  ///< rows that an older table had
  bool cancelled = false;    ///< the user stopped it; what is done is in the table and in the file
};

/// Rows whose configuration and version are unchanged are taken from the output file if it exists. The file
/// is written anew at least every second, and at the end. The file is locked meanwhile. A
/// combination that cannot run is a row with the reason. One that trouble of the machine stopped (a full
/// disk, a locked profile, no memory) is not done, and says why. With `profiles`, a combination whose profile
/// is missing is emulated anew. The caller must have a single thread.
base::Result<SweepResult> sweep(const config::Configuration& configuration, const SweepRequest& request,
                                base::Progress& progress);

/// Identifies a configuration with the version of the program, the content of its ONNX file and the options.
std::string variantHash(const config::Configuration& configuration, const VariantOptions& options);

}  // namespace pipescope::app
