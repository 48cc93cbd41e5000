#include "profiler/import/read/trace_format.h"

#include <algorithm>
#include <set>

namespace pipescope::importing {

void FormatRegistry::add(const TraceFormat& format) {
  formats_.insert(std::ranges::upper_bound(formats_, format.generality, {}, &TraceFormat::generality),
                  format);
}

const FormatRegistry& formatRegistry() {
  static const FormatRegistry registry = [] {
    FormatRegistry all;
    registerFormats(all);
    return all;
  }();
  return registry;
}

std::string formatNames() {
  std::set<std::string_view> names;
  for (const TraceFormat& format : formatRegistry().all()) names.insert(format.name);
  std::string text;
  for (std::size_t i = 0; const std::string_view name : names) {
    text += i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
    text += name;
    ++i;
  }
  return text;
}

std::vector<std::string> traceSuffixes() {
  std::set<std::string> suffixes = {".gz", ".zip", ".tar", ".tar.gz", ".tgz", ".zst", ".xz", ".bz2"};
  for (const TraceFormat& format : formatRegistry().all()) {
    for (std::string_view rest = format.suffixes; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      suffixes.emplace(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return {suffixes.begin(), suffixes.end()};
}

}  // namespace pipescope::importing
