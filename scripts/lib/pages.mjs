// Pages in Chromium, through the pipe of its debugger: in light and dark, and as narrow as a phone, which a window without a
// screen cannot be.
import { openPage } from './browser.mjs';

/** Messages to the browser with their answers, and its events. Each message ends with a zero byte. */
function connect([input, output], ended) {
  const waiting = new Map();
  const listeners = new Map();
  let number = 0;
  let rest = '';
  output.setEncoding('utf8').on('data', (chunk) => {
    const messages = (rest + chunk).split('\0');
    rest = messages.pop();
    for (const { id, result, error, sessionId, method, params } of messages.map((text) => JSON.parse(text))) {
      if (id === undefined) listeners.get(sessionId)?.(method, params);
      const settle = waiting.get(id);
      waiting.delete(id);
      if (error !== undefined) settle?.reject(new Error(error.message));
      else settle?.resolve(result);
    }
  });
  ended.then((reason) => {
    for (const { reject } of waiting.values()) reject(new Error(`the browser ${reason}`));
  });
  const send = (method, params = {}, sessionId = undefined) =>
    new Promise((resolve, reject) => {
      const id = ++number;
      waiting.set(id, { resolve, reject });
      input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  return { send, listeners };
}

/** What a key is for the page. */
const codes = { Tab: 9, Enter: 13, Escape: 27, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40 };

/** Waits in the page until an expression is true; after two minutes it says which one never was. */
const until = (expression) =>
  `new Promise((resolve, reject) => { const last = Date.now() + 120_000; const look = () => ((${expression}) ? resolve() : Date.now() > last ? reject(new Error('never true: ' + ${JSON.stringify(expression)})) : setTimeout(look, 20)); look(); })`;

/** Resolves once the page has been drawn after the application took it over. */
const ready = `${until("document.readyState === 'complete' && location.href !== 'about:blank'")}.then(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 200))))`;

/**
 * Runs `use(visit)` with a browser, and ends it. `visit({ url, width, height, scheme }, look)` opens a page, and `look` gets
 * what it can do with it: `evaluate(expression)`, which waits for promises, `until(expression)`, `press(key)`, `type(text)`,
 * `point(x, y)`, `screenshot()` and `errors`, what the page threw or wrote as an error.
 */
export async function withBrowser(browser, use) {
  const page = openPage(browser, 'about:blank');
  const { send, listeners } = connect(page.pipes, page.ended);

  async function visit({ url, width, height, scheme = 'light' }, look) {
    const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
    const ask = (method, params) => send(method, params, sessionId);
    const errors = [];
    listeners.set(sessionId, (method, params) => {
      if (method === 'Runtime.exceptionThrown') errors.push(params.exceptionDetails.exception?.description);
      if (method === 'Log.entryAdded' && params.entry.level === 'error')
        errors.push(`${params.entry.text} ${params.entry.url ?? ''}`);
    });
    const evaluate = async (expression) => {
      const { result, exceptionDetails } = await ask('Runtime.evaluate', {
        expression,
        awaitPromise: true,
        returnByValue: true,
      });
      if (exceptionDetails !== undefined)
        throw new Error(`${url}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
      return result.value;
    };
    const press = async (key) => {
      const event = { key, code: key, windowsVirtualKeyCode: codes[key], ...(key === 'Enter' ? { text: '\r' } : {}) };
      for (const type of ['keyDown', 'keyUp']) await ask('Input.dispatchKeyEvent', { type, ...event });
    };
    await ask('Runtime.enable');
    await ask('Log.enable');
    await ask('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 500 });
    await ask('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
    // A page in the background would get no key and no frame.
    await ask('Emulation.setFocusEmulationEnabled', { enabled: true });
    await ask('Page.navigate', { url });
    await evaluate(ready);
    try {
      return await look({
        errors,
        evaluate,
        press,
        until: (expression) => evaluate(until(expression)),
        type: (text) => ask('Input.insertText', { text }),
        point: (x, y) => ask('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y }),
        screenshot: async () => Buffer.from((await ask('Page.captureScreenshot', { format: 'png' })).data, 'base64'),
      });
    } finally {
      listeners.delete(sessionId);
      await send('Target.closeTarget', { targetId });
    }
  }

  try {
    await send('Browser.grantPermissions', { permissions: ['clipboardReadWrite', 'clipboardSanitizedWrite'] });
    return await use(visit);
  } finally {
    await page.close();
  }
}
