// SPDX-License-Identifier: MIT
// colours.js: a frame has the hue of its module, libc and language libraries are grey; neighbours
// differ a little.  Of a difference red is for what grew and green for what shrank, stronger for a
// larger share.  By age, frames are yellow when young, then green, and blue when old; by growth
// they are red and green by how much of what they hold is new.

const NO_MODULE = 0;
const SYSTEM = 1;
/* Hues of modules, the one with most bytes first. */
const HUES = [28, 205, 130, 275, 345, 175, 55, 310];

const AGES = ["under 1 us", "1 us", "1 ms", "1 s", "over 1000 s"],
  AGE_DECADES = [0, 1, 4, 7, 10],
  GREW_HUE = 8,
  SHRANK_HUE = 160, // bluish, so that most who confuse red and green tell it from red
  YOUNG_HUE = 50,
  OLD_HUE = 250;
/* White letters have a contrast of 4.5 to 0.155. */
const DARK_LUMINANCE = [0.085, 0.098, 0.111, 0.124, 0.137, 0.15],
  DARK_SATURATION = 55;
const ageHue = decade => Math.round(YOUNG_HUE + ((OLD_HUE - YOUNG_HUE) * decade) / 10);

function hashOf(text) {
  let hash = 7;
  for (let i = 0; i < text.length && i < 40; i++) hash = (hash * 31 + text.charCodeAt(i)) | 0;
  return hash;
}

/** How a frame is shaded: by its age, the number of a decade from 0 to 10; by growth, from -1 to 1.
 * null: it holds nothing.  `by`: what `coloursOf` returned. */
export function shadeOf(data, by, tree, node) {
  const live = tree.column(data.values[liveType(data)])[node];
  if (by === "age")
    return live > 0 ? Math.max(0, Math.min(10, tree.column(data.ages)[node] / live)) : null;
  const grown = tree.column(data.growth)[node],
    most = Math.max(Math.abs(live), Math.abs(live - grown));
  return most > 0 ? Math.max(-1, Math.min(1, grown / most)) : null;
}

const liveType = data => data.types.findIndex(one => one.name === "inuse_space");

/** What frames can be coloured by: "module", "age", "growth". */
export const coloursOf = data =>
  ["module"]
    .concat(data.ages && liveType(data) >= 0 ? "age" : [])
    .concat(data.growth && liveType(data) >= 0 ? "growth" : []);

/* WCAG's luminance of "hsl(hue saturation% lightness%)". */
function luminance(hue, saturation, lightness) {
  const a = (saturation / 100) * Math.min(lightness / 100, 1 - lightness / 100);
  return [0, 8, 4].reduce((sum, n, i) => {
    const k = (((n + hue / 30) % 12) + 12) % 12;
    const part = lightness / 100 - a * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return sum + ((part + 0.055) / 1.055) ** 2.4 * [0.2126, 0.7152, 0.0722][i];
  }, 0);
}

/* On a dark ground all hues are equally bright, as bright as white letters permit: blue needs more
 * lightness for that than yellow.  `step`: 0 to 5, the brightest. */
const known = new Map();
function darkLightness(hue, saturation, step) {
  const key = `${hue} ${saturation} ${step}`;
  if (!known.has(key)) {
    let lightness = 15;
    while (luminance(hue, saturation, lightness + 1) < DARK_LUMINANCE[step]) lightness++;
    known.set(key, lightness);
  }
  return known.get(key);
}

function shaded(by, value, lightness, faint) {
  if (value === null) return `hsl(220 4% ${lightness}%)`;
  if (by === "age") return `hsl(${ageHue(value)} ${faint ? 10 : 48}% ${lightness}%)`;
  const saturation = faint ? 10 : Math.round(5 + 70 * Math.sqrt(Math.abs(value)));
  return `hsl(${value < 0 ? SHRANK_HUE : GREW_HUE} ${saturation}% ${lightness}%)`;
}

/** The colour of a node that is shown as `text`.  `plain`: it is no function.  `by`: what the
 * colour tells. */
export function colour(data, isDiff, tree, node, text, {dark, faint, plain, by = "module"}) {
  const label = tree.labels[node];
  const hash = hashOf(text);
  const shade = (dark ? 23 : 76) + ((hash >>> 4) % 6);
  if (by !== "module") return shaded(by, shadeOf(data, by, tree, node), shade, faint);
  if (isDiff) {
    const part = Math.sqrt(tree.size[node] / tree.size[0]);
    const saturation = faint ? 10 : Math.round(20 + 60 * part);
    return `hsl(${tree.values[node] < 0 ? SHRANK_HUE : GREW_HUE} ${saturation}% ${shade}%)`;
  }
  const module = data.name_modules[label];
  const vary = (((hash >>> 8) % 17) - 8) * (data.modules.length > 3 ? 1 : 2);
  if (plain || module === SYSTEM) return `hsl(220 4% ${shade + (dark ? 6 : 2)}%)`;
  const hue = module === NO_MODULE ? 32 + 2 * vary : HUES[(module - 2) % HUES.length] + vary;
  const saturation = faint ? 10 : dark ? DARK_SATURATION : 66;
  return `hsl(${hue} ${saturation}% ${dark ? darkLightness(hue, saturation, shade - 23) : shade}%)`;
}

/** What the colours mean: pairs of a text and a colour. */
export function legend(data, isDiff, dark, by = "module") {
  const bright = dark ? 38 : 70;
  if (by === "age")
    return AGES.map((text, i) => [
      (i === 0 ? "age of memory in use: " : "") + text,
      shaded(by, AGE_DECADES[i], bright, false),
    ]);
  if (by === "growth")
    return [
      ["new", 1],
      ["grew by half", 1 / 3],
      ["unchanged", 0],
      ["halved", -0.5],
    ].map(([text, value]) => [text, shaded(by, value, bright, false)]);
  if (isDiff)
    return [
      ["grew", `hsl(${GREW_HUE} 70% ${dark ? 40 : 70}%)`],
      ["shrank", `hsl(${SHRANK_HUE} 70% ${dark ? 40 : 70}%)`],
    ];
  const pairs = data.modules
    .slice(2, 2 + HUES.length)
    .map((text, i) => [
      text,
      dark
        ? `hsl(${HUES[i]} ${DARK_SATURATION}% ${darkLightness(HUES[i], DARK_SATURATION, 3)}%)`
        : `hsl(${HUES[i]} 60% 70%)`,
    ]);
  if (data.name_modules.includes(SYSTEM))
    pairs.push(["libc and language libraries", `hsl(220 4% ${dark ? 33 : 80}%)`]);
  if (data.modules.length > 2 + HUES.length)
    pairs.push(["others: colours are used again", "transparent"]);
  return pairs;
}
