/** The page: reads the form, shows the tensor, and keeps the address up to date. */

import { dtypes, type Tensor } from 'dlpack';
import { partOf } from './bits.js';
import { methods } from './calls.js';
import { asJavaScript, asNumPy, asPyTorch } from './code.js';
import { build, gapOf, hex, type Model, readValue, valueAt } from './model.js';
import { formatState, parseState, presets, type State } from './state.js';
import { toSVG } from './svg.js';

const get = <E extends HTMLElement = HTMLInputElement>(id: string): E => document.getElementById(id) as E;

function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const query = new URLSearchParams(location.search);
const isEmbedded = query.has('embed');
const theme = query.get('theme');
if (theme === 'light' || theme === 'dark') document.documentElement.style.colorScheme = theme;
document.body.classList.toggle('embed', isEmbedded);

let state: State = parseState(query.get('t') ?? presets[0]?.t ?? '');
let model: Model | null = null;
/** The element that the reader looks at, as the number of its index. */
let current = 0;
let language = 'JavaScript';
const languages: Record<string, (state: State) => string> = {
  JavaScript: asJavaScript,
  NumPy: asNumPy,
  PyTorch: asPyTorch,
};

const texts = ['dtype', 'shape', 'strides', 'memory', 'calls'] as const;
const checks = ['padded', 'readonly'] as const;

/** The address of this state. */
function address(embed: boolean): string {
  const url = new URL(location.href);
  url.search = `?t=${encodeURIComponent(formatState(state)).replaceAll('%2C', ',').replaceAll('%3B', ';')}${embed ? '&embed' : ''}`;
  return url.href;
}

function say(text: string): void {
  get('said').textContent = text;
}

/** Puts the state into the form. */
function writeForm(): void {
  for (const name of texts) get(name).value = state[name];
  for (const name of checks) get(name).checked = state[name];
  const line = formatState(state);
  const preset = presets.findIndex(({ t }) => formatState(parseState(t)) === line);
  get('preset').value = String(preset);
  get('note').textContent = presets[preset]?.note ?? '';
}

/** Builds the tensor of the state. A mistake leaves the last tensor in sight, greyed out. */
function update(): void {
  const shown = get('shown');
  const error = get('error');
  try {
    model = build(state);
    error.hidden = true;
    shown.classList.remove('stale');
    current = Math.min(current, Math.max(0, model.indices.length - 1));
    show(model);
  } catch (reason) {
    const { name, message } = reason as Error;
    error.replaceChildren(make('b', {}, name), `: ${message}`);
    error.hidden = false;
    shown.classList.add('stale');
  }
  if (!isEmbedded) {
    try {
      history.replaceState(null, '', address(false));
    } catch {
      // A page of about:blank or file: may not change its address.
    }
  }
  (get('open').firstElementChild as HTMLAnchorElement).href = address(false);
}

function show(shown: Model): void {
  showGrid(shown);
  showMemory(shown);
  showStruct(shown);
  showCode();
  select(current, false);
}

const hueOf = (index: readonly number[] | undefined): string => `h${(index?.[0] ?? 0) % 6}`;

function showGrid({ tensor, indices }: Model): void {
  const { shape } = tensor;
  const columns = shape.at(-1) ?? 1;
  const rows = shape.at(-2) ?? 1;
  const tables: HTMLElement[] = [];
  let row: HTMLElement | null = null;
  indices.forEach((index, i) => {
    if (i % (rows * columns) === 0) {
      const block = index.length > 2 ? `[${index.slice(0, -2).join(', ')}, :, :]` : '';
      tables.push(
        make(
          'table',
          { role: 'grid', 'aria-label': `Elements ${block}` },
          ...(block === '' ? [] : [make('caption', {}, block)]),
        ),
      );
    }
    if (i % columns === 0) {
      row = make('tr', { role: 'row' });
      tables.at(-1)?.append(row);
    }
    const value = valueAt(tensor, index);
    const label = `index ${index.join(', ') || 'none'}: ${value}`;
    row?.append(
      make(
        'td',
        { role: 'gridcell', tabindex: '-1', 'data-i': String(i), class: hueOf(index), 'aria-label': label },
        value,
      ),
    );
  });
  get('grid').replaceChildren(...(tables.length === 0 ? ['no elements'] : tables));
  const gap = gapOf(tensor);
  get('summary').textContent =
    `${tensor.size} of ${tensor.dtype}, ${gap === null ? 'contiguous' : `not contiguous: ${gap}`}`;
}

/** The bits of an element in memory, highest first. */
function bitsAt({ bytes, step, dtype }: Model, place: number): string {
  let text = '';
  for (let bit = dtype.itemBits - 1; bit >= 0; bit--) {
    const at = place * step + bit;
    text += ((bytes[at >> 3] as number) >> (at & 7)) & 1;
  }
  return text;
}

function showMemory(shown: Model): void {
  const { bytes, places, indices, room, step, dtype, tensor, copies } = shown;
  const users = new Map<number, number[]>();
  for (const [i, place] of places.entries()) users.set(place, [...(users.get(place) ?? []), i]);
  const boxOf = (place: number, ...inside: (Node | string)[]): HTMLElement => {
    const own = users.get(place) ?? [];
    const first = own[0];
    const hue = first === undefined ? '' : hueOf(indices[first]);
    const times = own.length > 1 ? `×${own.length}` : '';
    const at = `${Math.floor((place * step) / 8)}${times === '' ? '' : ` ${times}`}`;
    const title =
      first === undefined
        ? 'outside the view'
        : `[${indices[first]?.join(', ')}]${times === '' ? '' : ` and ${own.length - 1} more`}`;
    return make('span', { class: `e ${hue}`, 'data-place': String(place), title }, make('small', {}, at), ...inside);
  };
  const cells: HTMLElement[] = [];
  if (step % 8 === 0) {
    for (let place = 0; place < room; place++) {
      const own = [...bytes.subarray((place * step) / 8, ((place + 1) * step) / 8)];
      cells.push(boxOf(place, ...own.map((byte) => make('i', {}, hex(byte)))));
    }
  } else {
    // Elements that share bytes, in groups that begin and end with a byte; a byte is written with its lowest bit right.
    const group = 8 / (step % 8 === 4 ? 4 : step % 2 === 0 ? 2 : 1);
    for (let place = 0; place < room; place += group) {
      const own = Array.from({ length: Math.min(group, room - place) }, (_, i) =>
        boxOf(place + i, bitsAt(shown, place + i)),
      );
      cells.push(make('span', { class: 'pack' }, ...own));
    }
  }
  const memory = get<HTMLElement>('bytes');
  memory.replaceChildren(...cells);
  memory.setAttribute(
    'aria-label',
    `${bytes.length} bytes of memory; ${users.size} of ${room} elements are in the view`,
  );
  get('padded-label').hidden = !dtype.isSubByte;
  get('size').textContent = `${bytes.length} bytes${dtype.isSubByte && tensor.isPadded ? ', padded' : ''}`;
  get('copied').textContent = copies.length === 0 ? '' : `${copies.join(', ')} copied: this is new memory.`;
}

function showStruct({ tensor, dtype }: Model): void {
  const rows: [string, string][] = [
    ['ndim', String(tensor.ndim)],
    ['dtype', `{ code: ${dtype.code}, bits: ${dtype.bits}, lanes: ${dtype.lanes} }`],
    ['shape', `[${tensor.shape.join(', ')}]`],
    ['strides', `[${tensor.strides.join(', ')}] elements`],
    ['byte_offset', String(tensor.byteOffset)],
    [
      'flags',
      [tensor.isReadOnly ? 'READ_ONLY' : '', dtype.isSubByte && tensor.isPadded ? 'SUBBYTE_PADDED' : '']
        .filter(Boolean)
        .join(' | ') || '0',
    ],
    ['nbytes', String(tensor.nbytes)],
  ];
  get('struct').replaceChildren(...rows.flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]));
}

function showCode(): void {
  for (const button of get('languages').children) {
    button.setAttribute('aria-pressed', String(button.textContent === language));
  }
  get('code').textContent = languages[language]?.(state) ?? '';
}

/** Marks an element everywhere, and explains its address. */
function select(i: number, isSaid: boolean): void {
  if (model === null) return;
  current = i;
  const { tensor, indices, places, step, dtype } = model;
  const place = places[i];
  for (const cell of document.querySelectorAll<HTMLElement>('[data-i]')) {
    const own = Number(cell.dataset.i);
    cell.classList.toggle('on', places[own] === place);
    cell.tabIndex = own === i ? 0 : -1;
    cell.setAttribute('aria-selected', String(own === i));
  }
  for (const box of document.querySelectorAll<HTMLElement>('[data-place]')) {
    box.classList.toggle('on', Number(box.dataset.place) === place);
  }
  const index = indices[i];
  if (index === undefined || place === undefined) {
    get('formula').textContent = '';
    get('bits').replaceChildren();
    return;
  }
  const first = place - index.reduce((sum, at, axis) => sum + at * (tensor.strides[axis] as number), 0);
  const terms = index.map((at, axis) => `${at}·${tensor.strides[axis]}`);
  const bit = place * step;
  const last = Math.floor((bit + dtype.itemBits - 1) / 8);
  const where =
    bit % 8 === 0 && dtype.itemBits % 8 === 0
      ? last === bit / 8
        ? `byte ${last}`
        : `bytes ${bit / 8} to ${last}`
      : `byte ${bit >> 3}, bits ${bit % 8} to ${(bit + dtype.itemBits - 1) % 8}`;
  const value = valueAt(tensor, index);
  get('formula').textContent =
    `x.get(${index.join(', ')}) = ${value}\n${[first, ...terms].join(' + ')} = element ${place}, ${where}`;
  showBits(model, place);
  get('value').value = value;
  get('refused').textContent = '';
  if (isSaid) say(`index ${index.join(', ')}, value ${value}, ${where}`);
}

function showBits(shown: Model, place: number): void {
  const { dtype } = shown;
  const isFixed = shown.tensor.isReadOnly;
  const buttons = [...bitsAt(shown, place)].map((digit, i) => {
    const bit = dtype.itemBits - 1 - i;
    const part = partOf(dtype, bit % dtype.bits);
    const button = make(
      'button',
      { type: 'button', class: part, 'data-bit': String(bit), 'aria-label': `bit ${bit}, ${part}: ${digit}` },
      digit,
    );
    button.disabled = isFixed;
    return button;
  });
  get('bits').replaceChildren(...buttons);
}

/** After a write into the memory: the tensor sees it at once, because nothing was copied. */
function written(): void {
  if (model === null) return;
  if (model.isFirstMemory) state.bytes = [...model.bytes].map(hex).join('');
  const { activeElement } = document;
  const bit = (activeElement as HTMLElement | null)?.dataset.bit;
  show(model);
  if (bit !== undefined) document.querySelector<HTMLElement>(`[data-bit="${bit}"]`)?.focus();
  if (!isEmbedded) history.replaceState(null, '', address(false));
  const index = model.indices[current] ?? [];
  say(`index ${index.join(', ')} is now ${valueAt(model.tensor, index)}`);
}

/** Where an arrow key leads, as the number of an index. */
function step(key: string, { tensor, indices }: Model): number {
  const { shape } = tensor;
  const columns = shape.at(-1) ?? 1;
  const block = columns * (shape.at(-2) ?? 1);
  const by: Record<string, number> = {
    ArrowLeft: -1,
    ArrowRight: 1,
    ArrowUp: -columns,
    ArrowDown: columns,
    PageUp: -block,
    PageDown: block,
  };
  if (key === 'Home') return current - (current % columns);
  if (key === 'End') return current - (current % columns) + columns - 1;
  const next = current + (by[key] ?? 0);
  return next >= 0 && next < indices.length ? next : current;
}

get('grid').addEventListener('keydown', (event) => {
  if (model === null || !/^(Arrow|Page|Home|End)/.test(event.key)) return;
  event.preventDefault();
  select(step(event.key, model), true);
  document.querySelector<HTMLElement>(`[data-i="${current}"]`)?.focus();
});
for (const type of ['click', 'pointerover']) {
  get('grid').addEventListener(type, ({ target }) => {
    const i = (target as HTMLElement).dataset.i;
    if (i !== undefined) select(Number(i), type === 'click');
  });
  get('bytes').addEventListener(type, ({ target }) => {
    const box = (target as HTMLElement).closest<HTMLElement>('[data-place]');
    const i = model?.places.indexOf(Number(box?.dataset.place ?? -1)) ?? -1;
    if (i >= 0) select(i, type === 'click');
  });
}
get('bits').addEventListener('click', ({ target }) => {
  const bit = (target as HTMLElement).dataset.bit;
  if (bit === undefined || model === null) return;
  const at = (model.places[current] as number) * model.step + Number(bit);
  model.bytes[at >> 3] = (model.bytes[at >> 3] as number) ^ (1 << (at & 7));
  written();
});
get<HTMLFormElement>('write').addEventListener('submit', (event) => {
  event.preventDefault();
  if (model === null) return;
  const value = readValue(get('value').value, model.dtype);
  try {
    (model.tensor as Tensor<'float32'>).set(...(model.indices[current] as number[]), value as number);
    written();
  } catch (reason) {
    const { name, message } = reason as Error;
    get('refused').textContent = `${name}: ${message}`;
  }
});

get<HTMLFormElement>('form').addEventListener('submit', (event) => event.preventDefault());
get<HTMLFormElement>('form').addEventListener('input', ({ target }) => {
  if ((target as HTMLElement).id === 'preset') {
    state = parseState(presets[Number(get('preset').value)]?.t ?? '');
    current = 0;
  } else {
    // Other memory: the changed bytes no longer fit.
    state = { ...state, bytes: (target as HTMLElement).id === 'calls' ? state.bytes : '' };
    for (const name of texts) state[name] = get(name).value;
    for (const name of checks) state[name] = get(name).checked;
  }
  if ((target as HTMLElement).id === 'preset') writeForm();
  update();
});
function setCalls(calls: string): void {
  state.calls = calls;
  writeForm();
  update();
}
get('undo').addEventListener('click', () => setCalls(state.calls.replace(/\s*\.\w+\([^()]*\)?\s*$/, '')));

async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied`);
  } catch {
    prompt(`Copy the ${what}:`, text); // a page of file: has no clipboard
  }
}
get('copy-code').addEventListener('click', () => copy(get('code').textContent ?? '', 'code'));
get('copy-link').addEventListener('click', () => copy(address(false), 'link'));
get('copy-embed').addEventListener('click', () =>
  copy(`<iframe src="${address(true)}" width="720" height="420" title="Tensor explorer"></iframe>`, 'embed'),
);
get('save-svg').addEventListener('click', () => {
  if (model === null) return;
  const title = formatState({ ...state, bytes: '' });
  const file = URL.createObjectURL(new Blob([toSVG(model, title)], { type: 'image/svg+xml' }));
  make('a', { href: file, download: 'tensor.svg' }).click();
  setTimeout(() => URL.revokeObjectURL(file), 10_000);
});

get('preset').append(
  make('option', { value: '-1', hidden: '' }, 'Your own'),
  ...presets.map(({ name }, i) => make('option', { value: String(i) }, name)),
);
get('dtype').append(...dtypes.map((name) => make('option', { value: name }, name)));
for (const [name, example] of Object.entries(methods)) {
  const button = make('button', { type: 'button' }, `.${name}()`);
  button.addEventListener('click', () => setCalls(`${state.calls}.${name}(${example})`));
  get('methods').append(button);
}
for (const name of Object.keys(languages)) {
  const button = make('button', { type: 'button' }, name);
  button.addEventListener('click', () => {
    language = name;
    showCode();
  });
  get('languages').append(button);
}
writeForm();
update();
