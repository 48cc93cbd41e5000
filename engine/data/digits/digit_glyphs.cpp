#include "engine/data/digits/digit_glyphs.h"

#include <cstddef>

#include "profiler/base/check.h"

namespace pipescope::data {

namespace {

// The strokes of 0: an oval; an oval that overlaps itself; an oval that is open at the top.
constexpr Point zeroOval[] = {{.50F, .00F}, {.22F, .13F}, {.10F, .50F}, {.22F, .87F}, {.50F, 1.0F},
                              {.78F, .87F}, {.90F, .50F}, {.78F, .13F}, {.50F, .00F}};
constexpr Point zeroOverlap[] = {{.68F, .10F}, {.42F, .02F}, {.18F, .30F}, {.14F, .68F}, {.38F, .98F},
                                 {.68F, .92F}, {.86F, .60F}, {.82F, .25F}, {.58F, .03F}, {.34F, .08F}};
constexpr Point zeroOpen[] = {{.58F, .02F}, {.30F, .12F}, {.12F, .48F}, {.20F, .86F}, {.50F, 1.0F},
                              {.80F, .86F}, {.90F, .48F}, {.80F, .16F}, {.66F, .06F}};

// The strokes of 1: a bar; with a flag; with a flag and a foot.
constexpr Point oneBar[] = {{.50F, .00F}, {.50F, 1.0F}};
constexpr Point oneFlag[] = {{.24F, .24F}, {.55F, .00F}, {.55F, .00F}, {.55F, 1.0F}};
constexpr Point oneFlagOfFoot[] = {{.30F, .20F}, {.52F, .00F}, {.52F, .00F}, {.52F, 1.0F}};
constexpr Point oneFoot[] = {{.22F, 1.0F}, {.82F, 1.0F}};

// The strokes of 2: like a swan with a straight base; with a loop; with a steep back.
constexpr Point twoSwan[] = {{.14F, .26F}, {.28F, .05F}, {.60F, .00F}, {.83F, .20F}, {.70F, .52F},
                             {.40F, .80F}, {.12F, 1.0F}, {.12F, 1.0F}, {.50F, .98F}, {.90F, 1.0F}};
constexpr Point twoLoop[] = {{.14F, .20F}, {.44F, .00F}, {.80F, .14F}, {.76F, .45F}, {.46F, .80F},
                             {.20F, .98F}, {.10F, .86F}, {.28F, .77F}, {.55F, .92F}, {.92F, .96F}};
constexpr Point twoSteep[] = {{.20F, .14F}, {.50F, .00F}, {.78F, .16F}, {.74F, .42F},
                              {.18F, 1.0F}, {.18F, 1.0F}, {.86F, .94F}};

// The strokes of 3: two bows; with a flat top; two bows joined by a small loop.
constexpr Point threeBows[] = {{.15F, .12F}, {.48F, .00F}, {.80F, .18F}, {.66F, .42F}, {.38F, .48F},
                               {.38F, .48F}, {.70F, .54F}, {.88F, .76F}, {.56F, 1.0F}, {.12F, .88F}};
constexpr Point threeFlat[] = {{.15F, .02F}, {.82F, .00F}, {.82F, .00F}, {.44F, .40F}, {.44F, .40F},
                               {.76F, .50F}, {.86F, .76F}, {.54F, 1.0F}, {.12F, .90F}};
constexpr Point threeLoop[] = {{.18F, .16F}, {.50F, .00F}, {.78F, .16F}, {.68F, .40F},
                               {.42F, .52F}, {.36F, .44F}, {.52F, .44F}, {.84F, .62F},
                               {.80F, .90F}, {.46F, 1.0F}, {.12F, .86F}};

// The strokes of 4: open; closed; open with a bowl.
constexpr Point fourOpenLeft[] = {{.26F, .00F}, {.14F, .56F}, {.14F, .56F}, {.88F, .54F}};
constexpr Point fourOpenRight[] = {{.72F, .08F}, {.68F, 1.0F}};
constexpr Point fourClosed[] = {{.68F, 1.0F}, {.70F, .00F}, {.70F, .00F},
                                {.08F, .66F}, {.08F, .66F}, {.95F, .66F}};
constexpr Point fourBowlLeft[] = {{.18F, .02F}, {.12F, .36F}, {.30F, .54F}, {.76F, .50F}};
constexpr Point fourBowlRight[] = {{.82F, .00F}, {.76F, .50F}, {.72F, 1.0F}};

// The strokes of 5: one stroke; with the bar added last; like an S.
constexpr Point fiveOne[] = {{.84F, .02F}, {.26F, .00F}, {.26F, .00F}, {.20F, .44F}, {.20F, .44F},
                             {.58F, .38F}, {.88F, .64F}, {.66F, .95F}, {.14F, .96F}};
constexpr Point fiveBody[] = {{.26F, .04F}, {.20F, .46F}, {.20F, .46F}, {.62F, .42F},
                              {.86F, .70F}, {.60F, .98F}, {.14F, .92F}};
constexpr Point fiveBar[] = {{.28F, .04F}, {.88F, .00F}};
constexpr Point fiveSnake[] = {{.86F, .04F}, {.44F, .03F}, {.22F, .24F}, {.40F, .44F},
                               {.76F, .60F}, {.76F, .88F}, {.42F, 1.0F}, {.12F, .88F}};

// The strokes of 6: a bow with a belly; with a straight back; with a wide belly.
constexpr Point sixBow[] = {{.74F, .00F}, {.36F, .22F}, {.14F, .64F}, {.28F, .95F}, {.60F, 1.0F},
                            {.84F, .78F}, {.70F, .54F}, {.40F, .55F}, {.18F, .76F}};
constexpr Point sixStraight[] = {{.50F, .00F}, {.28F, .36F}, {.16F, .74F}, {.34F, 1.0F}, {.66F, .96F},
                                 {.80F, .72F}, {.60F, .56F}, {.34F, .66F}, {.20F, .84F}};
constexpr Point sixWide[] = {{.80F, .08F}, {.50F, .04F}, {.20F, .34F}, {.12F, .72F}, {.40F, 1.0F},
                             {.80F, .92F}, {.84F, .62F}, {.56F, .46F}, {.16F, .62F}};

// The strokes of 7: plain; crossed; with a serif.
constexpr Point sevenPlain[] = {{.10F, .04F}, {.88F, .02F}, {.88F, .02F}, {.56F, .50F}, {.40F, 1.0F}};
constexpr Point sevenCross[] = {{.26F, .52F}, {.82F, .48F}};
constexpr Point sevenSerif[] = {{.10F, .22F}, {.14F, .04F}, {.14F, .04F}, {.86F, .04F},
                                {.86F, .04F}, {.62F, .46F}, {.54F, 1.0F}};

// The strokes of 8: one stroke from the top right; two ovals; one stroke with a small head.
constexpr Point eightOne[] = {{.80F, .14F}, {.48F, .00F}, {.22F, .20F}, {.46F, .46F},
                              {.78F, .70F}, {.70F, .95F}, {.40F, 1.0F}, {.18F, .82F},
                              {.34F, .58F}, {.62F, .40F}, {.78F, .22F}, {.70F, .06F}};
constexpr Point eightHead[] = {{.50F, .00F}, {.26F, .10F}, {.24F, .34F}, {.50F, .46F},
                               {.76F, .34F}, {.74F, .10F}, {.50F, .00F}};
constexpr Point eightBelly[] = {{.50F, .46F}, {.20F, .60F}, {.18F, .86F}, {.50F, 1.0F},
                                {.82F, .86F}, {.80F, .60F}, {.50F, .46F}};
constexpr Point eightSmallHead[] = {{.64F, .04F}, {.40F, .04F}, {.36F, .26F}, {.62F, .50F},
                                    {.82F, .76F}, {.60F, 1.0F}, {.26F, .94F}, {.22F, .70F},
                                    {.48F, .46F}, {.72F, .22F}, {.64F, .04F}};

// The strokes of 9: a loop with a straight tail; with a bent tail; with a small head.
constexpr Point nineStraight[] = {{.80F, .18F}, {.50F, .00F}, {.18F, .18F}, {.26F, .44F}, {.58F, .46F},
                                  {.82F, .16F}, {.82F, .16F}, {.78F, .60F}, {.70F, 1.0F}};
constexpr Point nineBent[] = {{.82F, .26F}, {.60F, .02F}, {.26F, .08F}, {.18F, .38F}, {.48F, .52F},
                              {.80F, .30F}, {.84F, .50F}, {.70F, .88F}, {.26F, .98F}};
constexpr Point nineSmall[] = {{.72F, .10F}, {.44F, .02F}, {.24F, .22F}, {.42F, .42F}, {.70F, .30F},
                               {.74F, .06F}, {.74F, .06F}, {.66F, .54F}, {.48F, 1.0F}};

constexpr Stroke zeroStrokes[] = {zeroOval, zeroOverlap, zeroOpen};
constexpr Glyph zero[] = {{&zeroStrokes[0], 1}, {&zeroStrokes[1], 1}, {&zeroStrokes[2], 1}};
constexpr Stroke oneStrokes[] = {oneBar, oneFlag, oneFlagOfFoot, oneFoot};
constexpr Glyph one[] = {{&oneStrokes[0], 1}, {&oneStrokes[1], 1}, {&oneStrokes[2], 2}};
constexpr Stroke twoStrokes[] = {twoSwan, twoLoop, twoSteep};
constexpr Glyph two[] = {{&twoStrokes[0], 1}, {&twoStrokes[1], 1}, {&twoStrokes[2], 1}};
constexpr Stroke threeStrokes[] = {threeBows, threeFlat, threeLoop};
constexpr Glyph three[] = {{&threeStrokes[0], 1}, {&threeStrokes[1], 1}, {&threeStrokes[2], 1}};
constexpr Stroke fourStrokes[] = {fourOpenLeft, fourOpenRight, fourClosed, fourBowlLeft, fourBowlRight};
constexpr Glyph four[] = {{&fourStrokes[0], 2}, {&fourStrokes[2], 1}, {&fourStrokes[3], 2}};
constexpr Stroke fiveStrokes[] = {fiveOne, fiveBody, fiveBar, fiveSnake};
constexpr Glyph five[] = {{&fiveStrokes[0], 1}, {&fiveStrokes[1], 2}, {&fiveStrokes[3], 1}};
constexpr Stroke sixStrokes[] = {sixBow, sixStraight, sixWide};
constexpr Glyph six[] = {{&sixStrokes[0], 1}, {&sixStrokes[1], 1}, {&sixStrokes[2], 1}};
constexpr Stroke sevenStrokes[] = {sevenPlain, sevenCross, sevenSerif};
constexpr Glyph seven[] = {{&sevenStrokes[0], 1}, {&sevenStrokes[0], 2}, {&sevenStrokes[2], 1}};
constexpr Stroke eightStrokes[] = {eightOne, eightHead, eightBelly, eightSmallHead};
constexpr Glyph eight[] = {{&eightStrokes[0], 1}, {&eightStrokes[1], 2}, {&eightStrokes[3], 1}};
constexpr Stroke nineStrokes[] = {nineStraight, nineBent, nineSmall};
constexpr Glyph nine[] = {{&nineStrokes[0], 1}, {&nineStrokes[1], 1}, {&nineStrokes[2], 1}};

constexpr std::span<const Glyph> digits[] = {zero, one, two, three, four, five, six, seven, eight, nine};

}  // namespace

std::span<const Glyph> glyphsOf(int digit) {
  PIPESCOPE_CHECK(digit >= 0 && digit <= 9, "a digit is 0 to 9");
  return digits[static_cast<std::size_t>(digit)];
}

}  // namespace pipescope::data
