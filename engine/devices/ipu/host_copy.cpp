// Stream copies between host and device: three programs, of which the middle one moves the bytes. (Rate: what
// the IPU Model charges, but no more than the machine's network card gives.)
#include <cmath>

#include "engine/devices/ipu/lowered_work.h"

namespace pipescope::devices::ipu {
namespace {

void add(LoweredWork& lowered, bool remote, const char* program, TileRuns cycles, std::int64_t bytesIn,
         std::int64_t bytesOut) {
  if (spreadOf(cycles).most <= 0) return;
  const char* name = program;
  ProgramStep step;
  step.kind = remote ? model::StepKind::remoteCopy : model::StepKind::streamCopy;
  step.program = program;
  step.name = name;
  step.cycles = std::move(cycles);
  step.bytesIn = bytesIn;
  step.bytesOut = bytesOut;
  step.messages = 1;
  lowered.steps.push_back(std::move(step));
}

}  // namespace

TileRuns onIoTiles(const IpuLoweringContext& context, std::int64_t bytes) {
  if (context.ioTiles == 0) return {};
  Chip io = context.chip;
  io.tiles = context.ioTiles;
  TileRuns runs = spreadEvenly(io, bytes, 1);
  for (TileRun& run : runs) run.first += context.chip.tiles;
  return runs;
}

base::Result<LoweredWork> lower(const ops::HostCopy& work, const IpuLoweringContext& context) {
  const std::int64_t bytes = work.bytes.count;
  PIPESCOPE_TRY(checkElements("number of bytes", {bytes}, context));
  const Chip& chip = context.chip;
  const auto ticks = [&](double seconds) { return base::ticksFromSeconds(seconds, chip.timebase()).count; };
  // Data from the host lands on the I/O tiles and then goes to the computing ones, and back the same way.
  const bool throughIo = context.ioTiles > 0 && !work.remote;
  const TileRuns share = throughIo ? onIoTiles(context, bytes) : spreadEvenly(chip, bytes, 1);
  const auto all = [&](std::int64_t cycles) {
    return transformed(share, [cycles](std::int64_t) { return cycles; });
  };
  if (work.remote && context.streamingBytesPerSecond <= 0)
    return base::badInput(context.what +
                          ": the system has no streaming memory; keep all tensors on the chip.");
  const double rate = work.remote ? context.streamingBytesPerSecond : context.hostBytesPerSecond;
  // The gateway itself serves streaming memory; no host takes part.
  const std::int64_t begin = work.remote ? chip.computeSetOverhead : ticks(chip.hostLatencySeconds);
  LoweredWork lowered;
  if (throughIo && !work.toDevice) lowered.exchange(chip, "ToIoTiles", share, 1, chip.vectorBytes);
  add(lowered, work.remote, "StreamCopyBegin", all(begin), 0, 0);
  add(lowered, work.remote, "StreamCopyMid", all(ticks(static_cast<double>(bytes) / rate)),
      work.toDevice ? bytes : 0, work.toDevice ? 0 : bytes);
  add(lowered, work.remote, "StreamCopyEnd", all(chip.computeSetOverhead), 0, 0);
  if (throughIo && work.toDevice) lowered.exchange(chip, "FromIoTiles", share, 1, chip.vectorBytes);
  return lowered;
}

}  // namespace pipescope::devices::ipu
