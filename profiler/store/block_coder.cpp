#include "profiler/store/block_coder.h"

#include <algorithm>
#include <utility>

#include "profiler/store/format.h"

namespace pipescope::store {
namespace {

bool same(const BlockCoding& a, const BlockCoding& b) {
  return std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(),
                    [](const auto& x, const auto& y) { return x.coding == y.coding && x.prediction == y.prediction; });
}

}  // namespace

std::unique_ptr<BlockEncoder> BlockCoder::takeEncoder() {
  const std::lock_guard lock(mutex_);
  if (encoders_.empty()) return std::make_unique<BlockEncoder>();
  std::unique_ptr<BlockEncoder> encoder = std::move(encoders_.back());
  encoders_.pop_back();
  return encoder;
}

void BlockCoder::giveBack(std::unique_ptr<BlockEncoder> encoder) {
  const std::lock_guard lock(mutex_);
  encoders_.push_back(std::move(encoder));
}

/// For every table that is due, by the longest of its blocks.
void BlockCoder::choose(const std::vector<BlockJob>& jobs, base::Executor& executor) {
  constexpr int kLongestInterval = 256;
  constexpr std::size_t kRowsThatTell = 2048;
  std::array<const BlockJob*, model::kTableCount> longest{};
  for (const BlockJob& job : jobs) {
    if (longest[job.table] == nullptr || job.rows > longest[job.table]->rows) longest[job.table] = &job;
    ++tables_[job.table].blocksSince;
  }
  std::vector<const BlockJob*> due;
  for (const BlockJob* job : longest) {
    if (job == nullptr) continue;
    const Table& table = tables_[job->table];
    // A few rows say little about what follows.
    const bool isLonger = table.sampledRows < kRowsThatTell && job->rows > 4 * table.sampledRows;
    if (isLonger || table.blocksSince > table.interval) due.push_back(job);
  }
  executor.parallelFor(due.size(), [&](std::size_t i) {
    std::unique_ptr<BlockEncoder> encoder = takeEncoder();
    Table& table = tables_[due[i]->table];
    due[i]->toColumns(encoder->scratch());
    BlockCoding coding = encoder->choose(encoder->scratch(), due[i]->rows, *due[i]->predictions);
    table.interval = same(coding, table.coding) ? std::min(kLongestInterval, table.interval * 2) : 8;
    table.coding = std::move(coding);
    table.sampledRows = due[i]->rows;
    table.blocksSince = 0;
    giveBack(std::move(encoder));
  });
}

void BlockCoder::code(std::vector<BlockJob>& jobs, const std::function<void()>& beside) {
  std::size_t rows = 0;
  for (const BlockJob& job : jobs) rows += job.rows;
  base::Executor& executor = rows >= kMostRowsPerBlock ? static_cast<base::Executor&>(threads_) : alone_;
  choose(jobs, executor);
  const std::size_t others = beside ? 1 : 0;
  executor.parallelFor(jobs.size() + others, [&](std::size_t i) {
    if (i < others) return beside();
    BlockJob& job = jobs[i - others];
    std::unique_ptr<BlockEncoder> encoder = takeEncoder();
    job.toColumns(encoder->scratch());
    job.result = encoder->encode(encoder->scratch(), job.rows, tables_[job.table].coding);
    giveBack(std::move(encoder));
  });
}

}  // namespace pipescope::store
