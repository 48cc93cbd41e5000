#pragma once
#include <zlib.h>

#include <array>
#include <optional>
#include <string>

#include "profiler/import/read/source/byte_source.h"

namespace pipescope::importing {

/// Decompresses a stream of zlib or gzip, also of several gzip files one after the other. It returns all that
/// was whole of damaged or cut data before it fails, however short that is. Memory does not depend on what
/// the stream announces.
class InflatedSource : public ByteSource {
 public:
  /// `name` is for messages.
  InflatedSource(ByteSource& packed, std::string name);
  ~InflatedSource() override;
  InflatedSource(const InflatedSource&) = delete;
  InflatedSource& operator=(const InflatedSource&) = delete;

  base::Result<std::size_t> read(std::span<char> buffer) override;

  /// True if a text begins as a gzip file does.
  static bool looksGzipped(std::string_view head) { return head.starts_with("\x1f\x8b"); }

 private:
  /// False at the end of the packed bytes.
  base::Result<bool> refill();
  base::Error damaged(const std::string& how);

  ByteSource& packed_;
  const std::string name_;
  std::array<char, 64 * 1024> input_{};
  z_stream stream_{};
  bool open_ = false, ended_ = false, between_ = false;  ///< between two gzip files
  std::optional<base::Error> failed_;
};

}  // namespace pipescope::importing
