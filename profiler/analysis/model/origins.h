#pragma once
// Which layer of the model a name path comes from: the forward operator that it lies below ("layer1/conv" of
// "layer1/conv/grad_weight" and of "layer1/conv/weight/accumulator"), and that operator's block.
#include <map>
#include <string>
#include <string_view>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

struct Origin {
  std::string name;   ///< of the forward operator; empty: of none
  std::string block;  ///< of the model; empty: not known
  std::string kind;   ///< operator type, "Conv"
};

class Origins {
 public:
  /// Reads the operators of an executable.
  static Result<Origins> read(const model::ProfileSource& source, const Catalog& catalog,
                              model::ExecutableId executable);
  /// The operator with the longest name that the path is or lies below. Gradients, stashes, weights and code
  /// of a layer come from it; what lies below none is an origin of its own, without a name.
  Origin of(std::string_view path) const;

 private:
  std::map<std::string, Origin, std::less<>> byName_;
};

}  // namespace pipescope::analysis
