// The list of cards: how each stands there.
const TEXT_SHOWN = 420; // characters

function prototypeCard(card, i, tints, heaviest) {
  const id = `card-${i + 1}`;
  const numbers = [
    isNumber(card.weight) && measure("Weight", steady(card.weight), bar(Math.abs(card.weight) / heaviest)),
    isNumber(card.share) && measure("Share", percent(card.share), null),
  ];
  return cardBox(id, card, [count(i + 1), "Prototype "], tints, numbers);
}

function missedCard(card, i, tints, largest) {
  const less = card.witness < 0;
  const numbers =
    isNumber(card.witness) &&
    measure(
      less ? "Too many like it" : "Too few like it",
      number(Math.abs(card.witness), 2),
      bar(Math.abs(card.witness) / largest, "data"),
    );
  const near =
    isNumber(card.similarity) && measure("Similarity to the nearest", number(card.similarity, 2), bar(card.similarity));
  const doubt = card.within_chance && el("p", { class: "doubt" }, "within chance");
  return cardBox(`criticism-${i + 1}`, card, [count(i + 1), "Row missed "], tints, [numbers, near, doubt]);
}

function cardBox(id, card, [rank, what], tints, numbers) {
  const name = [
    el("span", { class: "unseen" }, what, rank, " "),
    card.label === null ? rowName(card.row) : [dotOf(card.label, tints), words(clip(card.label, 80))],
  ];
  return el(
    "li",
    { class: "card", id, tabindex: -1, "aria-labelledby": `${id}-name` },
    picture(card),
    el(
      "div",
      { class: "card-head" },
      el("h3", { id: `${id}-name` }, name),
      el("span", { class: "rank", "aria-hidden": "true" }, rank),
    ),
    card.no_image && el("p", { class: "no-image" }, "No picture: ", words(card.no_image)),
    wording(card, id),
    differences(card.differs),
    apart(card.words),
    el("div", { class: "measures" }, numbers),
    around(card.around, tints),
    neighbours(card.neighbours, id, tints),
    origin(card, id),
  );
}

// A long text is cut; the whole of it is a press away.
function wording(card, id) {
  const cut = card.text !== null && Array.from(card.text).length > TEXT_SHOWN;
  return [quote(card, TEXT_SHOWN), cut && folded(`${id}-text`, "The whole text", () => quote(card))];
}

function measure(name, value, extra) {
  return el(
    "div",
    { class: "measure" },
    el("span", { class: "small" }, name),
    el("span", { class: "figure" }, value),
    extra,
  );
}

// Pictures stand closer than texts, texts closer than tables.
function kindOf(cards) {
  if (cards.some((card) => card.image)) return "pictures";
  return cards.some((card) => card.text !== null && card.text !== undefined) ? "texts" : "tables";
}
