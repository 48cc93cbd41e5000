#pragma once
#include <span>
#include <string>

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
