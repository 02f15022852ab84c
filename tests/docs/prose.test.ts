/** The house rules for pages, as far as a program can check them: CONTRIBUTING.md, "Pages". */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';
import { root } from './project.js';

const pagesIn = (folder: string): string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);

/** Pages for readers who are new. */
const front = ['README.md', ...pagesIn('docs/tutorials'), ...pagesIn('docs/how-to'), 'docs/troubleshooting.md'].concat(
  'site/home.md',
  ['README', 'comparison', 'glossary', 'migrate', 'what-works'].map((name) => `docs/${name}.md`),
  ['what-is-a-tensor', 'copy-or-share'].map((name) => `docs/concepts/${name}.md`),
);
/** Every page that a user reads, except tables that tests write. */
const all = [...front, ...pagesIn('docs/guides'), ...pagesIn('docs/concepts'), 'docs/errors.md', 'CHANGELOG.md'];

interface Page {
  readonly path: string;
  readonly text: string;
  /** Without programs and tables. */
  readonly prose: string;
  readonly programs: readonly string[];
}

function pageOf(path: string, text = readFileSync(join(root, path), 'utf8')): Page {
  const programs = [...text.matchAll(/^```(?:ts|js|sh|html)\b.*\n([\s\S]*?)^```$/gm)].map(
    ([, program = '']) => program,
  );
  const prose = text
    .replace(/^```[\s\S]*?^```$/gm, '')
    .replace(/^\|.*$/gm, '')
    .replace(/^#+ .*$/gm, '');
  return { path, text, prose, programs };
}

/** The sentences of a page: inline code counts as one word, and so does a link's text. */
function sentencesOf({ prose }: Page): string[] {
  return prose
    .replace(/`[^`]*`/g, 'code')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .split(/\n\s*\n|^\s*(?:[-*]|\d+\.) /m)
    .flatMap((paragraph) => paragraph.replace(/\s+/g, ' ').split(/(?<=[.:;!?]) /))
    .map((sentence) => sentence.trim());
}
const wordsOf = (sentence: string): number => sentence.split(' ').filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

/** Words that sell, belittle or say nothing, and the fractions of somebody else's time. */
const banned =
  /\b(simply|obviously|of course|basically|easy|easily|seamless(ly)?|blazing(ly)?|powerful|leverag\w+|utili[sz]\w+|cutting-edge|in order to|for now|TODO|(a|an) (half|third|quarter|fifth|sixth|seventh|eighth|ninth|tenth|\w+teenth|twelfth|twentieth|thirtieth|hundredth) of the time)\b/i;

interface Rule {
  readonly name: string;
  readonly pages: readonly string[];
  /** What breaks the rule. */
  faults(page: Page): string[];
}

const rules: readonly Rule[] = [
  {
    name: 'a sentence has at most 34 words in pages for new readers',
    pages: front,
    faults: (page) => sentencesOf(page).filter((sentence) => wordsOf(sentence) > 34),
  },
  {
    name: 'a sentence has at most 45 words',
    pages: all,
    faults: (page) => sentencesOf(page).filter((sentence) => wordsOf(sentence) > 45),
  },
  {
    name: 'no word that sells or belittles, and numbers with units instead of fractions of a time',
    pages: all,
    faults: ({ prose }) => prose.split('\n').filter((line) => banned.test(line)),
  },
  {
    name: 'a program has at most 90 columns in pages for new readers',
    pages: front,
    faults: ({ programs }) => programs.flatMap((program) => program.split('\n').filter((line) => line.length > 90)),
  },
  {
    name: 'a page has one title, and no heading ends with a full stop',
    pages: all.filter((path) => !['docs/troubleshooting.md', 'site/home.md'].includes(path)),
    faults: ({ text }) => {
      const headings = text.replace(/^```[\s\S]*?^```$/gm, '').match(/^#+ .*$/gm) ?? [];
      const titles = headings.filter((heading) => heading.startsWith('# '));
      return [
        ...(titles.length === 1 ? [] : [`${titles.length} titles`]),
        ...headings.filter((it) => it.endsWith('.')),
      ];
    },
  },
  {
    name: 'tutorials and how-tos speak to you, and have a program',
    pages: [...pagesIn('docs/tutorials'), ...pagesIn('docs/how-to')],
    faults: ({ prose, programs }) => [
      ...(/\byou(r)?\b/i.test(prose) ? [] : ['it never says "you"']),
      ...(programs.length > 0 ? [] : ['it has no program']),
    ],
  },
];

for (const { name, pages, faults } of rules) {
  test(`pages: ${name}`, () =>
    equal(
      pages.flatMap((path) => faults(pageOf(path)).map((fault) => `${path}: ${fault}`)),
      [],
    ));
}

test('pages: the rules find what breaks them', () => {
  const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ');
  const bad = pageOf(
    'bad.md',
    `# A\n\n# B.\n\nIt simply takes a third of the time. ${words(50)}.\n\n\`\`\`ts\n${'x'.repeat(91)}\n\`\`\`\n`,
  );
  for (const { name, faults } of rules) ok(faults(bad).length > 0, name);
});
