#include "engine/devices/hbm_card/hbm_cards.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/devices/hbm_card/card_lowering.h"
#include "profiler/base/check.h"

namespace pipescope::devices::hbm_card {
namespace {

const char* plural(std::int64_t count) {
  return count == 1 ? "" : "s";
}

}  // namespace

CardCount countCards(const SystemRequest& request, FigureReader* system) {
  CardCount count;
  if (system) {
    count.perBox = system->count("devices", "cards", 1024);
    count.mostBoxes = system->countOr("max_boxes", "boxes", 16384, 1);
  }
  count.available = count.perBox * request.boxes;
  count.wanted = request.devices == 0 ? count.available : std::min(request.devices, count.available);
  return count;
}

base::Status checkCards(const SystemRequest& request, const CardCount& count) {
  if (request.boxes > count.mostBoxes) {
    return base::badInput(fmt::format("System \"{}\": there are at most {} box{} of it.", request.name,
                                      count.mostBoxes, count.mostBoxes == 1 ? "" : "es"));
  }
  if (request.devices <= count.available) return {};
  return base::badInput(fmt::format("System \"{}\" has {} card{}, but {} are wanted; take {}.", request.name,
                                    count.available, plural(count.available), request.devices,
                                    request.system
                                        ? fmt::format("more boxes ({}xBOXES)", request.system->name)
                                        : std::string("a system of several cards")));
}

void addFigures(const FigureFile& file, std::vector<Figure>& figures) {
  for (const auto& [name, figure] : file.figures)
    figures.push_back(readableFigure(name, figure.value, figure.unit, figure.grade, figure.sourceText()));
}

std::string HbmCards::description() const {
  std::string text = request_.system ? request_.system->description : card().description;
  if (request_.boxes > 1) text += fmt::format(", {} of them", request_.boxes);
  if (request_.devices != 0)
    text += fmt::format("; {} card{} of it", request_.devices, plural(request_.devices));
  return text;
}

void HbmCards::listDevices() {
  using model::LaneRole;
  const int cards = interconnect().devices();
  // Nobody looks at the links of more cards one by one, and they would be most of a large system.
  constexpr int kMostListedCards = 2048;
  const int listed = std::min(cards, kMostListedCards);
  links_ = interconnect().links(listed);
  links_.reserve(links_.size() + 2 * static_cast<std::size_t>(listed));
  devices_.reserve(static_cast<std::size_t>(cards));
  DeviceInfo info;
  info.kind = card().name;
  info.ticksPerSecond = kTicksPerSecond;
  info.units = 1;
  info.unitName = "card";
  info.lanes = {LaneRole::matrix, LaneRole::vector, LaneRole::copy, LaneRole::network, LaneRole::host};
  info.laneTitles = std::make_shared<const std::map<LaneRole, std::string>>(words_.laneTitles);
  info.transferLane = LaneRole::network;
  info.memory = {{"hbm", 1, Bytes(card().usableHbm()), Bytes(0)}};
  for (int i = 0; i < cards; ++i) {
    info.name = words_.noun + std::to_string(i);
    devices_.push_back(info);
    if (i >= listed) continue;
    links_.push_back({-1, i, "host", card().hostBytesPerSecond});
    links_.push_back({i, -1, "host", card().hostBytesPerSecond});
  }
}

base::Result<LoweredDevice> HbmCards::lower(const std::vector<const compile::StageIr*>& stages) const {
  PIPESCOPE_CHECK(!stages.empty(), "no stages to lower");
  const compile::Mesh& mesh = stages.front()->mesh;
  const int place = stages.front()->place, device = mesh.chip(0, place), cards = interconnect().devices();
  for (const compile::StageIr* stage : stages)
    PIPESCOPE_CHECK(stage->place == place, "stages of different places are lowered one place at a time");
  if (device < 0 || device >= cards) {
    return base::badInput(fmt::format(
        "Stage {} is on device {}, but system \"{}\" has {} card{}; take a larger system or fewer devices.",
        stages.front()->index, device, request_.name, cards, plural(cards)));
  }
  return lowerStages(stages, devices_[static_cast<std::size_t>(device)].name, *modelOf(mesh, device));
}

std::vector<Ticks> HbmCards::transferTicks(const std::vector<Flow>& concurrent) const {
  std::vector<Ticks> ticks;
  for (const double seconds : interconnect().seconds(concurrent)) ticks.push_back(ticksOf(seconds));
  return ticks;
}

}  // namespace pipescope::devices::hbm_card
