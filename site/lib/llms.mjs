// llms.txt: the pages as plain Markdown, for programs that read. https://llmstxt.org
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The first sentence after the title. */
const firstSentence = (text) =>
  (/^# .*\n+((?:(?!```)[^\n#|<!].*\n?)+)/m.exec(text)?.[1] ?? '').replaceAll('\n', ' ').match(/^.*?[.:](?= |$)/)?.[0] ??
  '';

/** Writes llms.txt, llms-full.txt and a copy of each page. `groups` are those of the sidebar. */
export function writeLlms(site, repository, groups) {
  const lines = ['# dlpack', '', '> Use PyTorch, NumPy and ONNX Runtime from JavaScript, on the same memory.', ''];
  const whole = [];
  for (const { text: title, items } of groups) {
    const pages = items.filter(({ link }) => link !== undefined && !link.startsWith('/build/'));
    if (pages.length === 0) continue;
    lines.push(`## ${title}`, '');
    for (const { text, link } of pages) {
      const path = `${link.slice(1)}.md`;
      const content = readFileSync(join(repository, path), 'utf8');
      mkdirSync(dirname(join(site, path)), { recursive: true });
      copyFileSync(join(repository, path), join(site, path));
      const sentence = firstSentence(content);
      lines.push(`- [${text}](${path})${sentence === '' ? '' : `: ${sentence}`}`);
      whole.push(content);
    }
    lines.push('');
  }
  writeFileSync(join(site, 'llms.txt'), lines.join('\n'));
  writeFileSync(join(site, 'llms-full.txt'), whole.join('\n\n'));
}
