// What stands in each section; null where the report has nothing to say there.
const SECTIONS = {
  summary: ["Summary", (report) => [report.title, report.summary, report.quality, isBlank(report)], summaryPart],
  quality: ["Quality", (report) => report.quality, qualityPart],
  prototypes: ["Prototypes", (report) => [report.cards, report.map && report.map.labels], null],
  map: ["Map", (report) => report.map && [report.map, report.cards.length], mapPart],
  coverage: ["Coverage", (report) => report.coverage, coveragePart],
  criticisms: ["Missed", (report) => report.criticisms, criticismsPart],
  stream: ["Stream", (report) => report.stream, streamPart],
  rerun: ["Run again", (report) => report.rerun, rerunPart],
};

function title(id, name, sentence) {
  return [el("h2", { id: `${id}-title` }, name), sentence && el("p", { class: "lead" }, sentence)];
}

function qualityPart({ quality }) {
  const { curve, no_curve: why, figures } = quality;
  if (!curve && !why && !figures.length) return null;
  return [
    title("quality", "How good it is", curve && curve.sentence),
    curve && curve.count.length ? curveChart(curve) : why && el("p", { class: "lead" }, words(why)),
    el(
      "dl",
      { class: "figures" },
      figures.map(({ name, value, help }) =>
        el(
          "div",
          {},
          el("dt", {}, name),
          el("dd", { class: "figure" }, words(value)),
          help && el("dd", { class: "help" }, words(help)),
        ),
      ),
    ),
  ];
}

function mapPart(report, tints) {
  if (!report.map.points.length && !report.map.prototypes.some(Boolean)) return null;
  const name = "Map of the prototypes. Arrow keys go from one to the next, Enter leads to its card, Escape closes.";
  const keys = {
    tabindex: 0,
    role: "application",
    id: "map-keys",
    "aria-label": name,
    keydown: mapKeys,
    blur: () => leave(view.map),
    focus: enterMap,
  };
  const figure = mapChart(report, tints);
  const holder = figure.querySelector(".canvas");
  const keyboard = el("div", keys);
  holder.replaceWith(keyboard);
  keyboard.append(holder);
  return [title("map", "Where they lie", report.map.sentence), figure];
}

function coveragePart(report) {
  const { sentence, shares, labels, features, similarities } = report.coverage;
  const redraw = () => stayingInPlace(() => renderSection("coverage", report));
  if (!shares && !labels && !features && !sentence) return null;
  return [
    title("coverage", "What they cover", sentence),
    similarities && similaritiesChart(similarities),
    shares && shares.length > 0 && sharesChart(shares, report.cards),
    labels && labels.values.length > 0 && labelsChart(labels),
    features && features.items.length > 0 && featuresPart(features, redraw),
  ];
}

function criticismsPart({ criticisms }, tints) {
  const { sentence, cards } = criticisms;
  const largest = Math.max(...cards.map((card) => Math.abs(card.witness || 0)), 1e-300);
  return [
    title("criticisms", "What they miss", sentence),
    el(
      "ol",
      { class: `cards ${kindOf(cards)}` },
      cards.map((card, i) => missedCard(card, i, tints, largest)),
    ),
  ];
}

function streamPart({ stream }) {
  return stream.rows.length ? [title("stream", "As the rows went by", stream.sentence), streamChart(stream)] : null;
}

function renderSection(name, report) {
  const [, needs, make] = SECTIONS[name];
  const section = byId(name);
  const tints = colours(report);
  if (name === "prototypes") {
    section.hidden = !report.cards.length;
    return fillCardList(report.cards, tints);
  }
  const content = needs(report) ? make(report, tints) : null;
  return content ? mount(section, content) : blank(section);
}

function blank(section) {
  section.hidden = true;
  section.replaceChildren();
}
