/* SPDX-License-Identifier: MIT */
/* Tokenizer, metadata, files, and what opening the model had to say. */

const KEPT = "\n\t";

/* The second of three columns may be one that small screens go without. */
function table(caption, heads, rows, second) {
  const classOf = (i, n) => (i === n - 1 ? "value" : i === 1 ? second : null);
  return el("div", { class: "scroll" }, el("table", { class: "list" }, el("caption", { class: "hidden" }, caption),
    el("thead", {}, el("tr", {}, heads.map((h, i) => el("th", { scope: "col", class: i ? classOf(i, heads.length) : null }, h)))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((c, i) => (i ? el("td", { class: classOf(i, cells.length) }, c) : el("th", { scope: "row", class: "name mono" }, c))))))));
}

function tokenText(token) {
  if (token.text === undefined) return el("span", { class: "muted" }, "none");
  return el("span", { class: "mono" }, foreign(token.text), token.length ? "…" : null);
}

function tokens(title, entries) {
  if (!entries || !entries.length) return null;
  return [el("h3", {}, title), el("ol", { class: "tokens" }, entries.map((t) => el("li", {}, el("small", {}, exact(t.id)), tokenText(t))))];
}

function startTokenizer() {
  const t = doc.tokenizer_sample;
  if (!t) return;
  $("tokenizer").hidden = false;
  $("tokenizer-body").append(...[
    t.is_mapped ? el("p", { class: "muted" }, "As a GGUF file would have it that is made of this model.") : null,
    el("dl", { class: "facts" }, [
      fact("Model", foreign(t.model)),
      fact("Pre-tokenizer", t.pre && foreign(t.pre)),
      fact("Tokens", t.tokens === undefined ? undefined : exact(t.tokens)),
      fact("Control", t.control === undefined ? undefined : exact(t.control)),
      fact("User defined", t.user_defined ? exact(t.user_defined) : undefined),
      fact("Mean length", t.tokens ? (t.token_bytes / t.tokens).toFixed(1) + " bytes" : undefined),
    ]),
    t.special.length ? [el("h3", {}, "Special tokens"), table("Special tokens", ["Role", "Number", "Text"], t.special.map((s) => [s.role, exact(s.id), tokenText(s)]))] : null,
    tokens("First tokens", t.first),
    tokens("Last tokens", t.last),
    tokens("Control and user-defined tokens", t.not_text),
    t.chat_template ? [el("h3", {}, "Chat template"), el("pre", { class: "template", tabindex: 0 }, foreign(t.chat_template, KEPT), t.length ? "…" : null)] : null,
  ].flat(2).filter((x) => x));
}

function metadataValue(m) {
  if (m.type === "array") {
    const more = number(m.count) > m.value.length ? ", … " + exact(m.count) + " in all" : "";
    return el("span", { class: "mono" }, foreign(m.value.map((v) => JSON.stringify(v)).join(", ")), more);
  }
  const value = String(m.value);
  if (value.length <= 200 && !value.includes("\n")) return el("span", { class: "mono" }, foreign(value));
  return el("details", {}, el("summary", {}, exact(m.length || value.length) + (m.length ? " bytes" : " characters")), el("pre", {}, foreign(value, KEPT), m.length ? "…" : null));
}

function startMetadata() {
  const all = doc.metadata;
  $("metadata-body").append(all.length ? table("Metadata", ["Key", "Type", "Value"], all.map((m) => [foreign(m.key), m.type === "array" ? m.element_type + "[" + exact(m.count) + "]" : m.type, metadataValue(m)]), "medium") : el("p", { class: "muted" }, "The model has no metadata keys."));
}

function startFiles() {
  const named = (f) => [foreign(f.name), size(number(f.bytes))];
  $("files-body").append(...[
    table("Files", ["File", "Size"], doc.files.map(named)),
    doc.resources.length ? [el("h3", {}, "Side files"), table("Side files", ["File", "Size"], doc.resources.map(named))] : null,
    el("h3", {}, "Findings"),
    doc.findings.length ? table("Findings", ["Level", "About", "Text"], doc.findings.map((f) => [f.level, foreign(f.item_name || f.file || ""), foreign(f.text)])) : el("p", { class: "muted" }, "Nothing was found wrong when the model was opened."),
  ].flat().filter((x) => x));
}
