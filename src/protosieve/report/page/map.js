// The data as dots, the prototypes as circles whose area is their weight.
const STRETCH = 1.4; // how much longer a unit may be on one axis than on the other, to fill the field

function mapChart(report, tints) {
  const { axes, points, labels, prototypes } = report.map;
  const markers = report.cards
    .map((card, i) => ({ card, i, at: prototypes[i] }))
    .filter(({ at }) => at && at.every(isNumber));
  const label = `Map of ${plural(points.length, "row")} and ${plural(markers.length, "prototype")}`;
  return chart({
    id: "map-chart",
    name: [el("span", {}, "Small dots: rows. Circles: prototypes, area by weight.")],
    key: tints.names.length ? colourKey(tints) : null,
    label,
    head: ["Prototype", "Label", "Weight", axes[0], axes[1]],
    rows: () =>
      markers.map(({ card, i, at }) => [
        count(i + 1),
        words(card.label ?? NONE),
        steady(card.weight),
        ...at.map((v) => number(v)),
      ]),
    paint: (width) => paintMap(width, { axes, points, labels, markers, tints }),
  });
}

function paintMap(width, { axes, points, labels, markers, tints }) {
  const height = Math.round(Math.max(340, Math.min(680, width * 0.64)));
  const box = { west: 8, east: width - 8, top: 12, bottom: height - 30 };
  const [x, y] = axesOf(points, markers, box);
  const spots = markerSpots(markers, x, y, width);
  const picture = canvas(
    width,
    height + (width < 520 ? 17 : 0),
    svg("rect", { x: 0.5, y: 0.5, width: width - 1, height: height - 24, rx: 6, class: "ground" }),
    axisNames(axes, width, height),
    svg(
      "g",
      { class: "dots" },
      dotPaths(points, x, y, ([, , k]) => tints.of(labels[k])),
    ),
    svg("g", { class: "own" }),
    svg(
      "g",
      { class: "markers" },
      spots.map((spot) => marker(spot, tints)),
    ),
  );
  return walkable(picture, spots, (i) =>
    dotPaths(
      points.filter((p) => p[3] === i),
      x,
      y,
      ([, , k]) => tints.of(labels[k]),
    ),
  );
}

// Side by side below the field, or one under the other where it is narrow.
function axisNames([across, up], width, height) {
  const narrow = width < 520;
  const most = Math.floor(width / (narrow ? 8 : 16));
  const second = narrow ? [2, height + 11, "start"] : [width - 2, height - 6, "end"];
  return [
    text(2, height - 6, `→ ${clip(across, most)}`, "axis"),
    text(second[0], second[1], `↑ ${clip(up, most)}`, "axis", second[2]),
  ];
}

// One unit is about as long across as up, unless one axis would be a thread.
function axesOf(points, markers, { west, east, top, bottom }) {
  const at = [...points, ...markers.map((marker) => marker.at)];
  const [xs, ys] = [
    extent(
      at.map((p) => p[0]),
      0.04,
    ),
    extent(
      at.map((p) => p[1]),
      0.04,
    ),
  ];
  const [spanX, spanY] = [(xs[1] - xs[0]) / (east - west), (ys[1] - ys[0]) / (bottom - top)];
  const alike = Math.max(spanX, spanY) < 2.5 * Math.min(spanX, spanY);
  const unit = Math.max(spanX, spanY) / STRETCH;
  return [
    linear(widened(xs, alike ? unit * (east - west) : 0), [west, east]),
    linear(widened(ys, alike ? unit * (bottom - top) : 0), [bottom, top]),
  ];
}

function widened([low, high], span) {
  const more = Math.max(0, span - (high - low)) / 2;
  return [low - more, high + more];
}

// A path per colour: two thousand dots are ten elements, which any phone can draw.
function dotPaths(points, x, y, kind) {
  const paths = new Map();
  for (const point of points) {
    const name = kind(point);
    paths.set(name, `${paths.get(name) || ""}M${x(point[0]).toFixed(1)} ${y(point[1]).toFixed(1)}h0`);
  }
  return [...paths].map(([name, d]) => svg("path", { d, class: `dots ${name}` }));
}

// Large ones first, so that small ones lie on top.
function markerSpots(markers, x, y, width) {
  const heaviest = Math.max(...markers.map(({ card }) => Math.abs(card.weight || 0)), 1e-300);
  const largest = (width < 520 ? 4 : 6) + (width < 520 ? 30 : 42) / Math.sqrt(markers.length || 1);
  const radius = (weight) => Math.max(2.5, Math.min(24, largest) * Math.sqrt(Math.abs(weight || 0) / heaviest));
  const spots = markers.map(({ card, i, at }) => ({
    card,
    i,
    x: x(at[0]),
    y: y(at[1]),
    r: radius(card.weight),
  }));
  return spots.sort((a, b) => b.r - a.r);
}

function marker({ card, i, x, y, r }, tints) {
  const short = card.label !== null && Array.from(card.label).length <= 2 && r >= 6;
  const inside = Math.max(8, Math.min(15, r * 1.1));
  const kind = tints.names.length ? tints.of(card.label) : "proto";
  return svg(
    "g",
    { class: `marker ${kind}`, "data-card": i, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` },
    svg("circle", { r: r.toFixed(1) }),
    short &&
      svg(
        "text",
        { y: (inside * 0.36).toFixed(1), "font-size": inside.toFixed(1), class: "inside", "text-anchor": "middle" },
        card.label,
      ),
  );
}
