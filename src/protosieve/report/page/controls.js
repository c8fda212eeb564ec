// What there is to choose among the cards, made once; what it offers follows the cards.
function startCardList(section) {
  const change =
    (name, read = (box) => box.value) =>
    (event) =>
      choose({ [name]: read(event.target), page: 0 });
  const asNumber = (box) => Number(box.value);
  mount(
    section,
    el("h2", { id: "prototypes-title" }, "The prototypes"),
    el("p", { class: "lead", id: "prototypes-lead" }),
    el(
      "form",
      {
        class: "controls",
        role: "search",
        "aria-label": "Choose the cards to show",
        submit: (event) => event.preventDefault(),
      },
      field(
        "Search",
        el("input", {
          type: "search",
          id: "search",
          placeholder: "in all they show",
          autocomplete: "off",
          input: change("search"),
        }),
      ),
      field("Sort by", el("select", { id: "sort", change: change("sort") })),
      field("Label", el("select", { id: "label", change: change("label") })),
      field(
        "Weight at least",
        el("input", {
          type: "range",
          id: "least",
          min: 0,
          max: 100,
          step: 1,
          value: 0,
          input: change("least", asNumber),
        }),
        el("output", { for: "least", id: "least-value" }, "any"),
      ),
      field(
        "On a page",
        el(
          "select",
          { id: "size", change: change("size", asNumber) },
          SIZES.map((n) => el("option", { value: n }, n)),
        ),
      ),
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

function clearFilters() {
  byId("search").value = "";
  byId("label").value = "";
  byId("least").value = 0;
  choose({ search: "", label: "", least: 0, page: 0 });
  byId("search").focus();
}

// The empty choice is all labels, so that a label may be the empty text.
function keyOf(label) {
  return `=${label}`;
}

// New cards: the choices that they offer, then the cards themselves.
function fillCardList(cards, tints) {
  const labels = [...new Set(cards.map((card) => card.label).filter((label) => label !== null))].sort(
    collator.compare,
  );
  Object.assign(cardList, {
    cards,
    tints,
    heaviest: Math.max(...cards.map((card) => Math.abs(card.weight || 0)), 1e-300),
    haystacks: cards.map(haystack),
  });
  if (!labels.some((label) => keyOf(label) === view.label)) view.label = "";
  options(
    byId("label"),
    [["", `All ${count(labels.length)}`], ...labels.map((label) => [keyOf(label), clip(label, 40)])],
    view.label,
  );
  const sorts = Object.keys(SORTS).filter(
    (name) => !cards.length || name === "position" || cards.some((card) => card[name] !== null),
  );
  if (!sorts.includes(view.sort)) view.sort = "position";
  options(
    byId("sort"),
    sorts.map((name) => [name, SORTS[name][0]]),
    view.sort,
  );
  byId("label").parentElement.hidden = labels.length < 2;
  byId("size").parentElement.hidden = cards.length <= SIZES[0];
  byId("prototypes-lead").textContent = leadOf(cards, labels);
  showCards();
}

const MEANING = "The larger its weight, the more a row stands for; its share is the part of the data nearest to it.";

function leadOf(cards, labels) {
  const more = labels.length > 1 ? `, of ${plural(labels.length, "label")}` : "";
  return `${plural(cards.length, "row")} of the data${more}. ${MEANING}`;
}

function options(select, entries, chosen) {
  select.replaceChildren(...entries.map(([value, name]) => el("option", { value }, name)));
  select.value = chosen;
}
