// The pen of the pictures: boxes, cells, arrows and text, in colours that follow the reader's light or dark theme.

const style = `
    :root { --ink: #1f2328; --dim: #59636e; --line: #8c959f; --paper: #ffffff; --box: #f6f8fa; --a: #b6d7ff; --b: #ffd8a8; --c: #b5e8c3; --off: #e3e6ea; --good: #1a7f37; --bad: #cf222e; --warm: #9a6700; }
    @media (prefers-color-scheme: dark) {
      :root { --ink: #e6edf3; --dim: #9198a1; --line: #656c76; --paper: #0d1117; --box: #161b22; --a: #1f4b7d; --b: #7a4a12; --c: #1f5c36; --off: #2b3138; --good: #3fb950; --bad: #f85149; --warm: #d29922; }
    }
    .paper { fill: var(--paper); }
    text { font-family: system-ui, -apple-system, 'Segoe UI', sans-serif; font-size: 14px; fill: var(--ink); }
    .mono { font-family: ui-monospace, 'SF Mono', Menlo, Consolas, monospace; font-size: 13px; }
    .small { font-size: 12px; }
    .halo { stroke: var(--paper); stroke-width: 4px; paint-order: stroke; }
    .strong { font-weight: 600; }
    .dim { fill: var(--dim); }
    .good { fill: var(--good); }
    .bad { fill: var(--bad); }
    .warm { fill: var(--warm); }
    .box { fill: var(--box); stroke: var(--line); }
    .a { fill: var(--a); stroke: var(--line); }
    .b { fill: var(--b); stroke: var(--line); }
    .c { fill: var(--c); stroke: var(--line); }
    .off { fill: var(--off); stroke: var(--line); }
    .ghost { fill: none; stroke: var(--line); stroke-dasharray: 4 4; }
    .line { fill: none; stroke: var(--ink); stroke-width: 1.5; }
    .thin { fill: none; stroke: var(--line); }
    .dashed { stroke-dasharray: 5 4; }
    .line.good { stroke: var(--good); fill: none; }
    .line.bad { stroke: var(--bad); fill: none; }
    .line.warm { stroke: var(--warm); fill: none; }
    .head { fill: var(--ink); }
    .head.good { fill: var(--good); }
    .head.bad { fill: var(--bad); }
    .head.warm { fill: var(--warm); }`;

const quoted = (value) => String(value).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const round = (value) => Math.round(value * 10) / 10;

/** A whole picture. `title` and `description` are what a screen reader says. */
export function picture({ width, height, title, description }, ...parts) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title description">
  <title id="title">${quoted(title)}</title>
  <desc id="description">${quoted(description)}</desc>
  <style>${style}
  </style>
  <rect class="paper" width="${width}" height="${height}"/>
${parts
  .flat(Infinity)
  .map((part) => `  ${part}\n`)
  .join('')}</svg>
`;
}

export const text = (x, y, value, kind = '', anchor = 'start') =>
  `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}"${kind === '' ? '' : ` class="${kind}"`}>${quoted(value)}</text>`;

export const middle = (x, y, value, kind = '') => text(x, y, value, kind, 'middle');

export const rect = (x, y, width, height, kind = 'box', radius = 6) =>
  `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="${radius}" class="${kind}"/>`;

/** A box with a line of text, or several, in its middle. */
export function labelled(x, y, width, height, lines, kind = 'box', textKind = '') {
  const all = [lines].flat();
  const first = y + height / 2 + 5 - (all.length - 1) * 9;
  return [
    rect(x, y, width, height, kind),
    ...all.map((line, i) => middle(x + width / 2, first + i * 18, line, textKind)),
  ];
}

/** Cells of memory in a row. A cell is its text, or `[text, kind]`. */
export const cells = (x, y, values, { size = 44, height = 34, kind = 'a' } = {}) =>
  values.map((value, i) => {
    const [label, own] = Array.isArray(value) ? value : [value, kind];
    return [
      rect(x + i * size, y, size, height, own, 0),
      middle(x + i * size + size / 2, y + height / 2 + 5, label, 'mono'),
    ];
  });

function head(x, y, angle, kind) {
  const point = (turn, length) =>
    `${round(x - length * Math.cos(angle + turn))},${round(y - length * Math.sin(angle + turn))}`;
  return `<polygon points="${round(x)},${round(y)} ${point(0.4, 9)} ${point(-0.4, 9)}" class="head ${kind}"/>`;
}

export function arrow(x1, y1, x2, y2, kind = '') {
  const angle = Math.atan2(y2 - y1, x2 - x1);
  const [endX, endY] = [x2 - 6 * Math.cos(angle), y2 - 6 * Math.sin(angle)];
  return [
    `<path d="M${round(x1)} ${round(y1)} L${round(endX)} ${round(endY)}" class="line ${kind}"/>`,
    head(x2, y2, angle, kind.replace('dashed', '').trim()),
  ];
}

/** An arc above two points at the same height, with an arrow at its end. */
export function arc(x1, x2, y, rise, kind = '') {
  const control = y - rise;
  const angle = Math.atan2(y - control, (x2 - x1) / 4);
  return [
    `<path d="M${round(x1)} ${round(y)} C${round(x1)} ${round(control)} ${round(x2)} ${round(control)} ${round(x2)} ${round(y - 5)}" class="line ${kind}"/>`,
    head(x2, y, angle > 0 ? Math.PI / 2 : -Math.PI / 2, kind),
  ];
}

export const line = (x1, y1, x2, y2, kind = 'thin') =>
  `<path d="M${round(x1)} ${round(y1)} L${round(x2)} ${round(y2)}" class="${kind}"/>`;

/** Text in a rounded shield. */
export function badge(x, y, value, kind = 'c') {
  const width = value.length * 7.4 + 20;
  return [rect(x, y, width, 24, kind, 12), middle(x + width / 2, y + 16.5, value, 'small strong')];
}
