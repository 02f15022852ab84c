/** dlpack conformance --python: the cells of a Python library in a process of their own, and the rules that they break. */

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Case } from '../../conformance/case.js';
import { UsageError } from '../command.js';
import { cellsOf, peers } from './cells.js';
import { type Finding, keyOf, type Line } from './lines.js';
import { morePeers } from './more-peers.js';
import { casesOfMatrix, type Found } from './rules.js';

/** The peers of each Python module. */
const peersOf: Readonly<Record<string, readonly string[]>> = {
  numpy: ['NumPy'],
  ml_dtypes: ['ml_dtypes'],
  torch: ['PyTorch'],
  jax: ['JAX'],
  tvm_ffi: ['TVM-FFI'],
  pyarrow: ['Arrow Tensor', 'Arrow Array'],
  onnxruntime: ['OrtValue'],
  tensorflow: ['TensorFlow'],
  paddle: ['PaddlePaddle'],
  mlx: ['MLX'],
  warp: ['Warp'],
  'cuda.core': ['cuda.core'],
  openvino: ['OpenVINO'],
  tinygrad: ['tinygrad'],
  nanoarrow: ['nanoarrow'],
  polars: ['polars'],
  pandas: ['pandas'],
  duckdb: ['DuckDB'],
};

const allPeers = [...peers, ...morePeers];

/** The names of the peers of modules, or of peers themselves, separated by commas. */
export function peerNames(list: string): string[] {
  return list.split(',').flatMap((name) => {
    const found = Object.hasOwn(peersOf, name) ? peersOf[name] : allPeers.some((peer) => peer.name === name) && [name];
    if (!found) throw new UsageError(`expected ${Object.keys(peersOf).join(', ')} for --python but received "${name}"`);
    return found;
  });
}

export interface MatrixRun {
  readonly subject: string;
  readonly cases: Case[];
}

/** Runs the cells of the peers. `command` starts this program so that it prints lines. */
export async function runMatrix(
  names: readonly string[],
  command: readonly string[],
  progress: (done: number, all: number, what: string) => void,
): Promise<MatrixRun> {
  const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = new Promise<string | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve(code === 0 ? null : `it ended with ${signal ?? code}`));
  });
  const [findings, versions]: [Finding[], string[]] = [[], []];
  let [begun, done] = ['', 0];
  const wanted = allPeers.filter(({ name }) => names.includes(name));
  const all = wanted.reduce((count, peer) => count + cellsOf(peer).length, 0);
  for await (const text of createInterface({ input: child.stdout })) {
    if (!text.startsWith('{')) continue; // a library's own output
    const line = JSON.parse(text) as Line;
    if (line.missing !== undefined)
      throw new UsageError(`expected ${line.missing.join(', ')} in this Python environment`);
    if (line.begin !== undefined) begun = line.begin;
    if (line.version !== undefined) versions.push(`${line.peer} ${line.version}`);
    if (line.outcomes !== undefined) {
      findings.push(line as Finding);
      done += line.outcomes.length;
    }
    progress(done, all, begun);
  }
  const ended = await closed;
  const found = wanted.flatMap((peer): Found[] => {
    const next = new Map<string, number>();
    return cellsOf(peer).flatMap((cell) => {
      const at = next.get(keyOf(cell)) ?? 0;
      next.set(keyOf(cell), at + 1);
      const group = findings.find((finding) => finding.peer === peer.name && finding.key === keyOf(cell));
      const outcome = group?.outcomes[at];
      return outcome === undefined ? [] : [{ cell, ...outcome }];
    });
  });
  const subject = versions.join(', ') || names.join(', ');
  return { subject, cases: casesOfMatrix(found, ended === null ? null : `${ended} during ${begun}`) };
}
