// The CPythons of this machine: the executables in PYTHONS (separated as in PATH), the versions of pyenv, and python3.x on
// the PATH.
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Missing, run } from './steps.mjs';

function candidates() {
  const named = [process.env.PYTHON ?? '', ...(process.env.PYTHONS ?? '').split(delimiter)].filter(
    (path) => path !== '',
  );
  const pyenv = join(process.env.PYENV_ROOT ?? join(homedir(), '.pyenv'), 'versions');
  const installed = existsSync(pyenv)
    ? readdirSync(pyenv).map((version) => join(pyenv, version, 'bin', 'python3'))
    : [];
  const onPath = ['9', '10', '11', '12', '13', '13t', '14', '14t'].map((minor) => `python3.${minor}`);
  return [...named, ...installed, ...onPath];
}

const question =
  'import json, sys, sysconfig as s; print(json.dumps([list(sys.version_info[:2]), bool(s.get_config_var("Py_GIL_DISABLED")), ' +
  'bool(s.get_config_var("Py_ENABLE_SHARED")), ".".join(map(str, sys.version_info[:3]))]))';

/** The first Python of each version from 3.9 on, with a shared library, oldest first. */
export async function findPythons() {
  const found = new Map();
  for (const executable of candidates()) {
    try {
      const { output } = await run(executable, ['-c', question]);
      const [[major, minor], isFree, isShared, version] = JSON.parse(output.trim().split('\n').at(-1));
      const name = `3.${minor}${isFree ? 't' : ''}`;
      if (major !== 3 || minor < 9 || found.has(name)) continue;
      if (isShared) found.set(name, { name, version, executable });
      else console.log(`${executable}: left out, it has no shared library`);
    } catch {
      // It does not exist, or it is a shim of a version that is not active.
    }
  }
  return [...found.values()].sort(
    (a, b) => Number.parseInt(a.name.slice(2), 10) - Number.parseInt(b.name.slice(2), 10),
  );
}

/** The newest Python among these versions, such as `['3.12', '3.13']`; undefined if there is none. */
export const newestPython = async (names) => (await findPythons()).findLast(({ name }) => names.includes(name));

/** The same, for packages that have wheels for no others. */
export async function pythonAmong(names) {
  const found = await newestPython(names);
  if (found !== undefined) return found.executable;
  const wanted = names.join(' or ');
  throw new Missing(
    `Python ${wanted} with a shared library. Install it, for example with pyenv, or name it in PYTHON.`,
  );
}
