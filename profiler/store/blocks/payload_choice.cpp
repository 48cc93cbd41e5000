#include "profiler/store/blocks/payload_choice.h"

#include <fmt/format.h>

#include <utility>

namespace pipescope::store {

base::Status PayloadChoice::code(BlockCoder& coder, const std::string& path,
                                 std::vector<PreparedPayload>& payloads,
                                 const std::function<void()>& beside) {
  coder.code(jobs_, beside);
  return join(path, payloads);
}

base::Status PayloadChoice::codeHere(BlockCoder& coder, const std::string& path,
                                     std::vector<PreparedPayload>& payloads) {
  coder.codeHere(jobs_);
  return join(path, payloads);
}

base::Status PayloadChoice::join(const std::string& path, std::vector<PreparedPayload>& payloads) {
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    PreparedPayload& payload = payloads_[i];
    payload.bytes = std::move(jobs_[i].priorBytes);
    std::size_t bytes = payload.bytes.size();
    for (const BlockJob& block : jobs_[i].blocks) bytes += block.result.ok() ? block.result->bytes.size() : 0;
    payload.bytes.reserve(bytes);
    const auto priorBytes = static_cast<std::int64_t>(payload.bytes.size());
    for (std::size_t b = 0; b < payload.blocks.size(); ++b) {
      base::Result<EncodedBlock>& encoded = jobs_[i].blocks[b].result;
      if (!encoded.ok()) {
        return base::Error{encoded.error().kind,
                           fmt::format("{}: the rows of table {} make {}.", path,
                                       model::tables()[jobs_[i].table].name, encoded.error().message)};
      }
      BlockRecord& record = payload.blocks[b];
      record.ranges = std::move(encoded->ranges);
      record.payload = payload.blocks[0].id;
      record.priorBytes = priorBytes;
      record.offset = static_cast<std::int64_t>(payload.bytes.size());
      record.bytes = static_cast<std::int64_t>(encoded->bytes.size());
      record.rawBytes = encoded->rawBytes;
      record.bytesCrc32 = jobs_[i].blocks[b].crc32;
      payload.bytes += encoded->bytes;
    }
    payloads.push_back(std::move(payload));
  }
  return {};
}

}  // namespace pipescope::store
