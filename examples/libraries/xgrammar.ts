/** A model whose output is valid JSON: ONNX Runtime computes the logits, XGrammar masks them, in one tensor and without Python. */

import { Tensor } from 'dlpack';
import { addressOf } from 'dlpack/native';
import { getGlobalFunc, loadModule, objectClass } from 'dlpack/tvm-ffi';
import * as ort from 'onnxruntime-node';

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
  is_terminated(): boolean;
}

// From the wheel: pip install --no-deps --target xgrammar xgrammar
loadModule('xgrammar/xgrammar/libxgrammar_bindings.so');
const prefix = 'xgrammar.tvm_ffi_binding';
const TokenizerInfo = objectClass(`${prefix}.TokenizerInfo`);
const Compiler = objectClass<GrammarCompiler>(`${prefix}.GrammarCompiler`);
const Matcher = objectClass<GrammarMatcher>(`${prefix}.GrammarMatcher`);
const applyMask = getGlobalFunc(`${prefix}.kernels.apply_token_bitmask_inplace_cpu`);

const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i));
const vocabulary = ['<end>', ...printable, '{"', '":', '", "', 'true', 'false', '"}'];
const size = vocabulary.length;
const words = Math.ceil(size / 32);

// It takes the place of a language model: y = sin(x) for a float32 matrix of any size.
const model =
  'CAg6VAoLCgF4EgF5IgNTaW4SBWdyYXBoWh4KAXgSGQoXCAESEwoGEgRyb3dzCgkSB2NvbHVtbnNiHgoBeRIZChcIARITCgYSBHJvd3MKCRIHY29sdW1uc0IECgAQDQ==';
const session = await ort.InferenceSession.create(Buffer.from(model, 'base64'));
const x = Tensor.empty([1, size], 'float32');
const logits = Tensor.empty([1, size], 'float32');
const bitmask = Tensor.empty([1, words], 'int32'); // one bit for each token

const schema = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: 6 }, isOpen: { type: 'boolean' } },
  required: ['name', 'isOpen'],
  additionalProperties: false,
};
const compiler = new Compiler(new TokenizerInfo(vocabulary, 0, size, [0], false), 1, true, -1);
const grammar = compiler.compile_json_schema(JSON.stringify(schema), false, null, null, true, null, false);
const matcher = new Matcher(grammar, null, false, 0, null);

let text = '';
for (let step = 1; !matcher.is_terminated(); step++) {
  for (let token = 0; token < size; token++) x.data[token] = step * 31 + token * 17;
  await session.run(
    { x: new ort.Tensor('float32', x.data, x.shape) },
    { y: new ort.Tensor('float32', logits.data, logits.shape) }, // the model writes into our memory
  );
  bitmask.fill(-1);
  matcher.fill_next_token_bitmask(bitmask, 0, false);
  applyMask(addressOf(logits), [1, size], [size, 1], addressOf(bitmask), [1, words], [words, 1], size, null, 'float32');
  const best = logits.data.indexOf(Math.max(...logits.data)); // tokens that the grammar forbids are -Infinity
  matcher.accept_token(best, false);
  if (best !== 0) text += vocabulary[best];
}
const value = JSON.parse(text);
console.log(Object.keys(value).join(), typeof value.name, typeof value.isOpen); // name,isOpen string boolean
