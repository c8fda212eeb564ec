// The page's first words: what it is, what it is worth against random rows, and what was summarised.
function summaryPart(story) {
  return [
    el("h1", { id: "title" }, story.title),
    el("div", { class: "hero" }, headline(story.quality), against(story.quality)),
    el("div", { class: "facts" }, story.summary.map(fact)),
  ];
}

function headline({ own, curve, sentences }) {
  const left = own ?? curve?.own;
  const [first, ...others] = sentences;
  const rest = others.map((sentence) => el("p", { class: "second" }, sentence));
  if (!isNumber(left)) return el("div", { class: "headline" }, first && el("p", { class: "first" }, first), rest);
  return el(
    "div",
    { class: "headline" },
    el("p", { class: "huge", "aria-hidden": "true" }, carried(1 - left), el("span", {}, "%")),
    el("p", { class: "first" }, first),
    rest,
  );
}

// What is left, ours beside random rows': two bars from zero.
function against({ own, random, curve }) {
  const [left, theirs] = [own ?? curve?.own, random ?? curve?.random];
  if (!isNumber(left) || !isNumber(theirs) || !(theirs > 0)) return null;
  const most = Math.max(left, theirs);
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
    el("p", { class: "small" }, "What is left unsaid"),
    line("These prototypes", left, "proto"),
    line("As many random rows", theirs, "data"),
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
