// Quantities as text, as quantity.py writes them.
const SCALES = {
  ns: [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]],
  B: [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10], ["B", 1]],
};

function scaleOf(value, unit) {
  const table = SCALES[unit];
  if (!table) return [unit, 1];
  return table.find(([, size]) => value >= size) || table[table.length - 1];
}

function number(value) {
  if (value >= 99.95 || Number.isInteger(value)) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(value >= 9.995 ? 1 : value >= 0.9995 ? 2 : 3);
}

function quantity(value, unit) {
  const [name, size] = scaleOf(value, unit);
  return `${number(value / size)} ${name}`.trim();
}

// A sample is [median, low, high, level]; without a level it is minimum and maximum. In the median's unit, behind which it stands.
function spread([median, low, high, level], unit) {
  const [, size] = scaleOf(median, unit);
  const text = `${number(low / size)}–${number(high / size)}`;
  return level === null ? `(${text})` : `[${text}]`;
}

function ratioText(value) {
  return value >= 100 ? number(value) : value.toFixed(value >= 10 ? 1 : 2);
}
