/**
 * The programs of a page: its fenced `ts` and `js` blocks, by the words after the language.
 *
 * A block is a separate program; `continue` appends it to the previous block. With `no-run: reason` it is compiled but not
 * run, and with `fragment: reason` neither. With `server: image` it is a server on `process.env.PORT`, to which the tests
 * post an image. Before them a block can have the title of its tab on the site, in brackets.
 */

export interface Program {
  /** The page and the line of the first block: `docs/guides/python.md:6`. */
  readonly at: string;
  readonly language: 'ts' | 'js';
  /** The whole program, for the compiler. */
  readonly text: string;
  /** The part that can run here; empty if nothing can. */
  readonly runnable: string;
  /** Runs until the tests have asked it. */
  readonly isServer: boolean;
}

interface Block {
  readonly line: number;
  readonly language: 'ts' | 'js';
  readonly words: string;
  readonly text: string;
}

function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  for (const match of page.matchAll(/^```(ts|js)\b(?: \[.*?\])?(.*)\n([\s\S]*?)^```$/gm)) {
    const [, language, words, text] = match as unknown as [string, 'ts' | 'js', string, string];
    blocks.push({ line: page.slice(0, match.index).split('\n').length, language, words: words.trim(), text });
  }
  return blocks;
}

export function programsOf(path: string, page: string): Program[] {
  const programs: Program[] = [];
  for (const { line, language, words, text } of blocksOf(page)) {
    const at = `${path}:${line}`;
    const [, mode, rest = ''] = /^(?:(continue)\b ?)?(.*)$/.exec(words) ?? [];
    if (!/^((no-run|fragment): \S.*|server: image)?$/.test(rest)) throw new Error(`${at}: what does "${words}" mean?`);
    if (rest.startsWith('fragment')) continue;
    const isServer = rest.startsWith('server');
    const runs = rest === '' || isServer ? text : '';
    const before = mode === 'continue' ? programs.pop() : undefined;
    if (mode === 'continue' && before?.language !== language) throw new Error(`${at}: there is nothing to continue`);
    programs.push({
      at: before?.at ?? at,
      language,
      text: (before?.text ?? '') + text,
      runnable: (before?.runnable ?? '') + runs,
      isServer: (before?.isServer ?? false) || isServer,
    });
  }
  return programs;
}

/** A line that prints, and the expected output in its comment: up to `: `, or to `...` if more follows. */
const printing = /^(\s*)console\.log\((.*)\);\s*\/\/ (.*)$/;

/** The program with a mark before each print that has an expected output, and the expected outputs by their marks. */
export function marked(runnable: string): { text: string; prints: string[] } {
  const prints: string[] = [];
  const lines = runnable.split('\n').map((line) => {
    const [, space, values, comment] = printing.exec(line) ?? [];
    if (comment === undefined) return line;
    prints.push(comment);
    return `${space}console.log('@${prints.length - 1}@', ${values});`;
  });
  return { text: lines.join('\n'), prints };
}

/** Runtimes print the same values with different spaces and quotes. */
const bare = (text: string): string => text.replace(/\s+/g, '').replaceAll('"', "'");

/** The differences between `output` and the comments. */
export function unlike(prints: readonly string[], output: string): string[] {
  return prints.flatMap((comment, i) => {
    const [, printed] = new RegExp(`@${i}@([\\s\\S]*?)(?=@\\d+@|$)`).exec(output) ?? [];
    if (printed === undefined) return [`never printed: ${comment}`];
    const [said = ''] = comment.endsWith('...') ? [comment.slice(0, -3)] : comment.split(': ');
    const same = comment.endsWith('...') ? bare(printed).startsWith(bare(said)) : bare(printed) === bare(said);
    return same ? [] : [`"${said}" but it prints ${printed.trim()}`];
  });
}
