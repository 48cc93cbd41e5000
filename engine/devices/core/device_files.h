#pragma once
// The known chips, systems and hosts: those embedded in the program, and those of a user's folder, which come
// on top. A file is parsed only when it is asked for, so a faulty file affects nobody who does not use it.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/devices/core/figures.h"

namespace pipescope::devices {

class DeviceFiles {
 public:
  /// `userFolder` has folders `devices`, `systems` and `hosts`, or is empty. A user's file replaces an
  /// embedded one of the same name.
  explicit DeviceFiles(const std::filesystem::path& userFolder);

  std::vector<std::string> chips() const { return names(chips_); }
  std::vector<std::string> systems() const { return names(systems_); }
  std::vector<std::string> hosts() const { return names(hosts_); }
  bool hasChip(const std::string& name) const { return chips_.contains(name); }
  bool hasSystem(const std::string& name) const { return systems_.contains(name); }
  bool hasHost(const std::string& name) const { return hosts_.contains(name); }
  /// Adds a file of a chip or a system, whose name is then the path. It describes a system if it says "chip"
  /// or if its base is a system.
  base::Status add(const std::string& path);

  /// Fails with a sentence that names the file and, if there is one, the key.
  base::Result<FigureFile> chip(const std::string& name) const { return read(chips_, "chip", name, 0); }
  base::Result<FigureFile> system(const std::string& name) const { return read(systems_, "system", name, 0); }
  /// A host of the kind that a framework's program runs on. Its figures are named as the keys of [host].
  base::Result<FigureFile> host(const std::string& name) const { return read(hosts_, "host", name, 0); }

 private:
  struct Source {
    std::string text;            ///< the text of an embedded file
    std::filesystem::path path;  ///< the path of a user's file
    std::string display;
  };
  using Sources = std::map<std::string, Source>;

  static std::vector<std::string> names(const Sources& sources);
  static void addUserFiles(const std::filesystem::path& folder, Sources& sources);
  static base::Result<FigureFile> read(const Sources& sources, const std::string& kind,
                                       const std::string& name, int depth);

  Sources chips_, systems_, hosts_;
};

}  // namespace pipescope::devices
