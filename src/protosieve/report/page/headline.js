// The page's first words: what it is, what it is worth against random rows, and what was summarised.
function summaryPart(report) {
  if (isBlank(report)) return waitingPart(report);
  return [
    el("h1", { id: "title" }, report.title),
    el("div", { class: "hero" }, headline(report.quality), against(report.quality)),
    el("div", { class: "facts" }, report.summary.map(fact)),
  ];
}

// A run that has chosen nothing yet.
function isBlank({ cards, summary }) {
  return !cards.length && !summary.length;
}

function waitingPart({ title }) {
  return [
    el("h1", { id: "title" }, title),
    el(
      "div",
      { class: "waiting" },
      el("div", { class: "sieve", "aria-hidden": "true" }, Array.from({ length: 15 }, () => el("i", {}))),
      el("p", { class: "first" }, "Nothing is chosen yet."),
      el("p", { class: "second" }, "The prototypes, how good they are and what they cover come here as rows go by."),
    ),
  ];
}

function headline({ lead, sentences }) {
  const [first, ...others] = sentences;
  const rest = others.map((sentence) => el("p", { class: "second" }, sentence));
  return el(
    "div",
    { class: "headline" },
    lead && huge(...lead.split(" ")),
    first && el("p", { class: "first" }, first),
    rest,
  );
}

// The number of the sentence below it, in type as large as its digits leave room for.
function huge(digits, unit) {
  const box = el("p", { class: "huge", "aria-hidden": "true" }, minus(digits), el("span", {}, unit));
  box.style.setProperty("--letters", digits.length);
  return box;
}

// What is left, ours beside random rows': two bars from zero.
function against({ own, random }) {
  if (own === null || random === null || !(random > 0)) return null;
  const most = Math.max(own, random);
  const line = (name, value, kind) =>
    el(
      "div",
      { class: "versus" },
      el("span", { class: "versus-name" }, name),
      el("span", { class: "versus-value" }, percent(value)),
      bar(value / most, kind),
    );
  return el(
    "div",
    { class: "against" },
    el("p", { class: "small" }, "What is not covered"),
    line("These prototypes", own, "proto"),
    line("As many random rows", random, "data"),
  );
}

function fact({ name, value, note }) {
  return el(
    "div",
    { class: "fact" },
    el("p", { class: "small" }, words(name)),
    el("p", { class: "fact-value" }, words(value)),
    note && el("p", { class: "fact-note" }, words(note)),
  );
}
