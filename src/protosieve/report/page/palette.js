// A colour for each of ten labels, told apart by colour-blind readers too; the others are grey. Which ten, and in what
// order, the map says, so that a label has one colour here and in a notebook.
const COLOURS = 10;

function colours({ cards, map }) {
  const labels = map && map.labels.length ? map.labels : ownLabels(cards);
  const names = labels.slice(0, COLOURS);
  const ranks = new Map(names.map((label, i) => [label, `c${i}`]));
  return { names, more: labels.length - names.length, of: (label) => ranks.get(label) || "other" };
}

// The labels of the cards, the most common first where they are too many for colours.
function ownLabels(cards) {
  const seen = new Map();
  for (const { label } of cards) if (label !== null) seen.set(label, (seen.get(label) || 0) + 1);
  const labels = [...seen.keys()];
  return labels.length > COLOURS ? labels.sort((a, b) => seen.get(b) - seen.get(a)) : labels.sort(collator.compare);
}

function colourKey({ names, more }) {
  const entry = (name, kind) => el("span", {}, el("i", { class: `swatch round ${kind}` }), name);
  return el(
    "span",
    { class: "legend" },
    names.map((name, i) => entry(words(clip(name, 24)), `c${i}`)),
    more > 0 && entry(plural(more, "other"), "other"),
  );
}
