// How similar rows are to their nearest prototype: a bar for each step.
function similaritiesChart({ edges, shares }) {
  const steps = shares.map((share, i) => [`${number(edges[i], 2)} to ${number(edges[i + 1], 2)}`, percent(share)]);
  return chart({
    id: "similarities",
    name: "Similarity of rows to their nearest prototype",
    label: `Similarities from ${number(edges[0], 2)} to ${number(edges.at(-1), 2)}, with the share of rows in each step`,
    head: ["Similarity", "Share of rows"],
    rows: () => steps,
    paint: (width) => paintSimilarities(width, edges, shares, steps),
  });
}

function paintSimilarities(width, edges, shares, steps) {
  const [height, west, east, top, bottom] = [220, 50, width - 4, 16, 180];
  const x = linear([edges[0], edges.at(-1)], [west, east]);
  const y = linear([0, Math.max(...shares, 1e-9)], [bottom, top]);
  const bars = shares
    .map((s, i) => `M${(x(edges[i]) + 1).toFixed(1)} ${bottom}V${y(s).toFixed(1)}H${x(edges[i + 1]).toFixed(1)}V${bottom}z`)
    .join("");
  const picture = canvas(
    width,
    height,
    rulesAcross(y, y.ticks(4), west, east, percent),
    svg("path", { d: bars, class: "fill data" }),
    ticksBelow(x, x.ticks(5), bottom, (t) => number(t, 2)),
  );
  const xs = shares.map((_, i) => x((edges[i] + edges[i + 1]) / 2));
  const describe = (i) => lines(steps[i][0], [["rows", steps[i][1]]]);
  return readOut(picture, xs, describe, (i) => [[y(shares[i]), "dot data"]], [top, bottom]);
}
