/** A report as text: for people, for pages, for test servers, and as a badge. */

import { printable, printableLines } from '../base/printable.js';
import { ArgumentValueError } from '../errors.js';
import type { Outcome, Report, Result } from './run.js';

const formats = { text, markdown, json, junit, svg };
/** A format of a report. */
export type ReportFormat = keyof typeof formats;

/**
 * Writes the report in one of the formats: `text`, `markdown`, `json`, `junit` or `svg`, a badge.
 *
 * @param report - What {@link runCases} returned.
 * @param format - The name of the format.
 * @returns The text of the report.
 * @throws ArgumentValueError for an unknown format.
 * @example
 * ```ts
 * import { casesOf, formatReport, runCases } from 'dlpack/conformance';
 * const report = await runCases(casesOf({ name: 'nothing' }), { subject: 'nothing' });
 * console.log(formatReport(report, 'json').includes('"conforms": false')); // true
 * ```
 */
export function formatReport(report: Report, format: ReportFormat): string {
  if (!Object.hasOwn(formats, format)) {
    throw new ArgumentValueError('format', Object.keys(formats).join(', '), format);
  }
  return formats[format](report);
}

const verdict = ({ conforms }: Report): string => (conforms ? 'conforms' : 'does not conform');

/** Results that a reader has to look at. */
const notable = ({ results }: Report): Result[] =>
  results.filter(({ outcome }) => outcome === 'failed' || outcome === 'unexpected');

const words: Readonly<Record<Outcome, string>> = {
  passed: 'passed',
  failed: 'failed',
  skipped: 'skipped',
  expected: 'failed as expected',
  unexpected: 'passed, but was expected to fail',
};

function countsOf({ counts }: Report): string {
  return (Object.keys(words) as Outcome[])
    .filter((outcome) => counts[outcome] > 0 || outcome === 'passed' || outcome === 'failed')
    .map((outcome) => `${counts[outcome]} ${words[outcome]}`)
    .join(', ');
}

function text(report: Report): string {
  const lines = notable(report).map(
    ({ id, section, level, title, outcome, message }) =>
      `${level} ${section} ${id}: ${title}\n    ${outcome === 'failed' ? '' : `${words[outcome]}; `}${message}`,
  );
  const unused = report.unused.map((id) => `${id}: expected to fail, but there is no such case`);
  const isEmpty = report.counts.skipped === report.results.length;
  const why = report.results[0]?.message ?? 'there are no cases';
  const nothing = isEmpty ? [`Nothing is shown, because every case was skipped: ${why}`] : [];
  const head = `${report.subject} ${verdict(report)} to DLPack for JavaScript ${report.specification}`;
  const verdictLine = `${head} on ${report.runtime}: ${countsOf(report)}`;
  return printableLines(`${[...lines, ...unused, ...nothing, verdictLine].join('\n')}\n`);
}

const cell = (value: string): string => printable(value.replaceAll('|', '\\|').replaceAll('\n', ' '));

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(cell).join(' | ')} |`).join('\n');
}

/** A page: the verdict, what failed, what was skipped, and every case by its section. */
function markdown(report: Report): string {
  const { specification, results, unused } = report;
  const subject = printable(report.subject);
  const listed = (title: string, outcomes: readonly Outcome[], head: string): string => {
    const found = results.filter(({ outcome }) => outcomes.includes(outcome));
    if (found.length === 0) return '';
    const rows = found.map(({ id, section, level, title: rule, message }) => [
      `\`${id}\``,
      section,
      level,
      rule,
      message,
    ]);
    return `\n## ${title}\n\n${table(['case', 'section', 'level', 'the library', head], rows)}\n`;
  };
  const all = results.map(({ id, section, level, title, outcome }) => [
    `\`${id}\``,
    section,
    level,
    title,
    words[outcome],
  ]);
  return `# Conformance of ${subject}

**${subject} ${verdict(report)}** to DLPack for JavaScript ${specification}: ${countsOf(report)}.
${unused.length === 0 ? '' : `\nExpected failures without a case: ${unused.map((id) => `\`${id}\``).join(', ')}.\n`}${[
  listed('Failed', ['failed', 'unexpected'], 'what happened'),
  listed('Failed as expected', ['expected'], 'why'),
  listed('Skipped', ['skipped'], 'why'),
].join('')}
## All cases

${table(['case', 'section', 'level', 'the library', 'result'], all)}
`;
}

function json(report: Report): string {
  return `${JSON.stringify(report, null, 2)}\n`;
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (value: string): string =>
  printable(value.replaceAll('\n', ' ')).replace(/[&<>"]/g, (found) => entities[found] as string);

function junit(report: Report): string {
  const { subject, counts, results, unused } = report;
  const attributes = ({ id, section, title }: Result) =>
    `classname="${escaped(subject)}.${section}" name="${escaped(`${id}: ${title}`)}"`;
  const isFailure = ({ outcome, level }: Result) =>
    outcome === 'unexpected' || (outcome === 'failed' && level === 'must');
  const body = (result: Result): string => {
    const message = escaped(result.message);
    if (isFailure(result)) return `<failure message="${message}"/>`;
    if (result.outcome === 'passed') return '';
    return `<skipped message="${message}"/>`;
  };
  const lines = [
    ...results.map((result) => `  <testcase ${attributes(result)}>${body(result)}</testcase>`),
    ...unused.map(
      (id) =>
        `  <testcase classname="${escaped(subject)}" name="${escaped(id)}"><failure message="no such case"/></testcase>`,
    ),
  ];
  const failures = results.filter(isFailure).length + unused.length;
  const skipped = results.length - counts.passed - results.filter(isFailure).length;
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="${escaped(subject)}" tests="${lines.length}" failures="${failures}" skipped="${skipped}">
${lines.join('\n')}
</testsuite>
`;
}

/** A badge for a README. */
function svg(report: Report): string {
  const [label, message] = [`DLPack ${report.specification}`, verdict(report)];
  const widthOf = (words: string) => 10 + 7 * words.length;
  const [left, right] = [widthOf(label), widthOf(message)];
  const colour = report.conforms ? '#2a7e2a' : '#b03030';
  const texts = [
    [left / 2, label],
    [left + right / 2, message],
  ].map(([x, words]) => `<text x="${x}" y="14" text-anchor="middle">${words}</text>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="20" role="img" aria-label="${label}: ${message}">
<rect width="${left}" height="20" fill="#444"/><rect x="${left}" width="${right}" height="20" fill="${colour}"/>
<g fill="#fff" font-family="Verdana,sans-serif" font-size="11">${texts.join('')}</g>
</svg>
`;
}
