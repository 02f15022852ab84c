/** Python literals in NumPy headers: dicts, tuples, lists, strings, integers, True, False, None. */

export type Literal = string | number | boolean | null | readonly Literal[] | ReadonlyMap<string, Literal>;

/** The most levels of nesting: a dict with a list of fields, which are tuples with a shape and may be nested. */
const MAX_DEPTH = 16;

const words: Readonly<Record<string, Literal>> = { True: true, False: false, None: null };

const closing: Readonly<Record<string, string>> = { '[': ']', '(': ')' };

/** Parses a literal. `fail` throws an error for a position in the text. */
export function parseLiteral(text: string, fail: (at: number, problem: string) => never): Literal {
  let at = 0;

  const peek = (): string => {
    while (/[ \t\n\r\f]/.test(text.charAt(at))) at++;
    return text.charAt(at);
  };

  const take = (char: string): void => {
    if (peek() !== char) fail(at, `expected '${char}'`);
    at++;
  };

  const string = (): string => {
    const quote = text.charAt(at);
    const start = ++at;
    while (text.charAt(at) !== quote) {
      if (at >= text.length) fail(start, 'a string has no end');
      // Field names may have escapes, but a header with fields is rejected anyway.
      if (text.charAt(at) === '\\') at++;
      at++;
    }
    return text.slice(start, at++);
  };

  const sequence = (close: string, depth: number): Literal[] => {
    const items: Literal[] = [];
    at++;
    while (peek() !== close) {
      items.push(value(depth));
      if (peek() !== ',') break;
      at++;
    }
    take(close);
    return items;
  };

  const dict = (depth: number): Map<string, Literal> => {
    const items = new Map<string, Literal>();
    at++;
    while (peek() !== '}') {
      const key = value(depth);
      if (typeof key !== 'string') return fail(at, 'expected a string as key');
      if (items.has(key)) fail(at, `'${key}' occurs twice`);
      take(':');
      items.set(key, value(depth));
      if (peek() !== ',') break;
      at++;
    }
    take('}');
    return items;
  };

  const word = (): Literal => {
    const found = /^(?:-?[0-9]+(?=L?\b)|[A-Za-z]+)/.exec(text.slice(at, at + 32))?.[0] ?? '';
    at += found.length;
    if (/^-?[0-9]/.test(found)) {
      if (text.charAt(at) === 'L') at++; // a Python 2 long integer
      return Number(found);
    }
    if (!Object.hasOwn(words, found)) fail(at - found.length, 'expected a literal');
    return words[found] as Literal;
  };

  const value = (depth: number): Literal => {
    if (depth > MAX_DEPTH) fail(at, `expected at most ${MAX_DEPTH} levels`);
    const char = peek();
    if (char === "'" || char === '"') return string();
    if (char === '{') return dict(depth + 1);
    const close = closing[char];
    return close === undefined ? word() : sequence(close, depth + 1);
  };

  const result = value(0);
  if (peek() !== '') fail(at, 'expected the end of the header');
  return result;
}
