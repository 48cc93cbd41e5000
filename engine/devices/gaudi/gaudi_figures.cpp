#include "engine/devices/gaudi/gaudi_figures.h"

#include <string>

#include "engine/devices/hbm_card/hbm_cards.h"

namespace pipescope::devices::gaudi {

std::vector<Figure> gaudiFigures(const Card& card, const FigureFile& cardFile, const FigureFile* boxFile,
                                 const Fabric& fabric) {
  std::vector<Figure> figures;
  const auto derive = [&](const std::string& name, double value, const std::string& unit,
                          const std::string& from) {
    figures.push_back(readableFigure(name, value, unit, "X", from));
  };
  hbm_card::addFigures(cardFile, figures);
  const auto peak = [&](std::int64_t macs) { return 2 * static_cast<double>(macs) * card.mmeHz; };
  const std::string product = "multiply-adds x 2 x clock of the MME";
  derive("peak_bf16", peak(card.macsBf16), "FLOP/s", product);
  derive("peak_fp32", peak(card.macsFp32), "FLOP/s", product);
  if (card.macsFp16 > 0) derive("peak_fp16", peak(card.macsFp16), "FLOP/s", product);
  if (card.macsFp8 > 0) derive("peak_fp8", peak(card.macsFp8), "FLOP/s", product);
  derive("tpc_bf16",
         static_cast<double>(card.tpcs) * static_cast<double>(card.vectorBytes) / 2 * 2 * card.tpcHz,
         "FLOP/s", "TPCs x lanes x multiply-add x clock");
  derive("tpc_access", static_cast<double>(card.tpcs * card.vectorBytes) / card.accessInterval * card.tpcHz,
         "B/s", "TPCs x vector / access interval x clock");
  derive("hbm_effective", card.hbmEffective, "B/s", "hbm_bandwidth x hbm_efficiency");
  derive("hbm_usable", static_cast<double>(card.usableHbm()), "B", "hbm - hbm_reserved");
  derive("all_ports", static_cast<double>(card.ports) * card.portBytesPerSecond, "B/s",
         "ports x rate of a port");
  if (!boxFile) return figures;
  hbm_card::addFigures(*boxFile, figures);
  const double devices = fabric.devices();
  derive("system_peak_bf16", devices * peak(card.macsBf16), "FLOP/s", "cards x " + product);
  derive("system_hbm", devices * static_cast<double>(card.usableHbm()), "B", "cards x usable HBM");
  if (fabric.mesh()) {
    derive("peer_bandwidth", fabric.peerBytesPerSecond(), "B/s", "ports to each peer x rate of a port");
    derive("scale_up_bandwidth", fabric.peerBytesPerSecond() * (fabric.cardsPerBox() - 1), "B/s",
           "peers x ports to each x rate of a port");
  }
  return figures;
}

}  // namespace pipescope::devices::gaudi
