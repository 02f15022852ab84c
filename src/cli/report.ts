/** Reports the findings of doctor as text for a terminal, as Markdown for an issue and as JSON for programs. */

import { paint } from './command.js';

/** `absent`: this machine lacks it, and the package does not need it. */
export type State = 'ok' | 'absent' | 'problem';

export interface Check {
  readonly name: string;
  readonly state: State;
  readonly text: string;
  /** Commands that can be pasted into a shell. */
  readonly remedies: readonly string[];
  /** What else to do, in words. */
  readonly advice: readonly string[];
}

export function check(
  name: string,
  state: State,
  text: string,
  remedies: readonly string[] = [],
  advice: readonly string[] = [],
): Check {
  return { name, state, text, remedies, advice };
}

export interface Report {
  /** The version of this layout. It increases when a field changes its meaning or is removed. */
  readonly schema: 1;
  readonly version: string;
  readonly ok: boolean;
  readonly checks: readonly Check[];
}

const marks = { ok: ['✓', 'green'], absent: ['–', 'yellow'], problem: ['✗', 'red'] } as const;

/** The longest name, because lines are written before all names are known. */
const width = '@huggingface/transformers'.length;

/** The lines of one check. */
export function checkText({ name, state, text, remedies, advice }: Check): string {
  const [mark, colour] = marks[state];
  const more = [...remedies.map((remedy) => `${paint('dim', '→')} ${remedy}`), ...advice.map((it) => paint('dim', it))];
  return [
    `${paint(colour, mark)} ${name.padEnd(width)}  ${text}`,
    ...more.map((it) => `  ${''.padEnd(width)}  ${it}`),
    '',
  ].join('\n');
}

/** The last lines. */
export function endText({ ok }: Report): string {
  return `\n${ok ? 'Nothing is wrong.' : 'There are problems. Paste the commands after → to fix them.'}\n`;
}

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

export function reportMarkdown({ version, checks }: Report): string {
  const rows = checks.map(({ name, state, text, remedies, advice }) => {
    const commands = remedies.map((remedy) => `<br>→ \`${cell(remedy)}\``).join('');
    const sentences = advice.map((sentence) => `<br>${cell(sentence)}`).join('');
    return `| ${name} | ${state} | ${cell(text)}${commands}${sentences} |`;
  });
  return `dlpack ${version}\n\n| check | state | found |\n|---|---|---|\n${rows.join('\n')}\n`;
}
