#pragma once
// Writes scalars for TensorBoard: an event file (events.out.tfevents…), which is a sequence of TFRecords that
// hold Event messages. The formats are those of TensorFlow: core/lib/io/record_writer.h,
// core/util/event.proto and core/framework/summary.proto.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/base/files/output_file.h"

namespace pipescope::app {

class EventFile {
 public:
  struct Scalar {
    std::string tag;  ///< "training/loss"
    float value = 0;
  };

  /// Checks the folder, which is made with the first event if only its last part is missing. Each run writes
  /// a new file in it, as TensorFlow does, and replaces none.
  static base::Result<EventFile> create(const std::string& folder);
  /// Adds the scalars of a step, which readers of the file see at once. Without scalars, nothing happens.
  base::Status add(std::int64_t step, const std::vector<Scalar>& scalars);

 private:
  base::Status open();

  std::string folder_;
  std::optional<base::OutputFile> file_;
};

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4).
std::uint32_t crc32c(std::string_view bytes);
/// A TFRecord: length, masked checksum of the length, data, masked checksum of the data.
std::string tfRecord(std::string_view data);
/// An Event message. Without scalars: the first one of a file, which names the version of the format.
std::string eventMessage(double wallTime, std::int64_t step, const std::vector<EventFile::Scalar>& scalars);

}  // namespace pipescope::app
