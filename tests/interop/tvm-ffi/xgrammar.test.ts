/** XGrammar, an independent library, without Python in the process. Its Python binding computes the same results. */

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Tensor } from 'dlpack';
import { addressOf } from 'dlpack/native';
import { type FFIFunction, getGlobalFunc, loadModule, objectClass } from 'dlpack/tvm-ffi';
import { equal, ok } from '../../assert.js';
import { testWith } from '../../harness.js';
import { ffiMissing } from './peer.js';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const folder = `${root}build/xgrammar`;
const library = `${folder}/xgrammar/libxgrammar_bindings.so`;
const missing = existsSync(library) ? ffiMissing : 'build/xgrammar (needs PyPI)';

interface GrammarCompiler {
  compile_json_schema(
    schema: string,
    anyWhitespace: boolean,
    indent: number | null,
    separators: [string, string] | null,
    strict: boolean,
    mostWhitespace: number | null,
    anyOrder: boolean,
  ): object;
}

interface GrammarMatcher {
  fill_next_token_bitmask(bitmask: Tensor, index: number, print: boolean): boolean;
  accept_token(token: number, print: boolean): boolean;
  rollback(count: number): void;
  is_terminated(): boolean;
}

const END = 0;
const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i));
const vocabulary = ['<end>', ...printable, '{"', '":', '", "', 'true', 'false', 'null', '12', '"}'];
const words = Math.ceil(vocabulary.length / 32);

const schemas = {
  person: {
    type: 'object',
    properties: { name: { type: 'string', maxLength: 8 }, age: { type: 'integer' } },
    required: ['name', 'age'],
  },
  flags: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
  choice: { enum: ['red', 'green', 'blue'] },
  list: { type: 'array', items: { type: 'boolean' }, minItems: 2, maxItems: 3 },
};

/** The classes and the kernel of XGrammar. */
function load() {
  loadModule(library);
  const prefix = 'xgrammar.tvm_ffi_binding';
  return {
    TokenizerInfo: objectClass(`${prefix}.TokenizerInfo`),
    GrammarCompiler: objectClass<GrammarCompiler>(`${prefix}.GrammarCompiler`),
    GrammarMatcher: objectClass<GrammarMatcher>(`${prefix}.GrammarMatcher`),
    mask: getGlobalFunc(`${prefix}.kernels.apply_token_bitmask_inplace_cpu`),
  };
}

/** Logits that are the same each time. */
function randomLogits(seed: number): () => Tensor<'float32'> {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
  return () => Tensor.from(Float32Array.from(vocabulary, next), { shape: [1, vocabulary.length] }) as Tensor<'float32'>;
}

/** Masks the logits in place, and returns the best remaining token. */
function choose(mask: FFIFunction, logits: Tensor<'float32'>, bitmask: Tensor): number {
  const size = vocabulary.length;
  mask(addressOf(logits), [1, size], [size, 1], addressOf(bitmask), [1, words], [words, 1], size, null, 'float32');
  let best = -1;
  for (const [token, value] of logits.data.entries()) {
    if (value !== Number.NEGATIVE_INFINITY && (best < 0 || value > (logits.data[best] as number))) best = token;
  }
  return best;
}

/** The same tokens through Python's binding of the library: the bitmask before each, and whether the text is complete. */
const script = `
import importlib, json, sys, types
import numpy as np
import tvm_ffi
folder = sys.argv[1]
package = types.ModuleType('xgrammar'); package.__path__ = [folder + '/xgrammar']
sys.modules['xgrammar'] = package
tvm_ffi.load_module(folder + '/xgrammar/libxgrammar_bindings.so')
core = importlib.import_module('xgrammar.tvm_ffi_binding')
work = json.load(sys.stdin)
info = core.TokenizerInfo(work['vocabulary'], 0, len(work['vocabulary']), [0], False)
compiler = core.GrammarCompiler(info, 1, True, -1)
results = {}
for name, run in work['runs'].items():
    matcher = core.GrammarMatcher(compiler.compile_json_schema(run['schema'], True, None, None, True, None, False), None, False, 0, None)
    masks = []
    for token in run['tokens']:
        bitmask = np.full((1, work['words']), -1, dtype=np.int32)
        matcher.fill_next_token_bitmask(bitmask, 0, False)
        masks.append(bitmask[0].tolist())
        assert matcher.accept_token(token, False)
    results[name] = [masks, matcher.is_terminated()]
print(json.dumps(results))
`;

testWith(
  missing,
  'XGrammar: schemas compiled, logits masked, tokens accepted and rolled back, valid JSON, as in Python',
  () => {
    const { TokenizerInfo, GrammarCompiler, GrammarMatcher, mask } = load();
    const info = new TokenizerInfo(vocabulary, 0, vocabulary.length, [END], false);
    const compiler = new GrammarCompiler(info, 1, true, -1);
    const bitmask = Tensor.empty([1, words], 'int32');
    const runs: Record<string, { schema: string; tokens: number[] }> = {};
    const found: Record<string, [number[][], boolean]> = {};
    for (const [index, [name, value]] of Object.entries(schemas).entries()) {
      const schema = JSON.stringify(value);
      const compiled = compiler.compile_json_schema(schema, true, null, null, true, null, false);
      const matcher = new GrammarMatcher(compiled, null, false, 16, null);
      const logits = randomLogits(index + 1);
      const masks: number[][] = [];
      const tokens: number[] = [];
      const readMask = () => {
        bitmask.fill(-1);
        matcher.fill_next_token_bitmask(bitmask, 0, false);
        return [...(bitmask.data as Int32Array)];
      };
      for (let token = -1; token !== END; ) {
        ok(tokens.length < 500, tokens.map((t) => vocabulary[t]).join(''));
        masks.push(readMask());
        token = choose(mask, logits(), bitmask);
        ok(matcher.accept_token(token, false), `${vocabulary[token]} was refused`);
        tokens.push(token);
        if (tokens.length % 5 === 0 && token !== END) {
          // Two tokens back and forward again: the state is the same.
          const after = readMask();
          matcher.rollback(2);
          equal(readMask(), masks.at(-2));
          for (const again of tokens.slice(-2)) ok(matcher.accept_token(again, false), 'accepted again');
          equal(readMask(), after);
        }
      }
      ok(matcher.is_terminated(), name);
      const text = tokens
        .slice(0, -1)
        .map((t) => vocabulary[t])
        .join('');
      const parsed = JSON.parse(text) as Record<string, unknown>;
      for (const key of (value as { required?: string[] }).required ?? []) ok(key in parsed, text);
      runs[name] = { schema, tokens };
      found[name] = [masks, true];
    }
    const output = execFileSync(`${root}.venv/bin/python`, ['-I', '-c', script, folder], {
      encoding: 'utf8',
      input: JSON.stringify({ vocabulary, words, runs }),
    });
    equal(JSON.parse(output), found);
  },
);
