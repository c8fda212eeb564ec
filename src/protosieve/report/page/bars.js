// Pairs of bars, the data above the prototypes, in one column or two.
function pairedBars(width, rows, { columns = 1, name = 110, step = 36, describe = null } = {}) {
  const gap = 40;
  const each = (width - gap * (columns - 1)) / columns;
  const deep = Math.ceil(rows.length / columns);
  const longest = Math.max(...rows.map((row) => Math.max(row.data || 0, row.prototypes || 0)), 1e-12);
  const x = linear([0, longest], [0, each - name - 62]);
  const groups = rows.map((row, i) => {
    const [left, top] = [Math.floor(i / deep) * (each + gap), (i % deep) * step];
    return svg(
      "g",
      { transform: `translate(${left.toFixed(1)} ${top})` },
      pair(row, x, name, step),
      describe && hoverable(each, step, () => describe(i)),
    );
  });
  return canvas(width, deep * step + 4, groups);
}

function pair(row, x, name, step) {
  const thick = Math.min(11, (step - 10) / 2);
  const middle = step / 2;
  const one = (value, top, kind) =>
    isNumber(value) && [
      svg("rect", { x: name, y: top, width: Math.max(1, x(value)), height: thick, rx: 1.5, class: `fill ${kind}` }),
      text(name + x(value) + 7, top + thick - 1, percent(value), `value ${kind}`),
    ];
  return [
    svg(
      "text",
      { x: name - 12, y: middle + 4, class: "name", "text-anchor": "end" },
      svg("title", {}, row.value),
      clip(row.value, Math.floor(name / 8.4)),
    ),
    one(row.data, isNumber(row.data) ? middle - thick - 1 : middle, "data"),
    one(row.prototypes, isNumber(row.data) ? middle + 1 : middle - thick / 2, "proto"),
  ];
}

function hoverable(width, height, describe) {
  const show = (event) => showTooltip(describe(), event.clientX, event.clientY);
  return svg("rect", { width, height, class: "catch", pointermove: show, pointerleave: hideTooltip });
}

// Room for names: as much as the longest needs, a third of the width at most.
function nameRoom(rows, width) {
  const longest = Math.max(...rows.map((row) => Array.from(row.value).length));
  return Math.round(Math.max(34, Math.min(width / 3, 18 + 8.4 * longest)));
}
