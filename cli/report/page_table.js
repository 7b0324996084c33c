/* SPDX-License-Identifier: MIT */
/* The table of all tensors: searched, sorted. The search also dims the treemap. */

const ROWS = 1000; /* at a time */
const SPARK = [96, 20];

/* Block 9 comes before block 10. */
const natural = new Intl.Collator("en", { numeric: true });
const text = (f) => ({ order: (a, b) => natural.compare(f(a), f(b)) });
/* What has no number comes last in either order. */
const amount = (f) => ({
  isAmount: true,
  order: (a, b) => f(a) - f(b),
  has: (t) => f(t) !== undefined && !Number.isNaN(f(t)),
});

const COLUMNS = [
  { name: "Name", class: "name mono", ...text((t) => t.name), cell: (t) => el("button", { type: "button", class: "link", click: () => openDetail(t) }, foreign(t.name)) },
  { name: "Type", ...text((t) => t.type), cell: (t) => t.type },
  { name: "Role", class: "wide", ...text((t) => t.role), cell: (t) => t.role + (t.is_bias ? ", bias" : "") },
  { name: "Shape", class: "shape wide", ...amount((t) => t.elements), cell: (t) => t.shape.join(" × ") },
  { name: "Size", class: "n", ...amount((t) => t.bytes), cell: (t) => size(t.bytes) },
  { name: "Packed", class: "n medium", if: (t) => t.packed_bytes !== undefined, ...amount((t) => number(t.packed_bytes)), cell: (t) => (t.packed_bytes === undefined ? "" : size(number(t.packed_bytes))) },
  { name: "Bits", class: "n medium", ...amount((t) => t.bits), cell: (t) => (t.bits === undefined ? "" : t.bits.toFixed(2)) },
  { name: "Mean", class: "n wide", if: (t) => t.mean !== undefined, ...amount((t) => t.mean), cell: (t) => real(t.mean) },
  { name: "Std dev", class: "n medium", if: (t) => t.deviation !== undefined, ...amount((t) => t.deviation), cell: (t) => real(t.deviation) },
  { name: "Zeros", class: "n wide", if: (t) => t.zeros !== undefined, ...amount((t) => (t.zeros === undefined || !t.elements ? undefined : t.zeros / t.elements)), cell: (t) => (t.zeros === undefined ? "" : percent(t.zeros, t.elements)) },
  { name: "Error", class: "n", if: (t) => t.error !== undefined, ...amount((t) => t.error), cell: (t) => errorText(t.error) || el("span", { class: "muted" }, t.against) },
  { name: "Values", class: "medium", if: (t) => t.bins, ...amount((t) => (t.bins ? t.max - t.min : undefined)), cell: spark },
].filter((c) => !c.if || tensors.some(c.if));

const list = { sort: null, isDown: false, limit: ROWS };

function spark(t) {
  if (!t.bins) return t.bad ? "no finite value" : "";
  const [w, h] = SPARK, most = Math.max(...t.bins);
  const step = w / t.bins.length;
  let path = "M0 " + h;
  t.bins.forEach((n, i) => {
    const y = n ? (h - 1) * (1 - n / most) : h;
    path += "V" + y.toFixed(1) + "H" + ((i + 1) * step).toFixed(1);
  });
  return svg("svg", { width: w, height: h, viewBox: "0 0 " + w + " " + h, role: "img", "aria-label": "from " + real(t.min) + " to " + real(t.max) }, svg("path", { class: "spark", d: path + "V" + h + "Z" }));
}

/* As in the file, but blocks in their own order, which converters do not keep. */
const places = new Map([...stacks].map((stack, i) => [stack, i + 1]));
const placeOf = (t) => places.get(t.stack) || 0;
const inFile = (a, b) => placeOf(a) - placeOf(b) || (a.layer || 0) - (b.layer || 0) || a.index - b.index;

function sorted() {
  const found = tensors.filter((t) => t.seen), c = list.sort;
  if (!c) return found.sort(inFile);
  const way = list.isDown ? -1 : 1;
  return found.sort((a, b) => {
    const has = c.has ? c.has(b) - c.has(a) : 0;
    if (has) return has;
    return (c.has && !c.has(a) ? 0 : way * c.order(a, b)) || a.index - b.index;
  });
}

function row(t) {
  return el("tr", {}, COLUMNS.map((c) => el(c.name === "Name" ? "th" : "td", { class: c.class, scope: c.name === "Name" ? "row" : null }, c.cell(t))));
}

function drawRows() {
  const all = sorted();
  $("table").tBodies[0].replaceChildren(...all.slice(0, list.limit).map(row));
  $("found").textContent = all.length === tensors.length ? plural(all.length, "tensor") + ", " + size(totalBytes) :
    exact(all.length) + " of " + plural(tensors.length, "tensor") + ", " + size(sum(all, (t) => t.bytes));
  $("more").hidden = all.length <= list.limit;
  $("more").textContent = "Show " + exact(Math.min(ROWS, all.length - list.limit)) + " more";
}

function sortBy(c) {
  if (list.sort !== c) [list.sort, list.isDown] = [c, Boolean(c.isAmount)];
  else if (list.isDown === Boolean(c.isAmount)) list.isDown = !list.isDown;
  else list.sort = null;
  for (const th of $("table").tHead.rows[0].cells) {
    const isOn = th.column === list.sort;
    if (isOn) th.setAttribute("aria-sort", list.isDown ? "descending" : "ascending");
    else th.removeAttribute("aria-sort");
    th.querySelector("span").textContent = isOn ? (list.isDown ? "↓" : "↑") : "";
  }
  drawRows();
}

function search() {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const t of tensors) t.seen = words.every((w) => t.words.includes(w));
  drawRows();
  dimMap();
}

function startTable() {
  const heads = COLUMNS.map((c) => {
    const th = el("th", { scope: "col", class: (c.class || "").replace("mono", "") },
      el("button", { type: "button", click: () => sortBy(c) }, c.name, el("span", { "aria-hidden": true })));
    th.column = c;
    return th;
  });
  $("table").append(el("caption", { class: "hidden" }, "Tensors; the buttons in the head sort them"), el("thead", {}, el("tr", {}, heads)), el("tbody", {}));
  $("search").addEventListener("input", search);
  $("more").addEventListener("click", () => {
    const first = list.limit;
    list.limit += ROWS;
    drawRows();
    $("table").tBodies[0].rows[first].querySelector("button").focus();
  });
  document.addEventListener("keydown", (event) => {
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || $("detail").open) return;
    event.preventDefault();
    $("search").focus();
  });
  drawRows();
}
