#pragma once
// Hands the tensors of a call to the session, one flush at a time. Used by Executable.
#include <vector>

#include "app/run/interface/executable_info.h"
#include "engine/numerics/session.h"

namespace pipescope::run {

class HostInputs {
 public:
  explicit HostInputs(const ExecutableInfo& info) : info_(info) {}

  /// Refuses tensors that do not fit the executable.
  base::Status check(const std::vector<HostTensor>& tensors) const;
  /// The rows of one iteration. Tensors of the right type are passed on as they are; others are converted
  /// into memory that is used again. The result is valid until the next call.
  const numerics::Rows& rows(const std::vector<HostTensor>& tensors, std::int64_t iteration);

 private:
  const ExecutableInfo& info_;
  std::vector<std::vector<std::byte>> converted_;
  numerics::Rows rows_;
};

}  // namespace pipescope::run
