/* SPDX-License-Identifier: MIT */
/* The head of the page, its colours, and the start of all parts. */

const THEMES = { system: "light", light: "dark", dark: "system" };

function figure(name, value, note) {
  return value === undefined ? null : el("div", {}, el("dt", {}, name), el("dd", {}, value, note ? el("small", {}, note) : null));
}

function startHead() {
  const name = doc.name || doc.input.replace(/\/+$/, "").split("/").pop() || doc.input;
  document.title = plain(name) + " – tare report";
  $("name").replaceChildren(foreign(name));
  if (name !== doc.input) $("path").replaceChildren(foreign(doc.input));
  const faults = doc.findings.filter((f) => f.level === "error");
  $("faults").hidden = !faults.length;
  if (faults.length) $("faults").replaceChildren(foreign(faults[0].text), " ", faults.length > 1 ? el("a", { href: "#files" }, "(" + exact(faults.length - 1) + " more)") : "");
  const format = doc.format + (doc.version ? " v" + doc.version : "");
  const h = doc.hyperparameters;
  $("figures").append(...[
    figure("Parameters", count(number(doc.parameter_count)), number(doc.parameter_count) < 1000 ? null : exact(doc.parameter_count)),
    figure("Size", size(number(doc.size_bytes)), [foreign(format), doc.mix ? ", " + doc.mix : null].filter((x) => x)),
    figure("Bits/weight", doc.bits_per_weight === undefined ? undefined : number(doc.bits_per_weight).toFixed(2)),
    figure("Tensors", exact(tensors.length), types.slice(0, 3).map((t) => t[0]).join(", ") + (types.length > 3 ? ", …" : "")),
    figure("Architecture", doc.architecture === undefined ? undefined : foreign(doc.architecture),
      [h.layer_count && plural(h.layer_count, "layer"), h.embedding_length && exact(h.embedding_length) + " wide"].filter(Boolean).join(", ")),
    figure("Context", h.context_length === undefined ? undefined : exact(h.context_length), doc.memory && number(doc.memory.cache_bytes) ? size(number(doc.memory.cache_bytes)) + " of cache" : null),
    figure("Vocabulary", h.vocab_size === undefined ? undefined : exact(h.vocab_size)),
    figure("Error", doc.base ? errorText(errorOf(tensors)) || "–" : undefined, doc.base ? "against the base" : null),
  ].filter((x) => x));
  $("footer").textContent = "Made by tare " + whole.tare_version + ". The page holds all it shows and loads nothing.";
}

function startContents() {
  const all = [...document.querySelectorAll("main > section:not([hidden])")];
  $("contents").append(...all.map((s) => el("a", { href: "#" + s.id }, s.querySelector("h2").textContent)));
}

/* Amounts have other colours in the dark. */
function recolour() {
  drawMap();
  if (doc.base) drawHeat();
  startCompare();
}

function startTheme() {
  const root = document.documentElement;
  $("theme").addEventListener("click", () => {
    const next = THEMES[root.dataset.theme || "system"];
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    $("theme").textContent = "Theme: " + next;
    recolour();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  for (const [name, is] of [["beforeprint", true], ["afterprint", false]]) addEventListener(name, () => {
    isPrinting = is;
    recolour();
  });
}

startHead();
startCompare();
startErrors();
startMap();
startTable();
startDetail();
startTokenizer();
startMetadata();
startFiles();
startContents();
startTheme();
