#include "profiler/geometry/svg_shapes.h"

#include <cstdlib>
#include <set>

namespace pipescope::geometry {
namespace {

std::string attribute(const char* name, int value) {
  return std::string(" ") + name + "=\"" + std::to_string(value) + "\"";
}

std::string rectangle(const Box& box, const std::string& style) {
  return "<rect" + attribute("x", box.x) + attribute("y", box.y) + attribute("width", box.width) +
         attribute("height", box.height) + " " + style + "/>\n";
}

std::string fillOf(const std::string& colour) {
  return "fill=\"" + colour + "\"";
}

std::string hatchName(ColourRole role) {
  return "hatch" + std::to_string(static_cast<int>(role));
}

/// Patterns for the hatches: diagonal lines of the role's colour.
std::string hatchPatterns(const Shapes& shapes, const RoleColour& colour) {
  std::set<ColourRole> roles;
  for (const Hatch& hatch : shapes.hatches) roles.insert(hatch.role);
  std::string out;
  for (const ColourRole role : roles) {
    out += "<pattern id=\"" + hatchName(role) +
           "\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
           "patternTransform=\"rotate(45)\"><line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\" stroke=\"" +
           colour(role) + "\" stroke-width=\"2\"/></pattern>\n";
  }
  return out.empty() ? out : "<defs>\n" + out + "</defs>\n";
}

/// Black or white, whichever is easier to read on a colour "#rrggbb".
std::string inkOn(const std::string& colour) {
  const auto part = [&](std::size_t at) {
    return static_cast<double>(std::strtol(colour.substr(at, 2).c_str(), nullptr, 16));
  };
  if (colour.size() != 7) return "black";
  return 0.299 * part(1) + 0.587 * part(3) + 0.114 * part(5) > 120 ? "black" : "white";
}

std::string labelText(const Label& label, const RoleColour& colour) {
  if (label.box.height < kLowestText || label.text.empty()) return {};
  const bool low = label.box.height < kLowText;
  return "<text" + attribute("x", label.box.x + label.box.width / 2) +
         attribute("y", label.box.y + label.box.height / 2 + (low ? 3 : 4)) +
         attribute("font-size", low ? 9 : 11) + " text-anchor=\"middle\" " +
         fillOf(label.hatched ? "black" : inkOn(colour(label.on))) + ">" + svgText(label.text) + "</text>\n";
}

}  // namespace

std::string svgText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::string svgShapes(const Shapes& shapes, const RoleColour& colour) {
  std::string out = hatchPatterns(shapes, colour);
  for (const auto& [role, box] : shapes.grounds) out += rectangle(box, fillOf(colour(role)));
  for (std::size_t role = 0; role < shapes.fills.size(); ++role) {
    for (const Box& box : shapes.fills[role])
      out += rectangle(box, fillOf(colour(static_cast<ColourRole>(role))));
  }
  for (const Hatch& hatch : shapes.hatches)
    out += rectangle(hatch.box, fillOf("url(#" + hatchName(hatch.role) + ")"));
  for (const Outline& outline : shapes.outlines)
    out += rectangle(outline.box, "fill=\"none\" stroke-width=\"2\" stroke=\"" + colour(outline.role) + "\"");
  for (const Arrow& arrow : shapes.arrows) {
    out += "<line" + attribute("x1", arrow.x1) + attribute("y1", arrow.y1) + attribute("x2", arrow.x2) +
           attribute("y2", arrow.y2) + " stroke=\"" + colour(arrow.role) + "\"/>\n";
  }
  for (const Line& line : shapes.lines) {
    out += "<line" + attribute("x1", line.x1) + attribute("y1", line.y1) + attribute("x2", line.x2) +
           attribute("y2", line.y2) + " stroke=\"" + colour(line.role) + "\"" +
           (line.strong ? " stroke-width=\"2\"" : "") + "/>\n";
  }
  for (const Label& label : shapes.labels) out += labelText(label, colour);
  return out;
}

}  // namespace pipescope::geometry
