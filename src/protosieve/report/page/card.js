// One prototype, or one row that prototypes miss.
function cardName(card, i) {
  const parts = [
    `Prototype ${count(i + 1)}`,
    card.label !== null && `label ${card.label}`,
    isNumber(card.weight) && `weight ${steady(card.weight)}`,
    isNumber(card.share) && `${percent(card.share)} of the data`,
  ];
  return parts.filter(Boolean).join(", ");
}

// What it is, at a glance: a picture, a text, or what makes it differ.
function substance(card, cut) {
  return picture(card) || quote(card, cut) || differences(card.differs);
}

function picture(card) {
  if (!card.image || !card.image.startsWith("data:image/")) return null;
  return el("div", { class: "picture" }, el("img", { src: card.image, alt: pictureName(card), decoding: "async" }));
}

function quote(card, cut = Infinity) {
  if (card.text === null || card.text === undefined) return null;
  return el("blockquote", { class: "quote", dir: "auto" }, clip(card.text, cut));
}

function pictureName(card) {
  return card.label === null
    ? `Picture of row ${count(card.row)}`
    : `Picture of row ${count(card.row)}, label ${card.label}`;
}

// Bars to the right of the middle for more than usual, to the left for less; three standard deviations fill a side.
function differences(features) {
  if (!features || !features.length) return null;
  const one = ({ name, value, usual, by }) =>
    el(
      "div",
      { class: "differ" },
      el("dt", {}, words(clip(name, 60))),
      el(
        "dd",
        {},
        words(clip(value, 60), { class: "strong" }),
        usual !== null && usual !== undefined && el("span", { class: "usual" }, " usually ", words(clip(usual, 40))),
      ),
      isNumber(by) &&
        el(
          "dd",
          { class: "lean", title: `${signed(by)} standard deviations` },
          leaning(by),
          el("span", { class: "unseen" }, `${signed(by)} standard deviations`),
        ),
    );
  return el("dl", { class: "differs" }, features.map(one));
}

function leaning(by) {
  const inside = el("span", { class: by < 0 ? "less" : "more" });
  inside.style.width = `${(50 * Math.min(3, Math.abs(by))) / 3}%`;
  return el("span", { class: "lean-bar", "aria-hidden": "true" }, inside);
}

// The words of the rows nearest to it that others have less often.
function apart(found) {
  if (!found || !found.length) return null;
  return el(
    "div",
    { class: "apart" },
    el("span", { class: "small" }, "Words that set it apart"),
    el(
      "p",
      {},
      found.map((word) => [words(word), " "]),
    ),
  );
}

// The rows of the data that are closest to it, each by its text or its number, and its label.
// Rows that were chosen before are numbered from -1 down.
function rowName(row) {
  return row < 0 ? `Chosen before, row ${count(-1 - row)}` : `Row ${count(row)}`;
}

function neighbours(found, id, tints) {
  if (!found || !found.length) return null;
  const one = ({ row, label, text }) =>
    el(
      "li",
      {},
      text === null ? rowName(row) : words(text),
      label !== null && el("span", { class: "near" }, dotOf(label, tints), words(label)),
    );
  const name = found.length === 1 ? "The nearest row" : `The ${found.length} nearest rows`;
  return folded(`${id}-near`, name, () => el("ul", { class: "neighbours" }, found.map(one)));
}

// A label's colour, where it has one of its own.
function dotOf(label, tints) {
  return tints.of(label) === "other" ? null : el("i", { class: `swatch round ${tints.of(label)}` });
}

// In a bar of labels those without a colour are darker than the rest, which has no name.
function shadeOf(label, tints) {
  if (label === null) return "other";
  return tints.of(label) === "other" ? "unlisted" : tints.of(label);
}

// The labels of the data around it, as one bar cut into shares.
function around(entries, tints) {
  if (!entries || !entries.length) return null;
  const cut = ([label, share]) => {
    const piece = el("span", { class: shadeOf(label, tints) });
    piece.style.flexGrow = share;
    return piece;
  };
  const named = entries
    .filter(([, share], i) => i < 1 || (i < 3 && share >= 0.02))
    .map(([label, share]) =>
      el(
        "span",
        { class: "near" },
        dotOf(label, tints),
        label === null ? "others" : words(clip(label, 24), { class: "strong" }),
        ` ${percent(share)}`,
      ),
    );
  return el(
    "div",
    { class: "around" },
    el("span", { class: "small" }, "Labels around it"),
    el("div", { class: "pieces", "aria-hidden": "true" }, entries.map(cut)),
    el("p", { class: "nears" }, named),
  );
}

// Where it comes from: its row, its file, its own columns.
function origin(card, id) {
  const fields = [
    ["row", count(card.row)],
    ...(card.file ? [["file", words(card.file)]] : []),
    ...card.fields.map(([name, value]) => [words(clip(name, 60)), words(value)]),
  ];
  const few = fields.length > 4 ? 3 : 4;
  return [
    pairs("fields", fields.slice(0, few)),
    fields.length > few &&
      folded(`${id}-more`, `${fields.length - few} more`, () => pairs("fields", fields.slice(few))),
  ];
}

// The glance that the map gives: smaller, with nothing to press.
function cardGlance(card, i) {
  const facts = [
    ["weight", steady(card.weight)],
    ["share of the data", percent(card.share)],
  ].filter(([, value]) => value !== NONE);
  return el(
    "div",
    { class: "glance" },
    el(
      "p",
      { class: "tip-title" },
      `Prototype ${count(i + 1)}`,
      card.label !== null && [" · ", words(clip(card.label, 40))],
    ),
    substance(card, 220),
    apart(card.words),
    pairs("tip", facts),
  );
}
