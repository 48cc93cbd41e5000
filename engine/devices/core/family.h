#pragma once
// A family of devices makes Systems out of figures. One of its files says
// PIPESCOPE_REGISTER_FAMILY(ipu) { registry.add("ipu", {…}); }; the build finds that file and generates the
// call.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/devices/core/figures.h"
#include "engine/devices/core/system_options.h"
#include "profiler/base/result.h"

namespace pipescope::devices {

/// Request of the user: a system of chips, or one chip alone.
struct SystemRequest {
  std::string name;  ///< name as the user wrote it, "pod4:2"
  FigureFile chip;
  std::optional<FigureFile> system;  ///< none: one chip alone
  std::int64_t devices = 0;          ///< number that the user asked for; 0: all of the system
  std::int64_t boxes = 1;            ///< the BOXES of NAMExBOXES
};

/// A property of devices that measurements of whole steps can correct: one factor of some figures.
struct CorrectedProperty {
  std::string name;                  ///< "peak_share"
  std::string about;                 ///< "share of the peak that products reach"
  std::vector<std::string> figures;  ///< figures of the chip or the system; those that are 0 or absent stay
  double most = 0;                   ///< the largest value of these figures; 0: there is no bound
  bool faster = false;               ///< a larger figure makes a step shorter
  std::string shownBy;               ///< measurement that depends on it most: "a row with …"
  /// Least standard deviation of the factor's logarithm before anything is measured. 0: the grades of the
  /// figures decide. It is above 0 where steps differ from what the figures were measured with.
  double width = 0;
};

struct Family {
  std::string deviceNoun;        ///< word for one device: "IPU"
  std::string accelerator = {};  ///< see SystemFacts::accelerator
  std::string usualSystem = {};  ///< the system to use where only the accelerator is named
  /// Schedules that the frameworks of the family give to pipelines, with one stage for each device and with
  /// several; empty: the configuration's default.
  std::string usualSchedule = {}, usualChunkedSchedule = {};
  std::vector<std::string> settings = {};         ///< names of the SystemOptions::settings that it takes
  bool costsGiven = false;                        ///< see SystemFacts::costsGiven
  bool namedByFile = false;                       ///< a chip's file may state the word for one device, `noun`
  std::vector<CorrectedProperty> corrected = {};  ///< empty: measurements correct nothing
  /// Figure of the chip that says how many bytes of memory a program does not get; empty: there is none.
  std::string reservedMemory = {};
  base::Result<std::shared_ptr<const System>> (*make)(const SystemRequest&, const SystemOptions&) = nullptr;
};

class FamilyRegistry {
 public:
  void add(const std::string& name, Family family) { families_[name] = std::move(family); }
  /// Returns the family of this name; null if there is none.
  const Family* find(const std::string& name) const {
    const auto found = families_.find(name);
    return found == families_.end() ? nullptr : &found->second;
  }
  const std::map<std::string, Family>& all() const { return families_; }

 private:
  std::map<std::string, Family> families_;
};

/// Adds every family of this folder; the build generates the function.
void registerFamilies(FamilyRegistry& registry);

}  // namespace pipescope::devices

#define PIPESCOPE_REGISTER_FAMILY(name)           \
  void register_##name(FamilyRegistry& registry); \
  void register_##name(FamilyRegistry& registry)
