// What stands in each section; null where the story has nothing to say there.
const SECTIONS = {
  summary: ["Summary", (story) => [story.title, story.summary, story.quality, isBlank(story)], summaryPart],
  quality: ["Quality", (story) => story.quality, qualityPart],
  prototypes: ["Prototypes", (story) => [story.cards, story.map && story.map.labels], null],
  map: ["Map", (story) => story.map && [story.map, story.cards.map((card) => card.at)], mapPart],
  coverage: ["Coverage", (story) => story.coverage, coveragePart],
  criticisms: ["Missed", (story) => story.criticisms, criticismsPart],
  stream: ["Stream", (story) => story.stream, streamPart],
  again: ["Run again", (story) => story.again, againPart],
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

function mapPart(story, tints) {
  if (!story.map.points.length && !story.cards.some((card) => card.at)) return null;
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
  const figure = mapChart(story, tints);
  const holder = figure.querySelector(".canvas");
  const keyboard = el("div", keys);
  holder.replaceWith(keyboard);
  keyboard.append(holder);
  return [title("map", "Where they lie", story.map.sentence), figure];
}

function coveragePart(story) {
  const { sentence, shares, labels, features } = story.coverage;
  const again = () => keeping(() => renderSection("coverage", story));
  if (!shares && !labels && !features && !sentence) return null;
  return [
    title("coverage", "What they cover", sentence),
    shares && shares.length > 0 && sharesChart(shares, story.cards),
    labels && labels.values.length > 0 && labelsChart(labels),
    features && features.items.length > 0 && featuresPart(features, again),
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

function renderSection(name, story) {
  const [, needs, make] = SECTIONS[name];
  const section = byId(name);
  const tints = colours(story);
  if (name === "prototypes") {
    section.hidden = !story.cards.length;
    return fillGallery(story.cards, tints);
  }
  const content = needs(story) ? make(story, tints) : null;
  return content ? mount(section, content) : blank(section);
}

function blank(section) {
  section.hidden = true;
  section.replaceChildren();
}
