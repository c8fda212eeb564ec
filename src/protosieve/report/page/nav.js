// Links to the sections that are there, and which of them the reader is in.
const entered = new Set();
const places = new IntersectionObserver(
  (entries) => {
    entries.forEach(({ target: { id }, isIntersecting }) => (isIntersecting ? entered.add(id) : entered.delete(id)));
    markNav();
  },
  { rootMargin: "0px 0px -60% 0px" },
);

function startNav() {
  Object.keys(SECTIONS).forEach((name) => places.observe(byId(name)));
}

// One section needs no links.
function showNav() {
  const nav = byId("nav");
  const there = Object.keys(SECTIONS).filter((name) => !byId(name).hidden);
  nav.hidden = there.length < 2;
  if ([...nav.children].map((link) => link.id).join() === there.map((name) => `to-${name}`).join()) return;
  nav.replaceChildren(...there.map((name) => el("a", { href: `#${name}`, id: `to-${name}` }, SECTIONS[name][0])));
  markNav();
}

// The last section that reaches into the upper part of the window.
function markNav() {
  const nav = byId("nav");
  const here = Object.keys(SECTIONS).findLast((name) => entered.has(name) && !byId(name).hidden);
  for (const link of nav.children) {
    if (link.id !== `to-${here}`) link.removeAttribute("aria-current");
    else if (!link.hasAttribute("aria-current")) {
      link.setAttribute("aria-current", "true");
      nav.scrollLeft = link.offsetLeft - nav.offsetLeft - (nav.clientWidth - link.offsetWidth) / 2;
    }
  }
}
