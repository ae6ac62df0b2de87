// Tables: sortable by each column, the best of the visible values in bold.

const SENTENCE = 60; // characters; longer texts get a wider column

/** A table with its title and caption. */
function tableBlock(block) {
  const named = SEVERAL || rowsOf(block).some(({ run }) => run == null); // by a run that is on the page, or another
  const columns = named ? block.columns : block.columns.filter(({ key }) => key !== "name");
  const table = sortable(columns, () => visibleOf(block), block.title);
  listeners.push(table.refresh);
  return el(
    "div",
    { class: "block", id: `table-${block.id}` },
    el("h3", {}, block.title),
    table.box,
    block.caption ? captionOf("div", block) : null,
    tableExports(block, columns),
  );
}

/** The first sentence of a caption; the others are folded. */
function captionOf(tag, { caption }) {
  const [first, ...others] = caption.split(/(?<=\.) (?=[A-Z“])/);
  const reading = others.length ? el("details", {}, el("summary", {}, "How to read it"), ...prose(others.join(" "))) : null;
  return el(tag, { class: "caption" }, ...prose(first), reading);
}

/** Buttons that save the visible rows, or copy them as they are shown. */
function tableExports(block, columns) {
  const box = exportsOf(block);
  box?.append(copying("LaTeX", block, () => latexOf(shownOf(block, columns), columns, block.title)));
  return box;
}

/** The visible rows with the columns' titles and the texts of their cells. */
function shownOf(block, columns) {
  const text = (row, column) => {
    const value = row[column.key];
    if (value == null) return "";
    if (column.kind !== "number" || typeof value !== "number") return String(value);
    const spread = column.spread ? row[column.spread] : null;
    return numberText(column, value) + (spread == null ? "" : ` ± ${shown(spread * column.scale, column.digits)}`);
  };
  return visibleOf(block).map((row) => Object.fromEntries(columns.map((column) => [column.title, text(row, column)])));
}

const SPECIAL = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "±": "$\\pm$", "−": "$-$", "×": "$\\times$", "·": "$\\cdot$" };

/** Rows as a LaTeX table; it needs the package booktabs. */
function latexOf(rows, columns, title) {
  const safe = (text) => String(text).replace(/[\\~^±−×·]|[&%$#_{}]/g, (letter) => SPECIAL[letter] ?? `\\${letter}`);
  const line = (texts) => `${texts.map(safe).join(" & ")} \\\\`;
  const titles = columns.map((column) => column.title);
  const places = columns.map(({ kind }) => (kind === "number" ? "r" : "l")).join("");
  const body = rows.map((row) => line(titles.map((name) => row[name])));
  return ["\\begin{table}", `\\caption{${safe(title)}}`, `\\begin{tabular}{${places}}`, "\\toprule", line(titles), "\\midrule", ...body, "\\bottomrule", "\\end{tabular}", "\\end{table}", ""].join("\n");
}

/** A box in which a wide table scrolls, with a shadow at its right edge while there is more. */
function scrolling(table, label) {
  const scroll = el("div", { class: "scroll", role: "group", "aria-label": label, tabindex: 0 }, table);
  const box = el("div", { class: "tablebox" }, scroll);
  const shade = () => box.classList.toggle("more", scroll.scrollWidth - scroll.scrollLeft - scroll.clientWidth > 2);
  scroll.addEventListener("scroll", shade, { passive: true });
  const watch = new ResizeObserver(shade);
  watch.observe(table);
  watch.observe(scroll);
  return box;
}

/** A table of `rows()` in its own scrolling box: {box, refresh}. */
function sortable(columns, rows, label) {
  const order = { column: null, falling: false };
  const body = el("tbody");
  const heads = columns.map((column) => heading(column, order, () => refresh()));
  const texts = columns.some(({ key }) => key === "text") ? "texts" : null;
  const table = el("table", { class: texts }, el("thead", {}, el("tr", {}, ...heads)), body);
  const box = scrolling(table, label);
  function refresh() {
    columns.forEach((column, i) => {
      const sorted = order.falling ? "descending" : "ascending";
      heads[i].setAttribute("aria-sort", order.column === column ? sorted : "none");
    });
    const now = inOrder(rows(), order);
    const best = columns.map((column) => bestOf(column, now));
    body.replaceChildren(...now.map((row) => line(row, columns, best)));
    if (!now.length) {
      const words = "Nothing to show: there are no rows for the runs and tasks that are switched on.";
      body.append(el("tr", {}, el("td", { class: "none", colspan: columns.length }, words)));
    }
  }
  refresh();
  return { box, refresh };
}

function heading(column, order, refresh) {
  const sort = () => {
    const again = order.column === column;
    // Numbers are sorted from the highest, texts from A.
    order.falling = again ? !order.falling : column.kind === "number" && column.best !== "low";
    order.column = column;
    refresh();
  };
  const mark = el("span", { class: "arrow", "aria-hidden": "true" });
  const button = el("button", { type: "button", onclick: sort }, el("span", {}, column.title), mark);
  return el("th", { scope: "col", class: column.kind, "aria-sort": "none" }, button);
}

/** Rows in the order of a column; rows without a value last; the sort is stable. */
function inOrder(rows, { column, falling }) {
  if (!column) return rows;
  const { key } = column;
  const sign = falling ? -1 : 1;
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), "en", { numeric: true });
  return [...rows].sort((a, b) => {
    if (a[key] == null || b[key] == null) return (a[key] == null) - (b[key] == null);
    return sign * compare(a[key], b[key]);
  });
}

/** The best value of a column as shown; none if all are equal or there is only one. */
function bestOf(column, rows) {
  if (!column.best) return null;
  const values = rows.map((row) => row[column.key]).filter((value) => typeof value === "number");
  if (values.length < 2) return null;
  const pick = (better) => numberText(column, values.reduce((a, b) => (better(b, a) ? b : a)));
  const high = pick((b, a) => b > a);
  const low = pick((b, a) => b < a);
  if (high === low) return null;
  return column.best === "high" ? high : low;
}

function numberText(column, value) {
  return shown(value * column.scale, column.digits, column.signed);
}

function line(row, columns, best) {
  const cells = columns.map((column, i) => cell(row, column, best[i], i === 0));
  return el("tr", row.run == null ? {} : { "data-run": row.run }, ...cells);
}

function cell(row, column, best, first) {
  const value = row[column.key];
  const tag = first ? "th" : "td";
  const attributes = { class: column.kind, scope: first ? "row" : null, "data-key": column.key };
  const run = runOf.get(row.run);
  const mark = run && column.key === "name" ? swatch(run) : null;
  if (value == null) return el(tag, attributes, el("span", { class: "unknown" }, "–"));
  if (column.kind !== "number" || typeof value !== "number") {
    if (String(value).length > SENTENCE) attributes.class += " sentence";
    const words = el("span", {}, String(value));
    return el(tag, attributes, mark ? el("span", { class: "named" }, mark, words) : words);
  }
  const text = numberText(column, value);
  const spread = column.spread ? row[column.spread] : null;
  return el(
    tag,
    attributes,
    text === best ? el("strong", { title: "best of the rows shown" }, text) : text,
    spread == null ? null : el("span", { class: "spread" }, ` ± ${shown(spread * column.scale, column.digits)}`),
  );
}
