/**
 * Waits for SIGINT: without Python, idle, in a synchronous Python call, or beside an asynchronous call; with and without a
 * handler.
 */

import { callAsync, python } from 'dlpack/python';

const [what, handler] = process.argv.slice(2);
const py = what === 'none' ? null : python();
py?.exec(`
import os, signal, sys, time
def spin(seconds):
  os.write(1, b'computing\\n')
  end = time.monotonic() + seconds
  while time.monotonic() < end: pass
`);
if (py?.eval('signal.getsignal(signal.SIGINT) is signal.default_int_handler') === true)
  console.log('handler of Python');
const spin = py?.import('__main__').spin;
if (handler === 'handler') {
  process.on('SIGINT', () => {
    console.log('handled');
    process.exit(7);
  });
}
setInterval(() => {}, 1000);
console.log('ready');
if (what === 'sync') {
  spin(handler === 'handler' ? 1 : 60);
  console.log('computed');
} else if (what === 'async') callAsync(spin, 60);
