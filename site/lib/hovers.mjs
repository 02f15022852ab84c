// Types in every program: point at a name. A block that continues another is compiled with what stands before it.
import { fileURLToPath } from 'node:url';
import { rendererRich, transformerTwoslash } from '@shikijs/twoslash';
import { createTwoslasher } from 'twoslash';
import ts from 'typescript';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Names that every reader knows, and that stand in every program. */
const known = /^(var|namespace|\(method\)) (console|Console|Math)\b/;

/** VitePress renders each page twice, for the server and for the client. The renderer changes what it gets. */
const compiled = new Map();
const typesCache = {
  read: (code, language) => structuredClone(compiled.get(`${language}\n${code}`)),
  write: (code, types, language) => compiled.set(`${language}\n${code}`, structuredClone(types)),
};

/** The tests compile all programs, so what cannot be resolved here (libraries that a reader installs) is no error. */
export const hovers = () =>
  transformerTwoslash({
    explicitTrigger: true,
    langs: ['ts', 'tsx', 'js'],
    typesCache,
    twoslasher: createTwoslasher({
      vfsRoot: root,
      compilerOptions: {
        module: ts.ModuleKind.ESNext,
        moduleResolution: ts.ModuleResolutionKind.Bundler,
        target: ts.ScriptTarget.ES2022,
        lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts', 'lib.dom.d.ts'],
        types: ['node'],
        skipLibCheck: true,
        allowJs: true,
      },
      handbookOptions: { noErrors: true, noErrorValidation: true },
      // The reference has the parameters. A page with hundreds of names would carry them hundreds of times.
      filterNode(node) {
        if (node.type === 'hover') node.tags = undefined;
        return node.type !== 'hover' || !known.test(node.text);
      },
    }),
    renderer: rendererRich({
      // Neither the copy button nor a screen reader takes the types for a part of the program.
      hast: {
        popupDocs: { tagName: 'span' },
        hoverPopup: { class: 'twoslash-popup-container vp-copy-ignore', properties: { 'aria-hidden': 'true' } },
      },
      processHoverDocs: (docs) => docs.split('\n\n')[0],
    }),
    throws: false,
  });
