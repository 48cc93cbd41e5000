#include "engine/data/digits/digit_renderer.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

#include "engine/data/data_random.h"
#include "engine/data/digits/digit_glyphs.h"

namespace pipescope::data {

namespace {

static_assert(FLT_EVAL_METHOD == 0, "floats must be computed as floats, or images differ between machines");

/// The warp is given at the corners of warpCells × warpCells cells over the box.
constexpr int warpCells = 3;
constexpr int pathSteps = 6;  ///< straight pieces per span of a stroke; they stay within ¼ pixel of the curve
constexpr float half = 0.5F;
constexpr float centre = static_cast<float>(digitSide) * half;

/// The handwriting of one digit. Lengths are in pixels unless noted.
struct Style {
  float width = 0, height = 0;
  float cosine = 1, sine = 0;  ///< cosine and sine of the angle at which the digit is turned
  float shear = 0;             ///< slant of the digit: x per y
  float shiftX = 0, shiftY = 0;
  float radius = 0;                    ///< radius of the pen
  float pressureX = 0, pressureY = 0;  ///< relative change of the radius across the box
  float softness = 0;                  ///< width of the edge from ink to paper
  float ink = 0;                       ///< darkness from 0 to 1
  float grain = 0;                     ///< relative strength of the noise in the ink
  std::array<Point, (warpCells + 1) * (warpCells + 1)> warp{};  ///< offsets in units of the box
};

Style drawStyle(DataRandom& random) {
  Style style;
  style.height = random.between(13.5F, 21.0F);
  style.width = style.height * random.between(0.52F, 0.98F);
  // Computes cos and sin from the tangent of the half angle. These are rational functions, so the result does
  // not depend on a maths library's last bit. |angle| < 27°.
  const float t = 0.16F * random.bell();
  style.cosine = (1.0F - t * t) / (1.0F + t * t);
  style.sine = 2.0F * t / (1.0F + t * t);
  style.shear = 0.05F + 0.32F * random.bell();
  style.shiftX = 2.5F * random.bell();
  style.shiftY = 2.1F * random.bell();
  style.radius = style.height * random.between(0.052F, 0.108F);
  style.pressureX = 0.3F * random.bell();
  style.pressureY = 0.3F * random.bell();
  style.softness = random.between(0.9F, 1.7F);
  style.ink = random.between(0.85F, 1.0F);
  style.grain = random.between(0.0F, 0.3F);
  const float warp = random.between(0.04F, 0.125F);
  for (Point& corner : style.warp) corner = {warp * random.bell(), warp * random.bell()};
  return style;
}

float smooth(float t) {
  return t * t * (3.0F - 2.0F * t);
}

/// Applies the warp to a point of the box. The warp is a smooth field, so strokes that meet still meet
/// afterwards.
Point warped(const Style& style, Point p) {
  const auto cellOf = [](float v) { return std::clamp(static_cast<int>(v * warpCells), 0, warpCells - 1); };
  const int column = cellOf(p.x);
  const int row = cellOf(p.y);
  const float u = smooth(std::clamp(p.x * warpCells - static_cast<float>(column), 0.0F, 1.0F));
  const float v = smooth(std::clamp(p.y * warpCells - static_cast<float>(row), 0.0F, 1.0F));
  const auto corner = [&](int dx, int dy) {
    return style.warp[static_cast<std::size_t>((row + dy) * (warpCells + 1) + column + dx)];
  };
  const auto mix = [&](float Point::*axis) {
    const float top = corner(0, 0).*axis * (1.0F - u) + corner(1, 0).*axis * u;
    const float bottom = corner(0, 1).*axis * (1.0F - u) + corner(1, 1).*axis * u;
    return top * (1.0F - v) + bottom * v;
  };
  return {p.x + mix(&Point::x), p.y + mix(&Point::y)};
}

struct PenPoint {
  float x, y, radius;
};

PenPoint toPixels(const Style& style, Point p) {
  const Point q = warped(style, p);
  const float y = (q.y - half) * style.height;
  const float x = (q.x - half) * style.width - style.shear * y;
  const float press = 1.0F + style.pressureX * (p.x - half) + style.pressureY * (p.y - half);
  return {centre + style.shiftX + style.cosine * x - style.sine * y,
          centre + style.shiftY + style.sine * x + style.cosine * y, style.radius * press};
}

Point catmullRom(Point before, Point from, Point to, Point after, float t) {
  const auto blend = [t](float a, float b, float c, float d) {
    return half * (2.0F * b +
                   t * ((c - a) + t * ((2.0F * a - 5.0F * b + 4.0F * c - d) + t * (3.0F * (b - c) + d - a))));
  };
  return {blend(before.x, from.x, to.x, after.x), blend(before.y, from.y, to.y, after.y)};
}

bool same(Point a, Point b) {
  return a.x == b.x && a.y == b.y;
}

void tracePath(const Style& style, Stroke stroke, std::vector<PenPoint>& path) {
  path.clear();
  path.push_back(toPixels(style, stroke.front()));
  for (std::size_t i = 0; i + 1 < stroke.size(); ++i) {
    const Point from = stroke[i];
    const Point to = stroke[i + 1];
    if (same(from, to)) continue;  // a corner: two equal points end one span and start the next
    const Point before = stroke[i == 0 ? 0 : i - 1];
    const Point after = stroke[std::min(i + 2, stroke.size() - 1)];
    for (int step = 1; step <= pathSteps; ++step) {
      const float t = static_cast<float>(step) / static_cast<float>(pathSteps);
      path.push_back(toPixels(style, catmullRom(before, from, to, after, t)));
    }
  }
}

using Canvas = std::array<float, digitSide * digitSide>;

struct PixelRange {
  int first, last;  ///< inclusive; the range is empty if last < first
};

PixelRange pixelsBetween(float low, float high) {
  const auto side = static_cast<float>(digitSide);
  return {static_cast<int>(std::clamp(low, 0.0F, side)),
          static_cast<int>(std::clamp(high, -1.0F, side - 1.0F))};
}

/// Draws the pen's path from `a` to `b` on the canvas: full ink within the radius, fading over `softness`.
void inkPiece(Canvas& canvas, PenPoint a, PenPoint b, float softness) {
  const float reach = std::max(a.radius, b.radius) + half * softness;
  const PixelRange columns = pixelsBetween(std::min(a.x, b.x) - reach, std::max(a.x, b.x) + reach);
  const PixelRange rows = pixelsBetween(std::min(a.y, b.y) - reach, std::max(a.y, b.y) + reach);
  const float dx = b.x - a.x;
  const float dy = b.y - a.y;
  const float length2 = dx * dx + dy * dy;
  for (int row = rows.first; row <= rows.last; ++row) {
    for (int column = columns.first; column <= columns.last; ++column) {
      const float px = static_cast<float>(column) + half - a.x;
      const float py = static_cast<float>(row) + half - a.y;
      const float along = length2 > 0 ? std::clamp((px * dx + py * dy) / length2, 0.0F, 1.0F) : 0.0F;
      const float ex = px - along * dx;
      const float ey = py - along * dy;
      const float radius = a.radius + along * (b.radius - a.radius);
      const float inside = (radius - std::sqrt(ex * ex + ey * ey)) / softness + half;
      float& pixel = canvas[static_cast<std::size_t>(row) * digitSide + static_cast<std::size_t>(column)];
      pixel = std::max(pixel, smooth(std::clamp(inside, 0.0F, 1.0F)));
    }
  }
}

/// Draws a round spot of `strength` ink. A negative strength removes ink.
void speck(Canvas& canvas, float x, float y, float radius, float strength) {
  Canvas spot{};
  inkPiece(spot, {x, y, radius}, {x, y, radius}, 1.0F);
  for (std::size_t i = 0; i < canvas.size(); ++i) {
    canvas[i] =
        strength < 0 ? canvas[i] * (1.0F + strength * spot[i]) : std::max(canvas[i], strength * spot[i]);
  }
}

/// Each statement draws only one random number, because the compiler chooses the order of a call's arguments.
void dirty(Canvas& canvas, DataRandom& random) {
  constexpr float margin = 2.0F;
  const auto place = [&random] { return random.between(margin, static_cast<float>(digitSide) - margin); };
  for (std::uint64_t scratches = random.below(3); scratches > 0; --scratches) {
    const float x = place();
    const float y = place();
    const float radius = random.between(0.6F, 1.4F);
    speck(canvas, x, y, radius, -random.between(0.5F, 1.0F));
  }
  for (std::uint64_t spots = random.below(4); spots > 0; --spots) {
    const float x = place();
    const float y = place();
    const float radius = random.between(0.4F, 0.9F);
    speck(canvas, x, y, radius, random.between(0.25F, 0.75F));
  }
}

}  // namespace

DigitImage renderDigit(std::uint64_t seed, DataSplit split, std::int64_t index) {
  DataRandom random(seed, split == DataSplit::train ? RandomPurpose::trainDigits : RandomPurpose::testDigits,
                    static_cast<std::uint64_t>(index));
  DigitImage image;
  const auto digit = static_cast<int>(random.below(10));
  image.label = static_cast<std::uint8_t>(digit);
  const auto glyphs = glyphsOf(digit);
  const Glyph glyph = glyphs[random.below(glyphs.size())];
  const Style style = drawStyle(random);
  Canvas canvas{};
  std::vector<PenPoint> path;
  for (const Stroke stroke : glyph) {
    tracePath(style, stroke, path);
    for (std::size_t i = 0; i + 1 < path.size(); ++i) inkPiece(canvas, path[i], path[i + 1], style.softness);
  }
  dirty(canvas, random);
  for (std::size_t i = 0; i < canvas.size(); ++i) {
    const float noisy = canvas[i] * style.ink * (1.0F - style.grain * random.unit());
    image.pixels[i] = static_cast<std::uint8_t>(std::clamp(noisy, 0.0F, 1.0F) * 255.0F + half);
  }
  return image;
}

}  // namespace pipescope::data
