// Figures: Vega-Lite, drawn when they come near, then the rest while the page is idle; all of them before long,
// so that printing finds none missing.

const figures = [];
const DRAWN = document.documentElement.dataset; // drawn="yes" once all figures are drawn

let ready; // the library, once the first figure needs it: tables are there before

/** Runs Vega, packed in the page. */
async function loadLibrary() {
  document.head.append(el("script", {}, await unzipped("library")));
}

/** A figure with its title, caption, numbers and exports. */
function figureBlock(block) {
  const plot = el("div", { class: "plot", "aria-hidden": "true" }); // of the image around it, its caption is the text
  const image = { class: "plotbox", role: "img", "aria-label": `${block.title}. ${block.caption}` };
  const figure = { block, plot, view: null, waits: true, near: false, zoom: 1 };
  const box = el(
    "figure",
    { class: block.wide ? "block wide" : "block", id: `figure-${block.id}` },
    el("h3", {}, block.title),
    controlsOf(figure),
    el("div", image, plot),
    captionOf("figcaption", block),
    el("div", { class: "below" }, numbers(block), picturesOf(block)),
  );
  figures.push(figure);
  NEAR.observe(plot);
  return box;
}

const NEAR = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const figure = figures.find(({ plot }) => plot === entry.target);
      figure.near = entry.isIntersecting;
    }
    work();
  },
  { rootMargin: "600px 0px" },
);

listeners.push(() => {
  for (const figure of figures) figure.waits = true;
  work();
});

let working = false;

/** Draw pending figures, those on screen first, and yield to the browser in between. */
async function work() {
  DRAWN.drawn = "no";
  if (working) return;
  working = true;
  for (let next = waiting(); next; next = waiting()) {
    next.waits = false;
    await draw(next);
    await new Promise((resume) => setTimeout(resume, next.near ? 0 : 10));
  }
  working = false;
  DRAWN.drawn = "yes";
}

/** Starts all pending drawings at once: a browser prints when their promises are kept, and waits for no timer. */
function drawAll() {
  for (const figure of figures.filter(({ waits }) => waits)) {
    figure.waits = false;
    draw(figure);
  }
}

function waiting() {
  const all = figures.filter((figure) => figure.waits);
  return all.find((figure) => figure.near) ?? all[0];
}

async function draw(figure) {
  const { block, plot } = figure;
  const rows = rowsToDraw(block, figure.zoom);
  plot.parentNode.classList.toggle("empty", rows.length === 0);
  if (!rows.length) return; // without rows, the scales have no domain
  if (figure.view) {
    if (block.spec.params) figure.view.signal("chosen", state.k);
    await figure.view.data("rows", rows).runAsync();
    return;
  }
  await (ready ??= loadLibrary());
  const width = plot.clientWidth || page.widths.narrow;
  const options = { ...embedding(block.spec, page.themes.page), tooltip: { disableDefaultStyle: true, formatTooltip: tooltip } };
  const made = await vegaEmbed(plot, specFor(zoomed(block.spec, figure.zoom), width, rows), options);
  const isFirst = !figure.width;
  Object.assign(figure, { view: made.view, width });
  if (block.spec.params) made.view.addEventListener("click", (_, item) => CHOICES.includes(item?.datum?.k) && change({ k: item.datum.k }));
  if (!isFirst) return;
  new ResizeObserver(() => reach(plot.parentNode)).observe(plot.parentNode);
  if (fluid(block.spec)) new ResizeObserver(() => fit(figure)).observe(plot);
}

/** A tooltip with the lines that have a value: one run has no standard deviation. */
function tooltip(value, safe) {
  if (typeof value !== "object") return safe(value);
  const lines = Object.entries(value).filter(([, words]) => !["null", "NaN", "undefined"].includes(String(words)));
  const line = ([title, words]) => `<tr><td class="key">${safe(title)}</td><td class="value">${safe(words)}</td></tr>`;
  return `<table>${lines.map(line).join("")}</table>`;
}

/** The visible rows, as copies, because Vega writes into them. */
function rowsToDraw(block, zoom) {
  return withNames(block, visibleOf(block).map((row) => ({ ...row })), zoom);
}

/** Lets the keyboard scroll a figure that is wider than its box. */
function reach(box) {
  if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  else box.removeAttribute("tabindex");
}

function fluid(spec) {
  return spec.width === "container";
}

/** Fit the figure to the width of its container, including legends. */
function fit(figure) {
  const width = figure.plot.clientWidth;
  if (!width || width === figure.width) return;
  figure.width = width;
  figure.view.width(width).runAsync();
}

function embedding(spec, config) {
  return {
    mode: "vega-lite",
    renderer: "svg",
    ast: true, // Vega's interpreter, so that the page needs no eval
    actions: false,
    config,
    logLevel: 1, // errors: a run with one child has no band, which is no news
    // Set here, as Vega-Lite warns of it beside a height in steps, where it is right.
    patch: (vega) => (fluid(spec) ? { ...vega, autosize: { type: "fit-x", contains: "padding" } } : vega),
  };
}

/** The specification with its rows and its width, on narrow screens with legends of one column and panels that fit. */
function specFor(spec, width, rows) {
  const narrow = (key, value) => (key === "legend" && value?.columns ? { ...value, columns: 1 } : value);
  const fitting = width < NARROW ? JSON.parse(JSON.stringify(spec, narrow)) : spec;
  const panels = Math.max(1, Math.floor((width + GAP) / (spec.spec?.width + GAP)));
  const columns = spec.columns > panels && width < NARROW ? { columns: panels } : {};
  const params = spec.params?.map((param) => ({ ...param, value: state.k }));
  return { ...fitting, ...columns, ...(params ? { params } : {}), ...(fluid(spec) ? { width } : {}), data: { name: "rows", values: rows } };
}

const [NARROW, GAP] = [600, 20]; // CSS pixels

/** The figure's numbers as a table, for keyboards and screen readers. */
function numbers(block) {
  const place = el("div");
  let table = null;
  const fill = () => {
    if (!details.open) return;
    if (!table) {
      table = sortable(columnsOf(rowsOf(block)), () => visibleOf(block).slice(0, LONGEST), `Numbers: ${block.title}`);
      const cut = rowsOf(block).length > LONGEST;
      place.append(table.box, cut ? el("p", { class: "caption" }, `At most ${LONGEST} rows; the CSV file has all.`) : "");
    } else table.refresh();
  };
  const details = el("details", { ontoggle: fill }, el("summary", {}, "Numbers"), place);
  listeners.push(fill);
  return details;
}

const LONGEST = 300;

function columnsOf(rows) {
  const hidden = ["run", "other", "order", "dx", "dy", "end", "choice"]; // keys, and places in the figure
  const known = rows.flatMap((row) => Object.keys(row).filter((field) => row[field] != null));
  const fields = [...new Set(known)].filter((field) => !hidden.includes(field));
  const whole = (field) => rows.every((row) => row[field] == null || Number.isInteger(row[field]));
  return fields.map((field) => {
    const kind = rows.some((row) => typeof row[field] === "number") ? "number" : "text";
    return { key: field, title: field.replaceAll("_", " "), kind, digits: whole(field) ? 0 : 4, scale: 1 };
  });
}

/** Downloads of the figure as it is now, and of its rows. */
function picturesOf(block) {
  return exportsOf(block, {
    PNG: () => picture(block, (view) => view.toImageURL("png", 2), "png"),
    SVG: () => picture(block, (view) => view.toSVG(), "svg", "image/svg+xml"),
  });
}

/** The figure as a file: as it is now, in the light theme. */
async function picture(block, render, ending, type) {
  await (ready ??= loadLibrary());
  const width = block.wide ? page.widths.wide : page.widths.narrow;
  const rows = rowsToDraw(block, 1);
  const spec = { ...specFor(block.spec, width, rows), title: { text: block.title }, padding: 16 };
  const made = await vegaEmbed(el("div"), spec, embedding(block.spec, page.themes.file));
  download(`${block.id}.${ending}`, await render(made.view), type);
  made.finalize();
}
