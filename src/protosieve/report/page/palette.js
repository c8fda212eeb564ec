// A colour for each of the ten commonest labels, told apart by colour-blind readers too; the others are grey.
const COLOURS = 10;

function colours(story) {
  const seen = new Map();
  const add = (label) => label !== null && label !== undefined && seen.set(label, (seen.get(label) || 0) + 1);
  story.cards.forEach((card) => add(card.label));
  if (story.map) story.map.points.forEach(([, , k]) => add(story.map.labels[k]));
  const common = [...seen]
    .sort((a, b) => b[1] - a[1])
    .slice(0, COLOURS)
    .map(([label]) => label);
  const names = common.sort(collator.compare);
  const ranks = new Map(names.map((label, i) => [label, `c${i}`]));
  return { names, others: seen.size > COLOURS, of: (label) => ranks.get(label) || "other" };
}

function colourKey({ names, others }) {
  const entry = (name, kind) => el("span", {}, el("i", { class: `swatch round ${kind}` }), words(clip(name, 24)));
  return el(
    "span",
    { class: "legend" },
    names.map((name, i) => entry(name, `c${i}`)),
    others && entry("others", "other"),
  );
}
