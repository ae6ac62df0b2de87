// Documents on which two runs differ most: two selects, then the documents with text, scores and labels.

function disagreementBlock(block) {
  const keys = [...new Set(block.pairs.flatMap(({ run, other }) => [run, other]))];
  const first = block.pairs.find(({ run, other }) => state.runs.has(run) && state.runs.has(other)) ?? block.pairs[0];
  const list = el("div", { class: "documents", "aria-live": "polite" });
  const selects = [first?.run, first?.other].map((key, i) => {
    const options = keys.map((k) => el("option", { value: k, selected: k === key }, runOf.get(k)?.name ?? k));
    return el("select", { "aria-label": i ? "second run" : "first run", onchange: () => refresh() }, ...options);
  });
  function refresh() {
    const [a, b] = selects.map((select) => select.value);
    list.replaceChildren(...documents(block, a, b));
  }
  listeners.push(refresh);
  refresh();
  return el(
    "div",
    { class: "block", id: `disagreement-${block.id}` },
    el("h3", {}, block.title),
    el("p", { class: "caption" }, block.caption),
    el("div", { class: "pair" }, selects[0], el("span", {}, "against"), selects[1]),
    list,
  );
}

/** (task, score of a, score of b, label) for either order of the stored pair. */
function pairOf(block, a, b) {
  const same = block.pairs.find(({ run, other }) => run === a && other === b);
  if (same) return same.documents;
  const turned = block.pairs.find(({ run, other }) => run === b && other === a);
  return turned?.documents.map((document) => ({
    ...document,
    scores: document.scores.map(([task, x, y, label]) => [task, y, x, label]),
  }));
}

function documents(block, a, b) {
  if (a === b) return [el("p", { class: "none" }, "Choose two different runs.")];
  const found = pairOf(block, a, b);
  if (!found) return [el("p", { class: "none" }, "These two runs have no test documents in common.")];
  if (!found.length) return [el("p", { class: "none" }, "These two runs agree on every document.")];
  const missing = block.missing ? [el("p", { class: "note" }, block.missing)] : [];
  return [...missing, ...found.map((document) => documentOf(document, block.texts[document.id], a, b))];
}

function documentOf({ id, distance, scores }, text, a, b) {
  const rows = scores.filter(([task]) => state.tasks.has(task)).map((score) => scoreRow(score, a, b, text));
  const name = (key) => runOf.get(key)?.name ?? key;
  const labels = scores.every(([, , , label]) => typeof label === "boolean");
  const head = (key) => el("th", { scope: "col" }, runOf.has(key) ? swatch(runOf.get(key)) : null, name(key));
  const heads = el("tr", {}, el("th", { scope: "col" }, "task"), el("th", { scope: "col" }, labels ? "label" : "true"), head(a), head(b));
  return el(
    "article",
    { class: "document" },
    el("h4", {}, id, el("span", {}, ` mean difference ${shown(distance, 3)}`)),
    text == null ? null : el("p", { class: "text" }, text),
    scrolling(el("table", { class: "scores" }, el("thead", {}, heads), el("tbody", {}, ...rows)), `Scores of ${id}`),
  );
}

function scoreRow([task, x, y, label], a, b, text) {
  const truth =
    typeof label === "boolean"
      ? el("td", {}, el("span", { class: label ? "label yes" : "label" }, label ? "positive" : "negative"))
      : el("td", { class: "said" }, said(label, text));
  return el("tr", {}, el("th", { scope: "row" }, task), truth, output(x, a, text), output(y, b, text));
}

function output(value, key, text) {
  return typeof value === "number" ? bar(value, key) : el("td", { class: "said" }, said(value, text));
}

/** Text unchanged; spans as the words they cover, if the text is available. */
function said(value, text) {
  if (typeof value === "string") return value;
  if (!value.length) return el("span", { class: "label" }, "none");
  const words = text?.split(" ");
  const lines = value.map(([start, end, type]) =>
    el("li", {}, el("span", { class: "label" }, type), ` ${words?.slice(start, end).join(" ") || `words ${start + 1}–${end}`}`),
  );
  return el("ul", { class: "spans" }, ...lines);
}

function bar(value, key) {
  const inner = el("span", { class: "filling" });
  inner.style.width = `${100 * value}%`;
  inner.style.background = runOf.get(key)?.colour ?? "";
  return el("td", { class: "bar" }, el("span", { class: "track" }, inner), el("span", { class: "value" }, shown(value, 2)));
}
