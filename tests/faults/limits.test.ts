/**
 * Limits of the system: files, memory, threads, disks, and folders that are missing or read-only. Each gives a typed error
 * that names its reason, or has no effect. Never a crash.
 */

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Tensor } from 'dlpack';
import { writeNpy } from 'dlpack/files';
import { equal, ok } from '../assert.js';
import { runtimeArgs } from '../child.js';
import { runtime, testWith, unless } from '../harness.js';

const script = fileURLToPath(new URL('./children/limited.js', import.meta.url));
const forbid = fileURLToPath(new URL('../../../tests/faults/children/forbid.py', import.meta.url));
const isRoot = process.getuid?.() === 0;
const works = (command: string): boolean => spawnSync('sh', ['-c', command]).status === 0;

/*
 * What a machine may forbid is skipped. Programs that anybody can install are missing counterparts, which CI must have, and
 * rows with `ulimit` need nothing.
 */
const needs = (isThere: boolean, what: string) => unless(isThere, `needs ${what}`);
/** A shell in which mounts concern nobody else. */
const apart = `unshare ${isRoot ? '-m' : '-Urm'} sh -c`;
const mounts = needs(works(`${apart} 'mount -t tmpfs none /dev/shm'`), 'mounts in a namespace of its own (unshare)');
const limits = works('prlimit --version') ? false : 'prlimit';
/** The number of threads is not limited for root. */
const nobody = isRoot ? 'setpriv --reuid 65534 --regid 65534 --clear-groups' : '';
const threads =
  limits || needs(works(`${nobody} test -r ${script}`), 'a user other than root that can read this folder');
const filters =
  needs(['x64', 'arm64'].includes(process.arch), 'x64 or arm64') ||
  (works('python3 -c "import ctypes"') ? false : 'python3');

interface Limit {
  readonly missing: ReturnType<typeof unless> | string;
  /** Starts `$RUN` in a shell. `$FOLDER` is a folder of the test. */
  readonly shell: string;
  /** Each operation of limited.ts, and the start of what it prints after its name. */
  readonly expected: Readonly<Record<string, string>>;
}

const noName = 'use { shareable: true }, which needs no name';
const table: Readonly<Record<string, Limit>> = {
  'no more files': {
    missing: false,
    shell: 'ulimit -n 100; $RUN',
    expected: {
      native: 'ok',
      takeAllFiles: 'ok',
      copies: 'ok',
      shared: 'BufferError Could not make 1048576 bytes for other processes: too many files are open',
      named: 'BufferError Could not make 1048576 bytes under the name',
      read: 'FileError',
      write: 'FileError',
    },
  },
  'no more address space': {
    missing: limits,
    shell: '$RUN',
    expected: { native: 'ok', limitMemory: 'ok', memory: 'OutOfMemoryError Out of memory', copies: 'ok' },
  },
  'no more threads': {
    missing: threads,
    shell: `${nobody} $RUN`,
    expected: { native: 'ok', forbidThreads: 'ok', copies: 'ok' },
  },
  'a limit on the size of files': {
    missing: false,
    shell: 'ulimit -f 100; $RUN',
    expected: {
      read: 'ok',
      shared: 'BufferError Could not make 1048576 bytes for other processes: the limit on the size of files',
      named: 'BufferError Could not make 1048576 bytes under the name',
      write: 'FileError',
      leftovers: 'ok',
    },
  },
  'a full disk': {
    missing: mounts,
    shell: `${apart} "mount -t tmpfs -o size=256k none $FOLDER && $RUN"`,
    expected: { write: 'FileError', leftovers: 'ok', shared: 'ok', named: 'ok' },
  },
  'a read-only folder': {
    missing: mounts,
    shell: `${apart} "mount -t tmpfs -o ro none $FOLDER && TMPDIR=$FOLDER $RUN"`,
    expected: { write: 'FileError', leftovers: 'ok', native: 'ok', shared: 'ok', named: 'ok' },
  },
  'a read-only /dev/shm': {
    missing: mounts,
    shell: `${apart} "mount -t tmpfs -o ro none /dev/shm && $RUN"`,
    expected: { shared: 'ok', named: `BufferError .*: /dev/shm is read-only; ${noName}` },
  },
  'no /dev/shm': {
    missing: mounts,
    shell: `${apart} "mount -t tmpfs none /dev && $RUN"`,
    expected: { shared: 'ok', named: `BufferError .*: there is no /dev/shm; ${noName}` },
  },
  'a full /dev/shm': {
    missing: mounts,
    shell: `${apart} "mount -t tmpfs -o size=64k none /dev/shm && $RUN"`,
    expected: { shared: 'ok', named: 'OutOfMemoryError .*: /dev/shm is full' },
  },
  'a system that forbids memory files': {
    missing: filters,
    shell: `python3 ${forbid} 1 $RUN`,
    expected: { shared: 'BufferError .*: the system forbids it', named: 'ok' },
  },
  'a system without memory files': {
    missing: filters,
    shell: `python3 ${forbid} 38 $RUN`,
    expected: { shared: 'UnsupportedDeviceError This kernel has no memory files', named: 'ok' },
  },
};

for (const [name, { missing, shell, expected }] of Object.entries(table)) {
  testWith(needs(process.platform === 'linux', 'limits of Linux') || missing, `limits: ${name}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dlpack-limits-'));
    try {
      chmodSync(folder, 0o777);
      await writeNpy(join(folder, 'there.npy'), Tensor.from([1, 2, 3]));
      const run = [process.execPath, ...runtimeArgs[runtime], script, ...Object.keys(expected)].join(' ');
      const { stdout, stderr, signal } = spawnSync(
        'sh',
        ['-c', shell.replaceAll('$FOLDER', folder).replace('$RUN', run)],
        {
          encoding: 'utf8',
          env: { ...process.env, LIMITED_FOLDER: folder, DLPACK_QUIET: '1' },
        },
      );
      const lines = stdout.trim().split('\n');
      equal([signal, lines.length], [null, Object.keys(expected).length], stdout + stderr);
      for (const [i, [operation, text]] of Object.entries(expected).entries()) {
        ok(new RegExp(`^${operation}: ${text}`).test(lines[i] as string), `${lines[i]}\n${stderr}`);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
