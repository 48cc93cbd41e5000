#include "views/timeline/group_changes.h"

#include <QCoreApplication>
#include <algorithm>

namespace pipescope::timeline {
namespace {

void toggle(std::set<int>& devices, int device) {
  if (devices.erase(device) == 0) devices.insert(device);
}

/// Moves a device one place up or down in the order of the visible devices. False at the end of the list.
bool moveDevice(std::vector<int>& order, int device, bool up) {
  const auto here = std::find(order.begin(), order.end(), device);
  if (here == order.end() || (up ? here == order.begin() : here + 1 == order.end())) return false;
  std::iter_swap(here, up ? here - 1 : here + 1);
  return true;
}

}  // namespace

bool foldsDevices(const analysis::Trace& trace) {
  return trace.devices.size() > geometry::kFewDevices &&
         std::ranges::any_of(trace.devices,
                             [](const analysis::DeviceTrace& device) { return device.alike >= 0; });
}

std::optional<geometry::TimelineOptions> changed(const geometry::TimelineOptions& options, GroupChange change,
                                                 int device, const analysis::Trace& trace) {
  const bool forAll = change >= GroupChange::showAll;
  if (device < 0 && !forAll) return std::nullopt;
  geometry::TimelineOptions after = options;
  const std::vector<int> visible = geometry::shownDevices(trace, options);
  switch (change) {
    case GroupChange::fold:
      toggle(after.collapsed, device);
      break;
    case GroupChange::pin:
      toggle(after.pinned, device);
      break;
    case GroupChange::hide:
      if (visible.size() <= 1) return std::nullopt;
      after.hidden.insert(device);
      break;
    case GroupChange::up:
    case GroupChange::down:
      after.order = visible;
      if (!moveDevice(after.order, device, change == GroupChange::up)) return std::nullopt;
      break;
    case GroupChange::showAll:
      after.hidden.clear();
      after.pinned.clear();
      after.order.clear();
      after.collapsed.clear();
      after.byStage = false;
      after.foldAlike = after.foldAlike && !foldsDevices(trace);
      break;
    case GroupChange::alike:
      after.foldAlike = !after.foldAlike;
      break;
    case GroupChange::byStage:
      after.byStage = !after.byStage;
      after.order.clear();
      break;
    case GroupChange::foldAll:
      after.collapsed = after.collapsed.size() < visible.size()
                            ? std::set<int>(visible.begin(), visible.end())
                            : std::set<int>();
      break;
  }
  return after;
}

void addGroupChanges(QMenu& menu, const geometry::TimelineOptions& options, int device, bool anyAlike,
                     const std::function<void(GroupChange)>& apply) {
  const auto add = [&](const char* text, GroupChange change) {
    QObject::connect(menu.addAction(QCoreApplication::translate("Timeline", text)), &QAction::triggered,
                     &menu, [apply, change] { apply(change); });
  };
  if (device >= 0) {
    add(options.collapsed.count(device) > 0 ? "Unfold" : "Fold", GroupChange::fold);
    add(options.pinned.count(device) > 0 ? "Unpin (P)" : "Pin to the top (P)", GroupChange::pin);
    add("Hide (H)", GroupChange::hide);
    add("Move up (Shift+↑)", GroupChange::up);
    add("Move down (Shift+↓)", GroupChange::down);
    menu.addSeparator();
  }
  add("Fold or unfold all", GroupChange::foldAll);
  add(options.byStage ? "Sort by device" : "Sort by stage", GroupChange::byStage);
  if (anyAlike)
    add(options.foldAlike ? "Show alike devices one by one" : "Show alike devices as one",
        GroupChange::alike);
  add("Show all devices again (Shift+H)", GroupChange::showAll);
}

}  // namespace pipescope::timeline
