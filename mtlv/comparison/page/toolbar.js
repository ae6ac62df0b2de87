// The sticky toolbar: runs, tasks, baseline and theme.

const MANY = 12; // with more runs than this, runs are chosen by searching

function toolbar() {
  const chips = el("div", { class: "chips", role: "group", "aria-label": "Runs shown" });
  const select = el(
    "select",
    { id: "baseline", onchange: () => change({ baseline: select.value }) },
    ...page.runs.map((run) => el("option", { value: run.key, selected: run.key === state.baseline }, run.name)),
  );
  listeners.push(() => (select.value = state.baseline));
  const draw = () => chips.replaceChildren(...chipsNow());
  listeners.push(draw);
  draw();
  const tasks = menu("Tasks", page.tasks, { set: "tasks", id: (task) => task.name, note: supportOf });
  const label = SEVERAL ? "Runs, tasks, baseline and theme" : "Tasks and theme";
  const bar = el("div", { class: "toolbar", role: "region", "aria-label": label });
  if (SEVERAL) bar.append(menu("Runs", page.runs, { set: "runs", id: (run) => run.key, mark: swatch, more: trackerLink }), chips);
  bar.append(tasks);
  if (SEVERAL) bar.append(el("div", { class: "baseline" }, el("label", { for: "baseline" }, "Baseline"), select));
  bar.append(themeButton());
  return bar;
}

/** A switch per run; with many runs, only those that are switched on. */
function chipsNow() {
  const few = page.runs.length <= MANY;
  const runs = few ? page.runs : page.runs.filter((run) => state.runs.has(run.key));
  return runs.map((run) => {
    const attributes = {
      type: "button",
      class: "chip",
      title: run.name,
      "data-run": run.key,
      "aria-pressed": String(state.runs.has(run.key)),
      onclick: () => {
        change({ runs: toggled(state.runs, run.key) });
        document.querySelector(`.chip[data-run="${run.key}"]`)?.focus();
      },
    };
    return el("button", attributes, swatch(run), el("span", {}, run.name));
  });
}

function supportOf({ support, counts }) {
  if (support == null) return null;
  return el("span", { class: "note", title: counts }, shown(support, Number.isInteger(support) ? 0 : 1));
}

function trackerLink(run) {
  if (!/^https?:/.test(run.link)) return null;
  const label = `${run.name} in the tracker`;
  return el("a", { href: run.link, target: "_blank", rel: "noopener noreferrer", "aria-label": label }, "↗");
}

/** A button with a panel: search, all, none, only search results, and a list of checkboxes. */
function menu(title, items, { set, id, mark, note, more }) {
  const count = el("b");
  const entries = items.map((item) => entry(item, { set, id, mark, note, more }));
  const search = el("input", { type: "search", placeholder: `Search ${title.toLowerCase()}`, oninput: () => find() });
  search.setAttribute("aria-label", `Search ${title.toLowerCase()}`);
  const found = () => entries.filter(({ node }) => !node.hidden).map(({ key }) => key);
  const action = (words, keys) =>
    el("button", { type: "button", class: "quiet", onclick: () => change({ [set]: new Set(keys()) }) }, words);
  function find() {
    const words = search.value.trim().toLocaleLowerCase();
    for (const { node, name } of entries) node.hidden = !name.toLocaleLowerCase().includes(words);
  }
  const all = () => entries.map(({ key }) => key);
  const actions = [action("All", all), action("None", () => []), action("Only those found", found)];
  const panel = el(
    "div",
    { class: "panel", id: `panel-${set}`, hidden: true },
    items.length > 6 ? search : null,
    el("div", { class: "actions" }, ...actions.slice(0, items.length > 6 ? 3 : 2)),
    el("ul", {}, ...entries.map(({ node }) => node)),
  );
  const refresh = () => {
    count.textContent = `${state[set].size} of ${items.length}`;
    for (const { key, box } of entries) box.checked = state[set].has(key);
  };
  listeners.push(refresh);
  refresh();
  return disclosure(set, [`${title} `, count], panel);
}

function entry(item, { set, id, mark, note, more }) {
  const key = id(item);
  const box = el("input", { type: "checkbox", onchange: () => change({ [set]: toggled(state[set], key) }) });
  const label = el(
    "label",
    {},
    box,
    mark?.(item) ?? null,
    el("span", { class: "name" }, item.name),
    note?.(item) ?? null,
  );
  return { key, name: item.name, box, node: el("li", {}, label, more?.(item) ?? null) };
}

/** Opens by click, Enter or Space; closes by Escape or a click elsewhere. */
function disclosure(name, words, panel) {
  const show = (open) => {
    panel.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
  };
  const attributes = { type: "button", "aria-expanded": "false", "aria-controls": panel.id, "data-menu": name };
  const button = el("button", { ...attributes, onclick: () => show(panel.hidden) }, ...words);
  const box = el("div", { class: "menu" }, button, panel);
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || panel.hidden) return;
    show(false);
    button.focus();
  });
  document.addEventListener("click", (event) => box.contains(event.target) || show(false));
  box.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !box.contains(relatedTarget)) show(false);
  });
  return box;
}

const THEMES = { auto: "Auto", light: "Light", dark: "Dark" };

/** Cycles through auto, light and dark. Not stored, because a sandboxed page has no storage. */
function themeButton() {
  const root = document.documentElement;
  const words = el("span");
  const set = (theme) => {
    root.dataset.theme = theme;
    words.textContent = THEMES[theme];
    button.setAttribute("aria-label", `Theme: ${theme}. Change it`);
  };
  const next = () => {
    const names = Object.keys(THEMES);
    set(names[(names.indexOf(root.dataset.theme) + 1) % names.length]);
  };
  const button = el("button", { type: "button", class: "theme", onclick: next }, el("i", { "aria-hidden": "true" }), words);
  set("auto");
  return button;
}
