/* SPDX-License-Identifier: MIT */
/* One tensor: what is known of it, its histogram, and the same tensor in the other layers. */

const WIDE = 640, HIGH = 160; /* units of a chart, which is stretched */
const detail = { order: [], isLog: false };

function fact(name, value) {
  return value === undefined || value === "" ? null : el("div", {}, el("dt", {}, name), el("dd", {}, value));
}

function facts(t) {
  return el("dl", { class: "facts" }, [
    fact("Type", t.type + (t.scheme ? " (" + t.scheme + ")" : "")),
    fact("Shape", t.shape.join(" × ") || "scalar"),
    fact("Elements", exact(t.elements)),
    fact("Size", size(t.bytes) + ", " + percent(t.bytes, totalBytes)),
    fact("Packed", t.packed_bytes === undefined ? undefined : size(number(t.packed_bytes)) + ", " + percent(number(t.packed_bytes), t.bytes)),
    fact("Bits per weight", t.bits === undefined ? undefined : t.bits.toFixed(3)),
    fact("Role", t.role + (t.is_bias ? ", bias" : "")),
    fact("Layer", t.layer),
    fact("Expert", t.expert),
    fact("Minimum", real(t.min)),
    fact("Maximum", real(t.max)),
    fact("Mean", real(t.mean)),
    fact("Standard deviation", real(t.deviation)),
    fact("Zeros", t.zeros === undefined ? undefined : exact(t.zeros) + ", " + percent(t.zeros, t.elements)),
    fact("NaN or infinite", t.bad ? exact(t.bad) : undefined),
    fact("Type in the base", t.base_type),
    fact("Error against the base", t.error === undefined ? (t.against === "absent" ? "not in the base" : t.against) : errorText(t.error)),
    fact("Signal to noise", t.error > 0 && Number.isFinite(t.error) ? (-20 * Math.log10(t.error)).toFixed(1) + " dB" : undefined),
    fact("Largest difference", real(number(t.max_abs))),
    fact("Elements that differ", t.different_count === undefined ? undefined : exact(number(t.different_count)) + ", " + percent(number(t.different_count), t.elements)),
    fact("Stored", t.is_truncated ? "beyond the end of the file" : undefined),
  ]);
}

/* Bars of a chart, each with what it says when it is pointed at or reached by the arrow keys. */
function bars(label, values, notes, ticks, current) {
  const step = WIDE / values.length, most = Math.max(...values, 0) || 1;
  const readout = el("p", { class: "readout" });
  let at = Math.max(current, 0);
  const nodes = values.map((v, i) => {
    const h = v > 0 ? Math.max((HIGH * v) / most, 1) : 0;
    const pad = step > 4 ? 0.5 : 0;
    return svg("rect", { x: i * step + pad, y: HIGH - h, width: Math.max(step - 2 * pad, 0.5), height: h, class: i === current ? "on" : null });
  });
  const chart = svg("svg", {
    class: "chart", viewBox: "0 0 " + WIDE + " " + HIGH, preserveAspectRatio: "none", tabindex: 0, role: "slider", "aria-label": label,
    "aria-valuemin": 0, "aria-valuemax": values.length - 1,
  }, nodes);
  const axis = el("div", { class: "axis", "aria-hidden": true }, ticks.map(([x, name]) => {
    const tick = el("span", { class: x < 0.04 ? "first" : x > 0.96 ? "last" : null }, String(name));
    tick.style.left = 100 * x + "%";
    return tick;
  }));
  const show = (i) => {
    at = Math.min(Math.max(i, 0), values.length - 1);
    nodes.forEach((n, k) => n.classList.toggle("on", current < 0 ? k === at : k === current));
    chart.setAttribute("aria-valuenow", at);
    chart.setAttribute("aria-valuetext", notes(at));
    readout.textContent = notes(at);
  };
  chart.addEventListener("pointermove", (event) => {
    const box = chart.getBoundingClientRect();
    show(Math.floor(((event.clientX - box.left) / box.width) * values.length));
  });
  chart.addEventListener("keydown", (event) => {
    const to = { ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, Home: 0, End: values.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    show(to);
  });
  chart.setAttribute("aria-valuenow", at);
  chart.setAttribute("aria-valuetext", notes(at));
  if (current >= 0) readout.textContent = notes(at);
  return [chart, axis, readout];
}

function histogram(t) {
  if (!t.bins) return null;
  const n = t.bins.length, span = t.max - t.min, all = sum(t.bins, (x) => x);
  const values = detail.isLog ? t.bins.map((x) => Math.log10(1 + x)) : t.bins;
  const edge = (i) => real(t.min + (span * i) / n);
  const notes = (i) => edge(i) + " to " + edge(i + 1) + ": " + exact(t.bins[i]) + " values, " + percent(t.bins[i], all);
  const zero = span > 0 ? -t.min / span : -1;
  const ticks = [[0, real(t.min)], [1, real(t.max)]];
  if (zero > 0.12 && zero < 0.88) ticks.push([zero, "0"]);
  const box = el("input", { type: "checkbox", checked: detail.isLog, change: () => {
    detail.isLog = box.checked;
    drawDetail(t);
    $("detail").querySelector("input").focus();
  } });
  return [el("div", { class: "chart-head" }, el("h3", {}, "Histogram"), el("label", {}, box, " logarithmic counts")),
    bars("Histogram of " + plain(t.name), values, notes, ticks, -1)];
}

/* The same tensor of every layer: its error, or else how far its values spread. */
function layers(t) {
  if (t.series === null) return null;
  const [name, f, show] = doc.base && tensors.some((x) => x.error !== undefined) ? ["Error", (x) => x.error, errorText] : ["Standard deviation", (x) => x.deviation, real];
  const own = tensors.filter((x) => x.series === t.series && f(x) !== undefined).sort((a, b) => a.layer - b.layer);
  if (own.length < 2 || f(t) === undefined) return null;
  const values = own.map((x) => (Number.isFinite(f(x)) ? f(x) : 0));
  const ticks = [[0.5 / own.length, own[0].layer], [1 - 0.5 / own.length, own[own.length - 1].layer]];
  return [el("div", { class: "chart-head" }, el("h3", {}, name + " by layer")),
    bars(name + " of this tensor by layer", values, (i) => "layer " + own[i].layer + ": " + show(f(own[i])), ticks, own.indexOf(t))];
}

function drawDetail(t) {
  const at = detail.order.indexOf(t);
  const step = (d, name) => el("button", { type: "button", disabled: !detail.order[at + d], "data-step": d, click: () => {
    drawDetail(detail.order[at + d]);
    const again = $("detail").querySelector("[data-step='" + d + "']");
    (again.disabled ? $("detail").querySelector("[data-close]") : again).focus();
  } }, name);
  $("detail").replaceChildren(
    el("div", { class: "bar" }, el("span", { class: "muted" }, exact(at + 1) + " of " + exact(detail.order.length)),
      step(-1, "Previous"), step(1, "Next"), el("button", { type: "button", "data-close": true, click: () => $("detail").close() }, "Close")),
    el("h2", { id: "detail-name", tabindex: -1, autofocus: true }, foreign(t.name)),
    ...[facts(t), histogram(t), layers(t)].flat(3).filter((x) => x));
}

/* Shows a tensor; previous and next go through the table as it is sorted. */
function openDetail(t) {
  detail.order = sorted();
  if (!detail.order.includes(t)) detail.order = tensors;
  drawDetail(t);
  if (!$("detail").open) $("detail").showModal();
  $("detail").scrollTop = 0;
}

function startDetail() {
  $("detail").addEventListener("click", (event) => {
    if (event.target === $("detail")) $("detail").close();
  });
}
