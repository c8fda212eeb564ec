// The cards one sees: searched, filtered, sorted, by pages. What is chosen lives in memory only.
const SIZES = [24, 60, 120, 500];
const view = {
  sort: "weight",
  label: "",
  least: 0,
  search: "",
  page: 0,
  size: 24,
  unpaged: false,
  allFeatures: false,
  walked: -1,
  map: null,
};
const cardList = { cards: [], tints: null, heaviest: 1, haystacks: [] };

const SORTS = {
  weight: ["Weight, largest first", (a, b) => (b.weight ?? 0) - (a.weight ?? 0)],
  share: ["Share of the data, largest first", (a, b) => (b.share ?? -1) - (a.share ?? -1)],
  label: ["Label", (a, b) => collator.compare(a.label ?? "\uffff", b.label ?? "\uffff")],
  row: ["Row in the data", (a, b) => a.row - b.row],
  position: ["Position in the result", () => 0],
};

function choose(changes) {
  Object.assign(view, changes);
  showCards();
}

function haystack(card) {
  const said = [
    card.label,
    card.text,
    card.file,
    card.row,
    ...card.fields.flat(),
    ...(card.differs || []).flatMap((d) => [d.name, d.value]),
    ...(card.words || []),
    ...(card.neighbours || []).map((near) => near.text),
  ];
  return said
    .filter((part) => part !== null && part !== undefined)
    .join("\n")
    .normalize("NFKC")
    .toLocaleLowerCase();
}

// Positions of the cards that pass, in the order asked for. Ties keep the result's order.
function passing() {
  const sought = view.search.normalize("NFKC").toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const least = (view.least / 100) * cardList.heaviest;
  const passes = (card, i) =>
    (!view.label || keyOf(card.label) === view.label) &&
    Math.abs(card.weight ?? 0) >= least &&
    sought.every((word) => cardList.haystacks[i].includes(word));
  const places = cardList.cards.map((_, i) => i).filter((i) => passes(cardList.cards[i], i));
  return places.sort((a, b) => SORTS[view.sort][1](cardList.cards[a], cardList.cards[b]) || a - b);
}

function showCards() {
  const found = passing();
  const pages = Math.max(1, Math.ceil(found.length / view.size));
  view.page = Math.min(view.page, pages - 1);
  const first = view.unpaged ? 0 : view.page * view.size;
  const shown = view.unpaged ? found : found.slice(first, first + view.size);
  const list = byId("cards");
  list.className = `cards ${kindOf(cardList.cards)}`;
  list.replaceChildren(...shown.map((i) => prototypeCard(cardList.cards[i], i, cardList.tints, cardList.heaviest)));
  tellShown(found.length, first, shown.length);
  showPages(pages);
}

function tellShown(found, first, shown) {
  const all = cardList.cards.length;
  const which =
    shown < found ? `${count(first + 1)} to ${count(first + shown)} of ${count(found)}` : `${count(found)}`;
  const words =
    found === all
      ? `Showing ${shown < found ? which : "all " + which}`
      : `Showing ${which} found among ${count(all)}`;
  byId("shown").textContent = found ? words : "No card passes. Ask for less.";
  byId("filtered").textContent = found === all ? "" : `Filtered: ${count(found)} of ${plural(all, "prototype")}`;
  byId("least-value").textContent = view.least ? number((view.least / 100) * cardList.heaviest) : "any";
  byId("clear").hidden = found === all;
}

function showPages(pages) {
  const turn = (page) => () => {
    choose({ page });
    byId("prototypes").scrollIntoView({ behavior: motion() });
  };
  const box = byId("pages");
  const focused = box.contains(document.activeElement) ? document.activeElement.id : null;
  box.hidden = pages < 2 || view.unpaged;
  box.replaceChildren(
    el(
      "button",
      { type: "button", id: "page-back", disabled: view.page === 0, click: turn(view.page - 1) },
      "Previous",
    ),
    el("span", { class: "page-at" }, `Page ${count(view.page + 1)} of ${count(pages)}`),
    el(
      "button",
      { type: "button", id: "page-on", disabled: view.page === pages - 1, click: turn(view.page + 1) },
      "Next",
    ),
  );
  if (focused)
    (byId(focused).disabled ? box.querySelector("button:enabled") : byId(focused))?.focus({ preventScroll: true });
}

function motion() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
}

// To a card, wherever it is: filters that hide it are lifted, its page is turned to.
function goTo(i) {
  hideTooltip();
  if (!passing().includes(i)) clearFilters();
  choose({ page: Math.floor(passing().indexOf(i) / view.size) });
  const card = byId(`card-${i + 1}`);
  card.classList.add("found");
  card.focus({ preventScroll: true });
  card.scrollIntoView({ behavior: motion(), block: "center" });
}
