// Elements and numbers. All text becomes text nodes, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes (`on...`: listeners) and children (elements or texts). */
function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

/** The parts of a sentence: text, and what is between backticks as code. */
function prose(text) {
  return text.split(/`([^`]+)`/).map((part, place) => (place % 2 ? el("code", {}, part) : part));
}

/** A formatted number: thousands separators, a real minus sign, never "-0.000". */
function shown(value, digits, signed = false) {
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  const text = new Intl.NumberFormat("en", options).format(Math.abs(value));
  if (!/[1-9∞]/.test(text)) return text;
  return (value < 0 ? "−" : signed ? "+" : "") + text;
}

/** A line in a run's colour and dash: runs that share a colour differ by the dash. */
function swatch(run) {
  const dashed = run.dash[1] > 0 ? run.dash.join(" ") : null;
  const line = { x1: 1, x2: 21, y1: 5, y2: 5, stroke: run.colour, "stroke-width": 4, "stroke-dasharray": dashed };
  return svg("svg", { class: "swatch", viewBox: "0 0 22 10", "aria-hidden": "true" }, svg("line", line));
}

/** The text packed in the element: Base64 of gzip. */
async function unzipped(id) {
  if (!("DecompressionStream" in window)) {
    document.body.textContent = "This browser is too old for this page (2023 or newer). The folders beside it have all numbers and figures.";
  }
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

/** "3 runs", "1 run". */
function counted(number, word) {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}

/** Offers text or a data address as a file. */
function download(name, content, type) {
  const url = type ? URL.createObjectURL(new Blob([content], { type })) : content;
  el("a", { href: url, download: name }).click();
  if (type) setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** Buttons for downloads, the last of the visible rows; not in another page's sandbox, which blocks them. */
function exportsOf(block, downloads = {}) {
  if (window.parent !== window) return null;
  const rows = () => download(`${block.id}.csv`, csvOf(visibleOf(block)), "text/csv");
  const buttons = Object.entries({ ...downloads, CSV: rows }).map(([title, save]) =>
    el("button", { type: "button", class: "quiet", onclick: save, "aria-label": `${title}: ${block.title}` }, title),
  );
  return el("span", { class: "exports" }, ...buttons);
}

/** A button that copies what `text` returns, and says so; where copying is not allowed, it saves a file. */
function copying(title, block, text) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = title), 1500);
    } catch {
      download(`${block.id}.tex`, text(), "text/plain");
    }
  };
  const button = el("button", { type: "button", class: "quiet", onclick: copy, "aria-label": `Copy as ${title}: ${block.title}` }, title);
  return button;
}

/** Rows as CSV (RFC 4180), all fields. */
function csvOf(rows) {
  const fields = [...new Set(rows.flatMap(Object.keys))];
  const cell = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const line = (values) => values.map((value) => cell(String(value ?? ""))).join(",");
  return [line(fields), ...rows.map((row) => line(fields.map((field) => row[field])))].join("\n") + "\n";
}
