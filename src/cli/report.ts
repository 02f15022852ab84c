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

export function reportText({ version, checks, ok }: Report): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = [`dlpack ${version}`, ''];
  for (const { name, state, text, remedies, advice } of checks) {
    const [mark, colour] = marks[state];
    lines.push(`${paint(colour, mark)} ${name.padEnd(width)}  ${text}`);
    for (const remedy of remedies) lines.push(`  ${''.padEnd(width)}  ${paint('dim', '→')} ${remedy}`);
    for (const sentence of advice) lines.push(`  ${''.padEnd(width)}  ${paint('dim', sentence)}`);
  }
  lines.push('', ok ? 'Nothing is wrong.' : 'There are problems. Paste the commands after → to fix them.', '');
  return lines.join('\n');
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
