/* SPDX-License-Identifier: MIT */
"use strict";
/* The document, elements, and numbers as text. Foreign text becomes text nodes and nothing else. */

const whole = JSON.parse(document.getElementById("data").textContent);
/* The model that the page is about, of those that stand side by side: "?model=2" is the second. */
const shown = Math.min(Math.max(parseInt(new URLSearchParams(location.search).get("model"), 10) || 1, 1), whole.models.length) - 1;
const doc = whole.models[shown];
const $ = (id) => document.getElementById(id);

/* Characters that change how others are shown, or are not shown at all: written as their numbers. */
const UNSEEN = /[\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|\udb40[\udc00-\udfff]/g;

function codeOf(c) {
  return "\\u{" + c.codePointAt(0).toString(16) + "}";
}

/* Foreign text for attributes, where there are no elements. */
function plain(text) {
  return String(text).replace(UNSEEN, codeOf);
}

/* Text that may be broken after the dots and lines of names, which is better than anywhere. */
function breakable(text) {
  return text.split(/(?<=[._/])(?=[^._/])/).flatMap((part, i) => (i ? [el("wbr"), part] : [part]));
}

/* Foreign text for the page; what is not seen stands out. `keeps`: characters that may stay. */
function foreign(text, keeps) {
  const out = document.createElement("bdi");
  let from = 0;
  text = String(text);
  if (text === "") out.append(el("em", { class: "esc" }, "empty"));
  else if (text.trim() === "") text = text.replaceAll(" ", "\u2423");
  for (const m of text.matchAll(UNSEEN)) {
    if (keeps && keeps.includes(m[0])) continue;
    out.append(...breakable(text.slice(from, m.index)));
    out.append(el("em", { class: "esc" }, codeOf(m[0])));
    from = m.index + m[0].length;
  }
  out.append(...breakable(text.slice(from)));
  return out;
}

/* An element: attributes, functions for events, then children. */
function el(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function svg(name, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") node.addEventListener(key, value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat().filter((c) => c !== undefined && c !== null && c !== false));
  return node;
}

/* Numbers that JSON lacks are strings. */
function number(x) {
  return x === undefined || x === null ? undefined : Number(x);
}

function exact(n) {
  return Number(n).toLocaleString("en-US", { maximumFractionDigits: 0 });
}

function scaled(n, units, unit) {
  let i = 0;
  while (n >= 999.5 && i < units.length - 1) {
    n /= 1000;
    i++;
  }
  return (i === 0 ? exact(n) : n.toPrecision(3)) + (units[i] || unit ? " " + units[i] + unit : "");
}

const size = (n) => scaled(n, ["", "k", "M", "G", "T", "P"], "B");
const count = (n) => scaled(n, ["", "k", "M", "B", "T"], "");

function percent(part, whole) {
  if (!whole || !part) return "0 %";
  const share = (100 * part) / whole;
  return share < 0.1 ? "< 0.1 %" : share.toFixed(1) + " %";
}

/* Four digits, as tare info prints them. */
function real(x) {
  if (x === undefined) return "";
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "NaN" : x > 0 ? "∞" : "−∞";
  if (x === 0) return "0";
  const a = Math.abs(x);
  const text = a >= 1e-4 && a < 1e6 ? String(Number(x.toPrecision(4))) : x.toExponential(2);
  return text.replace(/-/g, "−");
}

/* A relative error. */
function errorText(e) {
  if (e === undefined) return "";
  if (e === 0) return "0";
  if (!Number.isFinite(e)) return "∞";
  return e >= 1e-4 ? (100 * e).toPrecision(3) + " %" : e.toExponential(1).replace("-", "−");
}

const plural = (n, word) => exact(n) + " " + word + (n === 1 ? "" : "s");
const sum = (list, f) => list.reduce((all, x) => all + f(x), 0);

/* ---- tensors ---------------------------------------------------------------------------------- */

/* What comes before a layer's number in a name, and after it. */
function series(name) {
  const m = /^(|.*?\.)(\d+)(?=\.|$)/.exec(name);
  return m ? [m[1], name.slice(m[0].length)] : null;
}

function prepare(t, index) {
  const elements = t.shape.reduce((n, d) => n * number(d), 1);
  const parts = t.layer === undefined ? null : series(t.name);
  return {
    ...t,
    index,
    elements,
    rank: 0,
    bytes: number(t.size_bytes),
    bits: elements ? (8 * number(t.size_bytes)) / elements : undefined,
    min: number(t.min),
    max: number(t.max),
    mean: number(t.mean),
    deviation: number(t.std_dev),
    zeros: number(t.zero_count),
    bad: (number(t.nan_count) || 0) + (number(t.infinite_count) || 0),
    error: number(t.relative_rmse),
    norm: number(t.base_norm),
    bins: t.histogram ? t.histogram.split(" ").map(Number) : null,
    role: t.role || "other",
    stack: parts ? parts[0] : null,
    series: parts ? parts[0] + "#" + parts[1] : null,
    words: (t.name + " " + t.type + " " + (t.role || "")).toLowerCase(),
    seen: true,
  };
}

const tensors = doc.tensors.map(prepare);
const totalBytes = sum(tensors, (t) => t.bytes);
const stacks = new Set(tensors.map((t) => t.stack).filter((s) => s !== null));

/* The error of several tensors as if they were one, as tare diff tells it: of those that differ, for norms that
 * are the same have large values, and would make it small. */
function errorOf(list) {
  let wrong = 0, all = 0, any = false;
  for (const t of list) {
    if (t.error === undefined) continue;
    any = true;
    if (t.error === 0) continue;
    if (t.error > 0 && !Number.isFinite(t.error)) return Infinity;
    if (!t.norm || !Number.isFinite(t.norm)) continue;
    wrong += (t.error * t.norm) ** 2;
    all += t.norm ** 2;
  }
  return any ? (all ? Math.sqrt(wrong / all) : 0) : undefined;
}

/* ---- keyboard --------------------------------------------------------------------------------- */

/* One of several elements is in the order of Tab; arrow keys move in the direction they say, to the
 * nearest in it. */
function rove(box, selector, event) {
  const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  const all = [...box.querySelectorAll(selector)];
  const from = event.target.closest(selector);
  let best = null;
  if (!from || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "Home") best = all[0];
  if (event.key === "End") best = all[all.length - 1];
  if (way) best = nearest(all, from, way);
  if (!way && !best) return;
  event.preventDefault();
  if (best) makeCurrent(all, best).focus();
}

function nearest(all, from, [dx, dy]) {
  const a = from.getBoundingClientRect();
  let best = null, least = Infinity;
  for (const other of all) {
    const b = other.getBoundingClientRect();
    const gap = dx ? (dx > 0 ? b.left - a.right : a.left - b.right) : dy > 0 ? b.top - a.bottom : a.top - b.bottom;
    if (other === from || gap < -2) continue;
    const aside = dx ? Math.max(a.top - b.bottom, b.top - a.bottom, 0) : Math.max(a.left - b.right, b.left - a.right, 0);
    const middle = dx ? Math.abs(a.top + a.bottom - b.top - b.bottom) : Math.abs(a.left + a.right - b.left - b.right);
    const far = Math.max(gap, 0) * 2 + aside * 8 + middle / 2;
    if (far < least) {
      least = far;
      best = other;
    }
  }
  return best;
}

function makeCurrent(all, one) {
  for (const other of all) other.tabIndex = other === one ? 0 : -1;
  return one;
}
