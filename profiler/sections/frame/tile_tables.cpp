#include "profiler/sections/frame/tile_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/memory/unit_addresses.h"
#include "profiler/analysis/memory/unit_layout.h"
#include "profiler/analysis/memory/unit_vertices.h"
#include "profiler/base/progress.h"

namespace pipescope::sections {
namespace {

using analysis::DeviceMemory;

class TileTables {
 public:
  TileTables(const Context& context, bool whole) : context_(context) {
    const std::string where = whole ? "device" : "tile";
    tables_ = {placedTable(where), rangeTable(where), vertexTypeTable(where)};
  }

  void sayThatNoTileIsNamed() {
    for (SectionTable& table : tables_) table.lacks = "It is about one tile; name the tile as --tile N.";
  }

  base::Status add(const DeviceMemory& device, std::int64_t unit) {
    PIPESCOPE_ASSIGN(
        const analysis::UnitLayout layout,
        analysis::unitLayout(context_.source, context_.catalog, context_.executable, device.space, unit));
    if (!layout.known) {
      if (context_.unit < 0) return {};
      return base::badInput(
          "This profile does not say which tile holds what. Run again with --record steps or --record "
          "tiles.");
    }
    addVariables(device, unit, layout);
    PIPESCOPE_TRY(addRanges(device, unit, layout));
    return addVertices(device, unit);
  }
  std::vector<SectionTable> tables() && { return std::move(tables_); }

 private:
  static SectionTable placedTable(const std::string& where) {
    SectionTable table{
        "variables",
        "Variables",
        fmt::format("bytes on the {}, largest first, with a row for each life of a variable", where),
        {{"device", "Device", Format::index, ""},
         {"tile", "Tile", Format::index, "", where == "tile"},
         {"address", "Offset", Format::count, "address of the first byte; none: never live"},
         {"bytes", "Bytes", Format::bytes, ""},
         {"name", "Variable", Format::plain, ""},
         {"category", "Category", Format::term, ""},
         {"region", "Region", Format::term, ""},
         {"always_live", "Always live", Format::truth, ""},
         {"first_step", "From step", Format::index, "first program step in which it is live"},
         {"end_step", "To step", Format::index, "exclusive"},
         {"shape", "Shape", Format::plain, "of the whole variable", false},
         {"piece", "Piece", Format::index, "of a variable that lies in several pieces", false},
         {"pieces", "Pieces", Format::count, "", false}},
        {},
        20};
    return table;
  }
  static SectionTable rangeTable(const std::string& where) {
    return {"addresses",
            "Addresses",
            fmt::format("what lies where on the {}", where),
            {{"device", "Device", Format::index, ""},
             {"tile", "Tile", Format::index, "", where == "tile"},
             {"from", "From", Format::count, "first address"},
             {"to", "To", Format::count, "address behind the last byte"},
             {"bytes", "Bytes", Format::bytes, ""},
             {"category", "Category", Format::term, ""},
             {"region", "Region", Format::term, ""},
             {"always_live", "Always live", Format::truth, "what is not always live shares its addresses"}},
            {}};
  }
  static SectionTable vertexTypeTable(const std::string& where) {
    return {"vertices",
            "Vertices",
            fmt::format("on the {}, most bytes first", where),
            {{"device", "Device", Format::index, ""},
             {"tile", "Tile", Format::index, "", where == "tile"},
             {"type", "Vertex type", Format::plain, ""},
             {"count", "Count", Format::count, "sum over compute sets"},
             {"compute_sets", "Compute sets", Format::count, "that run some of them"},
             {"code_bytes", "Code", Format::bytes, "once for all vertices of the type"},
             {"state_bytes", "State", Format::bytes, "fields and edge pointers"},
             {"list_bytes", "Lists", Format::bytes, "that the vertices point to"}},
            {}};
  }

  void addVariables(const DeviceMemory& device, std::int64_t unit, const analysis::UnitLayout& layout) {
    std::vector<analysis::PlacedVariable> largestFirst = layout.variables;
    std::ranges::stable_sort(largestFirst, [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    const auto step = [](std::int32_t value) {
      return value < 0 ? Cell() : Cell(static_cast<std::int64_t>(value));
    };
    for (const analysis::PlacedVariable& row : largestFirst) {
      tables_[0].rows.push_back({static_cast<std::int64_t>(device.index), unit,
                                 row.address < 0 ? Cell() : Cell(row.address), row.bytes.count, row.name,
                                 row.category, row.region, row.alwaysLive, step(row.firstStep),
                                 step(row.endStep), row.shape, static_cast<std::int64_t>(row.piece),
                                 static_cast<std::int64_t>(row.pieces)});
    }
  }

  base::Status addRanges(const DeviceMemory& device, std::int64_t unit, const analysis::UnitLayout& layout) {
    PIPESCOPE_ASSIGN(
        const std::vector<analysis::AddressRange> ranges,
        analysis::unitAddresses(context_.source, context_.executable, device.space, unit, layout));
    for (const analysis::AddressRange& range : ranges) {
      tables_[1].rows.push_back({static_cast<std::int64_t>(device.index), unit, range.from, range.to,
                                 range.to - range.from, range.category, range.region,
                                 range.isGap() ? Cell() : Cell(range.alwaysLive)});
    }
    return {};
  }

  base::Status addVertices(const DeviceMemory& device, std::int64_t unit) {
    base::SilentProgress progress;
    PIPESCOPE_ASSIGN(const analysis::UnitVertices found,
                     analysis::unitVertices(context_.source, context_.catalog, context_.executable,
                                            device.space, {unit}, progress));
    for (const analysis::VertexType& type : found.types) {
      tables_[2].rows.push_back({static_cast<std::int64_t>(device.index), unit, type.type, type.count,
                                 type.computeSets, type.code.count, type.state.count, type.lists.count});
    }
    return {};
  }

  const Context& context_;
  std::vector<SectionTable> tables_;
};

}  // namespace

base::Result<std::vector<SectionTable>> tileTables(const Context& context, const analysis::Memory& memory) {
  const bool whole = std::ranges::all_of(memory.devices, [](const DeviceMemory& d) { return d.units <= 1; });
  TileTables tables(context, whole && !memory.devices.empty());
  if (context.unit >= 0 && whole && !memory.devices.empty())
    return base::badInput("These devices have no tiles. Leave --tile out to see the whole of their memory.");
  if (context.unit < 0 && !whole) tables.sayThatNoTileIsNamed();
  for (const DeviceMemory& device : memory.devices) {
    if (context.unit >= device.units)
      return base::badInput(fmt::format("{0} has tiles 0 to {1}; there is no tile {2}.", device.name,
                                        device.units - 1, context.unit));
    if (whole || context.unit >= 0) PIPESCOPE_TRY(tables.add(device, whole ? 0 : context.unit));
  }
  return std::move(tables).tables();
}

}  // namespace pipescope::sections
