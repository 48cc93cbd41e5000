#include "engine/devices/ipu/code/step_code.h"

#include <algorithm>
#include <cmath>

#include "engine/devices/ipu/code/code_sizes.h"

namespace pipescope::devices::ipu {
namespace {

/// An IPU's instructions have 32 bits (C: PopLibs' assembly).
constexpr std::int64_t kInstructionBytes = 4;

/// Exchange code on receivers and on senders.
TileRuns codeOfPieces(const ProgramStep& step) {
  std::int64_t tiles = 0;
  for (const TileRuns* runs : {&step.cycles, &step.senders}) {
    for (const TileRun& run : *runs) tiles = std::max(tiles, run.first + run.count);
  }
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(tiles));
  addTo(bytes, transformed(step.cycles, [&](std::int64_t cycles) {
          return cycles > 0 ? kExchangePerMessage * step.messages : 0;
        }));
  addTo(bytes, transformed(step.senders, [](std::int64_t pieces) { return kExchangePerMessage * pieces; }));
  for (std::int64_t& each : bytes) each += each > 0 ? kExchangeBase : 0;
  return toRuns(bytes);
}

}  // namespace

TileRuns partOf(TileRuns code, double share) {
  return transformed(std::move(code), [share](std::int64_t bytes) {
    return static_cast<std::int64_t>(std::ceil(share * static_cast<double>(bytes) / kInstructionBytes)) *
           kInstructionBytes;
  });
}

std::vector<CodePart> codeOf(const ProgramStep& step, const Chip& chip) {
  const auto onTiles = [&](std::int64_t bytes) {
    return transformed(step.cycles, [bytes](std::int64_t cycles) { return cycles > 0 ? bytes : 0; });
  };
  const std::int64_t exchange = kExchangeBase + kExchangePerMessage * step.messages;
  std::vector<CodePart> parts;
  if (step.kind == model::StepKind::compute && step.name.ends_with("OnTileCopy"))
    parts.push_back({"copyDescriptor", onTiles(kCopyDescriptor)});
  if (step.kind == model::StepKind::globalExchange)
    parts.push_back({"globalExchangeCode", onTiles(exchange)});
  if (step.kind == model::StepKind::exchange && chip.compilesCode)
    parts.push_back(
        {"internalExchangeCode", step.senders.empty() ? onTiles(exchange) : codeOfPieces(step), true});
  if (step.program == "StreamCopyMid") {
    parts.push_back({"hostExchangeCode", onTiles(exchange)});
    parts.push_back({"hostExchangePacketHeader", onTiles(kPacketHeader)});
  }
  return parts;
}

TileRuns controlCodeOf(const ProgramStep& step, const Chip& chip) {
  if (!chip.compilesCode) return {};
  if (step.kind != model::StepKind::compute) return {{0, chip.tiles, kControlPerExchange}};
  return transformed(step.cycles, [](std::int64_t cycles) { return cycles > 0 ? kControlPerComputeSet : 0; });
}

std::int64_t copyOfStepBytes(const ProgramStep& step, const Chip& chip, double exchangeShare) {
  std::int64_t bytes = spreadOf(controlCodeOf(step, chip)).total;
  for (const CodePart& part : codeOf(step, chip))
    bytes += spreadOf(part.shared ? partOf(part.bytes, exchangeShare) : part.bytes).total;
  const std::int64_t active = spreadOf(step.cycles).active;
  for (const LoweredVertex& use : step.vertices) bytes += active * (use.stateBytes + use.fieldBytes);
  return bytes;
}

}  // namespace pipescope::devices::ipu
