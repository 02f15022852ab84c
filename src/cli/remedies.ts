/** Commands that a user can paste into a shell. */

import type { PyObject, Python } from '../python/index.js';

/** A word of a command, quoted where a shell would split or expand it. */
export function quote(word: string): string {
  if (/^[\w./:+@%=,-]+$/.test(word)) return word;
  return process.platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", "'\\''")}'`;
}

const programs = ['apt', 'apk', 'brew', 'npm', 'npx', 'nvm', 'pyenv', 'uv', 'winget', 'xcode-select', 'nvidia-smi'];
/** Divides the suggestions of an error into commands and sentences. */
export function divide(suggestions: readonly string[]): { remedies: string[]; advice: string[] } {
  const command = new RegExp(
    `(?:^|: )((?:[A-Z_]+=\\S+ )*(?:${programs.join('|')}|'[^']*python[^']*'|[^ ']*python[\\d.]*) .*)$`,
  );
  const found = suggestions.map((text) => command.exec(text)?.[1]);
  return {
    remedies: found.filter((text) => text !== undefined),
    advice: suggestions.filter((_, i) => found[i] === undefined),
  };
}

/** How to install a package for the running Python: not every environment has pip, and Debian's own Python refuses it. */
export function installCommand(py: Python, name: string): string {
  const {
    executable,
    prefix,
    base_prefix: base,
  } = py.import<{
    executable: string;
    prefix: string;
    base_prefix: string;
  }>('sys');
  const { exists, join } = py.import('os.path') as PyObject;
  const standard = py.import('sysconfig').get_path('stdlib');
  if (prefix === base && exists(join(standard, 'EXTERNALLY-MANAGED')) === true) {
    return `${quote(executable)} -m venv .venv && .venv/bin/python -m pip install ${name}`;
  }
  const hasPip = py.import('importlib.util').find_spec('pip') !== null;
  return hasPip
    ? `${quote(executable)} -m pip install ${name}`
    : `uv pip install --python ${quote(executable)} ${name}`;
}
