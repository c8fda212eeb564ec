// One box for all that is read by hovering. Escape closes it, the pointer may rest on what it says.
function showTooltip(content, x, y) {
  const box = byId("tooltip");
  box.replaceChildren(...[content].flat());
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  const left = x + 16 + width < innerWidth - 8 ? x + 16 : x - 16 - width;
  box.style.left = `${Math.max(8, Math.min(left, document.documentElement.clientWidth - width - 8))}px`;
  box.style.top = `${Math.max(8, Math.min(y - height / 2, innerHeight - height - 8))}px`;
}

function hideTooltip() {
  byId("tooltip").hidden = true;
}

function startTooltip() {
  addEventListener("keydown", (event) => event.key === "Escape" && hideTooltip());
  addEventListener("scroll", () => followWalk() || hideTooltip(), { passive: true });
}

// Lines of a name and a number, under a title.
function lines(title, entries) {
  return [el("p", { class: "tip-title" }, title), pairs("tip", entries)];
}
