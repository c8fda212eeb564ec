// How numbers are written, everywhere on the page.
const THIN = "\u202f"; // a thin space that does not break
const NONE = "\u2013";
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
const grouped = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 12 }); // to make one takes longer than to use it

function isNumber(x) {
  return typeof x === "number" && Number.isFinite(x);
}

function count(n) {
  return isNumber(n) ? minus(grouped.format(Math.round(n))) : NONE;
}

function plural(n, one, many = one + "s") {
  return `${count(n)} ${n === 1 ? one : many}`;
}

// Three significant digits; powers of ten where zeros would be counted by the reader.
function number(x, digits = 3) {
  if (!isNumber(x)) return NONE;
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return power(x, Math.min(digits, 2));
  const rounded = size >= 10 ** digits ? Math.round(x) : Number(x.toPrecision(digits));
  return minus(grouped.format(rounded));
}

// The same, zeros kept: for numbers that are compared from card to card.
function steady(x) {
  const size = isNumber(x) ? Math.abs(x) : 0;
  return size >= 1e-4 && size < 1000 ? minus(x.toPrecision(3)) : number(x);
}

function power(x, digits) {
  const [head, exponent] = x.toExponential(digits - 1).split("e");
  const raised = [...String(Math.abs(Number(exponent)))].map((d) => SUPERSCRIPTS[Number(d)]).join("");
  const ten = `10${Number(exponent) < 0 ? "⁻" : ""}${raised}`;
  return Number(head) === 1 ? ten : minus(`${Number(head)}${THIN}×${THIN}${ten}`);
}

// 12 %, 1.6 %, 0.31 %; above 99 % as many digits as what is left to 100 % needs.
function percent(share) {
  if (!isNumber(share)) return NONE;
  const p = 100 * share;
  if (p > 99 && p < 100) return `${nearly(p)}${THIN}%`;
  return `${number(p >= 10 ? Math.round(p) : p, 2)}${THIN}%`;
}

// Rounded, but never up to 100: something is left.
function nearly(p) {
  const digits = Math.min(4, Math.max(1, Math.ceil(-Math.log10(100 - p))));
  return Math.min(Number(p.toFixed(digits)), 100 - 10 ** -digits).toFixed(digits);
}

// How many times as large: 5.3, 53, 1,200.
function times(ratio) {
  return ratio >= 10 ? count(Number(ratio.toPrecision(2))) : number(ratio, 2);
}

function signed(x) {
  return `${x < 0 ? "−" : "+"}${number(Math.abs(x), 2)}`;
}

function bytes(n) {
  if (!isNumber(n)) return NONE;
  const units = ["bytes", "kB", "MB", "GB", "TB", "PB"];
  const step = n < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(n) / 3));
  return `${number(n / 1000 ** step)} ${units[step]}`;
}

function minus(text) {
  return text.replace(/^-/, "−");
}

// By characters as people count them, so that no emoji is cut in half.
function clip(text, most) {
  const letters = Array.from(String(text));
  return letters.length <= most
    ? String(text)
    : letters
        .slice(0, most - 1)
        .join("")
        .trimEnd() + "…";
}
