/* SPDX-License-Identifier: MIT */
/* The treemap: squares as nearly as can be (Bruls, Huizing and van Wijk), groups of tensors first,
 * the tensors of one group when it is opened. A tile is a button; the tensors inside of a group's
 * are painted only. */

const GROUPS = {
  layer: (t) => (t.stack === null ? [t.name, t.name] : [t.stack + t.layer, (stacks.size > 1 ? t.stack : "layer ") + t.layer]),
  role: (t) => [t.role, t.role],
  type: (t) => [t.type, t.type],
};
const map = { box: $("treemap"), by: "layer", paint: "role", groups: [], open: null };

function makeGroups() {
  const found = new Map();
  for (const t of tensors) {
    const [id, name] = GROUPS[map.by](t);
    if (!found.has(id)) found.set(id, { id, name, list: [], bytes: 0, stack: t.stack === null ? stacks.size : [...stacks].indexOf(t.stack), rank: t.layer || 0, index: t.index });
    found.get(id).list.push(t);
    found.get(id).bytes += t.bytes;
  }
  map.groups = [...found.values()].filter((g) => g.bytes > 0);
}

/* Rectangles for items of descending value in a box, into item order. */
function squarify(values, x, y, w, h) {
  const out = [];
  let left = values.reduce((a, b) => a + b, 0);
  for (let i = 0; i < values.length; ) {
    const side = Math.min(w, h), area = left > 0 ? (w * h) / left : 0;
    let n = 0, row = 0, worst = Infinity;
    while (i + n < values.length) {
      const next = row + values[i + n];
      const length = side > 0 ? (next * area) / side : 0;
      const shape = (v) => Math.max((v * area) / length / length, (length * length) / (v * area));
      const now = Math.max(shape(values[i]), shape(values[i + n]));
      if (n && now > worst) break;
      worst = now;
      row = next;
      n++;
    }
    const thick = side > 0 ? (row * area) / side : 0;
    let along = 0;
    for (let k = i; k < i + n; k++) {
      const part = row > 0 ? (side * values[k]) / row : 0;
      out.push(w >= h ? [x, y + along, thick, part] : [x + along, y, part, thick]);
      along += part;
    }
    if (w >= h) [x, w] = [x + thick, Math.max(w - thick, 0)];
    else [y, h] = [y + thick, Math.max(h - thick, 0)];
    left -= row;
    i += n;
  }
  return out;
}

/* In shares of the box, so that the map fits paper too. */
function place(node, [x, y, w, h], width, height) {
  node.style.left = (100 * x) / width + "%";
  node.style.top = (100 * y) / height + "%";
  node.style.width = (100 * w) / width + "%";
  node.style.height = (100 * h) / height + "%";
}

function paint(node, t) {
  const colour = PAINTS[map.paint].colour(t);
  node.classList.toggle("hatch", !colour);
  if (colour) node.style.background = colour;
  return colour;
}

/* Equals in the order of layers. */
const bySize = (a, b) => b.bytes - a.bytes || a.rank - b.rank || a.index - b.index;
/* Blocks in their own order, those of a stack together; then what is in none. */
const byPlace = (a, b) => a.stack - b.stack || a.rank - b.rank || a.index - b.index;
const inOrder = (groups) => [...groups].sort(map.by === "layer" ? byPlace : bySize);
const LABEL = 20; /* height of a group's label, as the style sheet has it */

function groupTile(g, at) {
  const [, , w, h] = at;
  const hasLabel = w > 34 && h > 34, top = hasLabel ? LABEL : 0;
  const inner = el("span", { class: "inner" });
  const tile = el("button", {
    type: "button", class: hasLabel ? "tile has-label" : "tile", tabindex: -1,
    "aria-label": plain(g.name) + ": " + plural(g.list.length, "tensor") + ", " + size(g.bytes) + ", " + percent(g.bytes, totalBytes),
  }, inner);
  const list = g.list.filter((t) => t.bytes > 0).sort(bySize);
  squarify(list.map((t) => t.bytes), 0, 0, w, h - top).forEach((cell, i) => {
    if (cell[2] < 0.7 || cell[3] < 0.7) return;
    const node = el("span", { class: "cell", "data-tensor": list[i].index });
    place(node, cell, w, h - top);
    paint(node, list[i]);
    inner.append(node);
  });
  if (hasLabel) tile.append(el("span", { class: "label" }, w > 66 ? foreign(g.name) : foreign(g.name.replace(/^layer /, "")), w > 130 ? el("small", {}, "  " + size(g.bytes)) : null));
  tile.note = g.name + " · " + plural(g.list.length, "tensor") + " · " + size(g.bytes) + " · " + percent(g.bytes, totalBytes);
  tile.addEventListener("click", () => (g.list.length === 1 ? openDetail(g.list[0]) : zoom(g.id)));
  tile.list = g.list;
  return tile;
}

function noteOf(t) {
  const error = t.error === undefined ? "" : " · error " + errorText(t.error);
  return t.name + " · " + t.type + " · " + size(t.bytes) + " · " + percent(t.bytes, totalBytes) + error;
}

function tensorTile(t, at) {
  const [, , w, h] = at;
  const tile = el("button", { type: "button", class: "tile leaf", tabindex: -1, "data-tensor": t.index, "aria-label": plain(noteOf(t)) });
  const colour = paint(tile, t);
  if (w > 60 && h > 22) {
    const label = el("span", { class: "label" }, foreign(t.name), h > 60 ? el("small", {}, el("br"), t.type + ", " + size(t.bytes)) : null);
    if (colour) label.style.color = inkOn(colour);
    tile.append(label);
  }
  tile.note = noteOf(t);
  tile.addEventListener("click", () => openDetail(t));
  tile.list = [t];
  return tile;
}

function drawMap() {
  const w = map.box.clientWidth, h = map.box.clientHeight;
  const group = map.groups.find((g) => g.id === map.open);
  const items = group ? group.list.filter((t) => t.bytes > 0).sort(bySize) : inOrder(map.groups);
  const tiles = squarify(items.map((x) => x.bytes), 0, 0, w, h).map((at, i) => {
    const tile = group ? tensorTile(items[i], at) : groupTile(items[i], at);
    place(tile, at, w, h);
    return tile;
  });
  map.box.replaceChildren(...tiles);
  if (tiles.length) tiles[0].tabIndex = 0;
  $("legend").replaceChildren(...PAINTS[map.paint].legend());
  drawTrail(group);
  dimMap();
}

function drawTrail(group) {
  const all = el("button", { type: "button", class: "link", click: () => zoom(null) }, "All tensors");
  $("trail").replaceChildren(...(group ? [all, el("span", { "aria-hidden": true }, "›"), el("b", { "aria-current": true }, foreign(group.name)), el("span", { class: "muted" }, size(group.bytes))] : [el("b", { "aria-current": true }, "All tensors"), el("span", { class: "muted" }, size(totalBytes))]));
  $("map-note").textContent = "";
}

/* Opens a group, or all; the keyboard goes on where it came from. */
function zoom(id) {
  const from = map.open;
  map.open = id;
  drawMap();
  map.box.classList.remove("enter");
  void map.box.offsetWidth;
  map.box.classList.add("enter");
  const all = [...map.box.querySelectorAll(".tile")];
  const sorted = inOrder(map.groups);
  const i = id === null ? sorted.findIndex((g) => g.id === from) : 0;
  if (all.length) makeCurrent(all, all[Math.max(i, 0)]).focus({ preventScroll: true });
}

/* What the search does not find is faint. */
function dimMap() {
  for (const tile of map.box.children) {
    tile.classList.toggle("dim", !tile.list.some((t) => t.seen));
    for (const cell of tile.querySelectorAll(".cell")) cell.classList.toggle("dim", !tensors[cell.dataset.tensor].seen);
  }
}

function mapNote(event) {
  const cell = event.target.closest && event.target.closest(".cell"), tile = event.target.closest(".tile");
  if (cell) $("map-note").textContent = plain(noteOf(tensors[cell.dataset.tensor]));
  else if (tile) $("map-note").textContent = plain(tile.note);
}

function choices(select, entries, chosen, take) {
  select.append(...entries.map(([value, name]) => el("option", { value, selected: value === chosen }, name)));
  select.addEventListener("change", () => take(select.value));
}

function startMap() {
  const paints = Object.entries(PAINTS).filter(([id]) => id !== "error" || doc.base);
  if (!tensors.some((t) => t.stack !== null)) map.by = "role";
  if (!tensors.some((t) => t.role !== "other")) map.by = map.paint = "type";
  choices($("group-by"), [["layer", "Layer"], ["role", "Role"], ["type", "Type"]], map.by, (by) => {
    map.by = by;
    map.open = null;
    makeGroups();
    drawMap();
  });
  choices($("colour-by"), paints.map(([id, p]) => [id, p.name]), map.paint, (id) => {
    map.paint = id;
    drawMap();
  });
  map.box.addEventListener("keydown", (event) => {
    if ((event.key === "Escape" || event.key === "Backspace") && map.open !== null) {
      event.preventDefault();
      zoom(null);
    } else rove(map.box, ".tile", event);
  });
  map.box.addEventListener("pointerover", mapNote);
  map.box.addEventListener("focusin", mapNote);
  map.box.addEventListener("pointerleave", () => ($("map-note").textContent = ""));
  makeGroups();
  new ResizeObserver(() => drawMap()).observe(map.box);
  $("bytes").hidden = totalBytes === 0;
}
