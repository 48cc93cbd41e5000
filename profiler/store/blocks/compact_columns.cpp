#include "profiler/store/blocks/compact_columns.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace pipescope::store {
namespace {

std::uint8_t widthOf(Extremes extremes) {
  const std::uint64_t largest =
      static_cast<std::uint64_t>(extremes.largest) - static_cast<std::uint64_t>(extremes.smallest);
  const int bits = std::bit_width(largest);
  return bits == 0 ? 0 : bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
}

template <class Number>
void pack(const std::vector<std::int64_t>& values, std::int64_t base, std::byte* into) {
  const std::int64_t* const numbers = values.data();
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto number =
        static_cast<Number>(static_cast<std::uint64_t>(numbers[i]) - static_cast<std::uint64_t>(base));
    std::memcpy(into + i * sizeof(Number), &number, sizeof(Number));
  }
}

template <class Number>
void unpack(const std::byte* from, std::int64_t base, std::vector<std::int64_t>& values) {
  std::int64_t* const numbers = values.data();
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) {
    Number number;
    std::memcpy(&number, from + i * sizeof(Number), sizeof(Number));
    numbers[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(base) + number);
  }
}

constexpr std::size_t kMapped = std::size_t{16} << 10;  // A process may have some ten thousand mappings.

}  // namespace

CompactColumns::Pages::Pages(std::size_t size) : size_(size) {
  if (size < kMapped) {
    data_ = new std::byte[size];
    return;
  }
  void* const mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(mapped);
}

CompactColumns::Pages::~Pages() {
  size_ < kMapped ? delete[] data_ : static_cast<void>(munmap(data_, size_));
}

CompactColumns::CompactColumns(const model::ColumnBlock& block) : rows_(block.rows) {
  for (const model::IntegerColumn& integers : block.columns) {
    const Extremes extremes = integers.values.empty() ? Extremes{integers.constant, integers.constant}
                                                      : extremesOf(integers.values);
    Column& column = columns_.emplace_back();
    column.base = extremes.smallest;
    column.width = widthOf(extremes);
    column.offset = size_;
    size_ += column.width * rows_;
  }
  pages_.emplace(size_);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    const std::vector<std::int64_t>& values = block.columns[c].values;
    std::byte* const into = pages_->data() + column.offset;
    if (column.width == 1) pack<std::uint8_t>(values, column.base, into);
    if (column.width == 2) pack<std::uint16_t>(values, column.base, into);
    if (column.width == 4) pack<std::uint32_t>(values, column.base, into);
    if (column.width == 8) pack<std::uint64_t>(values, column.base, into);
  }
}

void CompactColumns::expand(model::ColumnBlock& block) const {
  block.rows = rows_;
  block.columns.resize(columns_.size());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    model::IntegerColumn& integers = block.columns[c];
    integers.constant = column.base;
    integers.values.resize(column.width == 0 ? 0 : rows_);
    const std::byte* const from = pages_->data() + column.offset;
    if (column.width == 1) unpack<std::uint8_t>(from, column.base, integers.values);
    if (column.width == 2) unpack<std::uint16_t>(from, column.base, integers.values);
    if (column.width == 4) unpack<std::uint32_t>(from, column.base, integers.values);
    if (column.width == 8) unpack<std::uint64_t>(from, column.base, integers.values);
  }
}

std::size_t CompactColumns::bytes() const {
  return sizeof(*this) + columns_.capacity() * sizeof(Column) + size_;
}

const std::shared_ptr<ColumnPool>& ColumnPool::ofProcess() {
  static const auto pool = std::make_shared<ColumnPool>();
  return pool;
}

std::unique_ptr<model::ColumnBlock> ColumnPool::take() {
  const std::lock_guard lock(mutex_);
  if (spare_.empty()) return std::make_unique<model::ColumnBlock>();
  std::unique_ptr<model::ColumnBlock> block = std::move(spare_.back());
  spare_.pop_back();
  spareRows_ -= block->rows;
  return block;
}

std::shared_ptr<const model::ColumnBlock> ColumnPool::shared(std::unique_ptr<model::ColumnBlock> block) {
  return std::shared_ptr<model::ColumnBlock>(block.release(),
                                             [pool = shared_from_this()](model::ColumnBlock* done) {
                                               pool->giveBack(std::unique_ptr<model::ColumnBlock>(done));
                                             });
}

std::shared_ptr<const model::ColumnBlock> ColumnPool::expanded(const CompactColumns& columns) {
  std::unique_ptr<model::ColumnBlock> block = take();
  columns.expand(*block);
  return shared(std::move(block));
}

std::shared_ptr<const model::ColumnBlock> ColumnPool::adopted(std::vector<ColumnData>& columns,
                                                              std::size_t rows) {
  std::unique_ptr<model::ColumnBlock> block = take();
  block->rows = rows;
  block->columns.resize(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    model::IntegerColumn& integers = block->columns[c];
    const bool isConstant = columns[c].constant;
    integers.constant = isConstant ? columns[c].integers.front() : 0;
    if (isConstant) columns[c].integers.clear();
    std::swap(integers.values, columns[c].integers);
  }
  return shared(std::move(block));
}

void ColumnPool::giveBack(std::unique_ptr<model::ColumnBlock> block) {
  constexpr std::size_t kMostSpareRows = std::size_t{1}
                                         << 19;  // enough for a question about a whole training step
  const std::lock_guard lock(mutex_);
  if (spareRows_ + block->rows > kMostSpareRows) return;
  spareRows_ += block->rows;
  spare_.push_back(std::move(block));
}

std::size_t ColumnPool::spare() const {
  const std::lock_guard lock(mutex_);
  return spare_.size();
}

RecentColumns::Block RecentColumns::find(const BlockCache::Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(entries_, key, &Entry::key);
  if (found == entries_.end()) return nullptr;
  std::rotate(found, found + 1, entries_.end());
  return entries_.back().block;
}

void RecentColumns::keep(const BlockCache::Key& key, Block block) {
  Entry oldest;  // freed outside the lock
  const std::lock_guard lock(mutex_);
  if (entries_.size() >= kMost) oldest = std::move(entries_.front()), entries_.erase(entries_.begin());
  entries_.push_back({key, std::move(block)});
}

bool SeenBlocks::again(const BlockCache::Key& key) {
  constexpr std::size_t kMost = 1 << 16;
  const std::lock_guard lock(mutex_);
  if (seen_.size() >= kMost) seen_.clear();
  return !seen_.insert(key).second;
}

}  // namespace pipescope::store
