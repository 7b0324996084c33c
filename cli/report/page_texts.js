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
  return el("span", { class: "mono" }, foreign(token.text), token.length_bytes ? "…" : null);
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
      fact("Tokens", t.token_count === undefined ? undefined : exact(t.token_count)),
      fact("Control", t.control_token_count === undefined ? undefined : exact(t.control_token_count)),
      fact("User defined", t.user_defined_token_count ? exact(t.user_defined_token_count) : undefined),
      fact("Mean length", t.token_count ? (t.token_bytes / t.token_count).toFixed(1) + " bytes" : undefined),
    ]),
    t.special_tokens.length ? [el("h3", {}, "Special tokens"), table("Special tokens", ["Role", "Number", "Text"], t.special_tokens.map((s) => [s.role, exact(s.id), tokenText(s)]))] : null,
    tokens("First tokens", t.first_tokens),
    tokens("Last tokens", t.last_tokens),
    tokens("Control and user-defined tokens", t.non_text_tokens),
    t.chat_template ? [el("h3", {}, "Chat template"), el("pre", { class: "template", tabindex: 0 }, foreign(t.chat_template, KEPT), t.length_bytes ? "…" : null)] : null,
  ].flat(2).filter((x) => x));
}

function metadataValue(m) {
  if (m.type === "array") {
    const more = number(m.element_count) > m.value.length ? ", … " + exact(m.element_count) + " in all" : "";
    return el("span", { class: "mono" }, foreign(m.value.map((v) => JSON.stringify(v)).join(", ")), more);
  }
  const value = String(m.value);
  if (value.length <= 200 && !value.includes("\n")) return el("span", { class: "mono" }, foreign(value));
  return el("details", {}, el("summary", {}, exact(m.length_bytes || value.length) + (m.length_bytes ? " bytes" : " characters")), el("pre", {}, foreign(value, KEPT), m.length_bytes ? "…" : null));
}

function startMetadata() {
  const all = doc.metadata;
  $("metadata-body").append(all.length ? table("Metadata", ["Key", "Type", "Value"], all.map((m) => [foreign(m.key), m.type === "array" ? m.element_type + "[" + exact(m.element_count) + "]" : m.type, metadataValue(m)]), "medium") : el("p", { class: "muted" }, "The model has no metadata keys."));
}

function startFiles() {
  const named = (f) => [foreign(f.name), size(number(f.size_bytes))];
  $("files-body").append(...[
    table("Files", ["File", "Size"], doc.files.map(named)),
    doc.resources.length ? [el("h3", {}, "Side files"), table("Side files", ["File", "Size"], doc.resources.map(named))] : null,
    el("h3", {}, "Findings"),
    doc.findings.length ? table("Findings", ["Level", "About", "Text"], doc.findings.map((f) => [f.level, foreign(f.item_name || f.file || ""), foreign(f.text)])) : el("p", { class: "muted" }, "Nothing was found wrong when the model was opened."),
  ].flat().filter((x) => x));
}
