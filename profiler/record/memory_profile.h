#pragma once
#include <array>
#include <memory>
#include <mutex>

#include "profiler/model/source.h"
#include "profiler/record/recorder.h"

namespace pipescope::record {

/// A profile in memory, for predictions, one-off schedules and tests. It is both a sink and a source.
class MemoryProfile : public Sink, public model::ProfileSource {
 public:
  base::Status commit(const model::RowSet& rows) override;
  base::Status finish(model::ProfileState state, const std::string& reason) override;

  base::Result<model::SourceState> state() const override;
  std::int64_t revision() const override;

 protected:
  base::Result<std::vector<model::BlockInfo>> directory(std::size_t table) const override;
  base::Result<std::shared_ptr<const void>> decode(std::size_t table, std::size_t block) const override;

 private:
  mutable std::mutex mutex_;
  model::RowSet rows_;
  model::SourceState state_;
  std::int64_t revision_ = 0;
  // Copies for readers, so that later commits leave those rows unchanged. The next commit drops the copies
  // here.
  mutable std::array<std::shared_ptr<const void>, model::kTableCount> shared_;
};

}  // namespace pipescope::record
