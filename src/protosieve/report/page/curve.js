// What is left against the number of prototypes: could there be fewer?
function curveChart({ count: counts, residual, own, random }) {
  const kept = counts.at(-1);
  const points = counts.map((k, i) => [k, residual[i]]).filter(([, r]) => r > 0);
  const left = (k, r) => `${plural(k, "prototype")}: ${percent(r)} left`;
  if (!points.length) return null;
  return chart({
    id: "curve",
    name: "What is left, by number of prototypes",
    label: `What is left falls from ${left(counts[0], residual[0])} to ${left(kept, own)}`,
    head: ["Prototypes", "Residual", "Share left"],
    rows: () => counts.map((k, i) => [count(k), number(residual[i]), percent(residual[i])]),
    paint: (width) => paintCurve(width, points, { kept, own, random, left }),
  });
}

function paintCurve(width, points, { kept, own, random, left }) {
  const height = width < 520 ? 280 : 340;
  const [west, east, top, bottom] = [58, width - 14, 14, height - 46];
  const x = linear([Math.min(1, points[0][0]), Math.max(kept, points.at(-1)[0])], [west + 6, east - 6]);
  const y = logarithmic(roomFor([...points.map(([, r]) => r), own, random]), [bottom, top]);
  const picture = canvas(
    width,
    height,
    rulesAcross(y, y.ticks(5), west, east, percent),
    ticksBelow(x, whole(x.ticks(width / 70)), bottom, count),
    text((west + east) / 2, height - 6, "number of prototypes", "axis", "middle"),
    random > 0 && randomRule(x, y, points, { west, east, width, kept, random }),
    svg("path", { d: path(points.map(([k, r]) => [x(k), y(r)])), class: "line proto" }),
    own > 0 && svg("circle", { cx: x(kept), cy: y(own), r: 5.5, class: "dot proto" }),
    own > 0 && text(x(kept) + 6, y(own) + 22, left(kept, own), "note strong", "end"),
  );
  const xs = points.map(([k]) => x(k));
  const describe = (i) =>
    lines(plural(points[i][0], "prototype"), [
      ["left", percent(points[i][1])],
      ["represented", percent(1 - points[i][1])],
    ]);
  return readOut(picture, xs, describe, (i) => [[y(points[i][1]), "dot proto"]], [top, bottom]);
}

// Random rows as a dashed line, and where the curve goes below it.
function randomRule(x, y, points, { west, east, width, kept, random }) {
  const level = y(random);
  const meets = points.find(([, r]) => r <= random);
  const crossing = meets && meets[0] < kept && width >= 520;
  const does = crossing && `${count(meets[0])} ${meets[0] === 1 ? "does" : "do"} as well as ${count(kept)} random rows`;
  const name = `${plural(kept, "random row")}: ${percent(random)}`;
  return [
    rule(west, level, east, level, "line data dashed"),
    width >= 520 ? text(west + 6, level + 17, name, "note data") : text(east, level - 8, name, "note data", "end"),
    crossing && svg("circle", { cx: x(meets[0]), cy: y(meets[1]), r: 4, class: "ring proto" }),
    crossing && beside(x(meets[0]), level - 9, does, width - 14),
  ];
}
