/** The models of the pages are what their sources say. `UPDATE=1` writes them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ok } from '../assert.js';
import { test } from '../harness.js';
import { elementTypes, makeGraph, makeModel } from '../interop/libraries/model.js';
import { root } from './project.js';

/** The means of the channels, as scores. */
const colours = makeGraph({
  nodes: [
    { op: 'GlobalAveragePool', inputs: ['pixels'], outputs: ['means'] },
    { op: 'Flatten', inputs: ['means'], outputs: ['flat'] },
    { op: 'Softmax', inputs: ['flat'], outputs: ['scores'], attributes: { axis: 1 } },
  ],
  inputs: { pixels: { tensor: elementTypes.float32, shape: ['images', 3, 'rows', 'columns'] } },
  outputs: { scores: { tensor: elementTypes.float32, shape: ['images', 3] } },
});

/** y = x + x, for matrices. */
const double = makeModel('Add', 2, 'float32');

for (const [name, model] of Object.entries({ colours, double })) {
  test(`examples/models/${name}.onnx`, () => {
    const path = join(root, `examples/models/${name}.onnx`);
    if (process.env.UPDATE) writeFileSync(path, model);
    ok(readFileSync(path).equals(model));
  });
}
