// The cards one sees: searched, filtered, sorted, by pages. What is chosen lives in memory only.
const SIZES = [24, 60, 120, 500];
const view = { sort: "weight", label: "", least: 0, search: "", page: 0, size: 24, unpaged: false, allFeatures: false, walked: -1, map: null };
const gallery = { cards: [], tints: null, heaviest: 1, haystacks: [] };

const SORTS = {
  weight: ["Weight, largest first", (a, b) => (b.weight ?? 0) - (a.weight ?? 0)],
  share: ["Share of the data, largest first", (a, b) => (b.share ?? -1) - (a.share ?? -1)],
  label: ["Label", (a, b) => collator.compare(a.label ?? "\uffff", b.label ?? "\uffff")],
  row: ["Row in the data", (a, b) => a.row - b.row],
  position: ["Position in the result", () => 0],
};

function startGallery(section) {
  const change = (name, read = (box) => box.value) => (event) => choose({ [name]: read(event.target), page: 0 });
  const asNumber = (box) => Number(box.value);
  mount(
    section,
    el("h2", { id: "prototypes-title" }, "The prototypes"),
    el("p", { class: "lead", id: "prototypes-lead" }),
    el(
      "form",
      { class: "controls", role: "search", "aria-label": "Choose the cards to show", submit: (event) => event.preventDefault() },
      field("Search", el("input", { type: "search", id: "search", placeholder: "in all they show", autocomplete: "off", input: change("search") })),
      field("Sort by", el("select", { id: "sort", change: change("sort") })),
      field("Label", el("select", { id: "label", change: change("label") })),
      field("Weight at least", el("input", { type: "range", id: "least", min: 0, max: 100, step: 1, value: 0, input: change("least", asNumber) }), el("output", { for: "least", id: "least-value" }, "any")),
      field("On a page", el("select", { id: "size", change: change("size", asNumber) }, SIZES.map((n) => el("option", { value: n }, n)))),
      el("button", { type: "button", id: "clear", class: "quiet", click: clearFilters, hidden: true }, "Show all"),
    ),
    el("p", { class: "shown", id: "shown", role: "status" }),
    el("ol", { class: "cards", id: "cards" }),
    el("nav", { class: "pages", id: "pages", "aria-label": "Pages of cards" }),
  );
}

function field(name, control, after) {
  return el("div", { class: `field ${control.id}` }, el("label", { for: control.id }, name), control, after);
}

function choose(changes) {
  Object.assign(view, changes);
  showCards();
}

function clearFilters() {
  byId("search").value = "";
  byId("label").value = "";
  byId("least").value = 0;
  choose({ search: "", label: "", least: 0, page: 0 });
  byId("search").focus();
}

// New cards: the choices that they offer, then the cards themselves.
function fillGallery(cards, tints) {
  const labels = [...new Set(cards.map((card) => card.label).filter((label) => label !== null))].sort(collator.compare);
  Object.assign(gallery, { cards, tints, heaviest: Math.max(...cards.map((card) => card.weight || 0), 1e-300), haystacks: cards.map(haystack) });
  if (!labels.includes(view.label)) view.label = "";
  options(byId("label"), [["", `All ${count(labels.length)}`], ...labels.map((label) => [label, clip(label, 40)])], view.label);
  const sorts = Object.keys(SORTS).filter((name) => name === "position" || cards.some((card) => card[name] !== null));
  if (!sorts.includes(view.sort)) view.sort = "position";
  options(byId("sort"), sorts.map((name) => [name, SORTS[name][0]]), view.sort);
  byId("label").parentElement.hidden = labels.length < 2;
  byId("size").parentElement.hidden = cards.length <= SIZES[0];
  byId("prototypes-lead").textContent = leadOf(cards, labels);
  showCards();
}

function leadOf(cards, labels) {
  if (!cards.length) return "There are none yet.";
  const more = labels.length > 1 ? `, of ${plural(labels.length, "label")}` : "";
  return `${plural(cards.length, "row")} of the data${more}. The larger its weight, the more a row stands for; its share is the part of the data that is nearest to it.`;
}

function options(select, entries, chosen) {
  select.replaceChildren(...entries.map(([value, name]) => el("option", { value }, name)));
  select.value = chosen;
}

function haystack(card) {
  const said = [card.label, card.text, card.file, card.row, ...card.fields.flat(), ...(card.differs || []).flatMap((d) => [d.name, d.value])];
  return said.filter((part) => part !== null && part !== undefined).join("\n").toLocaleLowerCase();
}

// Positions of the cards that pass, in the order asked for. Ties keep the result's order.
function passing() {
  const sought = view.search.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const least = (view.least / 100) * gallery.heaviest;
  const passes = (card, i) => (!view.label || card.label === view.label) && (card.weight ?? 0) >= least && sought.every((word) => gallery.haystacks[i].includes(word));
  const places = gallery.cards.map((_, i) => i).filter((i) => passes(gallery.cards[i], i));
  return places.sort((a, b) => SORTS[view.sort][1](gallery.cards[a], gallery.cards[b]) || a - b);
}

function showCards() {
  const found = passing();
  const pages = Math.max(1, Math.ceil(found.length / view.size));
  view.page = Math.min(view.page, pages - 1);
  const first = view.unpaged ? 0 : view.page * view.size;
  const shown = view.unpaged ? found : found.slice(first, first + view.size);
  const list = byId("cards");
  list.className = `cards ${kindOf(gallery.cards)}`;
  list.replaceChildren(...shown.map((i) => prototypeCard(gallery.cards[i], i, gallery.tints, gallery.heaviest)));
  tellShown(found.length, first, shown.length);
  showPages(pages);
}

function tellShown(found, first, shown) {
  const all = gallery.cards.length;
  const which = shown < found ? `${count(first + 1)} to ${count(first + shown)} of ${count(found)}` : `${count(found)}`;
  const words = found === all ? `Showing ${shown < found ? which : "all " + which}` : `Showing ${which} found among ${count(all)}`;
  byId("shown").textContent = found ? words : "No card passes. Ask for less.";
  byId("least-value").textContent = view.least ? number((view.least / 100) * gallery.heaviest) : "any";
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
    el("button", { type: "button", id: "page-back", disabled: view.page === 0, click: turn(view.page - 1) }, "Previous"),
    el("span", { class: "page-at" }, `Page ${count(view.page + 1)} of ${count(pages)}`),
    el("button", { type: "button", id: "page-on", disabled: view.page === pages - 1, click: turn(view.page + 1) }, "Next"),
  );
  if (focused) (byId(focused).disabled ? box.querySelector("button:enabled") : byId(focused))?.focus({ preventScroll: true });
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
