/** The built explorer, in a frame: what a reader sees, types and hears. */

import { Tensor } from 'dlpack';
import { equal, ok } from '../../assert.js';
import { test } from '../../harness.js';

interface Explorer {
  readonly document: Document;
  readonly window: Window;
  text(selector: string): string;
  all(selector: string): string[];
  type(id: string, value: string): void;
  click(selector: string): void;
  close(): void;
}

/** Opens the page with a query, `width` pixels wide, and waits until it shows a tensor or an error. */
async function open(query: string, width = 1000): Promise<Explorer> {
  const frame = document.createElement('iframe');
  Object.assign(frame.style, { width: `${width}px`, height: '700px', border: '0' });
  frame.src = `/build/explorer/index.html${query}`;
  document.body.append(frame);
  await new Promise((resolve) => frame.addEventListener('load', resolve, { once: true }));
  const { contentDocument: inner, contentWindow } = frame as { contentDocument: Document; contentWindow: Window };
  const find = (selector: string): HTMLElement => {
    const element = inner.querySelector<HTMLElement>(selector);
    if (element === null) throw new Error(`${query}: there is no ${selector}`);
    return element;
  };
  while (inner.querySelector('#languages button') === null || find('#open a').getAttribute('href') === null) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return {
    document: inner,
    window: contentWindow,
    text: (selector) => find(selector).textContent ?? '',
    all: (selector) => [...inner.querySelectorAll(selector)].map((element) => element.textContent ?? ''),
    type(id, value) {
      const field = find(`#${id}`) as HTMLInputElement;
      field.value = value;
      field.dispatchEvent(new Event('input', { bubbles: true }));
    },
    click: (selector) => find(selector).click(),
    close: () => frame.remove(),
  };
}

const withT = (t: string, more = ''): string => `?t=${encodeURIComponent(t)}${more}`;

test('an address shows its tensor: elements, bytes, struct', async () => {
  const page = await open(withT('uint8[2,3,3].transpose([2,0,1])'));
  equal(page.all('#grid td').join(' '), '0 3 6 9 12 15 1 4 7 10 13 16 2 5 8 11 14 17');
  equal(page.all('#grid caption'), ['[0, :, :]', '[1, :, :]', '[2, :, :]']);
  equal(page.all('#bytes .e i').join(' ').slice(0, 17), '00 01 02 03 04 05');
  ok(page.text('#struct').includes('[1, 9, 3] elements'), page.text('#struct'));
  ok(page.text('#summary').includes('not contiguous: axis 2 has stride 3, row-major has 1'), page.text('#summary'));
  equal(page.text('#note').startsWith('A 2×3 image'), true, page.text('#note'));
  page.close();
});

test('every preset shows elements and code, without an error', async () => {
  const page = await open('');
  const count = page.document.querySelectorAll('#preset option').length - 1;
  ok(count >= 6, `${count} presets`);
  for (let i = 0; i < count; i++) {
    page.type('preset', String(i));
    equal((page.document.getElementById('error') as HTMLElement).hidden, true, page.text('#error'));
    ok(page.all('#grid td').length > 0 && page.text('#code').includes('Tensor.wrap'), page.text('#code'));
  }
  page.close();
});

test('stride 0 and windows mark every index of an element', async () => {
  const page = await open(withT('int16[6,3];strides=1,1;memory=8'));
  equal(page.all('#bytes .e').length, 8);
  page.click('[data-i="4"]');
  equal(page.all('#grid td.on'), ['2', '2', '2']);
  equal(page.all('#bytes .e.on').length, 1);
  ok(page.text('#formula').includes('0 + 1·1 + 1·1 = element 2, bytes 4 to 5'), page.text('#formula'));
  page.close();
});

test('the package refuses what it refuses elsewhere, in its own words', async () => {
  const page = await open('');
  page.type('calls', '.reshape([5])');
  let message = '';
  try {
    Tensor.from([1, 2, 3, 4, 5, 6]).reshape([5]);
  } catch (error) {
    message = (error as Error).message;
  }
  equal(page.text('#error'), `LayoutError: ${message}`);
  page.type('calls', '');
  equal((page.document.getElementById('error') as HTMLElement).hidden, true);
  page.type('strides', '4, 1');
  ok(page.text('#error').startsWith('LayoutError: Expected memory of'), page.text('#error'));
  page.type('strides', '');
  page.type('shape', '2, x');
  ok(page.text('#error').startsWith('ArgumentValueError'), page.text('#error'));
  page.type('shape', '2, 3');
  page.type('calls', '.slice(0');
  ok(page.text('#error').startsWith('FormError: Expected calls such as'), page.text('#error'));
  page.close();
});

test('a flipped bit and a written value are in the tensor and in the address', async () => {
  const page = await open(withT('int4[2,4]'));
  equal(page.all('#bytes .pack').length, 4);
  page.click('[data-i="1"]');
  page.click('[data-bit="3"]');
  equal(page.all('#grid td')[1], '-7');
  const other = await open(page.window.location.search);
  equal(other.all('#grid td')[1], '-7', 'the address keeps it');
  other.close();
  (page.document.getElementById('value') as HTMLInputElement).value = '9';
  page.click('#write button');
  ok(page.text('#refused').includes('int4'), page.text('#refused'));
  (page.document.getElementById('value') as HTMLInputElement).value = '5';
  page.click('#write button');
  equal(page.all('#grid td')[1], '5');
  page.close();
});

test('a copy is new memory, and the page says so', async () => {
  const page = await open(withT('float32[2,3].transpose().contiguous().astype("float16")'));
  equal(page.text('#copied'), 'contiguous(), astype("float16") copied: this is new memory.');
  equal(page.all('#grid td'), ['0', '3', '1', '4', '2', '5']);
  equal(page.text('#size'), '12 bytes');
  page.close();
});

test('arrow keys walk over the grid, one cell can have the focus, and a screen reader hears it', async () => {
  const page = await open(withT('float32[2,2,3]'));
  const press = (key: string) =>
    page.document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  const focused = () => (page.document.activeElement as HTMLElement).dataset.i;
  page.document.querySelector<HTMLElement>('[data-i="0"]')?.focus();
  const walk = ['ArrowRight', 'ArrowDown', 'PageDown', 'End', 'ArrowRight', 'Home', 'PageUp', 'ArrowUp'];
  equal(
    walk.map((key) => {
      press(key);
      return focused();
    }),
    ['1', '4', '10', '11', '11', '9', '3', '0'],
  );
  press('ArrowRight');
  equal(page.text('#said'), 'index 0, 0, 1, value 1, bytes 4 to 7');
  equal(page.document.querySelectorAll('#grid [tabindex="0"]').length, 1);
  equal(page.document.querySelector('#grid table')?.getAttribute('role'), 'grid');
  const unnamed = [...page.document.querySelectorAll<HTMLInputElement>('input, select')].filter(
    ({ labels }) => labels?.length !== 1,
  );
  equal(unnamed, [], 'fields without a label');
  page.close();
});

test('embedded, it shows the figure and a way out; narrow, nothing is cut off', async () => {
  const embedded = await open(withT('float32[4].broadcastTo([3,4])', '&embed&theme=dark'), 720);
  const isShown = (id: string) => (embedded.document.getElementById(id) as HTMLElement).offsetParent !== null;
  equal(
    [isShown('form'), isShown('take'), isShown('grid'), isShown('bytes'), isShown('open')],
    [false, false, true, true, true],
  );
  equal(embedded.window.getComputedStyle(embedded.document.documentElement).colorScheme, 'dark');
  ok(embedded.document.querySelector<HTMLAnchorElement>('#open a')?.href.includes('broadcastTo'), 'the link');
  embedded.close();
  const narrow = await open(withT('float64[2,8];strides=8,1'), 360);
  const { scrollWidth, clientWidth } = narrow.document.documentElement;
  ok(scrollWidth <= clientWidth, `${scrollWidth} pixels in ${clientWidth}`);
  narrow.close();
});

test('the SVG has the elements and the bytes', async () => {
  const page = await open(withT('uint8[2,2]'));
  const links: HTMLAnchorElement[] = [];
  const { HTMLAnchorElement: anchor } = page.window as unknown as { HTMLAnchorElement: typeof HTMLAnchorElement };
  anchor.prototype.click = function () {
    links.push(this);
  };
  page.click('#save-svg');
  equal(
    links.map(({ download }) => download),
    ['tensor.svg'],
  );
  const saved = await (await fetch(links[0]?.href as string)).text();
  const parsed = new DOMParser().parseFromString(saved, 'image/svg+xml');
  equal(parsed.querySelector('parsererror'), null);
  equal(
    [...parsed.querySelectorAll('text')].map((text) => text.textContent),
    [
      'uint8[2,2]',
      'shape [2, 2]  strides [2, 1]  byteOffset 0',
      '0',
      '1',
      '2',
      '3',
      'memory: 4 bytes',
      '00',
      '01',
      '02',
      '03',
    ],
  );
  page.close();
});
