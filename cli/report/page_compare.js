/* SPDX-License-Identifier: MIT */
/* Several models side by side: what they take, and how far each is from the base. */

const CHART = { width: 640, narrowest: 320, height: 300, left: 64, right: 32, top: 14, bottom: 40 };

/* What a model is compared by: its tensors, and those of the kinds of roles that all have. */
const rivals = whole.models.map((m, index) => {
  const list = m === doc ? tensors : m.tensors.map(prepare);
  return { m, index, list, name: m.input.replace(/\/+$/, "").split("/").pop() || m.input, error: errorOf(list) };
});

function kindsOf() {
  return KINDS.map((k) => k[0]).filter((kind) => rivals.some((r) => r.list.some((t) => kindOf(t.role)[0] === kind && t.error > 0)));
}

function compareRow(r, kinds, heads, most) {
  const shares = new Map();
  for (const t of r.list) shares.set(t.type, (shares.get(t.type) || 0) + t.bytes);
  const used = [...shares].sort((a, b) => b[1] - a[1]).slice(0, 3).map((x) => x[0]);
  const cells = kinds.map((kind) => {
    const e = errorOf(r.list.filter((t) => kindOf(t.role)[0] === kind));
    const cell = el("td", { class: "n" }, errorText(e) || "–");
    if (e !== undefined && most) {
      const colour = ramp(e / most);
      cell.style.background = colour;
      cell.style.color = inkOn(colour);
    }
    return cell;
  });
  const link = el("a", { href: "?model=" + (r.index + 1), "aria-current": r.index === shown ? "true" : null }, foreign(r.name));
  const row = el("tr", {}, el("th", { scope: "row", class: "name mono" }, link), el("td", { class: "n" }, size(number(r.m.size_bytes))),
    el("td", { class: "n" }, r.m.bits_per_weight === undefined ? "–" : number(r.m.bits_per_weight).toFixed(2)), el("td", {}, used.join(", ")),
    el("td", { class: "n" }, errorText(r.error) || "–"), cells);
  [...row.children].forEach((cell, i) => (cell.dataset.head = heads[i])); /* shown in each where there is no room for columns */
  return row;
}

/* Labels from top to bottom, a line's height from one to the next. */
function apart(labels) {
  labels.sort((a, b) => a.at - b.at);
  labels.forEach((l, i) => (l.at = i ? Math.max(l.at, labels[i - 1].at + 14) : l.at));
  return labels;
}

/* Size against error, on axes that begin at zero. */
function compareChart() {
  const dots = rivals.filter((r) => r.error !== undefined && Number.isFinite(r.error));
  const most = Math.max(...dots.map((r) => r.error)), largest = Math.max(...dots.map((r) => number(r.m.size_bytes)));
  if (dots.length < 2 || !most) return null;
  const { height, left, right, top, bottom } = CHART;
  const width = Math.max(CHART.narrowest, Math.min(CHART.width, $("compare-chart").clientWidth || CHART.width));
  const x = (r) => left + (number(r.m.size_bytes) / largest) * (width - left - right);
  const y = (r) => height - bottom - (r.error / most) * (height - top - bottom);
  const line = (d) => svg("path", { class: "axis", d });
  const label = (at, anchor, what) => svg("text", { x: at[0], y: at[1], "text-anchor": anchor }, what);
  return svg("svg", { class: "rivals", viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": "Size against error" },
    line("M" + left + " " + top + "V" + (height - bottom) + "H" + (width - right)),
    label([left - 8, height - bottom], "end", "0"), label([left - 8, top + 8], "end", errorText(most)),
    label([width - right, height - bottom + 18], "middle", size(largest)), label([(left + width - right) / 2, height - 6], "middle", "size; error against the base"),
    dots.map((r) => svg("circle", { class: "dot", cx: x(r), cy: y(r), r: 5 })),
    apart(dots.map((r) => ({ r, at: y(r) + 4 }))).map(({ r, at }) => {
      const isRight = 2 * x(r) > width; /* a name goes where there is room */
      return label([x(r) + (isRight ? -9 : 9), at], isRight ? "end" : "start", plain(r.name));
    }));
}

function startCompare() {
  if (rivals.length < 2) return;
  $("compare").hidden = false;
  const kinds = kindsOf();
  const most = Math.max(0, ...rivals.flatMap((r) => kinds.map((kind) => errorOf(r.list.filter((t) => kindOf(t.role)[0] === kind)) || 0)).filter(Number.isFinite));
  const heads = ["Model", "Size", "Bits/weight", "Types", "Error", ...kinds];
  $("compare-table").replaceChildren(
    el("caption", { class: "hidden" }, "The models of this page. A name shows the rest of the page for that model."),
    el("thead", {}, el("tr", {}, heads.map((h, i) => el("th", { scope: "col", class: i && i !== 3 ? "n" : null }, h)))),
    el("tbody", {}, rivals.map((r) => compareRow(r, kinds, heads, most))));
  const chart = compareChart();
  if (chart) $("compare-chart").replaceChildren(chart);
}
