#pragma once
// Layer of the model that a name path comes from. That is the forward operator whose name the path begins
// with: "layer1/conv/grad_weight" and "layer1/conv/weight/accumulator" come from "layer1/conv".
#include <map>
#include <string>
#include <string_view>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

struct OperatorOrigin {
  std::string name;   ///< name of the forward operator; empty: the path comes from none
  std::string block;  ///< block of the model; empty: not known
  std::string kind;   ///< operator type, "Conv"
};

/// True for categories of variables that are parts of the program rather than tensors.
bool isCode(std::string_view category);

class Origins {
 public:
  /// Reads the operators of an executable.
  static Result<Origins> read(const model::ProfileSource& source, const Catalog& catalog,
                              model::ExecutableId executable);
  /// The forward operator with the longest name that the path begins with. Gradients, stashes, weights and
  /// code of a layer come from the layer's operator. The name is empty when no operator's name fits.
  OperatorOrigin of(std::string_view path) const;

 private:
  std::map<std::string, OperatorOrigin, std::less<>> byName_;
};

}  // namespace pipescope::analysis
