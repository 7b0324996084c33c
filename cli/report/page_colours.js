/* SPDX-License-Identifier: MIT */
/* Colours: of kinds (Okabe and Ito's, which the colour-blind tell apart) and of amounts (one hue
 * from the ground's lightness away from it, so that more is more contrast in light and dark). */

const KINDS = [
  ["Embedding", "#3a84c4", /embedding$/],
  ["Attention", "#e39a10", /^attention/],
  ["Feed-forward", "#1f9e78", /^feed-forward/],
  ["Output", "#c877a6", /^output$/],
  ["Router", "#d1601a", /^router$/],
  ["Recurrent", "#67b7e6", /^recurrent$/],
  ["Norm", "#8b919b", /^norm$/],
  ["Other", "#b9bec6", /./],
];
const TYPE_COLOURS = ["#3a84c4", "#e39a10", "#1f9e78", "#c877a6", "#d1601a", "#67b7e6", "#d9cc3c", "#8b919b"];
/* Parts of the same kind are steps of its lightness. */
const STEPS = { query: 0.28, key: 0.5, value: 0, output: -0.14, gate: 0.26, up: 0, down: -0.16 };
const RAMPS = {
  light: ["#e8f0f8", "#b4d0e7", "#6ea7d0", "#2f77b0", "#114a82", "#06264d"],
  dark: ["#1d3247", "#255078", "#2f76ab", "#5ba3d0", "#a3d0ea", "#edf7fd"],
};

const kindOf = (role) => KINDS.find((k) => k[2].test(role));

const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
const hex = (c) => "#" + c.map((x) => Math.round(x).toString(16).padStart(2, "0")).join("");
const mix = (a, b, share) => a.map((x, i) => x + (b[i] - x) * share);

function stepped(colour, step) {
  return hex(mix(rgb(colour), step > 0 ? [255, 255, 255] : [0, 0, 0], Math.abs(step)));
}

function roleColour(role) {
  const kind = kindOf(role);
  const last = role.split(" ").pop();
  const hasSteps = kind[0] === "Attention" || kind[0] === "Feed-forward";
  return stepped(kind[1], (hasSteps && STEPS[last]) || 0);
}

/* Black or white, whichever is read better on the colour. */
function inkOn(colour) {
  const [r, g, b] = rgb(colour).map((x) => {
    x /= 255;
    return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

let isPrinting = false;

function isDark() {
  if (isPrinting) return false;
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/* A share of 0 to 1 as a colour. */
function ramp(share) {
  const stops = RAMPS[isDark() ? "dark" : "light"];
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const i = Math.min(Math.floor(at), stops.length - 2);
  return hex(mix(rgb(stops[i]), rgb(stops[i + 1]), at - i));
}

const rampCss = () => "linear-gradient(to right, " + [0, 0.2, 0.4, 0.6, 0.8, 1].map(ramp).join(", ") + ")";

/* Errors go from zero, in proportion: twice the error is twice as far from the ground. */
function errorScale() {
  const all = tensors.map((t) => t.error).filter((e) => e > 0 && Number.isFinite(e));
  const high = all.reduce((a, b) => Math.max(a, b), 0);
  return { high, any: all.length > 0, share: (e) => (high ? Math.min(e, high) / high : 0) };
}

/* Entry of a legend. */
function key(name, colour, more) {
  const swatch = el("i", { class: colour ? "swatch" : "swatch hatch" });
  if (colour) swatch.style.background = colour;
  return el("span", {}, swatch, el("b", {}, foreign(name)), more);
}

function rampKey(low, high) {
  const bar = el("i", { class: "ramp" });
  bar.style.background = rampCss();
  return el("span", {}, low, bar, high);
}

/* The ways to colour a tensor: its colour (none: hatched), the legend. */
const types = [...new Set(tensors.map((t) => t.type))]
  .map((type) => [type, sum(tensors.filter((t) => t.type === type), (t) => t.bytes)])
  .sort((a, b) => b[1] - a[1]);
const typeRank = new Map(types.map(([type], i) => [type, i]));
const scale = errorScale();
const mostBits = tensors.reduce((most, t) => Math.max(most, t.bits || 0), 0);

function keysBy(groups) {
  return groups.map(([name, colour, bytes]) => key(name, colour, size(bytes) + ", " + percent(bytes, totalBytes)));
}

const PAINTS = {
  role: {
    name: "Role",
    colour: (t) => roleColour(t.role),
    legend: () => keysBy(KINDS
      .map((k) => [k[0], k[1], sum(tensors.filter((t) => kindOf(t.role) === k), (t) => t.bytes)])
      .filter((k) => k[2])),
  },
  type: {
    name: "Type",
    colour: (t) => TYPE_COLOURS[Math.min(typeRank.get(t.type), TYPE_COLOURS.length - 1)],
    legend: () => keysBy(types.map(([type, bytes], i) => [type, TYPE_COLOURS[Math.min(i, TYPE_COLOURS.length - 1)], bytes])),
  },
  bits: {
    name: "Bits per weight",
    colour: (t) => ramp(mostBits ? (t.bits || 0) / mostBits : 0),
    legend: () => [rampKey("0", real(mostBits) + " bits per weight")],
  },
  error: {
    name: "Error",
    colour: (t) => errorColour(t.error),
    legend: () => errorKeys(),
  },
};

function errorColour(e) {
  if (e === undefined) return null;
  return e === 0 ? (isDark() ? "#2a2f37" : "#ffffff") : ramp(scale.share(e));
}

function errorKeys() {
  const keys = scale.any ? [rampKey("0", errorText(scale.high))] : [];
  if (tensors.some((t) => t.error === 0)) keys.push(key("same as in the base", errorColour(0)));
  if (tensors.some((t) => t.error === undefined)) keys.push(key("not compared", null));
  return keys;
}
