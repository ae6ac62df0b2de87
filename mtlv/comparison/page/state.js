// The state of the switches: one object, to which all views subscribe.

const page = JSON.parse(await unzipped("data"));
const runOf = new Map(page.runs.map((run) => [run.key, run]));
const RUNS = page.runs.map(({ key }) => key);
const TASKS = page.tasks.map(({ name }) => name);
/** The numbers of groups that can be chosen; 0: as each run has them. */
const CHOICES = [...new Set([0, ...page.sections.flatMap(({ blocks }) => blocks.flatMap(({ choices }) => Object.keys(choices ?? {}).map(Number)))])];
const state = {
  runs: new Set(fromAddress("runs", RUNS) ?? page.shown),
  tasks: new Set(fromAddress("tasks", TASKS) ?? TASKS),
  baseline: fromAddress("baseline", RUNS)?.[0] ?? page.baseline,
  k: Number(fromAddress("k", CHOICES)?.[0] ?? 0),
};
const SEVERAL = page.runs.length > 1; // else there is nothing to choose among runs, and their names say nothing
const listeners = [];

/** The items that the address selects by their numbers, such as `#runs=0.2&baseline=1`; null if it selects none. */
function fromAddress(name, items) {
  const numbers = new URLSearchParams(location.hash.slice(1)).get(name);
  return numbers === null ? null : numbers.split(".").filter((number) => number in items).map((number) => items[number]);
}

/** Writes what differs from the page's first state into the address, so that it can be sent. */
function toAddress() {
  const words = new URLSearchParams();
  const add = (name, items, chosen, first) => {
    if (chosen.size !== first.size || [...chosen].some((item) => !first.has(item)))
      words.set(name, [...chosen].map((item) => items.indexOf(item)).join("."));
  };
  add("runs", RUNS, state.runs, new Set(page.shown));
  add("tasks", TASKS, state.tasks, new Set(TASKS));
  add("baseline", RUNS, new Set([state.baseline]), new Set([page.baseline]));
  add("k", CHOICES, new Set([state.k]), new Set([0]));
  try {
    history.replaceState(null, "", `#${words}`);
  } catch {
    // A page inside another page may have no address of its own.
  }
}

/** Change the state and notify all listeners. */
function change(changes) {
  Object.assign(state, changes);
  toAddress();
  for (const listener of listeners) listener();
}

/** Toggle a member of a set. */
function toggled(set, member) {
  const next = new Set(set);
  if (!next.delete(member)) next.add(member);
  return next;
}

/** All rows of a block, unpacked once. */
function rowsOf(block) {
  if (!block.rows) {
    block.rows = unpacked(block.packed);
    delete block.packed;
  }
  return block.rows;
}

/** Visible rows of a block in the current state. */
function visibleOf(block) {
  return visible(rowsOf(block), block.baseline, state.runs, state.tasks, state.baseline, state.k);
}
