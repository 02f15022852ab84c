// Pictures of pages in Chromium, through the pipe of its debugger: in light and dark, and as narrow as a phone, which a
// window without a screen cannot be.
import { writeFileSync } from 'node:fs';
import { openPage } from './browser.mjs';

/** Messages to the browser, and its answers. Each ends with a zero byte. */
function connect([input, output]) {
  const waiting = new Map();
  let number = 0;
  let rest = '';
  output.setEncoding('utf8').on('data', (chunk) => {
    const messages = (rest + chunk).split('\0');
    rest = messages.pop();
    for (const { id, result, error } of messages.map((text) => JSON.parse(text))) {
      const settle = waiting.get(id);
      waiting.delete(id);
      if (error !== undefined) settle?.reject(new Error(error.message));
      else settle?.resolve(result);
    }
  });
  return (method, params = {}, sessionId = undefined) =>
    new Promise((resolve, reject) => {
      const id = ++number;
      waiting.set(id, { resolve, reject });
      input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
}

/**
 * Writes one PNG for each shot: `{ url, file, width, height, scheme, script, full }`. `script` is an expression that the page
 * evaluates first, and a promise is waited for. Returns what each script gave.
 */
export async function takeScreenshots(browser, shots) {
  const page = openPage(browser, 'about:blank');
  const send = connect(page.pipes);
  const results = [];
  try {
    for (const { url, file, width, height, scheme, script = 'null', full = false } of shots) {
      const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
      const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
      const ask = (method, params) => send(method, params, sessionId);
      const metrics = { width, height, deviceScaleFactor: 1, mobile: width < 500 };
      await ask('Emulation.setDeviceMetricsOverride', metrics);
      await ask('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
      await ask('Page.navigate', { url });
      const evaluate = async (expression) => {
        const { result, exceptionDetails } = await ask('Runtime.evaluate', {
          expression,
          awaitPromise: true,
          returnByValue: true,
        });
        if (exceptionDetails !== undefined) throw new Error(`${url}: ${JSON.stringify(exceptionDetails.exception)}`);
        return result.value;
      };
      await evaluate(
        `new Promise((resolve) => { const wait = () => location.href !== 'about:blank' && document.readyState === 'complete' ? requestAnimationFrame(() => setTimeout(resolve, 300)) : setTimeout(wait, 20); wait(); })`,
      );
      results.push(await evaluate(script));
      if (full) {
        const whole = await evaluate('document.documentElement.scrollHeight');
        await ask('Emulation.setDeviceMetricsOverride', { ...metrics, height: Math.min(whole, 6000) });
      }
      const { data } = await ask('Page.captureScreenshot', { format: 'png' });
      writeFileSync(file, Buffer.from(data, 'base64'));
      await send('Target.closeTarget', { targetId });
    }
  } finally {
    await page.close();
  }
  return results;
}
