#include "app/plan/shared_variants.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace pipescope::app {
namespace {

using Json = nlohmann::json;

Json variantJson(const VariantResult& variant) {
  Json json;
  json["settings"] = variant.settings;
  json["rate"] = variant.samplesPerSecond;
  json["refusal"] = variant.refusal;
  if (variant.value) json["value"] = {variant.value->missing, variant.value->time};
  return json;
}

void readVariant(const Json& json, VariantResult& variant) {
  variant.settings = json.at("settings").get<std::vector<PlanSetting>>();
  variant.samplesPerSecond = json.at("rate").get<double>();
  variant.refusal = json.at("refusal").get<std::string>();
  variant.value.reset();
  if (json.contains("value"))
    variant.value = plan::Value{json["value"][0].get<std::int64_t>(), json["value"][1].get<std::int64_t>()};
}

}  // namespace

void joinVariants(const numerics::Instances& instances, const std::vector<std::size_t>& order,
                  std::vector<VariantResult>& variants) {
  const auto count = static_cast<std::size_t>(instances.count());
  Json own = Json::array();
  for (std::size_t i = static_cast<std::size_t>(instances.index()); i < order.size(); i += count)
    own.push_back(variantJson(variants[order[i]]));
  std::string text = own.dump(-1, ' ', false, Json::error_handler_t::replace);
  // Every instance must give equally many bytes. Blanks after a JSON text mean nothing.
  std::size_t longest = 0;
  const auto size = static_cast<std::int64_t>(text.size());
  const std::vector<std::byte> sizes = instances.gather(std::as_bytes(std::span(&size, 1)));
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t each = 0;
    std::memcpy(&each, sizes.data() + i * sizeof each, sizeof each);
    longest = std::max(longest, static_cast<std::size_t>(each));
  }
  text.resize(longest, ' ');
  const std::vector<std::byte> all = instances.gather(std::as_bytes(std::span(text)));
  for (std::size_t i = 0; i < count; ++i) {
    const char* first = reinterpret_cast<const char*>(all.data()) + i * longest;
    const Json theirs = Json::parse(first, first + longest);
    for (std::size_t k = 0; k < theirs.size(); ++k) readVariant(theirs[k], variants[order[i + k * count]]);
  }
}

}  // namespace pipescope::app
