// Zig from PyPI: Clang, linkers and the C libraries of every target in one wheel.
import { readdirSync } from 'node:fs';
import { installEnvironment } from './environments.mjs';
import { at } from './steps.mjs';

/** Zig, the compiler of `npm run build:all`. */
export const installZig = () => installEnvironment('.venv-zig', 'requirements/zig.txt');

/** The path of the compiler itself, because the module in the wheel would start a Python for each file. */
export function zig() {
  const library =
    process.platform === 'win32' ? 'Lib' : readdirSync(at('.venv-zig/lib')).map((name) => `lib/${name}`)[0];
  return at('.venv-zig', library, 'site-packages/ziglang', process.platform === 'win32' ? 'zig.exe' : 'zig');
}
