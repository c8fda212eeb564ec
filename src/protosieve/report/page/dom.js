// Elements are made here, one by one: no text from data ever meets an HTML parser.
const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);

function el(tag, attributes, ...children) {
  return dress(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return dress(document.createElementNS(SVG, tag), attributes, children);
}

function dress(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// A user's words, kept apart from ours whatever their direction.
function words(text, attributes) {
  return el("bdi", { dir: "auto", ...attributes }, String(text));
}

// A name beside its value, as a list of such pairs.
function pairs(name, entries) {
  return el(
    "dl",
    { class: name },
    entries.map(([term, ...values]) =>
      el(
        "div",
        {},
        el("dt", {}, term),
        values.map((v) => el("dd", {}, v)),
      ),
    ),
  );
}

function table(caption, head, rows, plainHead = true) {
  const cell = (value, i) => (i ? el("td", {}, value) : el("th", { scope: "row" }, value));
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    el(
      "table",
      {},
      el("caption", {}, caption),
      el(
        "thead",
        { class: plainHead ? null : "unseen" },
        el(
          "tr",
          {},
          head.map((name) => el("th", { scope: "col" }, name)),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((row) => el("tr", {}, row.map(cell))),
      ),
    ),
  );
}

// What opens on demand is made on demand.
function folded(id, name, make) {
  const box = el("details", { id, class: "folded" }, el("summary", {}, name));
  box.addEventListener("toggle", () => {
    if (box.open && box.childElementCount === 1) box.append(make());
  });
  return box;
}

function bar(share, name = "") {
  const inside = el("span", {});
  inside.style.width = `${100 * Math.min(1, Math.max(0, share || 0))}%`;
  return el("span", { class: `bar ${name}`, "aria-hidden": "true" }, inside);
}

function say(text) {
  byId("said").textContent = text;
}
