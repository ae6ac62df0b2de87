// The rule of mtlv/comparison/files.py; a test runs both on the same rows.

/** Unpacks rows from columns (see `packed` in page.py). */
function unpacked({ count, columns }) {
  const rows = Array.from({ length: count }, () => ({}));
  for (const [field, column] of Object.entries(columns)) {
    const at = Array.isArray(column) ? (i) => column[i] : (i) => column.texts[column.places[i]];
    for (let i = 0; i < count; i += 1) rows[i][field] = at(i);
  }
  return rows;
}

/** Rows whose run (and other run) and task are on, with the difference to the baseline run where one is set. */
function visible(rows, rule, runs, tasks, baseline, chosen = 0) {
  const on = ({ run, other, task, choice }) =>
    (choice ?? chosen) === chosen && (task == null || tasks.has(task)) && (run == null || (runs.has(run) && (other == null || runs.has(other))));
  const kept = rows.filter(on);
  if (!rule) return kept;
  const key = (row) => JSON.stringify(rule.by.map((field) => row[field] ?? null));
  const partners = new Map();
  for (const row of rows) {
    if (row.run === baseline && !partners.has(key(row))) partners.set(key(row), row[rule.value]);
  }
  return kept.map((row) => {
    const own = row[rule.value];
    const partner = partners.get(key(row));
    const known = typeof own === "number" && typeof partner === "number";
    return { ...row, delta: known ? own - partner : null };
  });
}
