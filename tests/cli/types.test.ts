/** dlpack types: declarations of Python modules, compiled with TypeScript. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { equal, ok } from '../assert.js';
import { testWith } from '../harness.js';
import { probe, pythonMissing } from '../interop/python/available.js';
import { dlpack, root } from './dlpack.js';

const shapes = `
from typing import Literal, Optional
limit = 3
name = 'shapes'
class Shape:
    sides: int
    def __init__(self, sides: int, label: str = ''): ...
    def area(self, scale: float = 1.0) -> float: return 1.0
    def twin(self) -> 'Shape': return self
    @property
    def label(self): return ''
    def __call__(self, x: int) -> str: return ''
class Layer:
    __call__: 'Callable' = lambda self, x: x
class Square(Shape):
    def __init__(self, side: float): ...
    def diagonal(self) -> Optional[float]: return None
def count(text: str, /, *, default: Literal['a', 'b'] = 'a') -> int: return 1
def anything(x): return x
def many(*args): return None
def odd(keywords, args, mode: Literal['a\\nb'] = 'a\\nb') -> int: return 1
__all__ = [*globals(), 'heavy']
def __getattr__(name): raise (ImportError if name == 'heavy' else AttributeError)(name)
`;
/** The stub wins over the code. */
const stubbed = { 'stubbed.py': 'def both(a, b, new=None): return a\nfrom shapes import Shape\n' };
const stub = `
from typing import overload
from shapes import Shape as Shape
@overload
def both(a: int, b: int, new: str = ...) -> int: ...
@overload
def both(a: str, b: int) -> str: ...
`;

const program = `
import { type PyValue, python } from 'dlpack/python';
const py = python();
const { Layer, Shape, Square, anything, count, limit, many, name, odd } = py.import('shapes');
const three: number = limit;
const text: string = name;
const shape = Shape(3, 'x');
const sides: number = shape.sides;
const area: number = shape.twin().area(2) + shape.area(py.kwargs({ scale: 2 }));
const said: string = shape(5);
const square = Square(2);
const result: PyValue = Layer()(1);
const diagonal: number | null = square.diagonal();
const inherited: number = square.area();
const counted: number = count('a', py.kwargs({ default: 'b' }));
const unknown: PyValue = anything(1);
const inside: PyValue = unknown.some.attribute(1, 'a');
for (const each of anything([1])) each satisfies PyValue;
many(1, 'a', null);
const odds: number = odd(1, 2, 'a\\nb');
const { both } = py.import('stubbed');
const first: number = both(1, 2);
const second: string = both('a', 2);
both(1, py.kwargs({ b: 2 }));
const other = py.import('unknown.module'); // any, as before
other.x + 1;

// @ts-expect-error: no such function
py.import('shapes').cuont('a');
// @ts-expect-error: a number, not a string
count(5);
// @ts-expect-error: an argument is missing
count();
// @ts-expect-error: one too many
count('a', py.kwargs({}), 5);
// @ts-expect-error: an object of Python is no number
const sum: number = anything(1);
// @ts-expect-error: nor can it be added
anything(1) + 1;
// @ts-expect-error: Python has no new
new Shape(3);
// @ts-expect-error: the parameter is an int
Shape('a');
// @ts-expect-error: no such method
shape.aera();
// @ts-expect-error: the result may be None
const long: number = square.diagonal();
// @ts-expect-error: a dict is no keyword argument
count('a', { default: 'b' });
// @ts-expect-error: no overload takes it
both(null, 2);
export { area, counted, diagonal, first, inherited, inside, long, odds, result, said, second, sides, sum, text, three };
`;

/** Makes a folder inside of the package, so that its own name leads to it, and compiles main.ts there. */
function compile(files: Record<string, string>, make: (folder: string) => void): string {
  mkdirSync(join(root, 'build'), { recursive: true });
  const folder = mkdtempSync(join(root, 'build/types-'));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    make(folder);
    const options = { strict: true, noEmit: true, skipLibCheck: false, target: 'es2022', module: 'nodenext' };
    const compilerOptions = { ...options, lib: ['es2022', 'esnext.disposable'], types: ['node'] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout, stderr } = spawnSync('node', [tsc, '--project', folder], { encoding: 'utf8' });
    return stdout + stderr;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

testWith(
  pythonMissing,
  'dlpack types: signatures and stubs of Python become declarations, which wrong uses break',
  () => {
    const files = { 'shapes.py': shapes, ...stubbed, 'stubbed.pyi': stub, 'main.ts': program };
    const problems = compile(files, (folder) => {
      const target = join(folder, 'python.d.ts');
      const { status, stderr } = dlpack(['types', 'shapes', 'stubbed', '--out', target], {
        env: { PYTHONPATH: folder },
      });
      equal([status, stderr], [0, '']);
      mkdirSync(join(folder, 'shapes')); // a folder of that name is no library
      equal(dlpack(['types', 'shapes'], { cwd: folder, env: { PYTHONPATH: folder } }).status, 0);
      ok(readFileSync(target, 'utf8').startsWith('// Made by dlpack types from shapes, stubbed.'), target);
    });
    equal(problems, '');
  },
);

testWith(probe('numpy').missing, 'dlpack types: the declarations of NumPy compile', () => {
  const main = `
    import { fromDLPack } from 'dlpack';
    import { python } from 'dlpack/python';
    const np = python().import('numpy');
    fromDLPack(np.ones([2, 3]));
    const pi: number = np.pi;
    const norm = python().import('numpy.linalg').norm(np.zeros([2]));
    // @ts-expect-error: a misspelt name
    np.onse([2]);
    // @ts-expect-error: a sum is an object of Python
    const sum: string = np.sum([1, 2]);
    export { norm, pi, sum };
  `;
  const problems = compile({ 'main.ts': main }, (folder) => {
    const { status, stdout, stderr } = dlpack(['types', 'numpy', 'numpy.linalg']);
    equal([status, stderr], [0, '']);
    writeFileSync(join(folder, 'python.d.ts'), stdout);
  });
  equal(problems, '');
});

testWith(probe('torch').missing, 'dlpack types: the declarations of PyTorch’s layers compile', () => {
  const main = `
    import { fromDLPack, Tensor } from 'dlpack';
    import { python } from 'dlpack/python';
    const py = python();
    const nn = py.import('torch.nn');
    const layer = nn.Linear(3, 2, py.kwargs({ bias: false }));
    const features: number = layer.in_features + layer.out_features;
    fromDLPack(layer(Tensor.zeros([1, 3], 'float32')));
    const model = nn.Sequential(layer, nn.ReLU()).eval();
    model.forward(Tensor.zeros([1, 3], 'float32'));
    // @ts-expect-error: a misspelt layer
    nn.Liner(3, 2);
    // @ts-expect-error: a misspelt attribute may be a submodule, but is no number
    const misspelt: number = layer.in_feature;
    // @ts-expect-error: the number of features is a number
    nn.Linear('3', 2);
    // @ts-expect-error: an argument is missing
    nn.Linear(3);
    export { features, misspelt, model };
  `;
  const problems = compile({ 'main.ts': main }, (folder) => {
    const { status, stderr } = dlpack(['types', 'torch.nn', '--out', join(folder, 'python.d.ts')]);
    equal([status, stderr], [0, '']);
  });
  equal(problems, '');
});

testWith(pythonMissing, 'dlpack types: a module that does not exist is named', () => {
  const { status, stdout, stderr } = dlpack(['types', 'no_such_module']);
  equal([status, stdout], [1, '']);
  ok(stderr.includes('no_such_module') && stderr.includes('pip install'), stderr);
});
