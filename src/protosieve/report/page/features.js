// Each feature's distribution, data against weighted prototypes, the worst matched first.
const FEATURES_SHOWN = 12;
const VALUES_NAMED = 40; // of those that no prototype has

function featuresPart({ sentence, total, items }, redraw) {
  const shown = view.allFeatures ? items : items.slice(0, FEATURES_SHOWN);
  const rest = items.length - FEATURES_SHOWN;
  const turn = () => {
    view.allFeatures = !view.allFeatures;
    redraw();
  };
  return [
    el("h3", {}, "Feature by feature"),
    el("p", { class: "lead" }, sentence),
    el("p", { class: "keys" }, legend(["data", "data"], ["prototypes, by weight", "proto"]), rangeKey()),
    el("div", { class: "features" }, shown.map(featureChart)),
    rest > 0 &&
      el(
        "button",
        { type: "button", id: "all-features", click: turn, "aria-expanded": String(view.allFeatures) },
        view.allFeatures ? `Show the ${FEATURES_SHOWN} worst` : `Show all ${count(items.length)}`,
      ),
    total > items.length &&
      el("p", { class: "aside" }, `The ${count(items.length)} worst matched of ${count(total)} features are here.`),
    folded("features-table", "The numbers", () => featuresTable(items)),
  ];
}

function rangeKey() {
  return el("span", { class: "legend" }, "thin line: 5 to 95 % of rows; bar: the middle half; notch: the median");
}

function featureChart(item, i) {
  const id = `feature-${i}`;
  const numeric = item.kind === "number";
  const label = `${item.name}: data and prototypes differ by ${percent(item.distance)}`;
  const holder = chart({
    id,
    label,
    paint: (width) => (numeric ? paintRanges(width, item) : paintCategories(width, item)),
  });
  const more =
    !numeric && item.more > 0 && el("p", { class: "aside" }, `and ${plural(item.more, "more value", "more values")}`);
  const without = item.without || [];
  const names = without.slice(0, VALUES_NAMED).map((v) => `${clip(v.value, 40)} (${percent(v.data)})`);
  const others = without.length > VALUES_NAMED ? ` and ${count(without.length - VALUES_NAMED)} more` : "";
  const missed =
    without.length > 0 && el("p", { class: "aside" }, words(`no prototype has ${names.join(", ")}${others}`));
  return el(
    "div",
    { class: "feature" },
    el("h4", {}, words(clip(item.name, 80)), el("span", { class: "distance" }, `${percent(item.distance)} apart`)),
    holder,
    more,
    missed,
  );
}

// The quantiles as people read them: numbers, or where the report shows them as something else, dates, as that.
function written({ data, prototypes, shown }) {
  return shown || { data: data.map((q) => number(q)), prototypes: prototypes.map((q) => number(q)) };
}

function paintRanges(width, item) {
  const { data, prototypes } = item;
  const texts = written(item);
  const ends = [...data, ...prototypes].map((q, i) => [q, [...texts.data, ...texts.prototypes][i]]);
  const known = ends.filter(([q]) => isNumber(q)).sort(([a], [b]) => a - b);
  const [low, high] = extent(known.map(([q]) => q));
  const x = linear([low, high], [3, width - 3]);
  const row = (q, y, kind) => q.every(isNumber) && range(x, q, y, kind);
  const constant = data.every((q, i) => q === data[0] && prototypes[i] === q);
  const describe = () => [
    el("p", { class: "tip-title" }, "5, 25, 50, 75, 95 %"),
    pairs("tip", [
      ["data", texts.data.join(", ")],
      ["prototypes", texts.prototypes.join(", ")],
    ]),
  ];
  return canvas(
    width,
    66,
    row(data, 13, "data"),
    row(prototypes, 33, "proto"),
    constant
      ? text(width / 2, 62, texts.data[0], "tick", "middle")
      : known.length > 0 && [
          text(1, 62, known[0][1], "tick"),
          text(width - 1, 62, known.at(-1)[1], "tick", "end"),
        ],
    hoverable(width, 66, describe),
  );
}

function range(x, [q5, q25, q50, q75, q95], y, kind) {
  return [
    rule(x(q5), y, Math.max(x(q95), x(q5) + 1), y, `whisker ${kind}`),
    svg("rect", {
      x: x(q25),
      y: y - 6,
      width: Math.max(2, x(q75) - x(q25)),
      height: 12,
      rx: 2,
      class: `fill ${kind}`,
    }),
    rule(x(q50), y - 8.5, x(q50), y + 8.5, "notch"),
  ];
}

function paintCategories(width, { values }) {
  const rows = values.slice(0, 6);
  const describe = (i) =>
    lines(words(rows[i].value), [
      ["data", percent(rows[i].data)],
      ["prototypes", percent(rows[i].prototypes)],
    ]);
  return rows.length
    ? pairedBars(width, rows, { name: nameRoom(rows, width), step: 29, describe })
    : canvas(width, 4);
}

function featuresTable(items) {
  const five = (item, of) => written(item)[of].join(", ");
  const shares = (values, key) => words(values.map((v) => `${clip(v.value, 40)} ${percent(v[key])}`).join(", "));
  const row = (item) =>
    item.kind === "number"
      ? [words(item.name), percent(item.distance), five(item, "data"), five(item, "prototypes")]
      : [words(item.name), percent(item.distance), shares(item.values, "data"), shares(item.values, "prototypes")];
  return table(
    "Features: quantiles at 5, 25, 50, 75 and 95 %, or shares of values",
    ["Feature", "Difference", "Data", "Prototypes"],
    items.map(row),
  );
}
