// Compiles C++ incrementally: a source again when its command, its compiler, or a file that it includes has changed, and
// the library again when an object or its command has.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inParallel, Missing, root, run } from './steps.mjs';

export async function findCompiler() {
  const candidates = process.env.CXX ? [process.env.CXX] : ['c++', 'g++', 'clang++'];
  for (const candidate of candidates) {
    try {
      await run(candidate, ['--version']);
      return candidate;
    } catch {
      // Try the next compiler.
    }
  }
  throw new Missing(
    `a C++17 compiler; tried ${candidates.join(', ')}. Install g++ or clang++ (Debian: apt install g++; macOS: xcode-select --install), or name one in CXX.`,
  );
}

const hashOf = (...parts) => createHash('sha256').update(JSON.stringify(parts)).digest('hex');

/** The files that a compiler read, from the rule that it wrote: "object: source header ...", with escaped spaces. */
export const filesOfRule = (text) =>
  text
    .slice(text.indexOf(': ') + 2)
    .replaceAll(/\\\r?\n/g, ' ')
    .split(/(?<!\\)\s+/)
    .filter((path) => path !== '')
    .map((path) => path.replaceAll('\\ ', ' '));

/** One build with one compiler. It reads each file once. */
export class Compilation {
  #contents = new Map();

  /** All paths are relative to `folder`. */
  static async with(compiler, folder = root) {
    const { output } = await run(compiler, ['--version']);
    return new Compilation(compiler, output, folder);
  }

  constructor(compiler, version, folder) {
    this.compiler = compiler;
    this.version = version;
    this.folder = folder;
  }

  #at(...parts) {
    return join(this.folder, ...parts);
  }

  #contentOf(path) {
    if (!this.#contents.has(path)) {
      const file = this.#at(path);
      this.#contents.set(path, existsSync(file) ? hashOf(readFileSync(file, 'base64')) : 'missing');
    }
    return this.#contents.get(path);
  }

  /** What an object depends on, or null when it has to be compiled because that is not known. */
  #keyOf(source, object, args) {
    if (!existsSync(this.#at(object)) || !existsSync(this.#at(`${object}.d`))) return null;
    const files = filesOfRule(readFileSync(this.#at(`${object}.d`), 'utf8'));
    // A new file beside the source may be the one that __has_include asks for.
    const names = readdirSync(dirname(this.#at(source))).sort();
    return hashOf(
      this.version,
      args,
      names,
      files.map((file) => [file, this.#contentOf(file)]),
    );
  }

  /** Compiles each source to its object, and returns how many it compiled. */
  async compile(pairs, flags) {
    let count = 0;
    await inParallel(pairs, async ([source, object]) => {
      const args = [...flags, '-c', source, '-o', object];
      const stamp = this.#at(`${object}.key`);
      const key = this.#keyOf(source, object, args);
      if (key !== null && existsSync(stamp) && readFileSync(stamp, 'utf8') === key) return;
      count++;
      rmSync(stamp, { force: true }); // a compiler that is killed leaves part of an object
      mkdirSync(dirname(this.#at(object)), { recursive: true });
      await run(this.compiler, [...args, '-MMD', '-MF', `${object}.d`], { cwd: this.folder });
      writeFileSync(stamp, this.#keyOf(source, object, args));
    });
    return count;
  }

  /** Links the objects. Returns false if nothing had changed. */
  async link(objects, output, flags) {
    const args = [...objects, '-o', output, ...flags];
    const keys = objects.map((object) => readFileSync(this.#at(`${object}.key`), 'utf8'));
    const key = hashOf(this.version, args, keys);
    const stamp = this.#at('.cache', `${output.replaceAll(/[\\/]/g, '-')}.key`);
    if (existsSync(this.#at(output)) && existsSync(stamp) && readFileSync(stamp, 'utf8') === key) return false;
    rmSync(stamp, { force: true });
    mkdirSync(dirname(this.#at(output)), { recursive: true });
    await run(this.compiler, args, { cwd: this.folder });
    mkdirSync(dirname(stamp), { recursive: true });
    writeFileSync(stamp, key);
    return true;
  }
}
