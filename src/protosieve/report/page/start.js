// The story is shown, whole or what of it has changed.
const LIVE = document.documentElement.dataset.mode === "live";
const before = {};

function show(story) {
  keeping(() => {
    document.title = story.title;
    for (const name of Object.keys(SECTIONS)) {
      const now = JSON.stringify(SECTIONS[name][1](story) ?? null);
      if (before[name] !== now) renderSection(name, story);
      before[name] = now;
    }
    showNav();
  });
  tellState(story.state, LIVE);
  const whole = LIVE ? "" : " This file is whole: it loads nothing and sends nothing.";
  byId("foot").textContent = `Made by protosieve ${story.version}.${whole}`;
}

function showAddressed() {
  const found = /^#card-(\d+)$/.exec(location.hash);
  if (found && gallery.cards[found[1] - 1]) goTo(found[1] - 1);
}

function start() {
  const story = JSON.parse(byId("story").textContent);
  startTheme();
  startTooltip();
  startPrint();
  startGallery(byId("prototypes"));
  startNav();
  show(story);
  showAddressed();
  addEventListener("hashchange", showAddressed);
  if (LIVE) follow(show);
}

start();
