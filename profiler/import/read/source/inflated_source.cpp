#include "profiler/import/read/source/inflated_source.h"

#include <fmt/format.h>

namespace pipescope::importing {

InflatedSource::InflatedSource(ByteSource& packed, std::string name)
    : packed_(packed), name_(std::move(name)) {
  constexpr int kZlibOrGzip = 32;
  open_ = inflateInit2(&stream_, MAX_WBITS + kZlibOrGzip) == Z_OK;
}

InflatedSource::~InflatedSource() {
  if (open_) inflateEnd(&stream_);
}

base::Result<bool> InflatedSource::refill() {
  PIPESCOPE_ASSIGN(const std::size_t count, packed_.read(input_));
  stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
  stream_.avail_in = static_cast<uInt>(count);
  return count > 0;
}

base::Error InflatedSource::damaged(const std::string& how) {
  failed_ = base::badInput(fmt::format("{} ends early or is damaged: {}.", name_, how));
  return *failed_;
}

base::Result<std::size_t> InflatedSource::read(std::span<char> buffer) {
  if (failed_) return *failed_;
  if (!open_) return damaged("there is no memory to decompress it");
  stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
  stream_.avail_out = static_cast<uInt>(buffer.size());
  const auto have = [&] { return buffer.size() - stream_.avail_out; };
  while (have() == 0 && !ended_ && !buffer.empty()) {
    if (stream_.avail_in == 0) {
      const auto more = refill();
      if (!more.ok()) {
        failed_ = more.error();
        return *failed_;
      }
      if (!*more && between_) ended_ = true;
      if (!*more && !between_) return damaged("the compressed data is cut off");
      if (!*more) break;
    }
    // Bytes that follow a gzip file and are none are padding.
    if (between_ && *stream_.next_in != 0x1f) ended_ = true;
    if (ended_) break;
    if (between_) inflateReset(&stream_);
    between_ = false;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    between_ = status == Z_STREAM_END;
    if (between_ || status == Z_OK || (status == Z_BUF_ERROR && stream_.avail_in == 0)) continue;
    const std::string how = stream_.msg != nullptr ? stream_.msg : "the compressed data is damaged";
    if (have() == 0) return damaged(how);
    (void)damaged(how);  // The next call says it.
  }
  return have();
}

}  // namespace pipescope::importing
