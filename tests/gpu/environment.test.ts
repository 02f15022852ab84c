/** The machine itself: if this fails, the other tests fail too. */

import { spawnSync } from 'node:child_process';
import { liveCounts } from 'dlpack/debug';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';
import { pythonExecutable, realDriver } from './environment.js';

test('this Node runs the package and its addon', () => {
  ok(Number(process.versions.node.split('.')[0]) >= 20, process.version);
  equal(typeof liveCounts(), 'object');
});

test('libcuda has every function of the table, and a device', () => {
  const driver = realDriver();
  const count = new Int32Array(1);
  driver.must('cuDeviceGetCount', count);
  ok((count[0] as number) >= 1, 'the driver knows no device');
  const version = new Int32Array(1);
  driver.must('cuDriverGetVersion', version);
  const name = new Uint8Array(256);
  driver.must('cuDeviceGetName', name, 256, 0);
  const text = new TextDecoder().decode(name.subarray(0, name.indexOf(0)));
  console.log(`${count[0]} x ${text}, driver for CUDA ${version[0]}, Node ${process.versions.node}`);
});

test('Python has torch, cupy and jax', () => {
  const script = 'import torch, cupy, jax, numpy; print(*(m.__version__ for m in (torch, cupy, jax, numpy)))';
  const { status, stdout, stderr } = spawnSync(pythonExecutable, ['-c', script], { encoding: 'utf8' });
  equal(status, 0, stderr);
  console.log(`torch, cupy, jax, numpy: ${stdout.trim()}`);
});
