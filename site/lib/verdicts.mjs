// The tables of docs/compatibility.md and its pages: a colour for each word, and an anchor for each library's row.

/** The words, where they stand at the start of a cell or after a semicolon. The words of a page stay its text. */
const kinds = [
  ['shared', /^shared(, becomes read-only)?/],
  ['copied', /^copied/],
  ['empty', /^empty/],
  ['refused', /^✗ \w+/],
  ['changed', /^(read-only lost|as u?(int|float|complex)\d+)/],
];

/** `shared; read-only lost` as `[['shared', 'shared'], [null, '; '], ['changed', 'read-only lost']]`. */
function verdictsOf(text) {
  return text.split(/(; )/).flatMap((part) => {
    for (const [kind, pattern] of kinds) {
      const [word] = pattern.exec(part) ?? [];
      if (word !== undefined && /^($|:| \(|, )/.test(part.slice(word.length))) {
        return [
          [kind, word],
          [null, part.slice(word.length)],
        ].filter(([, piece]) => piece !== '');
      }
    }
    return [[null, part]];
  });
}

const isTableOf = ({ relativePath = '' }) => /^docs\/compatibility(\.md$|\/)/.test(relativePath);
const textOf = ({ children }) => children.map(({ content }) => content).join('');

/** A markdown-it plug-in. `slugify` makes the anchors: those of a library's row, the first one of its name. */
export function withVerdicts(md, slugify) {
  md.core.ruler.push('verdicts', ({ tokens, env, Token }) => {
    if (!isTableOf(env)) return;
    const textToken = (content) => Object.assign(new Token('text', '', 0), { content });
    const wordToken = (kind, word) =>
      Object.assign(new Token('html_inline', '', 0), {
        content: `<span class="verdict ${kind}">${md.utils.escapeHtml(word)}</span>`,
      });
    const anchors = new Set();
    let head = '';
    tokens.forEach((token, i) => {
      const cell = tokens[i + 1];
      if (token.type === 'tr_open' && cell.type === 'th_open') head = textOf(tokens[i + 2]);
      if (token.type === 'tr_open' && cell.type === 'td_open' && head === 'library') {
        const anchor = slugify(textOf(tokens[i + 2]));
        if (!anchors.has(anchor)) token.attrSet('id', anchor);
        anchors.add(anchor);
      }
      if (token.type !== 'td_open') return;
      const [first, ...others] = cell.children;
      if (first?.type !== 'text') return;
      const pieces = verdictsOf(first.content);
      cell.children = [
        ...pieces.map(([kind, text]) => (kind === null ? textToken(text) : wordToken(kind, text))),
        ...others,
      ];
    });
  });
}
