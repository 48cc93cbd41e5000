#pragma once
#include <memory>
#include <string>

#include "profiler/export/writer.h"

namespace pipescope::exporting {

/// Compresses what it is given in gzip's format (RFC 1952) and passes it on, piece by piece.
class GzipWriter {
 public:
  /// `next` takes the compressed pieces. The comment stands in the file's header; it holds no null character.
  GzipWriter(std::string comment, Writer next);
  ~GzipWriter();
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;

  base::Status write(std::string_view text);
  /// Writes the rest. Without it the file is not complete.
  base::Status finish();

 private:
  struct State;
  base::Status pump(int flush);
  std::unique_ptr<State> state_;
};

}  // namespace pipescope::exporting
