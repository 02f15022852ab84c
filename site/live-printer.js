// console.log of a program in a page: sends each line to the page, with values as Node prints them.
function shown(value, depth = 0) {
  if (typeof value === 'string') return depth === 0 ? value : `'${value}'`;
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (ArrayBuffer.isView(value)) return `${value.constructor.name}(${value.length}) ${shown([...value], depth + 1)}`;
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[ ${value.map((item) => shown(item, depth + 1)).join(', ')} ]`;
  if (Object.getPrototypeOf(value) !== Object.prototype) return String(value);
  return `{ ${Object.entries(value).map(([name, item]) => `${name}: ${shown(item, depth + 1)}`).join(', ')} }`;
}
const send = (...values) => postMessage({ line: values.map((value) => shown(value)).join(' ') });
Object.assign(console, { log: send, info: send, warn: send, error: send });
addEventListener('unhandledrejection', ({ reason }) => {
  send(reason);
  postMessage({ done: true });
});
