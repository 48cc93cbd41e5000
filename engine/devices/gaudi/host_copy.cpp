// Copies between host and card over PCIe.
#include "engine/devices/gaudi/kernel.h"

namespace pipescope::devices::gaudi {

base::Result<EngineKernel> lower(const ops::HostCopy& work, const GaudiLoweringContext& context) {
  PIPESCOPE_TRY(checkElements("number of bytes", {work.bytes.count}, context));
  if (work.remote) {
    return base::badInput(
        context.what +
        ": Gaudis have no streaming memory besides their HBM; leave optimizer state and activations "
        "on the device.");
  }
  EngineKernel kernel;
  kernel.engine = Engine::host;
  kernel.name = work.toDevice ? "CopyToDevice" : "CopyToHost";
  kernel.arithmetic =
      context.card.hostLatency + static_cast<double>(work.bytes.count) / context.card.hostBytesPerSecond;
  (work.toDevice ? kernel.bytesIn : kernel.bytesOut) = work.bytes.count;
  return kernel;
}

}  // namespace pipescope::devices::gaudi
