/** Opens a description once or again and again, writes into it, and waits to be killed. */

import { openTensor } from 'dlpack/shared';

const [description, times, file] = process.argv.slice(2) as [string, string, string?];
const options = file === undefined ? {} : { file: Number(file) };
const x = openTensor(JSON.parse(description), options);
x.set(0, 9);
console.log('open');
if (times === 'always')
  setImmediate(function again() {
    for (let i = 0; i < 100; i++) openTensor(JSON.parse(description), options).dispose();
    setImmediate(again);
  });
setInterval(() => x.get(0), 1000);
