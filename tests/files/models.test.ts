/** Layouts of published models, with their headers rebuilt: real names, shapes and sizes over files without content. */

import { closeSync, ftruncateSync, openSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { liveCounts } from 'dlpack/debug';
import { openSafetensorsSync } from 'dlpack/files';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';
import { newPath, text, u64 } from './make.js';

type Shapes = readonly (readonly [name: string, shape: readonly number[]])[];

/** A file with a header and as many bytes as it needs, which the disk does not have to hold. Returns the bytes of data. */
function sparse(path: string, dtype: string, bytes: number, shapes: Shapes, pad?: number): number {
  let at = 0;
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } };
  for (const [name, shape] of shapes) {
    const end = at + shape.reduce((a, b) => a * b, bytes);
    header[name] = { dtype, shape, data_offsets: [at, end] };
    at = end;
  }
  const plain = JSON.stringify(header);
  const json = text(plain + ' '.repeat(pad ?? 7 - ((plain.length + 7) % 8))); // as writers pad it today
  const file = openSync(path, 'w');
  writeSync(file, u64(json.length));
  writeSync(file, json);
  ftruncateSync(file, 8 + json.length + at);
  closeSync(file);
  return at;
}

const llamaLayer = (i: number): Shapes => [
  [`model.layers.${i}.input_layernorm.weight`, [4096]],
  [`model.layers.${i}.mlp.down_proj.weight`, [4096, 14336]],
  [`model.layers.${i}.mlp.gate_proj.weight`, [14336, 4096]],
  [`model.layers.${i}.mlp.up_proj.weight`, [14336, 4096]],
  [`model.layers.${i}.post_attention_layernorm.weight`, [4096]],
  [`model.layers.${i}.self_attn.k_proj.weight`, [1024, 4096]],
  [`model.layers.${i}.self_attn.o_proj.weight`, [4096, 4096]],
  [`model.layers.${i}.self_attn.q_proj.weight`, [4096, 4096]],
  [`model.layers.${i}.self_attn.v_proj.weight`, [1024, 4096]],
];

/** Llama 3 8B in bfloat16: four shards of up to 5 GB, more than an ArrayBuffer of Node 20 can show. */
test('Llama 3 8B: four shards, 291 tensors, 16 GB', () => {
  const index = newPath('model.safetensors.index.json');
  const layers = Array.from({ length: 32 }, (_, i) => llamaLayer(i));
  const shards: Shapes[] = [
    [['model.embed_tokens.weight', [128256, 4096]], ...layers.slice(0, 9).flat()],
    layers.slice(9, 20).flat(),
    layers.slice(20, 31).flat(),
    [...layers.slice(31).flat(), ['lm_head.weight', [128256, 4096]], ['model.norm.weight', [4096]]],
  ];
  const weightMap: Record<string, string> = {};
  let total = 0;
  shards.forEach((shapes, i) => {
    const name = `model-0000${i + 1}-of-00004.safetensors`;
    total += sparse(join(dirname(index), name), 'BF16', 2, shapes);
    for (const [tensor] of shapes) weightMap[tensor] = name;
  });
  equal(total, 16_060_522_496, 'what the published index says');
  writeFileSync(index, JSON.stringify({ metadata: { total_size: total }, weight_map: weightMap }));
  const before = liveCounts();
  const model = openSafetensorsSync(index, { mode: 'c' });
  equal([model.size, model.metadata], [291, { total_size: 16_060_522_496 }]);
  let bytes = 0;
  const tensors = Array.from(model, ([, tensor]) => tensor);
  for (const tensor of tensors) {
    bytes += tensor.nbytes;
    equal([tensor.dtype, tensor.isCopied], ['bfloat16', false]);
  }
  equal(bytes, total);
  // Elements at both ends of a shard that is too large for one buffer.
  const first = model.get('model.embed_tokens.weight');
  const last = model.get('model.layers.8.self_attn.v_proj.weight');
  ok(statSync(model.info('model.layers.8.self_attn.v_proj.weight').path).size > 2 ** 32);
  first.set(0, 0, 1);
  last.set(1023, 4095, 2);
  equal(
    [model.get('model.embed_tokens.weight').get(0, 0), model.get('model.layers.8.self_attn.v_proj.weight').get(-1, -1)],
    [1, 2],
  );
  equal([liveCounts().reported, liveCounts().storages], [before.reported, before.storages], 'nothing was allocated');
  for (const tensor of [...tensors, first, last]) tensor.dispose();
  model.dispose();
  for (const name of new Set(Object.values(weightMap))) rmSync(join(dirname(index), name));
});

/** GPT-2 in float32. Older writers left the header as long as it was: data at any offset, every tensor misaligned. */
test('GPT-2: 160 tensors, with a header of any length', () => {
  const shapes: (readonly [string, readonly number[]])[] = [];
  for (let i = 0; i < 12; i++) {
    shapes.push(
      [`h.${i}.attn.bias`, [1, 1, 1024, 1024]],
      [`h.${i}.attn.c_attn.bias`, [2304]],
      [`h.${i}.attn.c_attn.weight`, [768, 2304]],
      [`h.${i}.attn.c_proj.bias`, [768]],
      [`h.${i}.attn.c_proj.weight`, [768, 768]],
      [`h.${i}.ln_1.bias`, [768]],
      [`h.${i}.ln_1.weight`, [768]],
      [`h.${i}.ln_2.bias`, [768]],
      [`h.${i}.ln_2.weight`, [768]],
      [`h.${i}.mlp.c_fc.bias`, [3072]],
      [`h.${i}.mlp.c_fc.weight`, [768, 3072]],
      [`h.${i}.mlp.c_proj.bias`, [768]],
      [`h.${i}.mlp.c_proj.weight`, [3072, 768]],
    );
  }
  shapes.push(['ln_f.bias', [768]], ['ln_f.weight', [768]], ['wpe.weight', [1024, 768]], ['wte.weight', [50257, 768]]);
  const path = newPath('model.safetensors');
  for (const pad of [0, 1, 2, 3]) {
    sparse(path, 'F32', 4, shapes, pad);
    using model = openSafetensorsSync(path);
    equal(model.size, 160);
    const { offset, isShared } = model.info('wte.weight');
    equal(isShared, (offset as number) % 4 === 0);
    const bias = model.get('h.11.mlp.c_fc.bias');
    equal([bias.shape, bias.isCopied, bias.get(3071)], [[3072], !isShared, 0]);
    bias.dispose();
  }
});
