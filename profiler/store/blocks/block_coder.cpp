#include "profiler/store/blocks/block_coder.h"

#include <algorithm>
#include <utility>

#include "profiler/store/blocks/checksum.h"
#include "profiler/store/format.h"

namespace pipescope::store {
namespace {

// A thread codes at least so many rows, because fewer take hardly longer than sharing them out.
constexpr std::size_t kRowsOfPiece = 16'384;

bool same(const BlockCoding& a, const BlockCoding& b) {
  return std::equal(
      a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(),
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

/// Chooses codings for the tables that are due, each by its longest block.
void BlockCoder::choose(const std::vector<PayloadJob>& payloads, base::Executor& executor) {
  constexpr std::size_t kRowsThatTell = 2048;
  struct Due {
    const PayloadJob* payload = nullptr;
    const BlockJob* longest = nullptr;
  };
  std::array<Due, model::kTableCount> all{};
  for (const PayloadJob& payload : payloads) {
    Due& due = all[payload.table];
    for (const BlockJob& block : payload.blocks) {
      if (due.longest == nullptr || block.rows > due.longest->rows) due = {&payload, &block};
      tables_[payload.table].rowsSince += block.rows;
    }
  }
  std::vector<Due> chosen;
  for (const Due& due : all) {
    if (due.payload == nullptr) continue;
    const Table& table = tables_[due.payload->table];
    // A few rows do not predict well what follows.
    const bool isLonger = table.sampledRows < kRowsThatTell && due.longest->rows > 4 * table.sampledRows;
    if (isLonger || table.rowsSince > table.interval) chosen.push_back(due);
  }
  executor.parallelFor(chosen.size(), [&](std::size_t i) {
    const auto [payload, longest] = chosen[i];
    std::unique_ptr<BlockEncoder> encoder = takeEncoder();
    Table& table = tables_[payload->table];
    longest->toColumns(encoder->scratch());
    BlockCoding coding = encoder->choose(encoder->scratch(), longest->rows, *payload->predictions);
    table.interval =
        same(coding, table.coding) ? std::min(kLongestInterval, table.interval * 2) : kShortestInterval;
    table.coding = std::move(coding);
    table.sampledRows = longest->rows;
    table.rowsSince = 0;
    giveBack(std::move(encoder));
  });
}

/// Finds the priors that the blocks of a payload share, if they pay off.
void BlockCoder::findPriors(PayloadJob& payload, BlockEncoder& encoder) const {
  const BlockCoding& coding = tables_[payload.table].coding;
  if (!coding.mayHavePriors(payload.blocks.size())) return;
  payload.firstColumns(encoder.scratch());
  payload.priors = encoder.priors(encoder.scratch(), payload.firstRows, coding, payload.blocks.size());
  payload.priorBytes = encoder.encodePriors(payload.priors);
  payload.priorsCrc32 = Checksum().bytes(payload.priorBytes).value();
}

void BlockCoder::code(std::vector<PayloadJob>& payloads, const std::function<void()>& beside) {
  std::size_t rows = 0;
  for (const PayloadJob& payload : payloads) {
    for (const BlockJob& block : payload.blocks) rows += block.rows;
  }
  code(payloads, beside, rows >= kRowsOfPiece ? static_cast<base::Executor&>(threads_) : alone_);
}

void BlockCoder::code(std::vector<PayloadJob>& payloads, const std::function<void()>& beside,
                      base::Executor& executor) {
  struct Piece {
    std::size_t payload, first, end;  // payload, and range of its blocks
  };
  std::vector<Piece> pieces;
  for (std::size_t p = 0; p < payloads.size(); ++p) {
    std::size_t ofPiece = kRowsOfPiece;
    for (std::size_t b = 0; b < payloads[p].blocks.size(); ++b) {
      if (ofPiece >= kRowsOfPiece) pieces.push_back({p, b, b}), ofPiece = 0;
      pieces.back().end = b + 1;
      ofPiece += payloads[p].blocks[b].rows;
    }
  }
  // A piece of each payload comes first. The thread that takes it also finds the priors, which the other
  // pieces of the payload wait for.
  std::ranges::stable_sort(pieces, {}, &Piece::first);
  choose(payloads, executor);
  std::vector<std::once_flag> priorsFound(payloads.size());
  const std::size_t others = beside ? 1 : 0;
  executor.parallelFor(pieces.size() + others, [&](std::size_t i) {
    if (i < others) return beside();
    const Piece& piece = pieces[i - others];
    PayloadJob& payload = payloads[piece.payload];
    std::unique_ptr<BlockEncoder> encoder = takeEncoder();
    std::call_once(priorsFound[piece.payload], [&] { findPriors(payload, *encoder); });
    for (std::size_t b = piece.first; b < piece.end; ++b) {
      BlockJob& block = payload.blocks[b];
      block.toColumns(encoder->scratch());
      block.result =
          encoder->encode(encoder->scratch(), block.rows, tables_[payload.table].coding, payload.priors);
      if (block.result.ok()) block.crc32 = Checksum(payload.priorsCrc32).bytes(block.result->bytes).value();
    }
    giveBack(std::move(encoder));
  });
}

}  // namespace pipescope::store
