/** Which programs the package starts: on Windows none from the working folder. */

import { findProgram, type System } from '../../src/native/load/program.js';
import { absoluteParts } from '../../src/tvm-ffi/compile/tool.js';
import { equal } from '../assert.js';
import { test } from '../harness.js';

/** Windows with these files. A file without a folder is in the working folder. */
function windows(path: string, ...files: string[]): System {
  return { platform: 'win32', path, isFile: (file) => files.includes(file) };
}

test('Windows: a bare name is searched in the absolute folders of the PATH, not in the working folder', () => {
  const system = windows('C:\\Python;"C:\\my tools"', 'python.exe', 'C:\\Python\\python.exe', 'C:\\my tools\\c++.exe');
  equal(findProgram('python', system), 'C:\\Python\\python.exe');
  equal(findProgram('python.exe', system), 'C:\\Python\\python.exe');
  equal(findProgram('c++', system), 'C:\\my tools\\c++.exe');
  equal(findProgram('nvcc', system), null);
  const relative = ['', '.', '.\\bin', '\\bin', 'bin', 'C:bin'];
  const files = relative.flatMap((folder) => [`${folder}\\python.exe`, `${folder}python.exe`]);
  equal(findProgram('python', windows(relative.join(';'), 'python.exe', ...files)), null);
  equal(
    findProgram('python', windows('\\\\server\\share', '\\\\server\\share\\python.exe')),
    '\\\\server\\share\\python.exe',
  );
});

test('Windows: a path, and any name on other systems, is started as it is', () => {
  for (const path of ['C:\\Python\\python.exe', '.\\python.exe', 'venv/Scripts/python.exe'])
    equal(findProgram(path, windows('C:\\Python', 'C:\\Python\\python.exe')), path);
  equal(findProgram('python3', { platform: 'linux', path: '', isFile: () => false }), 'python3');
});

test('a search path without the parts that depend on the working folder', () => {
  const separator = process.platform === 'win32' ? ';' : ':';
  const root = process.platform === 'win32' ? 'C:\\x' : '/x';
  equal(absoluteParts(['', root, '.', 'src', ''].join(separator)), root);
  equal(absoluteParts(''), '');
});
