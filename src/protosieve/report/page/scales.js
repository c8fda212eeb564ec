// From values to places on the screen.
function linear([low, high], [from, to]) {
  const span = high - low || 1;
  const place = (x) => from + ((x - low) / span) * (to - from);
  place.ticks = (about) => evenly(low, high, about);
  return place;
}

function evenly(low, high, about) {
  if (!(high > low)) return [low];
  const step = round((high - low) / Math.max(1, about));
  const first = Math.ceil(low / step - 1e-9);
  const many = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: many }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

// The next of 1, 2, 5 and 10 times a power of ten.
function round(step) {
  const base = 10 ** Math.floor(Math.log10(step));
  return base * [1, 2, 5, 10].find((m) => m * base >= step * (1 - 1e-9));
}

function whole(ticks) {
  return ticks.filter(Number.isInteger);
}

function logarithmic([low, high], [from, to]) {
  const place = linear([Math.log10(low), Math.log10(high)], [from, to]);
  const scale = (x) => place(Math.log10(Math.max(x, low)));
  scale.ticks = (about) => decades(low, high, about);
  return scale;
}

// Room for what is left: up to all where it starts high, and below the last for its name.
function roomFor(values) {
  const [low, high] = bounds(values.filter((x) => x > 0));
  if (!Number.isFinite(low)) return [0.1, 1];
  if (!(high > low)) return [low / 2, Math.max(low, Math.min(1, 2 * low))];
  return [low / (high / low) ** 0.16 / 1.1, high > 0.3 ? Math.max(1, high) : high * 1.04];
}

// Powers of ten, thinned to about so many; 1, 2 and 5 of each where there are few powers.
function decades(low, high, about) {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  if (last - first < 1) return fractions(first - 1, last + 1).filter((x) => x >= low && x <= high);
  const step = Math.ceil((last - first + 1) / about);
  return Array.from({ length: last - first + 1 }, (_, i) => last - i)
    .filter((_, i) => i % step === 0)
    .map((e) => Number(`1e${e}`));
}

function fractions(first, last) {
  const powers = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  return powers.flatMap((e) => [1, 2, 5].map((m) => Number(`${m}e${e}`)));
}

// The least and the largest. Not by Math.min(...values), which many thousand values are too many for.
function bounds(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const x of values) {
    if (x < low) low = x;
    if (x > high) high = x;
  }
  return [low, high];
}

// The same, widened by a share of their distance; a single value gets room on both sides.
function extent(values, margin = 0) {
  const [low, high] = bounds(values);
  if (!(high > low)) return [low - 0.5, low + 0.5];
  return [low - margin * (high - low), high + margin * (high - low)];
}
