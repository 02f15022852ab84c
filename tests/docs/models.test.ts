/** The model of the tutorial is what its source says. `UPDATE=1` writes it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ok } from '../assert.js';
import { test } from '../harness.js';
import { elementTypes, makeGraph } from '../interop/libraries/model.js';
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

test('examples/models/colours.onnx', () => {
  const path = join(root, 'examples/models/colours.onnx');
  if (process.env.UPDATE) writeFileSync(path, colours);
  ok(readFileSync(path).equals(colours));
});
