#include "views/pages/parts/data/system_data.h"

#include <QObject>
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "profiler/analysis/device_places.h"
#include "profiler/analysis/pipeline/links/collective_groups.h"
#include "profiler/analysis/recorded_devices.h"
#include "profiler/base/number_ranges.h"
#include "profiler/base/short_names.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/text.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;

QString linkWords(const sections::SectionTable& links, const std::vector<sections::Cell>& row) {
  const auto shown = [&](std::size_t column) {
    return text(formatCell(row[column], links.columns[column].format));
  };
  QString words =
      QObject::tr("%1 → %2, %3").arg(shown(LinkColumn::from), shown(LinkColumn::to), shown(LinkColumn::name));
  if (numberIn(row[LinkColumn::transfers]) <= 0) return words + QObject::tr(": no transfer is recorded");
  words += QObject::tr(": in use %1 of the call").arg(shown(LinkColumn::busy));
  if (!std::holds_alternative<std::monostate>(row[LinkColumn::bytes]))
    words += QObject::tr(", %1").arg(shown(LinkColumn::bytes));
  return words;
}

void addLine(QString& tip, const QString& line) {
  tip += (tip.isEmpty() ? QString() : QStringLiteral("\n")) + line;
}

/// Builds the picture from the rows of a profile.
class PictureMaker {
 public:
  PictureMaker(const analysis::Catalog& catalog, model::ExecutableId executable, SystemData& made)
      : catalog_(catalog), executable_(executable), made_(made) {}

  void make() {
    const analysis::SystemParts parts = analysis::systemParts(catalog_);
    made_.parts = {static_cast<int>(parts.chipsOfBox), static_cast<int>(parts.chipsOfDomain)};
    addChips();
    for (std::size_t r = 0; r < made_.links.rows.size(); ++r) addLink(static_cast<int>(r));
    for (const geometry::TopologyLink& link : made_.between) joined_.insert(boxesAt(link.from, link.to));
    if (made_.chips.size() <= geometry::Topology::kMostLinked) addCollectives();
  }

 private:
  void addChips() {
    const auto places = analysis::devicePlaces(catalog_, executable_);
    const auto stands = analysis::recordedDevices(catalog_, executable_);
    std::set<std::int32_t> stages;
    std::vector<std::string> names;
    for (const model::Device& device : catalog_.devices) names.push_back(device.name);
    names = base::shortNames(names);
    for (const model::Device& device : catalog_.devices) {
      chipOf_[device.name] = static_cast<int>(made_.chips.size());
      const std::vector<std::int32_t>& held = places[device.id].stages;
      stages.insert(held.begin(), held.end());
      geometry::TopologyChip chip{names[made_.chips.size()], "", ColourRole::free, 0};
      if (!held.empty()) {
        chip.note = (held.size() == 1 ? QObject::tr("stage %1") : QObject::tr("stages %1"))
                        .arg(text(base::numberRanges(held)))
                        .toStdString();
        chip.role = geometry::seriesRole(held.front());
      }
      QString tip = QStringLiteral("%1\n%2, %3")
                        .arg(text(device.name), text(device.kind),
                             held.empty() ? QObject::tr("holds no stage") : text(chip.note));
      const model::DeviceId of = stands[device.id];
      if (of.valid() && of != device.id)
        addLine(tip,
                QObject::tr("does the same as %1, which is recorded").arg(text(catalog_.devices[of].name)));
      made_.chipTips << tip;
      made_.chips.push_back(std::move(chip));
    }
    made_.stages.assign(stages.begin(), stages.end());
  }

  int chipAt(const std::vector<sections::Cell>& row, std::size_t column) const {
    const auto* name = std::get_if<std::string>(&row[column]);
    const auto found = name == nullptr ? chipOf_.end() : chipOf_.find(*name);
    return found == chipOf_.end() ? -1 : found->second;
  }

  void addLink(int r) {
    const auto& row = made_.links.rows[static_cast<std::size_t>(r)];
    const int a = chipAt(row, LinkColumn::from), b = chipAt(row, LinkColumn::to);
    const double share = numberIn(row[LinkColumn::busy]);
    if (a < 0 || b < 0 || a == b) {
      const int chip = std::max(a, b);
      if (chip < 0 || a == b) return;
      auto& own = made_.chips[static_cast<std::size_t>(chip)];
      const QString host = QStringLiteral("host");
      if (wordsIn(row[LinkColumn::from]) == host || wordsIn(row[LinkColumn::to]) == host)
        own.host = std::max(own.host, share);
      if (share > 0) addLine(made_.chipTips[chip], linkWords(made_.links, row));
      return;
    }
    geometry::TopologyLink& link = linkBetween(a, b, false);
    link.bytesPerSecond = std::max(link.bytesPerSecond, numberIn(row[LinkColumn::capacity]));
    link.share = std::max(link.share, share);
    link.role = roleOfUse(link.share);
    if (const auto* kind = std::get_if<std::string>(&row[LinkColumn::name])) link.kind = *kind;
    const std::size_t place = linkOf_[ordered(a, b)];
    (a < b ? made_.rowsOf[place].first : made_.rowsOf[place].second) = r;
  }

  static std::pair<int, int> ordered(int a, int b) { return {std::min(a, b), std::max(a, b)}; }
  /// The boxes of two chips.
  std::pair<int, int> boxesAt(int a, int b) const {
    const int size = std::max(1, made_.parts.chipsOfBox);
    return ordered(a / size, b / size);
  }

  geometry::TopologyLink& linkBetween(int a, int b, bool trunk) {
    auto& known = trunk ? trunkOf_ : linkOf_;
    const auto [found, isNew] =
        known.try_emplace(trunk ? boxesAt(a, b) : ordered(a, b), made_.between.size());
    if (isNew) {
      made_.between.push_back({.from = std::min(a, b), .to = std::max(a, b), .trunk = trunk});
      made_.linkTips << QString();
      made_.rowsOf.emplace_back(kNoLink, kNoLink);
    }
    return made_.between[found->second];
  }

  /// Marks the links between chips that do a collective with each other, and joins their boxes where no link
  /// does. Which of these links carry how much is not recorded.
  void addCollectives() {
    std::vector<analysis::AxisShare> shares;
    for (const auto& row : made_.communication.rows) {
      analysis::AxisShare one{static_cast<std::int32_t>(std::get<std::int64_t>(row[0])),
                              {},
                              std::get<std::int64_t>(row[2]),
                              std::get<double>(row.back())};
      for (const auto axis : {model::MeshAxis::data, model::MeshAxis::tensor, model::MeshAxis::context,
                              model::MeshAxis::expert})
        if (wordsIn(row[1]).toStdString() == model::toString(axis)) one.axis = axis;
      if (one.share <= 0) continue;
      shares.push_back(one);
      sent_[{one.stage, one.axis, one.ranks}] =
          text(formatCell(row[columnNamed(made_.communication, "sent_bytes")], sections::Format::bytes));
    }
    const auto groups = analysis::collectiveGroups(catalog_, executable_, shares);
    for (const analysis::CollectiveGroup& group : groups) {
      std::vector<char> member(made_.chips.size(), 0);
      for (const model::DeviceId chip : group.chips) member[static_cast<std::size_t>(chip.value)] = 1;
      const std::size_t direct = made_.between.size();
      for (std::size_t l = 0; l < direct; ++l) {
        const geometry::TopologyLink& link = made_.between[l];
        if (!link.trunk && member[static_cast<std::size_t>(link.from)] != 0 &&
            member[static_cast<std::size_t>(link.to)] != 0)
          carry(made_.between[l], static_cast<int>(l), group);
      }
      for (std::size_t i = 1; i < group.chips.size(); ++i)
        joinBoxes(static_cast<int>(group.chips[i - 1].value), static_cast<int>(group.chips[i].value), group);
    }
  }

  void joinBoxes(int a, int b, const analysis::CollectiveGroup& group) {
    if (made_.parts.chipsOfBox <= 0) return;
    const auto boxes = boxesAt(a, b);
    if (boxes.first == boxes.second || joined_.contains(boxes)) return;
    geometry::TopologyLink& trunk = linkBetween(a, b, true);
    const int place = static_cast<int>(trunkOf_[boxes]);
    if (made_.linkTips[place].isEmpty())
      made_.linkTips[place] = QObject::tr("box %1 and box %2").arg(boxes.first).arg(boxes.second);
    carry(trunk, place, group);
  }

  /// Adds the time that the chips at both ends spend in collectives to the use of a link. The collectives of
  /// several axes follow each other, and transfers may run beside them, so the sum is at most the whole call.
  void carry(geometry::TopologyLink& link, int place, const analysis::CollectiveGroup& group) {
    made_.collectives = true;
    double& used = collectiveShare_[place][group.axis];
    link.share = std::min(1.0, link.share + std::max(0.0, group.share - used));
    used = std::max(used, group.share);
    link.role = roleOfUse(link.share);
    if (const auto key = std::pair(place, group.axis); said_.insert(key).second) {
      addLine(
          made_.linkTips[place],
          QObject::tr("collectives of the %1 axis: %2 of the call, %3 from each chip in an iteration; how "
                      "the links divide them is not recorded")
              .arg(text(model::toString(group.axis)),
                   text(formatCell(group.share, sections::Format::fraction)),
                   sent_[{group.stage, group.axis, group.ranks}]));
    }
  }

  const analysis::Catalog& catalog_;
  model::ExecutableId executable_;
  SystemData& made_;
  std::unordered_map<std::string, int> chipOf_;
  std::map<std::pair<int, int>, std::size_t> linkOf_, trunkOf_;
  std::set<std::pair<int, int>> joined_;  ///< boxes that links join
  std::set<std::pair<int, model::MeshAxis>> said_;
  std::map<int, std::map<model::MeshAxis, double>> collectiveShare_;  ///< by link, of the stage that has most
  std::map<std::tuple<std::int32_t, model::MeshAxis, std::int64_t>, QString>
      sent_;  ///< by stage, axis, ranks
};

/// Takes links without traffic out of the table: those of a fully connected system are very many.
void leaveOutUnused(SystemData& made) {
  std::unordered_map<int, int> kept;
  std::vector<std::vector<sections::Cell>> rows;
  for (std::size_t r = 0; r < made.links.rows.size(); ++r) {
    if (numberIn(made.links.rows[r][LinkColumn::transfers]) <= 0) continue;
    kept[static_cast<int>(r)] = static_cast<int>(rows.size());
    rows.push_back(std::move(made.links.rows[r]));
  }
  // The page says how many links it leaves out.
  made.unused = static_cast<std::int64_t>(made.links.rows.size() - rows.size());
  made.links.rows = std::move(rows);
  const auto now = [&](int row) {
    const auto found = kept.find(row);
    return found != kept.end() ? found->second : row < 0 ? kNoLink : kLeftOut;
  };
  for (auto& [forth, back] : made.rowsOf) forth = now(forth), back = now(back);
}

}  // namespace

ColourRole roleOfUse(double share) {
  constexpr double kLittle = 0.1, kMuch = 0.4;
  if (!(share > 0)) return ColourRole::gaps;
  return share < kLittle ? ColourRole::computeGroup
         : share < kMuch ? ColourRole::compute
                         : ColourRole::waitHost;
}

base::Result<SystemData> collectSystem(const sections::Context& context) {
  const analysis::Catalog& catalog = context.catalog;
  const bool ran = catalog.lastRunOf(context.executable) != nullptr;
  SystemData made;
  PIPESCOPE_ASSIGN(sections::Section section, sectionNamed("system", context));
  for (const std::string& sentence : section.remarks) made.remarks << text(sentence);
  for (sections::SectionTable& table : section.tables) {
    (table.key == "devices" ? made.devices
     : table.key == "links" ? made.links
     : table.key == "axes"  ? made.axes
                            : made.spaces) = std::move(table);
  }
  made.perUnit = section.ticksPerShownUnit;
  if (ran && !catalog.stagesOf(context.executable).empty()) {
    PIPESCOPE_ASSIGN(const sections::Section stages, sectionNamed("stages", context));
    if (const sections::SectionTable* found = tableNamed(stages, "communication"))
      made.communication = *found, made.perUnit = stages.ticksPerShownUnit;
  }
  PictureMaker(catalog, context.executable, made).make();
  if (ran) leaveOutUnused(made);
  return made;
}

QString describeLink(const analysis::Catalog& catalog, const SystemData& made, std::size_t link) {
  const geometry::TopologyLink& drawn = made.between[link];
  const auto nameOf = [&](int chip) { return text((catalog.devices.begin() + chip)->name); };
  const auto [forth, back] = made.rowsOf[link];
  QString tip;
  for (const auto& [row, from, to] :
       {std::tuple(forth, drawn.from, drawn.to), {back, drawn.to, drawn.from}}) {
    if (row >= 0) {
      addLine(tip, linkWords(made.links, made.links.rows[static_cast<std::size_t>(row)]));
    } else if (row == kLeftOut) {
      addLine(tip, QObject::tr("%1 → %2, %3: no transfer is recorded")
                       .arg(nameOf(from), nameOf(to), text(drawn.kind)));
    }
  }
  if (!made.linkTips.value(static_cast<int>(link)).isEmpty())
    addLine(tip, made.linkTips[static_cast<int>(link)]);
  return tip;
}

}  // namespace pipescope::pages
