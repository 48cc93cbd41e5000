#include "engine/devices/ipu/ipu_figures.h"

#include <string>

namespace pipescope::devices::ipu {
namespace {

void addGiven(const FigureFile& file, std::vector<Figure>& figures) {
  for (const auto& [name, figure] : file.figures)
    figures.push_back(readableFigure(name, figure.value, figure.unit, figure.grade, figure.source));
}

}  // namespace

std::vector<Figure> ipuFigures(const Chip& chip, const FigureFile& chipFile, const FigureFile* systemFile,
                               const Ladder& ladder) {
  std::vector<Figure> figures;
  addGiven(chipFile, figures);
  const auto derive = [&](const std::string& name, double value, const std::string& unit,
                          const std::string& from) {
    figures.push_back(readableFigure(name, value, unit, "X", from));
  };
  const auto tiles = static_cast<double>(chip.tiles), clock = static_cast<double>(chip.clockHz);
  const auto peak = [&](std::int64_t multiplyAdds) {
    return 2 * static_cast<double>(multiplyAdds) * tiles * clock;
  };
  const std::string product = "tiles x multiply-adds x 2 x clock";
  derive("threads", tiles * static_cast<double>(chip.workers), "threads", "tiles x workers");
  derive("chip_memory", tiles * static_cast<double>(chip.bytesPerTile), "B", "tiles x tile memory");
  derive("on_chip_exchange", tiles * chip.exchangeBytesPerCycle * clock, "B/s",
         "tiles x exchange width x clock");
  derive("peak_fp16", peak(chip.ampHalf), "FLOP/s", product);
  derive("peak_fp16_fp32", peak(chip.ampHalfFloat), "FLOP/s", product);
  derive("peak_fp32", peak(chip.ampFloat), "FLOP/s", product);
  if (chip.ampQuarter > 0) derive("peak_fp8", peak(chip.ampQuarter), "FLOP/s", product);
  if (!systemFile) return figures;
  addGiven(*systemFile, figures);
  const double devices = ladder.devices();
  derive("system_peak_fp16", devices * peak(chip.ampHalf), "FLOP/s", "IPUs x " + product);
  derive("system_peak_fp32", devices * peak(chip.ampFloat), "FLOP/s", "IPUs x " + product);
  derive("system_memory", devices * tiles * static_cast<double>(chip.bytesPerTile), "B",
         "IPUs x tiles x tile memory");
  const std::string lanes = "lanes x rate of a lane x efficiency x utilisation";
  derive("link_to_partner", ladder.bytesPerSecond(Ladder::Way::partner), "B/s", lanes);
  derive("link_transit", ladder.bytesPerSecond(Ladder::Way::transit), "B/s", lanes);
  derive("link_up", ladder.bytesPerSecond(Ladder::Way::up), "B/s", lanes);
  derive("link_down", ladder.bytesPerSecond(Ladder::Way::down), "B/s", lanes);
  return figures;
}

}  // namespace pipescope::devices::ipu
