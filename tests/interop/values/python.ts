/** NumPy and ml_dtypes as oracles: a Python child process that writes raw bytes to its standard output. */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// From build/tests/interop/values to the root of the repository.
const root = fileURLToPath(new URL('../../../../', import.meta.url));
const interpreter = `${root}.venv/${process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python'}`;

/** For `testWith`: what is missing, or false. */
export const missingPython = existsSync(interpreter) ? missingModules() : 'Python in .venv (npm test makes it)';

function missingModules(): string | false {
  const { status, stderr } = spawnSync(interpreter, ['-c', 'import numpy, ml_dtypes']);
  return status === 0 ? false : `NumPy and ml_dtypes in .venv (${String(stderr).trim().split('\n').pop()})`;
}

/** The output of tests/interop/values/oracle.py for a command. */
export function oracle(command: string, args: readonly string[] = [], input?: Uint8Array): Reader {
  const { status, stdout, stderr } = spawnSync(
    interpreter,
    [`${root}tests/interop/values/oracle.py`, command, ...args],
    {
      input: input ?? new Uint8Array(0),
      maxBuffer: 2 ** 30,
    },
  );
  if (status !== 0) throw new Error(`oracle.py ${command} ended with ${status}\n${String(stderr)}`);
  return new Reader(new Uint8Array(stdout));
}

/** Reads blocks of bytes, each after its length in eight bytes. */
export class Reader {
  #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  bytes(): Uint8Array<ArrayBuffer> {
    const head = this.#bytes.slice(0, 8);
    const length = Number(new DataView(head.buffer).getBigUint64(0, true));
    const block = this.#bytes.slice(8, 8 + length);
    if (block.length !== length || head.length !== 8) throw new Error('oracle.py wrote too little');
    this.#bytes = this.#bytes.subarray(8 + length);
    return block;
  }

  text(): string {
    return new TextDecoder().decode(this.bytes());
  }

  float32(): Float32Array {
    return new Float32Array(this.bytes().buffer);
  }

  float64(): Float64Array {
    return new Float64Array(this.bytes().buffer);
  }

  /** Codes of a small type, one element each. */
  codes(bits: number): Uint8Array | Uint16Array {
    const block = this.bytes();
    return bits > 8 ? new Uint16Array(block.buffer) : block;
  }
}
