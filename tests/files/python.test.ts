/** NumPy, PyTorch and the Python safetensors on the same files, both ways, byte for byte. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BaseDType, Tensor, type TensorView } from 'dlpack';
import { openNpySync, openNpzSync, openSafetensorsSync, writeNpy, writeNpz, writeSafetensors } from 'dlpack/files';
import { equal, ok } from '../assert.js';
import { testWith } from '../harness.js';
import { newPath } from './make.js';
import { farValues, largeSize, writeLargeNpz } from './zip64.js';

type Shown = [dtype: string, shape: number[], hex: string];
type Found = Record<string, Record<string, Shown>>;

const root = fileURLToPath(new URL('../../../', import.meta.url));
const interpreter = `${root}.venv/${process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python'}`;
const hasPackages =
  existsSync(interpreter) && spawnSync(interpreter, ['-c', 'import safetensors, numpy, ml_dtypes, torch']).status === 0;
const missing = hasPackages ? false : 'NumPy, PyTorch and safetensors in .venv (npm test installs them)';

function python(command: 'write' | 'read', folder: string): Found {
  const { status, stdout, stderr } = spawnSync(interpreter, [`${root}tests/files/oracle.py`, command, folder], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (status !== 0) throw new Error(`oracle.py ended with ${status}\n${stderr}`);
  return JSON.parse(stdout) as Found;
}

function newFolder(): string {
  const folder = newPath('files');
  mkdirSync(folder);
  return folder;
}

/** The elements in rows, as bytes. */
function hexOf(tensor: TensorView): string {
  if (tensor.size === 0) return '';
  const packed = Tensor.from(tensor).unsafeData();
  return Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength).toString('hex');
}

const shown = (tensor: TensorView): Shown => [tensor.dtype, [...tensor.shape], hexOf(tensor)];

/** ml_dtypes' arrays have no name in a file. */
const isNamed = (dtype: string): boolean => /^(bool|u?int|float(16|32|64)|complex)/.test(dtype) && !/e\dm/.test(dtype);

testWith(missing, 'files written by NumPy, PyTorch and safetensors have the same values here', () => {
  const folder = newFolder();
  const found = python('write', folder);
  let count = 0;
  for (const [name, tensors] of Object.entries(found)) {
    const path = join(folder, name);
    if (name.endsWith('.npy')) {
      const expected = tensors.array as Shown;
      const options = isNamed(expected[0]) ? {} : { dtype: expected[0] as BaseDType };
      equal(shown(openNpySync(path, options)), expected, name);
      count++;
      continue;
    }
    const file = name.endsWith('.npz') ? openNpzSync(path) : openSafetensorsSync(path);
    for (const [key, [dtype, shape, hex]] of Object.entries(tensors)) {
      const tensor = file.get(key);
      equal([[...tensor.shape], hexOf(tensor)], [shape, hex], `${name} ${key}`);
      if (!name.startsWith('raw')) equal(tensor.dtype, dtype, `${name} ${key}`);
      count++;
    }
    if (name !== 'many.npz') equal([...file.names].sort(), Object.keys(tensors).sort(), name);
  }
  ok(count > 80, `${count} tensors`);
  equal(openNpzSync(join(folder, 'many.npz')).size, 65540);
  equal({ ...openSafetensorsSync(join(folder, 'torch.safetensors')).metadata }, { format: 'pt', note: 'é' });
});

const names: Readonly<Record<string, string>> = {
  bool: 'BOOL',
  int16: 'I16',
  uint64: 'U64',
  float16: 'F16',
  bfloat16: 'BF16',
  float32: 'F32',
  complex64: 'C64',
  float8_e4m3fn: 'F8_E4M3',
  float8_e5m2: 'F8_E5M2',
  float8_e8m0fnu: 'F8_E8M0',
  float6_e2m3fn: 'F6_E2M3',
  float6_e3m2fn: 'F6_E3M2',
  float4_e2m1fn: 'F4',
};

testWith(missing, 'files written here have the same values in Python', async () => {
  const folder = newFolder();
  const tensors: Record<string, Tensor> = {};
  for (const dtype of Object.keys(names) as BaseDType[]) {
    const values = dtype === 'bool' ? [true, false, true, true] : dtype === 'uint64' ? [1n, 2n, 4n, 2n] : [1, 2, 4, 2];
    tensors[dtype] = Tensor.from(values as number[], { dtype, shape: [2, 2] });
  }
  tensors.column = (tensors.float32 as Tensor).transpose();
  tensors.empty = Tensor.zeros([0, 2], 'float64');
  tensors.scalar = Tensor.from(7);
  const metadata = { format: 'pt', 'ké"y': 'v\n' };
  await writeSafetensors(join(folder, 'x.safetensors'), tensors, { metadata });
  const arrays = Object.entries(tensors).filter(([, { dtype }]) => isNamed(dtype));
  await writeNpz(join(folder, 'x.npz'), arrays);
  for (const [name, tensor] of arrays) await writeNpy(join(folder, `${name}.npy`), tensor);
  await writeNpy(join(folder, 'raw.npy'), tensors.bfloat16 as Tensor);
  const found = python('read', folder);
  for (const [name, tensor] of Object.entries(tensors)) {
    const [dtype, shape, hex] = shown(tensor);
    const other = { int64: 'I64', float64: 'F64' }[dtype as string] ?? names[dtype];
    equal(found['x.safetensors']?.[name], [other, shape, hex], name);
  }
  equal(found['x.safetensors']?.__metadata__ as unknown, metadata);
  for (const [name, tensor] of arrays) {
    equal(found[`${name}.npy`]?.array, shown(tensor), name);
    equal(found['x.npz']?.[name], shown(tensor), name);
  }
  equal(found['raw.npy']?.array, ['void16', [2, 2], hexOf(tensors.bfloat16 as Tensor)]);
});

testWith(
  missing,
  'archives that need Zip64: more members than 16 bits count, and more bytes than 32 bits',
  async () => {
    const folder = newFolder();
    const scalar = Tensor.from(2.5);
    const last = Tensor.from([1, 2, 3], { dtype: 'int16' });
    const tensors = Array.from({ length: 65540 }, (_, i) => [`${i}`, i === 65539 ? last : scalar] as const);
    const parts: Uint8Array[] = []; // a stream, because a write of its own for each part takes seconds
    await writeNpz(new WritableStream({ write: (part) => void parts.push(part) }), tensors);
    const many = join(folder, 'many.npz');
    writeFileSync(many, Buffer.concat(parts));
    using file = openNpzSync(many);
    equal([file.size, file.get('0').toArray(), file.get('65539').toArray()], [65540, 2.5, [1, 2, 3]]);
    await writeLargeNpz(join(folder, 'large.npz'));
    const found = python('read', folder);
    equal(found['many.npz'], { 0: shown(scalar), 1: shown(scalar), 65538: shown(scalar), 65539: shown(last) });
    equal(found['large.npz'], {
      large: ['uint8', [largeSize], '05000009'],
      far: ['float64', [farValues.length], hexOf(Tensor.from(farValues))],
    });
  },
);
