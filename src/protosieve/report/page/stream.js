// The run over the position in the stream: what is left, and under it the rows taken in and given up.
function streamChart({ rows, residual, accepted, exchanged }) {
  const counts = [
    ["taken in", accepted, "proto"],
    ["exchanged", exchanged, "data"],
  ].filter(([, values]) => values);
  return chart({
    id: "stream-chart",
    name: "What is left, over the rows seen",
    label: `What is left: ${percent(residual[0])} at first, ${percent(residual.at(-1))} at ${count(rows.at(-1))} rows`,
    head: ["Rows seen", "Share left", ...counts.map(([name]) => `Rows ${name}`)],
    rows: () => rows.map((n, i) => [count(n), percent(residual[i]), ...counts.map(([, values]) => count(values[i]))]),
    paint: (width) => paintStream(width, rows, residual, counts),
  });
}

function paintStream(width, rows, residual, counts) {
  const [west, east, top, middle] = [58, width - 14, 12, 210];
  const deep = counts.length ? 128 : 0;
  const bottom = middle + (deep ? deep + 34 : 0);
  const x = linear([0, rows.at(-1)], [west, east]);
  const y = logarithmic(roomFor(residual), [middle, top]);
  const at = rows.map((n) => x(n));
  const most = bounds([1, ...counts.flatMap(([, values]) => values)])[1];
  const z = linear([0, most], [bottom, bottom - deep]);
  const picture = canvas(
    width,
    bottom + 44,
    rulesAcross(y, y.ticks(5), west, east, percent),
    svg("path", {
      d: path(rows.map((_, i) => [at[i], y(residual[i])]).filter((_, i) => residual[i] > 0)),
      class: "line proto",
    }),
    text(east, y(residual.at(-1)) + 20, `${percent(residual.at(-1))} left`, "note strong", "end"),
    deep && countsPanel(at, z, counts, west, east),
    ticksBelow(x, x.ticks(width / 150), bottom, count),
    text((west + east) / 2, bottom + 38, "rows seen", "axis", "middle"),
  );
  const describe = (i) =>
    lines(plural(rows[i], "row"), [
      ["left", percent(residual[i])],
      ...counts.map(([name, values]) => [name, count(values[i])]),
    ]);
  const dots = (i) => [
    [y(residual[i]), "dot proto"],
    ...counts.map(([, values, kind]) => [z(values[i]), `dot ${kind}`]),
  ];
  return readOut(picture, at, describe, dots, [top, bottom]);
}

// The two labels keep apart even where the lines end together.
function countsPanel(at, z, counts, west, east) {
  const ends = counts.map(([, values]) => z(values.at(-1)) - 8);
  if (ends.length === 2 && Math.abs(ends[0] - ends[1]) < 17)
    ends[ends[0] <= ends[1] ? 1 : 0] = Math.max(...ends) + 26;
  return [
    rulesAcross(z, whole(z.ticks(3)), west, east, count),
    counts.map(([name, values, kind], i) => [
      svg("path", { d: path(values.map((v, k) => [at[k], z(v)])), class: `line ${kind}` }),
      text(east, Math.min(ends[i], z(0) - 6), `${count(values.at(-1))} ${name}`, `note ${kind}`, "end"),
    ]),
  ];
}
