/** What editors show of a tensor, and what the compiler says about mistakes: the texts that people read. */

import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';
import { makeProject, root, tools } from './project.js';

const head = `
import { type DLPackProducer, expectTensor, fromDLPack, Tensor } from 'dlpack';
import { fromImageData, fromNdarray, fromOnnxRuntime, toImageData, toOnnxRuntime } from 'dlpack/adapters';
import type { TensorFile } from 'dlpack/files';
import * as python from 'dlpack/python';
import * as kernels from 'dlpack/tvm-ffi';
declare const anything: unknown;
declare const producer: DLPackProducer;
declare const file: TensorFile;
declare const ort: { type: 'float32'; dims: readonly number[]; location: string; data: unknown };
declare const picture: { data: Uint8ClampedArray; width: number; height: number };
declare const signal: AbortSignal;
declare const floor: (x: number) => number;
const x = Tensor.empty([2, 3], 'float32');
const image = expectTensor(anything, { dtype: 'uint8', shape: [null, null, 3] });
`;

/** A line of a program, the name in it that the pointer is on, and what an editor shows there. */
const hovers: readonly [line: string, name: string, shown: string][] = [
  ['const numbers = Tensor.from([[1, 2], [3, 4]]);', 'numbers', 'const numbers: Tensor<"float64">'],
  ['const named = Tensor.from([1], { dtype: "int8" });', 'named', 'const named: Tensor<"int8">'],
  ['const values = x.data;', 'values', 'const values: Float32Array'],
  ['const cell = x.toArray()[0][1];', 'cell', 'const cell: any'],
  ['image;', 'image', 'const image: Tensor<"uint8"> & { readonly shape: readonly [number, number, 3]; }'],
  ['const pixels = image.toArray();', 'pixels', 'const pixels: number[][][]'],
  ['const row = image.slice(0);', 'row', 'const row: Tensor<"uint8">'],
  ['x.transpose();', 'transpose', '(method) Tensor<"float32">.transpose(axes?: readonly number[]): Tensor<"float32">'],
  [
    'const theirs = fromDLPack(producer, { dtype: "float32", shape: [null, 3] });',
    'theirs',
    'const theirs: Tensor<"float32"> & { readonly shape: readonly [number, 3]; }',
  ],
  ['const shared = fromDLPack(x);', 'shared', 'const shared: Tensor<"float32">'],
  ['const output = fromOnnxRuntime(ort);', 'output', 'const output: Tensor<"float32">'],
  ['const photo = fromImageData(picture);', 'photo', 'const photo: Tensor<"uint8">'],
  [
    'const weight = file.get("weight", { dtype: ["float16", "bfloat16"] });',
    'weight',
    'const weight: Tensor<"float16" | "bfloat16"> & { readonly shape: readonly number[]; }',
  ],
  ['const call = kernels.callAsync;', 'call', 'const call: kernels.FFICallAsync'],
  ['const py = python.callTensorAsync;', 'py', 'const py: python.PyCallAsyncTo<Tensor<DType>>'],
];

const valuesAdvice = 'NoProducer<"Use Tensor.from for an array of values, Tensor.wrap for a typed array">';
/** A wrong line, and what every compiler says about it. */
const errors: readonly [line: string, said: string][] = [
  [
    'Tensor.from([1], { dtyp: "float32" });',
    `'dtyp' does not exist in type 'FromOptions<DType>'. Did you mean to write 'dtype'?`,
  ],
  [
    'Tensor.wrap(x.data, { dtyp: "float32" });',
    `'dtyp' does not exist in type 'WrapOptions<DType>'. Did you mean to write 'dtype'?`,
  ],
  ['Tensor.from([1], { dtype: "float33" });', `Did you mean '"float32"'?`],
  ['Tensor.empty([2], "float33");', `Argument of type '"float33"' is not assignable to parameter of type 'DType'.`],
  ['fromDLPack([1]);', valuesAdvice],
  ['fromDLPack(x.data);', valuesAdvice],
  ['fromDLPack(new ArrayBuffer(2));', 'NoProducer<"Use Tensor.wrap for a buffer">'],
  ['fromDLPack(Promise.resolve(x));', 'NoProducer<"Await a promise first">'],
  ['fromDLPack({});', `Argument of type '{}' is not assignable to parameter of type 'DLPackSource'.`],
  ['fromDLPack(x, { devise: "cpu" });', `Did you mean to write 'device'?`],
  [
    'toOnnxRuntime([1], { Tensor: class {} });',
    `Argument of type 'number[]' is not assignable to parameter of type 'DLPackSource'.`,
  ],
  ['toImageData(x, { copy: false });', `'copy' does not exist in type`],
  [
    'fromNdarray({ data: x.data, shape: [6], stride: [1], offset: 0 }, { gpuDevice: {} });',
    `'gpuDevice' does not exist in type`,
  ],
  ['image.toArray()[0]?.[0]?.[0]?.[0];', `can't be used to index type 'Number'.`],
  ['const channels: 3 = image.transpose([2, 0, 1]).shape[2]!;', `Type 'number' is not assignable to type '3'.`],
  ['x.view().dispose();', `Property 'dispose' does not exist on type 'TensorView<"float32">'.`],
  ['x.__cuda_array_interface__;', `Property '__cuda_array_interface__' does not exist on type 'Tensor<"float32">'.`],
  ['new Tensor();', 'Cannot create an instance of an abstract class.'],
  ['void python.callAsync(floor, 1.5, signal);', `is missing in type 'AbortSignal' but required in type 'Keywords'.`],
];

const compilerOptions = {
  ...{
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
  },
  ...{ target: 'es2022', lib: ['es2023', 'esnext.disposable', 'dom'], types: ['node'] },
  ...{ module: 'nodenext', moduleResolution: 'nodenext' },
};
const lines = [...hovers.map(([line]) => line), ...errors.map(([line]) => line)];
const program = `${head}${lines.join('\n')}\n`;
const first = head.split('\n').length;
const project = () =>
  makeProject('hovers', {
    'main.ts': program,
    'tsconfig.json': JSON.stringify({ compilerOptions, files: ['main.ts'] }),
  });

/** A text in one line, without what only some versions print: the kind of buffer, and that a parameter may be undefined. */
const plain = (text: string) => text.replaceAll(/\s+/g, ' ').replaceAll(/<ArrayBufferLike>| \| undefined/g, '');

/** The part of TypeScript's API that editors call. */
interface TypeScript {
  readonly sys: {
    readonly readFile: (path: string) => string | undefined;
    readonly fileExists: unknown;
    readonly directoryExists: unknown;
    readonly readDirectory: unknown;
  };
  readonly ScriptSnapshot: { fromString(text: string): unknown };
  parseJsonConfigFileContent(json: unknown, host: unknown, folder: string): { options: unknown; fileNames: string[] };
  getDefaultLibFilePath(options: unknown): string;
  displayPartsToString(parts: unknown): string;
  flattenDiagnosticMessageText(text: unknown, newLine: string): string;
  createLanguageService(host: object): {
    getQuickInfoAtPosition(file: string, position: number): { displayParts: unknown } | undefined;
    getCompletionsAtPosition(
      file: string,
      position: number,
      options: object,
    ): { entries: { name: string }[] } | undefined;
    getSemanticDiagnostics(file: string): { start: number; messageText: unknown }[];
  };
}

/** What an editor with this version of TypeScript knows about the program. */
function openEditor(version: string) {
  const ts = createRequire(join(tools, 'package.json'))(version) as TypeScript;
  const folder = project();
  const { options, fileNames } = ts.parseJsonConfigFileContent({ compilerOptions, files: ['main.ts'] }, ts.sys, folder);
  const { readFile, fileExists, directoryExists, readDirectory } = ts.sys;
  const service = ts.createLanguageService({
    ...{ readFile, fileExists, directoryExists, readDirectory },
    getCompilationSettings: () => options,
    getScriptFileNames: () => fileNames,
    getScriptVersion: () => '1',
    getScriptSnapshot: (path: string) => {
      const text = readFile(path);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => folder,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
  });
  return { ts, service, main: fileNames[0] as string };
}

for (const version of ['typescript54', 'typescript59', 'typescript60']) {
  test(`${version}: what an editor shows`, () => {
    const { ts, service, main } = openEditor(version);
    let at = head.length;
    for (const [line, name, shown] of hovers) {
      const info = service.getQuickInfoAtPosition(main, at + line.search(new RegExp(`\\b${name}\\b`)));
      equal(plain(ts.displayPartsToString(info?.displayParts)), shown, line);
      at += line.length + 1;
    }
    // The members that completion offers are for programs.
    const members = service.getCompletionsAtPosition(main, program.indexOf('x.transpose();') + 2, {});
    const names = members?.entries.map(({ name }) => name) ?? [];
    ok(names.includes('transpose') && names.includes('dispose'), names.join(' '));
    equal(
      names.filter((name) => /^(_|\[|constructor|variance|notCloneable)/.test(name)),
      [],
    );
  });

  test(`${version}: what the compiler says about mistakes`, () => {
    const { ts, service, main } = openEditor(version);
    const said = service.getSemanticDiagnostics(main).map(({ start, messageText }) => ({
      line: program.slice(0, start).split('\n').length,
      text: ts.flattenDiagnosticMessageText(messageText, '\n'),
    }));
    checkErrors(said);
  });
}

test('the newest TypeScript: what the compiler says about mistakes', () => {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [tsc, '--project', '.', '--pretty', 'false'], {
    cwd: project(),
    encoding: 'utf8',
  });
  const said = stdout
    .split(/^main\.ts\(/m)
    .slice(1)
    .map((text) => ({ line: Number.parseInt(text, 10), text }));
  checkErrors(said);
});

/** One error for each wrong line, and none elsewhere. */
function checkErrors(said: readonly { line: number; text: string }[]): void {
  const wrong = errors.map((_, i) => first + hovers.length + i);
  equal(
    said.map(({ line }) => line),
    wrong,
    said.map(({ line, text }) => `${line}: ${text}`).join('\n'),
  );
  for (const [i, [line, expected]] of errors.entries()) {
    const { text = '' } = said[i] ?? {};
    ok(plain(text).includes(expected), `${line}\n${text}`);
  }
}
