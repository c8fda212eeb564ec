// A chart is drawn for the width it has, and again when that changes; its numbers stand in a table behind it.
const drawings = new WeakMap();
const widths = new ResizeObserver((entries) => drawAll(entries.map((entry) => entry.target)));

function chart({ id, name, label, key, paint, head, rows }) {
  const holder = el("div", { class: "canvas", id });
  drawings.set(holder, { paint, label, width: 0 });
  return el(
    "figure",
    { class: "chart" },
    name && el("figcaption", {}, el("span", { class: "chart-name" }, name), key),
    holder,
    rows && folded(`${id}-table`, "The numbers", () => table(label, head, rows())),
  );
}

// All are measured before any is drawn, and their words after: the browser lays the page out twice, not for each.
function drawAll(holders) {
  const wide = holders.map((holder) => Math.floor(holder.clientWidth));
  const drawn = holders.map((holder, i) => draw(holder, wide[i])).filter(Boolean);
  for (const [word, move] of drawn.flatMap(movesInside)) dress(word, move, []);
}

function draw(holder, width) {
  const drawing = drawings.get(holder);
  if (!drawing || !width || width === drawing.width) return null;
  drawing.width = width;
  const picture = drawing.paint(width);
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", drawing.label);
  holder.replaceChildren(picture);
  return picture;
}

// What words that would be cut at an edge need: a move inwards, or where they are wider than all, narrower letters.
function movesInside(picture) {
  const field = picture.getBoundingClientRect();
  const words = [...picture.querySelectorAll("text:not(.inside)")];
  return words.map((word) => [word, moveInside(word.getBoundingClientRect(), field)]).filter(([, move]) => move);
}

function moveInside(box, field) {
  const squeezed = box.width > field.width && { textLength: field.width, lengthAdjust: "spacingAndGlyphs", x: 0 };
  if (squeezed) return { ...squeezed, "text-anchor": "start" };
  const dx = Math.max(0, field.left - box.left) + Math.min(0, field.right - box.right);
  const dy = Math.max(0, field.top - box.top) + Math.min(0, field.bottom - box.bottom);
  return (dx || dy) && { dx: dx.toFixed(1), dy: dy.toFixed(1) };
}

function canvas(width, height, ...children) {
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height }, children);
}

// New content of a section, its charts drawn at once so that the page does not jump.
function mount(section, ...content) {
  section.querySelectorAll(".canvas").forEach((holder) => widths.unobserve(holder));
  section.replaceChildren(...content.flat(Infinity).filter(Boolean));
  section.hidden = false;
  const holders = [...section.querySelectorAll(".canvas")];
  drawAll(holders);
  holders.forEach((holder) => widths.observe(holder));
}

function legend(...entries) {
  return el(
    "span",
    { class: "legend" },
    entries.map(([name, swatch]) => el("span", {}, el("i", { class: `swatch ${swatch}` }), name)),
  );
}

function text(x, y, content, name = "", anchor = "start") {
  return svg("text", { x, y, class: name, "text-anchor": anchor }, content);
}

function rule(x1, y1, x2, y2, name) {
  return svg("line", { x1, y1, x2, y2, class: name });
}

// Text beside a place, on the side where there is room for it.
function beside(x, y, content, width, name = "note") {
  return x + 10 + 7.4 * content.length < width
    ? text(x + 10, y, content, name)
    : text(width - 2, y, content, name, "end");
}

function rulesAcross(scale, ticks, left, right, write) {
  return ticks.map((t) => [
    rule(left, scale(t), right, scale(t), "grid"),
    text(left - 8, scale(t) + 4, write(t), "tick", "end"),
  ]);
}

function ticksBelow(scale, ticks, y, write) {
  return ticks.map((t) => text(scale(t), y + 18, write(t), "tick", "middle"));
}

function path(points) {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

// Hovering reads the point nearest in x: a line down to it, dots on what is drawn there, its numbers.
function readOut(picture, xs, describe, dots, [top, bottom]) {
  const mark = svg("g", { class: "cross", visibility: "hidden" });
  picture.append(mark);
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const i = nearest(xs, ((event.clientX - box.left) * picture.viewBox.baseVal.width) / box.width);
    mark.replaceChildren(
      rule(xs[i], top, xs[i], bottom, "hair"),
      ...dots(i).map(([y, name]) => svg("circle", { cx: xs[i], cy: y, r: 4, class: name })),
    );
    mark.setAttribute("visibility", "visible");
    showTooltip(describe(i), event.clientX, event.clientY);
  });
  picture.addEventListener("pointerleave", () => {
    mark.setAttribute("visibility", "hidden");
    hideTooltip();
  });
  return picture;
}

function nearest(xs, x) {
  let best = 0;
  for (let i = 1; i < xs.length; i++) if (Math.abs(xs[i] - x) < Math.abs(xs[best] - x)) best = i;
  return best;
}
