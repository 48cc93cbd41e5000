#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "profiler/base/nearest.h"
#include "profiler/sections/frame/section.h"
#include "profiler/sections/frame/words.h"

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

base::Result<const SectionDefinition*> findSection(std::string_view name) {
  if (const SectionDefinition* found = sectionRegistry().find(name)) return found;
  std::vector<std::string> names;
  for (const SectionDefinition& definition : sectionRegistry().all()) names.push_back(definition.name);
  return base::badInput(fmt::format("There is no section \"{}\"{} Known are {}.", name,
                                    base::didYouMean(name, names), fmt::join(names, ", ")));
}

base::Result<Section> makeSection(const SectionDefinition& definition, const Context& context) {
  PIPESCOPE_ASSIGN(Section section, definition.make(context));
  showTimesIn(wordsOf(context.catalog).time, section);
  if (context.catalog.target.tickMeaning == model::TickMeaning::cost)
    section.remarks.push_back("Times are in cost units, because the configuration states the costs.");
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
