// How the data spreads over prototypes: the largest share first.
function sharesChart(shares, cards) {
  const order = shares.map((_, i) => i).sort((a, b) => shares[b] - shares[a]);
  const sorted = order.map((i) => shares[i]);
  return chart({
    id: "shares",
    name: "Share of the data nearest to each prototype, largest first",
    label: `Shares of ${plural(shares.length, "prototype")}: ${percent(sorted[0])} to ${percent(sorted.at(-1))}`,
    head: ["Prototype", "Share", "So far"],
    rows: () =>
      order.map((i, k) => [`${i + 1}${named(cards[i])}`, percent(shares[i]), percent(sum(sorted.slice(0, k + 1)))]),
    paint: (width) => paintShares(width, sorted, order, cards),
  });
}

function named(card) {
  return card && card.label !== null ? ` (${clip(card.label, 40)})` : "";
}

function sum(values) {
  return values.reduce((total, x) => total + x, 0);
}

function paintShares(width, sorted, order, cards) {
  const [height, west, east, top, bottom] = [240, 50, width - 4, 16, 210];
  const y = linear([0, Math.max(...sorted, 1e-9)], [bottom, top]);
  const step = (east - west) / sorted.length;
  const gap = step > 6 ? Math.min(6, step * 0.22) : 0;
  const bars = sorted
    .map(
      (s, i) => `M${(west + i * step).toFixed(2)} ${bottom}V${y(s).toFixed(1)}h${(step - gap).toFixed(2)}V${bottom}z`,
    )
    .join("");
  const even = 1 / sorted.length;
  const picture = canvas(
    width,
    height,
    rulesAcross(y, y.ticks(4), west, east, percent),
    svg("path", { d: bars, class: "fill proto" }),
    rule(west, y(even), east, y(even), "line ink dashed"),
    text(east, y(even) - 7, `even shares: ${percent(even)}`, "note", "end"),
    text(
      (west + east) / 2,
      height - 6,
      sorted.length === 1 ? "one prototype" : `${count(sorted.length)} prototypes`,
      "axis",
      "middle",
    ),
  );
  const xs = sorted.map((_, i) => west + (i + 0.5) * step - gap / 2);
  const half = sorted.map(
    (
      (total) => (s) =>
        (total += s)
    )(0),
  );
  const describe = (i) =>
    lines(`Prototype ${order[i] + 1}${named(cards[order[i]])}`, [
      ["share", percent(sorted[i])],
      [`first ${i + 1} together`, percent(half[i])],
    ]);
  return readOut(picture, xs, describe, (i) => [[y(sorted[i]), "dot proto"]], [top, bottom]);
}
