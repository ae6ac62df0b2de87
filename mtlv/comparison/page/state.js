// The state of the switches: one object, to which all views subscribe.

const page = JSON.parse(await unzipped("data"));
const runOf = new Map(page.runs.map((run) => [run.key, run]));
const state = {
  runs: new Set(page.shown),
  tasks: new Set(page.tasks.map((task) => task.name)),
  baseline: page.baseline,
};
const SEVERAL = page.runs.length > 1; // else there is nothing to choose among runs, and their names say nothing
const listeners = [];

/** Change the state and notify all listeners. */
function change(changes) {
  Object.assign(state, changes);
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
  return visible(rowsOf(block), block.baseline, state.runs, state.tasks, state.baseline);
}
