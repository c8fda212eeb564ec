// The report is shown, whole or what of it has changed.
const LIVE = document.documentElement.dataset.mode === "live";
const before = {};

function show(report) {
  stayingInPlace(() => {
    document.title = report.title;
    for (const name of Object.keys(SECTIONS)) {
      const now = JSON.stringify(SECTIONS[name][1](report) ?? null);
      if (before[name] !== now) renderSection(name, report);
      before[name] = now;
    }
    showNav();
  });
  tellState(report.state, LIVE);
  const whole = LIVE ? "" : " This file is whole: it loads nothing and sends nothing.";
  byId("foot").textContent = `Made by protosieve ${report.version}.${whole}`;
}

function showAddressed() {
  const found = /^#card-(\d+)$/.exec(location.hash);
  if (found && cardList.cards[found[1] - 1]) goTo(found[1] - 1);
}

function start() {
  const report = JSON.parse(byId("report").textContent);
  startTheme();
  startTooltip();
  startPrint();
  startCardList(byId("prototypes"));
  startNav();
  show(report);
  showAddressed();
  addEventListener("hashchange", showAddressed);
  if (LIVE) follow(show);
}

start();
