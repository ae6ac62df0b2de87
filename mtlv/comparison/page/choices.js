// Figures with a choice of the number of groups: a slider, what is known of it, its groups, zoom and names.

const ZOOMS = [1, 1.5, 2.25, 3.4];

/** The controls above a figure with choices; null for one without. */
function controlsOf(figure) {
  const { block } = figure;
  if (!Object.keys(block.choices).length) return null;
  const id = `choice-${block.id}`;
  const words = el("output", { for: id });
  const groups = el("div", { class: "chosen", "aria-live": "polite" });
  const choose = () => change({ k: CHOICES[slider.value] });
  const slider = el("input", { type: "range", id, min: 0, max: CHOICES.length - 1, step: 1, oninput: choose });
  const zoom = (step, title, sign) =>
    el("button", { type: "button", class: "quiet", "aria-label": `${title}: ${block.title}`, onclick: () => resize(figure, step) }, sign);
  const update = () => {
    slider.value = CHOICES.indexOf(state.k);
    words.textContent = state.k ? `k = ${state.k}. ${measured(block.choices[state.k] ?? [])}` : "as in each run";
    slider.setAttribute("aria-valuetext", state.k ? `${state.k} groups` : "as in each run");
    groups.replaceChildren(...(state.k ? groupsOf(block) : []));
  };
  listeners.push(update);
  update();
  const label = el("label", { for: id }, "Number of groups");
  const bar = el("div", { class: "choice" }, label, slider, words, el("span", {}, zoom(-1, "Zoom out", "−"), zoom(1, "Zoom in", "+")));
  return el("div", {}, bar, groups);
}

/** What runs with the chosen groups scored, and what they gained over the baseline. */
function measured(keys) {
  const { name, score: ofBaseline } = runOf.get(state.baseline);
  if (!keys.length) return "No run was trained with these groups.";
  const runs = keys.map((key) => runOf.get(key));
  const gain = (score) => (ofBaseline == null ? "" : ` (${shown(score - ofBaseline, 3, true)})`);
  const figures = ({ score }) => (score == null ? "" : ` ${shown(score, 3)}${gain(score)}`); // none of what learned nothing
  const scores = runs.map((run) => `“${run.name}”${figures(run)}`).join(", ");
  const title = runs.some(({ score }) => score != null) ? `, with ${page.score}${ofBaseline == null ? "" : ` and gain over “${name}”`}` : "";
  return `Trained with these groups${title}: ${scores}.`;
}

const LISTED = 2; // panels whose groups are listed

/** The groups of the chosen number, for the first panels. */
function groupsOf(block) {
  const { domain, range } = block.spec.spec.layer.find(({ encoding }) => encoding.color).encoding.color.scale;
  const colour = new Map(domain.map((name, i) => [name, range[i]]));
  const rows = visibleOf(block).map((row) => ({ ...row, colour: colour.get(row.group) }));
  const titles = [...new Set(rows.map(({ title }) => title))].slice(0, LISTED);
  const inGroups = (a, b) => a.group - b.group;
  return titles.flatMap((title) => groupLists(rows.filter((row) => row.title === title).sort(inGroups), `Groups of ${title}`));
}

/** Draws a figure larger or smaller; its box scrolls. */
function resize(figure, step) {
  figure.zoom = ZOOMS[ZOOMS.indexOf(figure.zoom) + step] ?? figure.zoom;
  figure.view?.finalize();
  Object.assign(figure, { view: null, waits: true });
  work();
}

function zoomed(spec, zoom) {
  if (zoom === 1) return spec;
  const { width, height } = spec.spec;
  return { ...spec, columns: 1, spec: { ...spec.spec, width: width * zoom, height: height * zoom } };
}

const [LETTER, LINE, DOT] = [5.8, 13, 7]; // pixels: a letter, a line, half a marker

/** Places names where not all have a place, or the figure is zoomed: of the most central tasks, then of others where there is room. */
function withNames(block, rows, zoom) {
  if (!Object.keys(block.choices).length || (zoom === 1 && rows.every(({ label }) => label))) return rows;
  const { width, height } = block.spec.spec;
  const area = [0, 0, width * zoom, height * zoom];
  const panels = new Map();
  for (const row of rows) panels.set(row.title, [...(panels.get(row.title) ?? []), row]);
  for (const panel of panels.values()) {
    const dots = panel.map(({ x, y }) => boxAt(x * zoom, y * zoom, 2 * DOT, 2 * DOT));
    const names = [];
    const order = [...panel].sort((a, b) => b.medoid - a.medoid);
    for (const row of order) {
      Object.assign(row, { label: "", end_x: null, end_y: null });
      const free = (place, obstacles) => inside(place, area) && !obstacles.some((other) => overlap(place, other));
      const tried = placesOf(row, zoom);
      const place = tried.find((each) => free(each, [...dots, ...names])) ?? (row.medoid ? tried.find((each) => free(each, names)) : null);
      if (!place) continue;
      names.push(place);
      const [x, y] = [(place[0] + place[2]) / 2, (place[1] + place[3]) / 2];
      Object.assign(row, { label: row.task, label_x: x / zoom, label_y: y / zoom });
      const end = [Math.min(Math.max(row.x * zoom, place[0]), place[2]), Math.min(Math.max(row.y * zoom, place[1]), place[3])];
      const far = Math.hypot(end[0] - row.x * zoom, end[1] - row.y * zoom) > 2 * DOT;
      if (far) Object.assign(row, { end_x: end[0] / zoom, end_y: end[1] / zoom });
    }
  }
  return rows;
}

/** Boxes of a name around its point, the nearest first; only the most central tasks may have far ones. */
function placesOf({ x, y, task, medoid }, zoom) {
  const [width, height] = [LETTER * task.length + 2, LINE];
  const radii = medoid ? [0, 12, 26, 42, 60] : [0];
  const turns = medoid ? 16 : 4;
  return radii.flatMap((radius) =>
    Array.from({ length: turns }, (_, turn) => {
      const angle = (2 * Math.PI * turn) / turns;
      const [dx, dy] = [Math.cos(angle), Math.sin(angle)];
      return boxAt(x * zoom + dx * (radius + DOT + 1 + width / 2), y * zoom + dy * (radius + DOT + 1 + height / 2), width, height);
    }),
  );
}

function boxAt(x, y, width, height) {
  return [x - width / 2, y - height / 2, x + width / 2, y + height / 2];
}

function inside(box, area) {
  return box[0] >= area[0] && box[1] >= area[1] && box[2] <= area[2] && box[3] <= area[3];
}

function overlap(a, b) {
  return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}
