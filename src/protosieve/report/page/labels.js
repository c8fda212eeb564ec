// Labels of the data against those of the prototypes.
function labelsChart({ name, values, more }) {
  const both = values.some((v) => isNumber(v.data));
  const describe = (i) =>
    lines(words(values[i].value), [
      ["in the data", percent(values[i].data)],
      ["weight of prototypes", percent(values[i].prototypes)],
      ["data nearest to them", percent(values[i].nearest)],
      ["prototypes", count(values[i].count)],
    ]);
  return chart({
    id: "labels",
    name: [
      "Labels",
      name && [": ", words(name)],
      more ? ` (the ${count(values.length)} most common, ${count(more)} more)` : "",
    ],
    key: legend(...(both ? [["data", "data"]] : []), ["prototypes, by weight", "proto"]),
    label: `Shares of ${plural(values.length, "label")} ${both ? "in the data and " : ""}among the prototypes`,
    head: ["Label", "In the data", "Prototypes' weight", "Data nearest to them", "Prototypes"],
    rows: () =>
      values.map((v) => [words(v.value), percent(v.data), percent(v.prototypes), percent(v.nearest), count(v.count)]),
    paint: (width) => {
      const columns = width > 720 && values.length > 8 ? 2 : 1;
      return pairedBars(width, values, { columns, name: nameRoom(values, width / columns), describe });
    },
  });
}
