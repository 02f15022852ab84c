/** The chain of methods that the reader types: `.transpose([1, 0]).slice(0)`. */

/** The methods that the explorer knows, each with an example of its arguments. */
export const methods = {
  transpose: '[1, 0]',
  slice: '0',
  reshape: '[-1]',
  broadcastTo: '[2, 2, 3]',
  squeeze: '',
  expandDims: '0',
  flip: '0',
  contiguous: '',
  copy: '',
  astype: "'float16'",
} as const;

export type Method = keyof typeof methods;

export interface Call {
  readonly method: Method;
  readonly args: readonly unknown[];
  /** As it was typed, without the point. */
  readonly text: string;
}

/** A mistake in the form itself, which the package never sees. */
export class FormError extends Error {
  override readonly name = 'FormError';
}

export function parseCalls(chain: string): Call[] {
  const calls: Call[] = [];
  const pattern = /\s*\.(\w+)\(([^()]*)\)\s*/y;
  while (pattern.lastIndex < chain.trimEnd().length) {
    const start = pattern.lastIndex;
    const [text, method, args] = pattern.exec(chain) ?? [];
    if (text === undefined || method === undefined || args === undefined) {
      throw new FormError(
        `Expected calls such as .slice(0).transpose([1, 0]) but found "${chain.slice(start).trim()}"`,
      );
    }
    if (!Object.hasOwn(methods, method)) {
      throw new FormError(`The explorer has no ${method}(). It has ${Object.keys(methods).join(', ')}`);
    }
    calls.push({ method: method as Method, args: parseArguments(args, method), text: text.trim().slice(1) });
  }
  return calls;
}

function parseArguments(text: string, method: string): unknown[] {
  try {
    return JSON.parse(`[${text.replaceAll("'", '"').replaceAll('undefined', 'null')}]`) as unknown[];
  } catch {
    throw new FormError(`Expected numbers, arrays and null as arguments of ${method}() but found "${text}"`);
  }
}
