#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "profiler/base/progress.h"
#include "profiler/base/result.h"

namespace pipescope::importing {

/// A stream of bytes that is read once, from its beginning.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills `buffer` from its start and returns the number of bytes; 0 at the end. After an error the stream
  /// has ended; what came before is valid.
  virtual base::Result<std::size_t> read(std::span<char> buffer) = 0;
};

/// A source whose first bytes were looked at already.
class PeekedSource : public ByteSource {
 public:
  PeekedSource(std::string head, ByteSource& rest) : head_(std::move(head)), rest_(rest) {}
  base::Result<std::size_t> read(std::span<char> buffer) override {
    if (at_ == head_.size()) return rest_.read(buffer);
    const std::size_t count = head_.copy(buffer.data(), buffer.size(), at_);
    at_ += count;
    return count;
  }

 private:
  std::string head_;
  std::size_t at_ = 0;
  ByteSource& rest_;
};

/// Reads the first bytes, at most `most`; fewer only at the end or after an error, which the next read meets
/// again.
inline std::string readHead(ByteSource& source, std::size_t most) {
  std::string head(most, '\0');
  std::size_t have = 0;
  while (have < head.size()) {
    auto count = source.read(std::span(head).subspan(have));
    if (!count.ok() || *count == 0) break;
    have += *count;
  }
  head.resize(have);
  return head;
}

/// Reads from another source until the user cancels. It tells of its progress, so that no reader has to.
class WatchedSource : public ByteSource {
 public:
  /// `fraction` returns the share that was read.
  WatchedSource(ByteSource& source, base::Progress& progress, std::string what,
                std::function<double()> fraction)
      : source_(source), progress_(progress), what_(std::move(what)), fraction_(std::move(fraction)) {}
  base::Result<std::size_t> read(std::span<char> buffer) override {
    constexpr std::int64_t kBytesPerReport = 4 << 20;
    if (progress_.cancelled()) return base::cancelled("The import was stopped.");
    auto count = source_.read(buffer);
    if (count.ok()) unreported_ += static_cast<std::int64_t>(*count);
    if (unreported_ < kBytesPerReport) return count;
    unreported_ = 0;
    progress_.report(fraction_(), what_);
    return count;
  }

 private:
  ByteSource& source_;
  base::Progress& progress_;
  const std::string what_;
  const std::function<double()> fraction_;
  std::int64_t unreported_ = 0;
};

/// Reads a text in memory.
class TextSource : public ByteSource {
 public:
  explicit TextSource(std::string text) : text_(std::move(text)) {}
  base::Result<std::size_t> read(std::span<char> buffer) override {
    const std::size_t count = text_.copy(buffer.data(), buffer.size(), at_);
    at_ += count;
    return count;
  }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

}  // namespace pipescope::importing
