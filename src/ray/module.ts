/** The modules of JavaScript tasks and actors. */

import { ArgumentTypeError, ArgumentValueError, isA } from '../errors.js';
import { node } from '../native/load/node-modules.js';

const { isAbsolute } = node.path;
const { pathToFileURL } = node.url;

/** The URL of a module that another process can import. */
export function moduleUrl(module: unknown): string {
  if (typeof module !== 'string' && !isA(module, URL)) {
    throw new ArgumentTypeError('module', 'the URL of a module as a string or URL', module);
  }
  const text = String(module);
  if (isAbsolute(text)) return pathToFileURL(text).href;
  if (/^(file|data):/.test(text)) return text;
  throw new ArgumentValueError(
    'module',
    'a file URL or an absolute path, because another process imports the module',
    text,
    'pass the URL of the module that exports it: its own meta.url, or a URL relative to that of this module',
  );
}
