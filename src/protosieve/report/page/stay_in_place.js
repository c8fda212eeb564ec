// A change of the page that its reader does not feel: focus, open tables and the place on the screen stay.
function stayingInPlace(change) {
  const focused = document.activeElement;
  const open = [...document.querySelectorAll("details[open]")].map((box) => box.id);
  const anchor = anchorOf();
  change();
  open.forEach((id) => byId(id) && (byId(id).open = true));
  if (focused && focused.id && byId(focused.id) !== document.activeElement)
    byId(focused.id)?.focus({ preventScroll: true });
  if (anchor && byId(anchor.id))
    scrollBy({ top: byId(anchor.id).getBoundingClientRect().top - anchor.top, behavior: "instant" });
}

// What the reader looks at: the first card or section that reaches below the top bar.
function anchorOf() {
  if (scrollY < 80) return null;
  const seen = [...document.querySelectorAll("main .card, main .canvas, main section:not([hidden])")].map((node) => [
    node.id,
    node.getBoundingClientRect(),
  ]);
  const best =
    seen.find(([id, box]) => id && box.top >= 0 && box.top < innerHeight) ||
    seen.find(([id, box]) => id && box.bottom > 60);
  return best ? { id: best[0], top: best[1].top } : null;
}
