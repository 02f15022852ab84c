/** Builds a library from source files in a temporary folder. */

import { node } from '../../native/load/node-modules.js';
import { library } from '../native-values.js';
import type { Built } from './cache.js';
import { compileArguments, linkArguments, showCommand } from './commands.js';
import { CompileError } from './error.js';
import { withTemporaryFolder } from './private-folder.js';
import { lineAt, makeFiles, type Sources } from './source.js';
import { runCommand, type Tool } from './tool.js';

const { existsSync, readFileSync, statSync, writeFileSync } = node.fs;
const { dirname, isAbsolute, join } = node.path;

/** Everything that determines a library, except the files that its source includes. */
export interface Recipe {
  readonly sources: Sources;
  readonly compiler: Tool;
  readonly cudaCompiler: Tool | null;
  readonly flags: readonly string[];
  readonly cudaFlags: readonly string[];
  readonly linkFlags: readonly string[];
}

/** Builds the library and passes it to `use`. It is deleted afterwards. */
export function build<T>(recipe: Recipe, use: (built: Built) => T): Promise<T> {
  return withTemporaryFolder('a compiled kernel', async (folder) => {
    const files = makeFiles(recipe.sources);
    const { compiler, cudaCompiler } = recipe;
    const steps = [
      { text: files.cpp, name: 'cpp.cc', tool: compiler, flags: recipe.flags },
      { text: files.cuda, name: 'cuda.cu', tool: cudaCompiler, flags: recipe.cudaFlags },
    ].flatMap(({ text, tool, ...step }) => (text === null || tool === null ? [] : [{ text, tool, ...step }]));
    for (const { text, name } of steps) writeFileSync(join(folder, name), text);
    const startedAt = Math.min(...steps.map(({ name }) => statSync(join(folder, name)).mtimeMs));
    const run = (tool: Tool, args: readonly string[]) => execute(tool, args, folder, recipe.sources);
    const outcomes = await Promise.allSettled(
      steps.map(({ name, tool, flags }) => run(tool, [...flags, ...compileArguments(name)])),
    );
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    const objects = steps.map(({ name }) => `${name}.o`);
    const isCuda = cudaCompiler !== null;
    const importLibrary = join(dirname(library().path), 'tvm_ffi.lib');
    const link = linkArguments(process.platform, objects, 'built', { isCuda, importLibrary });
    const linker = cudaCompiler ?? compiler;
    const linkArgs = [...link, ...recipe.linkFlags];
    await run(linker, linkArgs);
    if (!existsSync(join(folder, 'built')))
      throw failure(linker, linkArgs, 'success but wrote no library', '', recipe.sources);
    const included = steps.flatMap(({ name }) => readDependencies(join(folder, `${name}.d`)));
    return use({ path: join(folder, 'built'), included: [...new Set(included)], startedAt });
  });
}

async function execute(tool: Tool, args: readonly string[], folder: string, sources: Sources): Promise<void> {
  const { isDone, status, output } = await runCommand(tool.command, [...tool.args, ...args], { cwd: folder });
  if (!isDone) throw failure(tool, args, status, output, sources);
}

function failure(tool: Tool, args: readonly string[], status: string, output: string, sources: Sources): CompileError {
  const command = showCommand([tool.command, ...tool.args, ...args]);
  return new CompileError(command, status, output, (source, line) => lineAt(sources, source, line));
}

/** Reads the rule that a compiler writes for make: `target: file file \`. A backslash escapes a space. */
function readDependencies(path: string): string[] {
  if (!existsSync(path)) return [];
  const rule = readFileSync(path, 'utf8').replaceAll(/\\\r?\n/g, ' ');
  const files = rule.slice(rule.indexOf(': ') + 2).match(/(?:\\[ #]|\$\$|\S)+/g) ?? [];
  // The source files are the only relative names.
  return files.map((file) => file.replaceAll(/\\([ #])/g, '$1').replaceAll('$$', '$')).filter(isAbsolute);
}
