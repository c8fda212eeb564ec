// Walking the prototypes of the map, by pointer or by arrow keys: the card is shown, and Enter or a click leads to it.
const REACH = 14; // pixels beyond a circle at which the pointer still means it

function walkable(picture, spots, ownDots) {
  const state = { picture, spots, ownDots, order: [...spots].sort((a, b) => a.x - b.x) };
  picture.addEventListener("pointermove", (event) => pointAt(state, event));
  picture.addEventListener("pointerleave", () => leave(state));
  picture.addEventListener("click", (event) => {
    const spot = spotAt(state, event);
    if (spot) goTo(spot.i);
  });
  view.map = state;
  return picture;
}

function spotAt({ picture, spots }, event) {
  const box = picture.getBoundingClientRect();
  const scale = picture.viewBox.baseVal.width / box.width;
  const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  const far = (spot) => Math.hypot(spot.x - x, spot.y - y) - spot.r;
  const best = spots.reduce((near, spot) => (near === null || far(spot) < far(near) ? spot : near), null);
  return best && far(best) < REACH ? best : null;
}

function pointAt(state, event) {
  const spot = spotAt(state, event);
  state.picture.classList.toggle("pointing", spot !== null);
  if (spot === null) leave(state);
  else showSpot(state, spot, event.clientX, event.clientY);
}

function showSpot(state, spot, x, y) {
  if (state.shown !== spot) {
    leave(state);
    state.shown = spot;
    state.picture.classList.add("chosen");
    state.picture.querySelector(`[data-card="${spot.i}"]`).classList.add("on");
    state.picture.querySelector(".own").replaceChildren(...state.ownDots(spot.i));
  }
  showTooltip(cardGlance(spot.card, spot.i), x, y);
}

function leave(state) {
  if (!state.shown) return;
  state.shown = null;
  state.picture.classList.remove("chosen");
  state.picture.querySelector(".own").replaceChildren();
  state.picture.querySelectorAll(".on").forEach((node) => node.classList.remove("on"));
  hideTooltip();
}

// From left to right and back by arrow keys, to the ends by Home and End.
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };

function mapKeys(event) {
  const state = view.map;
  if (event.key === "Enter" && state.shown) goTo(state.shown.i);
  else if (event.key === "Escape") leave(state);
  else if (event.key in STEPS) step(state, STEPS[event.key]);
  else return;
  event.preventDefault();
}

function step(state, by) {
  if (!state.order.length) return;
  const last = state.order.length - 1;
  const at = state.order.findIndex((spot) => spot.i === view.walked);
  const next = at < 0 ? (by > 0 ? 0 : last) : Math.max(0, Math.min(last, at + by));
  walkTo(state, state.order[at < 0 && !Number.isFinite(by) ? (by > 0 ? last : 0) : next]);
}

function walkTo(state, spot) {
  view.walked = spot.i;
  placeSpot(state, spot);
  say(cardName(spot.card, spot.i));
}

function placeSpot(state, spot) {
  const box = state.picture.getBoundingClientRect();
  const scale = box.width / state.picture.viewBox.baseVal.width;
  showSpot(state, spot, box.left + spot.x * scale, box.top + spot.y * scale);
}

// Who comes to the map by keyboard sees where they were, or the first.
function enterMap(event) {
  if (!event.target.matches(":focus-visible")) return;
  const last = view.map.order.find((spot) => spot.i === view.walked);
  if (last) walkTo(view.map, last);
  else step(view.map, 1);
}

// What the keyboard shows stays beside its circle when the page is scrolled; true where there is such.
function followWalk() {
  const walking = view.map && view.map.shown && document.activeElement.id === "map-keys";
  if (walking) placeSpot(view.map, view.map.shown);
  return walking;
}
