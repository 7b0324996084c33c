/* SPDX-License-Identifier: MIT */
/* How far the model is from its base: roles down, layers across; the tensors that are farthest. */

const WORST = 10, COLUMNS_MOST = 512, NUMBERS_MOST = 26; /* columns wide enough for numbers */
/* As values flow through a model; what has no place here comes last. */
const FLOW = ["token embedding", "position embedding", "type embedding", "attention query", "attention key", "attention value", "attention QKV",
  "attention output", "router", "feed-forward gate", "feed-forward up", "feed-forward gate and up", "feed-forward down", "recurrent",
  "norm", "rotary embedding", "output"];

function layersOf(list) {
  const numbers = [...new Set(list.map((t) => t.layer))].filter((n) => n !== undefined).sort((a, b) => a - b);
  const columns = numbers.slice(0, COLUMNS_MOST).map((n) => ({ name: String(n), title: "layer " + n, has: (t) => t.layer === n }));
  if (list.some((t) => t.layer === undefined)) columns.unshift({ name: "–", title: "outside of layers", has: (t) => t.layer === undefined });
  return columns;
}

/* "7.2" for 7.2 %; what is smaller than that shows has none. */
const inCell = (e) => (e === undefined || !Number.isFinite(e) ? "" : e === 0 ? "0" : e >= 0.0005 ? (100 * e).toPrecision(2) : "");

function heatCell(role, column, list, hasNumber) {
  if (!list.length) return el("td", { "aria-label": "no tensor" });
  const e = errorOf(list), text = e === undefined ? "not compared" : errorText(e);
  const note = role + ", " + column.title + ": " + text + (list.length > 1 ? " over " + plural(list.length, "tensor") : "");
  const show = () => openDetail([...list].sort((a, b) => (b.error || 0) - (a.error || 0))[0]);
  const cell = el("td", {
    tabindex: -1, title: note, "aria-label": note, click: show,
    keydown: (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      show();
    },
  });
  const colour = errorColour(e);
  if (colour) cell.style.background = colour;
  else cell.classList.add("hatch");
  if (colour && hasNumber) {
    cell.textContent = inCell(e);
    cell.style.color = inkOn(colour);
  }
  cell.note = note;
  return cell;
}

function drawHeat() {
  const list = tensors.filter((t) => t.against !== "absent");
  const columns = layersOf(list);
  const place = (role) => (FLOW.indexOf(role) + FLOW.length + 1) % (FLOW.length + 1);
  const roles = [...new Set(list.map((t) => t.role))].sort((a, b) => place(a) - place(b));
  const step = columns.length > 60 ? 10 : columns.length > 16 ? 5 : 1;
  const head = el("tr", {}, el("th", { scope: "col", class: "who" }, el("span", { class: "hidden" }, "Role")),
    columns.map((c) => el("th", { scope: "col", abbr: c.title, title: c.title },
      c.name === "–" || Number(c.name) % step === 0 ? c.name : el("span", { class: "hidden" }, c.name))),
    el("th", { scope: "col", class: "sum" }, "all"));
  const rows = [["all roles", list], ...roles.map((r) => [r, list.filter((t) => t.role === r)])].map(([role, own]) =>
    el("tr", {}, el("th", { scope: "row", class: "who", title: role }, role),
      columns.map((c) => heatCell(role, c, own.filter(c.has), columns.length <= NUMBERS_MOST)),
      el("td", { class: "sum" }, errorText(errorOf(own)))));
  const table = $("heat");
  table.style.maxWidth = 18 + 3.4 * columns.length + "rem";
  table.replaceChildren(
    el("caption", { class: "hidden" }, "Relative error by role and layer. Arrow keys move, Enter shows the tensor."),
    el("thead", {}, head), el("tbody", {}, rows));
  const first = table.querySelector("td[tabindex]");
  if (first) first.tabIndex = 0;
  $("heat-legend").replaceChildren(...errorKeys());
}

function drawWorst() {
  const worst = tensors.filter((t) => t.error > 0).sort((a, b) => b.error - a.error || a.index - b.index).slice(0, WORST);
  const most = worst.length && Number.isFinite(worst[0].error) ? worst[0].error : 1;
  $("worst").replaceChildren(...worst.map((t) => {
    const bar = el("i", {});
    bar.style.width = Math.min(100, (100 * t.error) / most) + "%";
    return el("li", {}, el("button", { type: "button", class: "link mono", click: () => openDetail(t) }, foreign(t.name)),
      el("span", {}, errorText(t.error)), bar);
  }));
  if (!worst.length) $("worst").append(el("li", { class: "muted" }, "No tensor has other values than the base's."));
}

function nameList(title, list, all) {
  if (!all) return null;
  const more = all > list.length ? el("li", { class: "muted" }, "and " + exact(all - list.length) + " more") : null;
  return [el("h3", {}, title), el("ul", { class: "plain" },
    list.map((x) => el("li", {}, el("span", { class: "mono" }, foreign(x.name)), x.what ? el("span", { class: "muted" }, " " + x.what) : null)), more)];
}

function startErrors() {
  const base = doc.base;
  if (!base) return;
  const absent = tensors.filter((t) => t.against === "absent");
  const others = tensors.filter((t) => t.against === "other shape" || t.against === "not compared");
  $("errors").hidden = false;
  const e = errorOf(tensors);
  $("errors-text").replaceChildren("Against ", el("span", { class: "mono" }, foreign(base.input)), " (" + base.format + ", " + size(number(base.tensor_bytes)) + " of tensors" + (base.is_renamed ? ", under the names of GGUF). " : "). "),
    ...(e === undefined ? ["No values were compared."] : ["The relative error is the root of the mean squared difference over that of the base's values: ",
      el("span", { class: "unbroken" }, errorText(e)), " for the tensors that differ, together; in the map in percent, on a scale that begins at zero."]));
  $("beside").append(...[
    nameList("Tensors that the base lacks", absent.slice(0, 20), absent.length),
    nameList("Not compared", others.slice(0, 20).map((t) => ({ name: t.name, what: t.against === "other shape" ? t.against : t.base_type + " → " + t.type })), others.length),
    nameList("Tensors that only the base has", base.tensors, number(base.missing_tensor_count)),
    nameList("Metadata keys that differ", base.keys || [], number(base.different_key_count || 0)),
  ].flat().filter((x) => x));
  const table = $("heat");
  table.addEventListener("keydown", (event) => rove(table, "td[tabindex]", event));
  const note = (event) => ($("heat-note").textContent = event.target.note || "");
  table.addEventListener("pointerover", note);
  table.addEventListener("focusin", note);
  for (const id of ["heat", "heat-note", "heat-legend", "farthest"]) $(id).hidden = e === undefined;
  drawHeat();
  drawWorst();
}
