#include "profiler/export/gzip.h"

// zlib does not write to its input; with this its interface says so.
#define ZLIB_CONST
#include <zlib.h>

#include <array>
#include <utility>

#include "profiler/base/check.h"

namespace pipescope::exporting {

struct GzipWriter::State {
  Writer next;
  std::string comment;
  gz_header header{};
  z_stream stream{};
  std::array<Bytef, 1 << 16> buffer{};
};

GzipWriter::GzipWriter(std::string comment, Writer next) : state_(std::make_unique<State>()) {
  constexpr int kGzipWindow = 15 + 16, kMemoryLevel = 8;  // zlib's defaults; 16 asks for gzip's header
  state_->next = std::move(next);
  const int made = deflateInit2(&state_->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                                Z_DEFAULT_STRATEGY);
  PIPESCOPE_CHECK(made == Z_OK, "zlib cannot start");
  constexpr int kUnknownSystem = 255;  // RFC 1952, 2.3.1
  state_->comment = std::move(comment);
  state_->header.os = kUnknownSystem;
  state_->header.comment = reinterpret_cast<Bytef*>(state_->comment.data());
  deflateSetHeader(&state_->stream, &state_->header);
}

GzipWriter::~GzipWriter() {
  deflateEnd(&state_->stream);
}

base::Status GzipWriter::write(std::string_view text) {
  constexpr std::size_t kMostAtOnce = 1U << 30;  // zlib counts in 32 bits
  while (!text.empty()) {
    const std::string_view part = text.substr(0, kMostAtOnce);
    state_->stream.next_in = reinterpret_cast<const Bytef*>(part.data());
    state_->stream.avail_in = static_cast<uInt>(part.size());
    PIPESCOPE_TRY(pump(Z_NO_FLUSH));
    text.remove_prefix(part.size());
  }
  return {};
}

base::Status GzipWriter::finish() {
  return pump(Z_FINISH);
}

base::Status GzipWriter::pump(int flush) {
  z_stream& stream = state_->stream;
  do {
    stream.next_out = state_->buffer.data();
    stream.avail_out = static_cast<uInt>(state_->buffer.size());
    const int done = deflate(&stream, flush);
    PIPESCOPE_CHECK(done != Z_STREAM_ERROR, "zlib lost its state");
    const std::size_t size = state_->buffer.size() - stream.avail_out;
    PIPESCOPE_TRY(state_->next({reinterpret_cast<const char*>(state_->buffer.data()), size}));
  } while (stream.avail_out == 0);
  return {};
}

}  // namespace pipescope::exporting
