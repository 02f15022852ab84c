import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from '../harness.js';
import { makeProject, modules, node, packageJson, root, tool, tools } from './project.js';

const sourceOf = (names: readonly string[]) => `
${names.map((name, i) => `import * as m${i} from '${name}';`).join('\n')}
import { fromDLPack, Tensor, type TensorView } from 'dlpack';
const x: Float32Array = Tensor.from([1, 2], { dtype: 'float32' }).data;
const view: TensorView = fromDLPack(Tensor.wrap(x));
export { view, ${names.map((_, i) => `m${i}`).join(', ')} };
`;

const compilers = {
  'TypeScript 5.4': (args: string[], cwd: string) => tool('typescript54/bin/tsc', args, cwd),
  'TypeScript 5.9': (args: string[], cwd: string) => tool('typescript59/bin/tsc', args, cwd),
  'TypeScript 6.0': (args: string[], cwd: string) => tool('typescript60/bin/tsc', args, cwd),
  'the newest TypeScript': (args: string[], cwd: string) =>
    node([join(root, 'node_modules/typescript/bin/tsc'), ...args], cwd),
};
const language = ['es2022', 'esnext.disposable'];
/** Types around the package, and the modules that need no others. */
const surroundings = {
  'with the types of Node': { lib: language, types: ['node'], names: modules, resolution: 'nodenext' },
  'with DOM types': { lib: [...language, 'dom'], types: [], names: modules, resolution: 'bundler' },
  'with the language alone': {
    lib: language,
    types: [],
    names: ['dlpack', 'dlpack/abi', 'dlpack/mdspan'],
    resolution: 'nodenext',
  },
};

for (const [compiler, compile] of Object.entries(compilers)) {
  for (const [name, { lib, types, names, resolution }] of Object.entries(surroundings)) {
    test(`${compiler} ${name}, resolution ${resolution}, libraries checked`, () => {
      const module = resolution === 'bundler' ? 'esnext' : resolution;
      const strict = { strict: true, noEmit: true, skipLibCheck: false };
      const compilerOptions = { ...strict, target: 'es2022', lib, types, module, moduleResolution: resolution };
      const tsconfig = JSON.stringify({ compilerOptions, files: ['main.ts'] });
      compile(['--project', '.'], makeProject('types', { 'main.ts': sourceOf(names), 'tsconfig.json': tsconfig }));
    });
  }
}

for (const [compiler, compile] of Object.entries(compilers)) {
  test(`${compiler} compiles tests/types`, () => {
    const folder = join(root, 'tests/types');
    const names = readdirSync(folder);
    const sources = Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
    const compilerOptions = {
      ...{
        strict: true,
        noEmit: true,
        skipLibCheck: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
      },
      ...{ target: 'es2022', lib: ['es2023', 'esnext.disposable', 'dom'], types: ['node'] },
      ...{ module: 'nodenext', moduleResolution: 'nodenext' },
    };
    const tsconfig = JSON.stringify({ compilerOptions, files: names });
    compile(['--project', '.'], makeProject('types', { ...sources, 'tsconfig.json': tsconfig }));
  });
}

test('"Are the types wrong" finds nothing', () => {
  const ignored = Object.keys(packageJson.exports).filter((path) => /\.(h|json)$/.test(path));
  const flags = ['--profile', 'esm-only', '--exclude-entrypoints', ...ignored];
  tool('@arethetypeswrong/cli/dist/index.js', [join(tools, 'packed/dlpack.tgz'), ...flags], tools);
});
