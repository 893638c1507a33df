// SPDX-License-Identifier: MIT
// colours.js: a frame has the hue of its module, libc and language libraries are grey; neighbours
// differ a little.  Of a difference red is for what grew and blue for what shrank, the stronger the
// larger a share.

const NO_MODULE = 0;
const SYSTEM = 1;
/* Hues of modules, the one with most bytes first. */
const HUES = [28, 205, 130, 275, 345, 175, 55, 310];

function hashOf(text) {
  let hash = 7;
  for (let i = 0; i < text.length && i < 40; i++) hash = (hash * 31 + text.charCodeAt(i)) | 0;
  return hash;
}

/** The colour of a node that is shown as `text`.  `plain`: it is no function. */
export function colour(data, isDiff, tree, node, text, {dark, faint, plain}) {
  const label = tree.labels[node];
  const hash = hashOf(text);
  const shade = (dark ? 23 : 76) + ((hash >>> 4) % 6);
  if (isDiff) {
    const part = Math.sqrt(tree.size[node] / tree.size[0]);
    const saturation = faint ? 10 : Math.round(20 + 60 * part);
    return `hsl(${tree.values[node] < 0 ? 215 : 8} ${saturation}% ${shade}%)`;
  }
  const module = data.name_modules[label];
  const vary = (((hash >>> 8) % 17) - 8) * (data.modules.length > 3 ? 1 : 2);
  if (plain || module === SYSTEM) return `hsl(220 4% ${shade + (dark ? 6 : 2)}%)`;
  const hue = module === NO_MODULE ? 32 + 2 * vary : HUES[(module - 2) % HUES.length] + vary;
  return `hsl(${hue} ${faint ? 10 : dark ? 44 : 66}% ${shade}%)`;
}

/** What the colours mean: pairs of a text and a colour. */
export function legend(data, isDiff, dark) {
  if (isDiff)
    return [
      ["grew", `hsl(8 70% ${dark ? 40 : 70}%)`],
      ["shrank", `hsl(215 70% ${dark ? 40 : 70}%)`],
    ];
  const pairs = data.modules
    .slice(2, 2 + HUES.length)
    .map((text, i) => [text, `hsl(${HUES[i]} 60% ${dark ? 38 : 70}%)`]);
  if (data.name_modules.includes(SYSTEM))
    pairs.push(["libc and language libraries", `hsl(220 4% ${dark ? 26 : 78}%)`]);
  if (data.modules.length > 2 + HUES.length)
    pairs.push(["others: colours are used again", "transparent"]);
  return pairs;
}
