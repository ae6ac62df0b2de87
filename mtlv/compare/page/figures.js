// Figures: Vega-Lite, drawn when they come near, then the rest while the page is idle; all of them before long,
// so that printing finds none missing.

const figures = [];
const DRAWN = document.documentElement.dataset; // drawn="yes" once nothing waits to be drawn

/** A figure with its title, caption, numbers and exports. */
function figureBlock(block) {
  const plot = el("div", { class: "plot" });
  const caption = el("figcaption", { class: "caption", id: `caption-${block.id}` }, block.caption);
  const image = { class: "plotbox", role: "img", "aria-label": `${block.title}. ${block.caption}` };
  const figure = { block, plot, view: null, waits: true, near: false };
  const box = el(
    "figure",
    { class: block.wide ? "block wide" : "block", id: `figure-${block.id}` },
    el("h3", {}, block.title),
    el("div", image, plot),
    caption,
    el("div", { class: "below" }, numbers(block), exportsOf(block)),
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

/** Draw what waits, the figures on screen first, and let the browser breathe between two. */
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

function waiting() {
  const all = figures.filter((figure) => figure.waits);
  return all.find((figure) => figure.near) ?? all[0];
}

async function draw(figure) {
  const { block, plot } = figure;
  const rows = visibleOf(block);
  plot.parentNode.classList.toggle("empty", rows.length === 0);
  if (figure.view) {
    await figure.view.change("rows", vega.changeset().remove(vega.truthy).insert(rows)).runAsync();
    return;
  }
  if (!rows.length) return; // scales of nothing have no sane axes: drawn once there is something
  const made = await vegaEmbed(plot, { ...block.spec, data: { name: "rows", values: rows } }, {
    mode: "vega-lite",
    renderer: "svg",
    ast: true, // Vega's interpreter, so that the page needs no eval
    actions: false,
    config: page.themes.page,
    tooltip: { disableDefaultStyle: true },
  });
  figure.view = made.view;
}

/** The figure's numbers as a table: for keyboards, screen readers and the curious. */
function numbers(block) {
  const place = el("div");
  let table = null;
  const fill = () => {
    if (!details.open) return;
    if (!table) {
      table = sortable(columnsOf(rowsOf(block)), () => visibleOf(block).slice(0, LONGEST), `Numbers: ${block.title}`);
      place.append(table.box, el("p", { class: "caption" }, `At most ${LONGEST} rows; the CSV file has all.`));
    } else table.refresh();
  };
  const details = el("details", { ontoggle: fill }, el("summary", {}, "Numbers"), place);
  listeners.push(fill);
  return details;
}

const LONGEST = 300;

function columnsOf(rows) {
  const fields = [...new Set(rows.flatMap(Object.keys))].filter((field) => field !== "run" && field !== "other");
  const whole = (field) => rows.every((row) => row[field] == null || Number.isInteger(row[field]));
  return fields.map((field) => {
    const kind = rows.some((row) => typeof row[field] === "number") ? "number" : "text";
    return { key: field, title: field.replaceAll("_", " "), kind, digits: whole(field) ? 0 : 4, scale: 1 };
  });
}

/** Buttons for files; not inside another page's sandbox, which refuses downloads. */
function exportsOf(block) {
  if (window.parent !== window) return null;
  const button = (title, make) =>
    el("button", { type: "button", class: "quiet", onclick: make, "aria-label": `${title}: ${block.title}` }, title);
  return el(
    "span",
    { class: "exports" },
    button("PNG", () => picture(block, (view) => view.toImageURL("png", 2), "png")),
    button("SVG", () => picture(block, (view) => view.toSVG(), "svg", "image/svg+xml")),
    button("CSV", () => download(`${block.id}.csv`, csvOf(visibleOf(block)), "text/csv")),
  );
}

/** The figure as a file: as it is now, in the light theme. */
async function picture(block, render, ending, type) {
  const width = block.spec.width === "container" ? { width: block.wide ? 1100 : 760 } : {};
  const data = { name: "rows", values: visibleOf(block) };
  const spec = { ...block.spec, ...width, data, title: { text: block.title }, padding: 16 };
  const away = el("div");
  const made = await vegaEmbed(away, spec, { ast: true, actions: false, config: page.themes.file, renderer: "svg" });
  download(`${block.id}.${ending}`, await render(made.view), type);
  made.finalize();
}
