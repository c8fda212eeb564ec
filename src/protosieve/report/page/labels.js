// Labels of the data against those of the prototypes.
function labelsChart({ name, values, more }) {
  const rows = values.map((v) => ({ value: v.value, data: v.data, prototypes: v.weight }));
  const both = values.some((v) => isNumber(v.data));
  const describe = (i) =>
    lines(words(values[i].value), [
      ["in the data", percent(values[i].data)],
      ["weight of prototypes", percent(values[i].weight)],
      ["data nearest to them", percent(values[i].share)],
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
      values.map((v) => [words(v.value), percent(v.data), percent(v.weight), percent(v.share), count(v.count)]),
    paint: (width) => {
      const columns = width > 720 && rows.length > 8 ? 2 : 1;
      return pairedBars(width, rows, { columns, name: nameRoom(rows, width / columns), describe });
    },
  });
}
