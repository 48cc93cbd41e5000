#include <algorithm>

#include "profiler/sections/section.h"
#include "profiler/sections/wording.h"

namespace pipescope::sections {

void SectionRegistry::add(SectionDefinition definition) {
  const auto place =
      std::upper_bound(definitions_.begin(), definitions_.end(), definition.order,
                       [](int order, const SectionDefinition& other) { return order < other.order; });
  definitions_.insert(place, std::move(definition));
}

const SectionDefinition* SectionRegistry::find(std::string_view name) const {
  for (const SectionDefinition& definition : definitions_) {
    if (definition.name == name) return &definition;
  }
  return nullptr;
}

base::Result<Section> makeSection(const SectionDefinition& definition, const Context& context) {
  PIPESCOPE_ASSIGN(Section section, definition.make(context));
  speakOfDevices(section, context.catalog);
  return section;
}

const SectionRegistry& sectionRegistry() {
  static const SectionRegistry registry = [] {
    SectionRegistry made;
    registerSections(made);
    return made;
  }();
  return registry;
}

}  // namespace pipescope::sections
