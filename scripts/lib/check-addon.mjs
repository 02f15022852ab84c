// Checks that a file is an addon for its platform, because a linker can silently write something else.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isElf, readElf } from './binary/elf.mjs';
import { isMachO, readMachO } from './binary/macho.mjs';
import { isPe, readPe } from './binary/pe.mjs';
import { at, root } from './steps.mjs';
import { prebuildOf, sizes } from './targets.mjs';

/** The functions of Node-API 8. */
function nodeApi() {
  const { symbols } = createRequire(import.meta.url)('node-api-headers');
  return new Set([...symbols.v8.js_native_api_symbols, ...symbols.v8.node_api_symbols]);
}

/** The properties that the system loader will find in these bytes; null if they are not a library. */
export function inspectAddon(bytes) {
  if (isElf(bytes)) return readElf(bytes);
  if (isMachO(bytes)) return readMachO(bytes);
  if (isPe(bytes)) return readPe(bytes);
  return null;
}

const newer = (a, b) => {
  const [left, right] = [a, b].map((text) => text.split('.').map(Number));
  return left[0] > right[0] || (left[0] === right[0] && (left[1] ?? 0) > (right[1] ?? 0));
};

const isNodeApi = (name) => /^(napi|node_api)_/.test(name) && name !== 'napi_register_module_v1';
const isOfCppRuntime = (name) => /^(_Z(St|n[wa]|d[la]|TV|TI|TS)|__cxa_(throw|begin|end|guard|alloc)|__gxx_)/.test(name);

/** How each system finds Node-API in the program that loads the addon. */
const nodeApiProblems = {
  elf: ({ imports }) => missingImports(imports),
  macho: ({ flat, bound }) => [
    ...missingImports(flat),
    ...bound.filter(isNodeApi).map((name) => `${name} is bound to a library instead of looked up flat`),
  ],
  pe: ({ imports, delayed }, bytes) => [
    ...imports.filter(isNodeApi).map((name) => `${name} is imported, which a renamed program does not satisfy`),
    ...(delayed ? ['it loads libraries late'] : []),
    ...(bytes.includes('napi_create_function\0') ? [] : ['it looks up no function of Node-API']),
  ],
};

function missingImports(imports) {
  const used = imports.filter(isNodeApi);
  if (used.length === 0) return ['it uses no function of Node-API'];
  const known = nodeApi();
  return used.filter((name) => !known.has(name)).map((name) => `${name} is not in Node-API 8`);
}

function versionProblems(target, found) {
  if (found.format === 'macho') {
    const problems = found.minimum === target.macos ? [] : [`it needs macOS ${found.minimum}, not ${target.macos}`];
    if (found.identity !== undefined && found.identity !== '@rpath/dlpack.node')
      problems.push(`named ${found.identity}`);
    if (found.arch === 'arm64' && !found.isSigned)
      problems.push('it is not signed, and macOS loads no such file on ARM');
    if (found.indirect.some((symbol) => symbol >= found.symbolCount))
      problems.push(
        'the linker left random bytes in it for a name that DLPACK_HIDDEN should declare (native/hidden.h)',
      );
    return problems;
  }
  const versions = (found.versions ?? []).filter((name) => name.startsWith('GLIBC_')).map((name) => name.slice(6));
  if (target.glibc === undefined) return versions.map((version) => `it needs glibc ${version}`);
  if (versions.length === 0) return ['it needs no version of glibc at all'];
  return versions.filter((v) => newer(v, target.glibc)).map((v) => `it needs glibc ${v}, newer than ${target.glibc}`);
}

const guardsStack = ({ imports }) => imports.some((name) => name.endsWith('__stack_chk_fail'));
const problemUnless = (isGood, problem) => (isGood ? [] : [problem]);

/** What each system has against errors in native code. */
const hardeningProblems = {
  elf: (found, target) => [
    ...problemUnless(found.isReadOnlyAfterLoading && found.isBoundAtOnce, 'its table of imports stays writable'),
    ...problemUnless(!found.hasExecutableStack, 'it makes the stack executable'),
    ...problemUnless(guardsStack(found), 'its functions do not guard the stack'),
    // musl has no functions that check sizes.
    ...problemUnless(
      target.glibc === undefined || found.imports.some((name) => /^__\w+_chk$/.test(name)),
      'its calls of libc do not check sizes',
    ),
  ],
  macho: (found) => problemUnless(guardsStack(found), 'its functions do not guard the stack'),
  pe: ({ characteristics }) =>
    problemUnless((characteristics & 0x160) === 0x160, 'its addresses are fixed, or its data can be executed'),
};

/** Everything wrong with the addon of a target; empty for a good one. */
export function problemsOf(target, bytes) {
  const found = inspectAddon(bytes);
  if (found === null) return ['not a library of Linux, macOS or Windows'];
  if (found.format !== target.format || found.arch !== target.arch)
    return [`a library for ${found.format} ${found.arch}`];
  const problems = [];
  if (bytes.length < sizes.least || bytes.length > sizes.most) problems.push(`its size is ${bytes.length} bytes`);
  if (!found.exports.includes('napi_register_module_v1')) problems.push('it has no napi_register_module_v1');
  for (const library of found.libraries) if (!target.libraries.test(library)) problems.push(`it needs ${library}`);
  for (const name of found.imports) if (isOfCppRuntime(name)) problems.push(`it needs ${name} of a C++ runtime`);
  if (bytes.includes(root)) problems.push('the path of the build is in it');
  // Text of the kernels in PTX.
  if (bytes.includes('.visible .entry') !== target.hasCuda)
    problems.push(target.hasCuda ? 'it has no kernels for CUDA' : 'it has kernels for CUDA, which this system lacks');
  return [
    ...problems,
    ...versionProblems(target, found),
    ...hardeningProblems[found.format](found, target),
    ...nodeApiProblems[found.format](found, bytes),
  ];
}

/** Throws unless the addon of this target is good. */
export function assertAddon(target) {
  const path = prebuildOf(target.name);
  const problems = problemsOf(target, readFileSync(at(path)));
  if (problems.length > 0) throw new Error(`${path}: ${problems.join('; ')}`);
}
