#include "profiler/sections/frame/schema.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "profiler/record/memory_profile.h"
#include "profiler/sections/diff/diff_section.h"
#include "profiler/sections/replays.h"

namespace pipescope::sections {
namespace {

using SchemaJson = nlohmann::ordered_json;

const char* typeNameOf(Format format) {
  switch (format) {
    case Format::plain:
    case Format::list:
    case Format::term:
      return "string";
    case Format::truth:
      return "boolean";
    case Format::index:
    case Format::count:
    case Format::bytes:
    case Format::stage:
      return "integer";
    case Format::number:
    case Format::amount:
    case Format::ticks:
    case Format::fraction:
    case Format::ratio:
    case Format::seconds:
    case Format::rate:
    case Format::byteRate:
    case Format::ofRow:
      break;
  }
  return "number";
}

/// Every value may be missing.
SchemaJson valueSchema(Format format, const std::string& doc) {
  SchemaJson schema = {{"type", {typeNameOf(format), "null"}}};
  if (!doc.empty()) schema["description"] = doc;
  return schema;
}

SchemaJson closedObject(SchemaJson properties) {
  SchemaJson required = SchemaJson::array();
  for (const auto& [key, value] : properties.items()) required.push_back(key);
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

SchemaJson memberSchema(Format format, const std::string& doc, const PartNames& parts) {
  if (parts.empty()) return valueSchema(format, doc);
  SchemaJson schema;
  if (parts == kAnyParts) {
    schema = {{"type", "object"},
              {"patternProperties", {{"^[a-z0-9_]+$", valueSchema(format, "")}}},
              {"additionalProperties", false}};
  } else {
    SchemaJson properties = SchemaJson::object();
    for (const std::string& part : parts) properties[snakeCase(part)] = valueSchema(format, "");
    schema = closedObject(std::move(properties));
  }
  if (!doc.empty()) schema["description"] = doc;
  return schema;
}

SchemaJson tableSchema(const SectionTable& table) {
  SchemaJson properties = SchemaJson::object();
  for (const SectionColumn& column : table.columns)
    properties[column.key] = memberSchema(column.format, meaningOf(column), column.parts);
  SchemaJson row = closedObject(std::move(properties));
  if (!table.moreColumns.empty())
    row["patternProperties"] = {{"^" + table.moreColumns + "$", valueSchema(Format::bytes, "")}};
  const std::string doc =
      table.basis.empty() ? table.title : fmt::format("{} ({})", table.title, table.basis);
  return {{"type", "array"}, {"description", doc}, {"items", std::move(row)}};
}

SchemaJson objectSchema(const Section& section) {
  SchemaJson properties = SchemaJson::object();
  for (const Fact& fact : section.facts) {
    properties[fact.key] = memberSchema(fact.format, fact.doc, fact.parts);
    if (!fact.parts.empty()) properties[fact.key]["type"] = {"object", "null"};
  }
  for (const SectionTable& table : section.tables) properties[table.key] = tableSchema(table);
  properties["remarks"] = {{"type", "array"}, {"items", {{"type", "string"}}}};
  SchemaJson schema = {{"title", section.title}};
  schema.update(closedObject(std::move(properties)));
  return schema;
}

std::string document(const SchemaJson& schema) {
  SchemaJson whole = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                      {"$comment",
                       "Fractions are between 0 and 1. Keys that end in _cycles count ticks of the "
                       "device's timebase. null: the profile has no such figure."}};
  whole.update(schema);
  return whole.dump(2, ' ', false, SchemaJson::error_handler_t::replace);
}

/// A profile with one executable in which nothing ran. Its sections have all keys.
struct EmptyProfile {
  record::MemoryProfile profile;
  std::shared_ptr<const analysis::Catalog> catalog;

  base::Status make() {
    model::RowSet rows;
    model::Executable executable;
    executable.id = model::ExecutableId(0);
    rows.of<model::Executable>() = {executable};
    PIPESCOPE_TRY(profile.commit(rows));
    PIPESCOPE_ASSIGN(catalog, analysis::loadCatalog(profile));
    return {};
  }
  Context context() const { return {profile, *catalog, model::ExecutableId(0)}; }
};

}  // namespace

std::string meaningOf(const SectionColumn& column) {
  if (column.heading == column.doc || column.doc.empty()) return column.heading;
  return fmt::format("{}: {}", column.heading, column.doc);
}

base::Result<std::vector<std::pair<const SectionDefinition*, Section>>> emptySections() {
  EmptyProfile empty;
  PIPESCOPE_TRY(empty.make());
  std::vector<std::pair<const SectionDefinition*, Section>> sections;
  for (const SectionDefinition& definition : sectionRegistry().all()) {
    PIPESCOPE_ASSIGN(Section section, makeSection(definition, empty.context()));
    sections.emplace_back(&definition, std::move(section));
  }
  return sections;
}

std::string schemaOf(const Section& section) {
  return document(objectSchema(section));
}

base::Result<std::string> schemaOfReport() {
  PIPESCOPE_ASSIGN(const auto sections, emptySections());
  SchemaJson properties = SchemaJson::object();
  for (const auto& [definition, section] : sections) {
    properties[definition->name] = objectSchema(section);
    properties[definition->name]["description"] = definition->doc;
  }
  return document(closedObject(std::move(properties)));
}

base::Result<std::string> schemaOfSection(const std::string& name) {
  EmptyProfile empty;
  PIPESCOPE_TRY(empty.make());
  PIPESCOPE_ASSIGN(const SectionDefinition* definition, findSection(name));
  PIPESCOPE_ASSIGN(const Section section, makeSection(*definition, empty.context()));
  return schemaOf(section);
}

base::Result<std::string> schemaOfDiff() {
  EmptyProfile empty;
  PIPESCOPE_TRY(empty.make());
  PIPESCOPE_ASSIGN(const Section section, diffSection(empty.context(), empty.context(), {}, {}));
  return schemaOf(section);
}

base::Result<std::string> schemaOfWhatIf() {
  EmptyProfile empty;
  PIPESCOPE_TRY(empty.make());
  return schemaOf(whatIfSection(empty.context().catalog, std::nullopt, {}));
}

}  // namespace pipescope::sections
