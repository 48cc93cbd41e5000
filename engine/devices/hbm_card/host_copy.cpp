#include "engine/devices/hbm_card/host_copy.h"

#include <fmt/format.h>

namespace pipescope::devices::hbm_card {

base::Result<EngineKernel> lowerHostCopy(const ops::HostCopy& work, const CardFigures& card,
                                         const std::string& what) {
  PIPESCOPE_TRY(checkElements("number of bytes", {work.bytes.count}, what));
  if (work.remote) {
    return base::badInput(
        fmt::format("{}: {} has no streaming memory besides its HBM; leave optimizer state and activations "
                    "on the device.",
                    what, card.name));
  }
  EngineKernel kernel;
  kernel.engine = Engine::host;
  kernel.name = work.toDevice ? "CopyToDevice" : "CopyToHost";
  kernel.arithmetic = card.hostLatency + static_cast<double>(work.bytes.count) / card.hostBytesPerSecond;
  (work.toDevice ? kernel.bytesIn : kernel.bytesOut) = work.bytes.count;
  return kernel;
}

}  // namespace pipescope::devices::hbm_card
