#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/plan/plan_request.h"
#include "app/plan/stage_settings.h"
#include "app/plan/varied_values.h"
#include "app/run/request/configuration_keys.h"
#include "engine/config/suggestion.h"
#include "engine/schedules/schedule.h"

namespace pipescope::app {
namespace {

/// The key with this path, flag or last part. Null if there is none, or several.
const config::Key* keyNamed(const std::string& name) {
  if (const config::Key* key = configurationKeys().find(name)) return key;
  std::string plain = name;
  std::ranges::replace(plain, '-', '_');
  // The training's keys come before those of inference with the same name.
  for (const char* table : {"training.", "execution.", "system.", "host.", "compile."}) {
    if (const config::Key* key = configurationKeys().find(table + plain)) return key;
  }
  return nullptr;
}

/// Values that are worth trying. None: the key has too many.
std::vector<std::string> usualValues(const config::Key& key) {
  if (key.path == "execution.schedule") {
    std::vector<std::string> names;
    for (const schedules::ScheduleDefinition& schedule : schedules::scheduleRegistry().all()) {
      if (schedule.pipelined) names.push_back(schedule.name);
    }
    return names;
  }
  if (key.path == "execution.recompute") return {"auto", "none", "pipeline", "checkpoints"};
  if (key.path == "execution.strategy") return {"pipelined", "sharded"};
  if (key.path == "execution.available_memory_proportion") return {"0.1", "0.2", "0.4", "0.6"};
  if (key.path == "training.micro_batch_size") return {"/4", "/2", "*1", "*2", "*4"};
  if (key.type == config::KeyType::boolean) return {"false", "true"};
  return key.choices;
}

}  // namespace

base::Result<PlanChoice> planChoice(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (name == kStageProportion) {
    PlanChoice choice{name, {"0.1", "0.2", "0.4", "0.6"}};
    if (equals != std::string::npos) {
      PIPESCOPE_ASSIGN(choice.values, variedValues(text));
    }
    return choice;
  }
  const config::Key* key = keyNamed(name);
  if (key == nullptr || key->path.find("[]") != std::string::npos) {
    const std::string near = config::nearest(name, configurationKeys().paths());
    return base::badInput(fmt::format("--vary {}: there is no key of this name{}", name,
                                      near.empty() ? "." : "; did you mean " + near + "?"));
  }
  // Without values, the plan chooses which results it keeps.
  if (key->path == "execution.checkpoints" && equals == std::string::npos)
    return PlanChoice{"execution.recompute", {"checkpoints"}};
  PlanChoice choice{key->path, {}};
  if (equals != std::string::npos) {
    PIPESCOPE_ASSIGN(choice.values, variedValues(text));
  } else if (key->path != "execution.stages") {
    choice.values = usualValues(*key);
  }
  const bool none = choice.values.empty() && key->path != "execution.stages";
  if (none || std::ranges::count(choice.values, "") > 0) {
    return base::badInput(fmt::format("--vary {} needs values to try: --vary {}=a,b,c.", text, name));
  }
  return choice;
}

}  // namespace pipescope::app
