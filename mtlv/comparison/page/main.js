// The page from its data.

const BLOCKS = { text: textBlock, groups: groupsBlock, table: tableBlock, figure: figureBlock, disagreement: disagreementBlock };

function textBlock({ text, tone }) {
  return el("p", { class: `words ${tone}`, role: tone === "warning" ? "note" : null }, ...prose(text));
}

const CHIPS = 12; // tasks of a group, or groups, that are shown at once

/** Groups of tasks as chips, each group with its number in its colour. */
function groupsBlock(block) {
  return el("div", { class: "groups", id: `groups-${block.id}` }, el("h3", {}, block.title), ...groupLists(rowsOf(block), block.title));
}

function groupLists(rows, label) {
  const chip = ({ task }) => el("li", { class: "task" }, task);
  const group = (number) => {
    const members = rows.filter((row) => row.group === number);
    const style = `--group: ${members[0].colour}`;
    const tasks = chips(members.map(chip), "task", `Tasks of group ${number}`);
    return el("li", { class: "group", style }, el("b", {}, number), ...tasks);
  };
  const groups = [...new Set(rows.map(({ group }) => group))].map(group);
  return chips(groups, "group", label);
}

/** A list of the first chips, and one of the others that is folded. */
function chips(items, word, label) {
  const [first, others] = [items.slice(0, CHIPS), items.slice(CHIPS)];
  const list = (some, name) => el("ul", { "aria-label": name }, ...some);
  if (!others.length) return [list(items, label)];
  const more = `${counted(others.length, word)} more`;
  return [list(first, label), el("details", {}, el("summary", {}, more), list(others, `${label}, ${more}`))];
}

/** Says what conclusions are about while the switches say otherwise, and hides them if these were changed. At
 * first, only the first section says it. */
function scope(section, conclusions) {
  const isFirst = section === page.sections.find((other) => conclusionsOf(other).length);
  const all = counts().join(" and ");
  const baseline = SEVERAL ? runOf.get(page.baseline)?.name : null;
  const text = `Conclusions are about all ${all}${baseline ? `, with “${baseline}” as the baseline` : ""}, not about what is switched on. `;
  const back = () => change({ runs: new Set(runOf.keys()), tasks: new Set(page.tasks.map(({ name }) => name)), baseline: page.baseline });
  const button = el("button", { type: "button", class: "quiet", onclick: back }, "Show all");
  const leader = el("span");
  const note = el("p", { class: "scope", role: "note" }, leader, text, button);
  const scores = section.blocks.find(({ id, kind }) => id === "answer" && kind === "table");
  const update = () => {
    const { runs, tasks } = state;
    const same = tasks.size === page.tasks.length && state.baseline === page.baseline;
    const opened = same && runs.size === page.shown.length && page.shown.every((key) => runs.has(key));
    const holds = opened || (same && runs.size === page.runs.length);
    note.hidden = holds && (!isFirst || runs.size === page.runs.length);
    for (const each of conclusions) each.hidden = !holds;
    leader.textContent = scores && !holds ? highest(scores) : "";
  };
  listeners.push(update);
  update();
  return note;
}

/** The best of the runs that are switched on, in words. */
function highest(block) {
  const rows = inOrder(visibleOf(block).filter(({ score, control }) => score != null && !control), { column: { key: "score" }, falling: true });
  if (!rows.length) return "No run with a score is switched on. ";
  const { title } = block.columns.find(({ key }) => key === "score");
  return `Of the runs that are switched on, “${rows[0].name}” has the highest ${title}, ${shown(rows[0].score, 3)}. `;
}

function counts() {
  return [SEVERAL ? counted(page.runs.length, "run") : null, counted(page.tasks.length, "task")].filter(Boolean);
}

function header() {
  const line = [...counts(), page.created, `mtlv\u00a0${page.version}`].filter(Boolean).join("  ·  ");
  const link = page.runs.length === 1 ? trackerLink(page.runs[0]) : null;
  return el("header", {}, el("h1", {}, page.title), el("p", { class: "facts" }, line, link));
}

/** Shows the warnings below the first pictures and above what the answer is drawn from. */
function warn(main) {
  if (!page.warnings.length) return;
  const notes = page.warnings.map((text) => el("li", {}, ...prose(text[0].toUpperCase() + text.slice(1))));
  const list = el("ul", { class: "warnings", "aria-label": "Warnings" }, ...notes);
  const first = ["#answer > .keys", "#answer > .words", ".block"].map((place) => main.querySelector(place)).find(Boolean);
  if (first) first.after(list);
  else main.prepend(list);
}

/** The blocks of a section with conclusions, which are about all runs and tasks. */
function conclusionsOf({ id, blocks }) {
  return blocks.filter(({ kind, tone }) => kind === "groups" || (kind === "text" && (id === "answer" || tone === "finding")));
}

/** A section: its conclusions and its key figures, by default the first; other figures and tables are folded,
 * but for those of the answer and of a single run. */
function sectionOf(section) {
  const { id, title, intro, blocks } = section;
  const built = new Map(blocks.map((block) => [block, BLOCKS[block.kind](block)]));
  const keys = blocks.filter(({ is_key }) => is_key);
  const first = keys.length ? keys : blocks.filter(({ kind }) => kind === "figure").slice(0, 1);
  const isOpen = (block) => id === "answer" || (!SEVERAL && id !== "settings") || block.kind === "text" || first.includes(block);
  const shut = blocks.filter((block) => !isOpen(block));
  const conclusions = conclusionsOf(section);
  const open = sideBySide(blocks.filter(isOpen), built, id === "answer");
  const picture = open.findIndex((node) => node.matches("figure, .keys"));
  if (conclusions.length) open.splice(picture + 1, 0, scope(section, conclusions.map((block) => built.get(block))));
  return el(
    "section",
    { id, "aria-labelledby": `title-${id}` },
    el("h2", { id: `title-${id}`, tabindex: -1 }, title),
    intro ? el("p", { class: "intro" }, ...prose(intro)) : null,
    ...open,
    shut.length ? el("details", { class: "fold" }, el("summary", {}, contentsOf(shut)), ...shut.map((block) => built.get(block))) : null,
  );
}

/** What was built of blocks; the key figures of the answer in one element, in place of the first. */
function sideBySide(blocks, built, isAnswer) {
  const keys = blocks.filter(({ is_key }) => isAnswer && is_key);
  const box = el("div", { class: "keys" }, ...keys.map((block) => built.get(block)));
  return blocks.filter((block) => !keys.slice(1).includes(block)).map((block) => (block === keys[0] ? box : built.get(block)));
}

function contentsOf(blocks) {
  const titles = new Set(blocks.map(({ title }) => title).filter(Boolean));
  return [...titles].join(" · ");
}

/** Opens all folds and captions, as printing needs; returns a function that closes those that were closed. */
function unfold() {
  const closed = [...document.querySelectorAll("details.fold:not([open]), .caption > details:not([open])")];
  for (const fold of closed) fold.open = true;
  return () => closed.forEach((fold) => (fold.open = false));
}

/** Scrolls by script, because in another page's sandbox a link to a fragment could leave the page. */
function jump(event, id) {
  event.preventDefault();
  const target = document.getElementById(id);
  const fold = target.closest("section")?.querySelector("details.fold");
  if (fold) fold.open = true;
  target.scrollIntoView();
  target.focus({ preventScroll: true });
}

function contents() {
  const links = page.sections.map(({ id, title }) =>
    el("li", {}, el("a", { href: `#${id}`, "data-section": id, onclick: (event) => jump(event, `title-${id}`) }, title)),
  );
  return el("nav", { class: "contents", "aria-label": "Contents" }, el("ol", {}, ...links));
}

/** Marks the current section in the table of contents. */
function follow() {
  const sections = [...document.querySelectorAll("section")];
  const links = new Map([...document.querySelectorAll("[data-section]")].map((a) => [a.dataset.section, a]));
  const mark = () => {
    const read = sections.filter((section) => section.getBoundingClientRect().top < innerHeight / 3).at(-1);
    for (const [id, link] of links) {
      if (id === read?.id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  addEventListener("scroll", mark, { passive: true });
  mark();
}

let refold = () => {};

/** Shrinks tables wider than a sheet of paper, so that printing does not cut them off. */
function fitToPaper() {
  const SHEET = 680; // CSS pixels of A4 between its margins
  if (!document.documentElement.classList.contains("paper")) refold = unfold();
  document.documentElement.classList.add("paper");
  const tables = [...document.querySelectorAll(".scroll > table")];
  for (const { style } of tables) Object.assign(style, { width: "min-content", zoom: 1 });
  const widths = tables.map((table) => table.offsetWidth);
  tables.forEach(({ style }, i) => {
    Object.assign(style, { width: "", zoom: "" });
    style.setProperty("--fit", Math.min(1, SHEET / widths[i]));
  });
}

function fitToScreen() {
  document.documentElement.classList.remove("paper");
  refold();
}

const skip = el("a", { class: "skip", href: "#main", onclick: (event) => jump(event, "main") }, "Skip to the contents");
const main = el("main", { id: "main", tabindex: -1 }, ...page.sections.map(sectionOf));
warn(main);
document.body.append(skip, header(), document.getElementById("note") ?? "", toolbar(), el("div", { class: "columns" }, contents(), main));
follow();
matchMedia("print").addEventListener("change", ({ matches }) => (matches ? fitToPaper() : fitToScreen()));
addEventListener("beforeprint", () => {
  drawAll();
  fitToPaper();
});
addEventListener("afterprint", fitToScreen);
if (!figures.length) DRAWN.drawn = "yes";
