import { equal, ok } from '../assert.js';
import { runChild } from '../child.js';
import { cudaTest } from './machine.js';

cudaTest('a device that fails in the middle of an asynchronous copy', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/failing-device.js');
  equal([code, signal], [0, null], output);
  ok(output.includes('all given back'), output);
});
