/** Malicious files. Each gives a typed error that names the file and the place, before memory is allocated for it. */

import { appendFileSync, truncateSync } from 'node:fs';
import { deflateRawSync } from 'node:zlib';
import {
  type FileFormatError,
  openGgufSync,
  openNpySync,
  openNpzSync,
  openSafetensors,
  openSafetensorsSync,
} from 'dlpack/files';
import { equal, ok, rejects, throws } from '../assert.js';
import { runChild } from '../child.js';
import { test } from '../harness.js';
import { concat, fileOf, gguf, ggufString, npy, safetensors, text, u16, u32, u64, zip } from './make.js';

const entry = (shape: unknown, offsets: unknown, dtype: unknown = 'U8') => ({ dtype, shape, data_offsets: offsets });

/** The file is refused with this text, and the error says where. */
function refused(
  problem: string,
  open: (path: string) => unknown,
  bytes: Uint8Array | string,
  name = 'file',
): FileFormatError {
  const path = fileOf(bytes, name);
  const error = throws('FileFormatError', problem, () => open(path));
  ok(error.path.startsWith(path) && error.message.startsWith(path), error.message);
  ok(Number.isInteger(error.offset) && error.offset >= 0, `offset ${error.offset}`);
  return error;
}

const tensors = (problem: string, header: unknown, data = new Uint8Array(8)) =>
  refused(problem, openSafetensorsSync, safetensors(header, data));

test('safetensors: truncated', () => {
  const whole = safetensors({ a: entry([8], [0, 8]) }, new Uint8Array(8));
  for (let length = 0; length < whole.length; length++) {
    refused('', openSafetensorsSync, whole.subarray(0, length));
  }
  const error = tensors('the file is truncated', { a: entry([9], [0, 9]) });
  equal(error.offset, 8 + JSON.stringify({ a: entry([9], [0, 9]) }).length + 8);
});

test('safetensors: overlaps, holes, offsets beyond the end, bytes outside all tensors', () => {
  tensors('it overlaps another tensor', { a: entry([5], [0, 5]), b: entry([4], [4, 8]) });
  tensors('belong to no tensor', { a: entry([3], [0, 3]), b: entry([4], [4, 8]) });
  tensors('belong to no tensor', { a: entry([7], [1, 8]) });
  tensors('the file is truncated', { a: entry([4], [0, 4]), b: entry([5], [4, 9]) });
  tensors('belong to none', { a: entry([4], [0, 4]) });
  tensors('belong to none', {});
  tensors('overlaps another tensor', { a: entry([8], [0, 8]), b: entry([8], [0, 8]) });
});

test('safetensors: offsets and shapes that disagree or overflow', () => {
  tensors('has 7 bytes but its data_offsets 8', { a: entry([7], [0, 8]) });
  tensors('has 8 bytes but its data_offsets -8', { a: entry([8], [8, 0]) });
  tensors('more than 2^53 - 1 bits', { a: entry([2 ** 32, 2 ** 32], [0, 8]) });
  tensors('more than 2^53 - 1 bits', { a: entry([0, 2 ** 32, 2 ** 32], [0, 0]) });
  tensors('of at most 2^53 - 1', '{"a":{"dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,8]}}');
  tensors('an integer of zero or more', '{"a":{"dtype":"U8","shape":[-8],"data_offsets":[0,8]}}');
  tensors('an integer of zero or more', '{"a":{"dtype":"U8","shape":[8],"data_offsets":[-1,7]}}');
  tensors("expected ']'", '{"a":{"dtype":"U8","shape":[8.0],"data_offsets":[0,8]}}');
  tensors("expected ']'", '{"a":{"dtype":"U8","shape":[8e0],"data_offsets":[0,8]}}');
  tensors('leading zeros', '{"a":{"dtype":"U8","shape":[08],"data_offsets":[0,8]}}');
  tensors('at most 64 numbers', { a: entry(new Array(65).fill(1), [0, 8]) });
  tensors('whole bytes', { a: entry([3], [0, 2], 'F4') });
  tensors('at most 2 numbers', { a: entry([8], [0, 8, 8]) });
  tensors('two data_offsets', { a: entry([8], [0]) });
});

test('safetensors: names, fields and metadata twice', () => {
  const one = '{"dtype":"U8","shape":[8],"data_offsets":[0,8]}';
  tensors("the tensor 'a' occurs twice", `{"a":${one},"a":${one}}`);
  tensors("the tensor 'a' occurs twice", `{"a":${one},"\\u0061":${one}}`);
  tensors("repeated field 'dtype'", '{"a":{"dtype":"U8","dtype":"I8","shape":[8],"data_offsets":[0,8]}}');
  tensors("'__metadata__' occurs twice", `{"__metadata__":{},"__metadata__":{},"a":${one}}`);
  tensors("metadata 'k' occurs twice", `{"__metadata__":{"k":"1","k":"2"},"a":${one}}`);
});

test('safetensors: JSON of another structure', () => {
  tensors("does not begin with '{'", '[]');
  tensors("does not begin with '{'", ' {}');
  tensors("does not begin with '{'", '\ufeff{}');
  tensors('expected a string', '{a:1}');
  tensors('expected a string', '{"a":1,}'.replace('1', JSON.stringify(entry([8], [0, 8]))));
  tensors("expected '{'", '{"a":null}');
  tensors("expected '{'", '{"a":[]}');
  tensors('unknown dtype', { a: entry([8], [0, 8], 'F128') });
  tensors('expected a string', { a: entry([8], [0, 8], 3) });
  tensors("unknown or repeated field 'more'", { a: { more: 1, ...entry([8], [0, 8]) } });
  tensors('needs dtype', { a: {} });
  tensors('expected a string', { __metadata__: { k: 1 } });
  tensors('expected the end', '{}{}');
  tensors('a string has no end', '{"a');
  tensors('control character', '{"a\n":1}');
  tensors('unknown escape', '{"a\\q":1}');
  refused('not UTF-8', openSafetensorsSync, concat(u64(4), new Uint8Array([0x7b, 0xff, 0x22, 0x7d])));
  // As deep as a header can be, and as wide: refused at the second bracket.
  equal(tensors("expected '{'", `{"a":${'['.repeat(100_000)}`).offset, 8 + 5);
});

test('safetensors: the length of the header', () => {
  for (const length of [0, 1, 100_000_001, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n]) {
    refused('bytes; 2 to 100000000 are allowed', openSafetensorsSync, concat(u64(length), text('{}')));
  }
});

const MAX_HEADER = 100_000_000;

/** A file that begins with a length and a text. The rest of its bytes is a hole, which takes no space. */
function headerOf(length: number, begin: string, size: number, name = 'file'): string {
  const path = fileOf(concat(u64(length), text(begin)), name);
  truncateSync(path, size);
  return path;
}

/** A sparse file: these bytes, and then a hole up to its size. */
function sparse(bytes: Uint8Array, size: number, name: string): string {
  const path = fileOf(bytes, name);
  truncateSync(path, size);
  return path;
}

interface Opening {
  problem: string;
  largest: number;
  grown: number;
  kept: number[];
}

/**
 * Opens files in a process that counts what is allocated, and returns their errors. `largest` is the size of an array,
 * and `grown` the memory of the process in MiB, with room for the engine.
 */
function opened(paths: string[], limits: { largest: number; grown: number }): string[] {
  const { code, output } = runChild(import.meta.url, './children/header.js', { args: paths });
  equal(code, 0, output);
  return (JSON.parse(output) as Opening[]).map(({ problem, largest, grown, kept }) => {
    ok(largest <= limits.largest && grown <= limits.grown, output);
    if (problem !== 'opened') equal(kept, [0, 0], output);
    return problem;
  });
}

test('safetensors: a header of 100 MB that the file does not have, or that is too long, takes no memory', () => {
  const paths = [
    ...['file', 'file.blob'].flatMap((name) => [
      headerOf(MAX_HEADER, '{}', 10, name),
      headerOf(MAX_HEADER + 1, '{}', 10, name),
    ]),
    headerOf(MAX_HEADER + 1, '{', 8 + MAX_HEADER + 1), // which the file has
  ];
  const problems = opened(paths, { largest: 1 << 17, grown: 64 });
  for (const [i, problem] of problems.entries()) {
    const isTooLong = i % 2 === 1 || i === 4;
    ok(problem.includes(isTooLong ? '2 to 100000000 are allowed' : 'inside the header'), problem);
  }
  equal(problems.length, 5);
});

test('safetensors: a header of the largest size takes memory for its pages, a copy and its text', () => {
  const size = 8 + MAX_HEADER;
  const largest = MAX_HEADER;
  const [none] = opened([headerOf(MAX_HEADER, '', size)], { largest, grown: 600 });
  ok(none?.includes("does not begin with '{'"), none);
  const spaces = fileOf(concat(u64(MAX_HEADER), text('{}'.padEnd(MAX_HEADER))));
  const [open, unended] = opened([spaces, headerOf(MAX_HEADER, '{"a', size)], { largest, grown: 1000 });
  equal(open, 'opened');
  ok(unended?.includes('control character'), unended);
});

test('safetensors and index: more names than any model has', () => {
  const count = 1_000_001;
  const members = (value: string) => Array.from({ length: count }, (_, i) => `"${i.toString(36)}":${value}`).join(',');
  const paths = [
    fileOf(safetensors(`{"__metadata__":{${members('""')}}}`, new Uint8Array())),
    fileOf(safetensors(`{${members('{"dtype":"U8","shape":[0],"data_offsets":[0,0]}')}}`, new Uint8Array())),
    fileOf(`{"weight_map":{${members('"a"')}}}`, 'x.json'),
    fileOf(`{"metadata":[${'{},'.repeat(1_000_000)}0]}`, 'y.json'),
  ];
  const problems = opened(paths, { largest: MAX_HEADER, grown: 1500 });
  const expected = ['1000000 pairs of metadata', '1000000 tensors', '1000000 tensors'];
  for (const [i, text] of [...expected, 'at most 1048576 characters'].entries()) {
    ok(problems[i]?.includes(text), problems[i]);
  }
});

test('safetensors and index: 200,000 tensors open', () => {
  const count = 200_000;
  const tensors = Array.from({ length: count }, (_, i) => [`layer.${i}`, entry([1], [i, i + 1])]);
  using file = openSafetensorsSync(fileOf(safetensors(Object.fromEntries(tensors), new Uint8Array(count).fill(7))));
  equal([file.size, file.get('layer.199999').get(0)], [count, 7]);
});

test('index: path traversal and other structures', () => {
  const index = (problem: string, json: string) => refused(problem, openSafetensorsSync, json, 'x.index.json');
  for (const name of ['../a', '/etc/passwd', 'a/b', 'a\\b', 'C:a', '..', '.', '', 'a\u0000b', '%2e%2e', 'a?b', 'a#b']) {
    index('not a file name in this folder', JSON.stringify({ weight_map: { x: name } }));
  }
  index("no 'weight_map'", '{}');
  index("expected '{'", '[]');
  index("'x' occurs twice", '{"weight_map":{"x":"a","x":"b"}}');
  index("'weight_map' occurs twice", '{"weight_map":{},"weight_map":{}}');
  index('at most 64 levels', `{"metadata":${'['.repeat(100)}${']'.repeat(100)}}`);
  index('JSON is malformed', '{"metadata":nul,"weight_map":{}}');
  const missing = fileOf('{"weight_map":{"x":"missing"}}', 'x.index.json');
  equal(throws('FileError', 'no such file', () => openSafetensorsSync(missing)).code, 'ENOENT');
});

const dict = (shape: string, descr = "'<f8'", order = 'False') =>
  `{'descr': ${descr}, 'fortran_order': ${order}, 'shape': ${shape}, }`;
const array = (problem: string, header: string, data = new Uint8Array(16)) =>
  refused(problem, openNpySync, npy(header, data));

test('npy: truncated', () => {
  const whole = npy(dict('(2,)'), new Uint8Array(16));
  for (let length = 0; length < whole.length; length++) refused('', openNpySync, whole.subarray(0, length));
});

test('npy: headers', () => {
  array("'shape'", dict('(-2,)'));
  array("'shape'", dict('(2.5,)').replace('2.5', "'2'"));
  array("'shape'", dict('(99999999999999999999,)'));
  array("'shape'", dict('2'));
  array('more than 2^53 - 1 bits', dict('(4294967296, 4294967296)'));
  array('more than 2^53 - 1 bits', dict('(0, 4294967296, 4294967296)'));
  array('needs 24 bytes of data but only 16', dict('(3,)'));
  array("a bool as 'fortran_order'", dict('(2,)', "'<f8'", '0'));
  array("expected a dict of 'descr'", "{'descr': '<f8', 'fortran_order': False}");
  array("expected a dict of 'descr'", "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'more': 1}");
  array("'shape' occurs twice", "{'shape': (1,), 'shape': (2,), 'descr': '<f8'}");
  array('levels', `{'descr': ${'['.repeat(1000)}`);
  array('expected a literal', '__import__("os").system("true")');
  array('expected a literal', dict('(os.nlink,)'));
  array('no end', "{'descr");
  array('axes', dict(`(${'1, '.repeat(65)})`));
  array('the end of the header', `${dict('(2,)')} 1`);
  refused('magic', openNpySync, 'PK not an array');
  refused('version is 9', openNpySync, concat(new Uint8Array([0x93]), text('NUMPY'), new Uint8Array([9, 0, 0, 0])));
  const huge = concat(new Uint8Array([0x93]), text('NUMPY'), new Uint8Array([2, 0]), u32(0xffffffff));
  refused('are allowed', openNpySync, huge);
});

const good = npy(dict('(2,)'), new Uint8Array(16));

test('npz: directories', () => {
  const whole = zip([{ name: 'a.npy', content: good }]);
  for (let length = 0; length < whole.length; length += 7) refused('', openNpzSync, whole.subarray(0, length));
  refused('do not fit a directory', openNpzSync, zip([{ name: 'a.npy', content: good }], { count: 60000 }));
  refused('', openNpzSync, zip([{ name: 'a.npy', content: good }], { start: 0xfffffff0 }));
  refused('malformed', openNpzSync, zip([{ name: 'a.npy', content: good }], { start: 4 }));
  refused(
    'occurs twice',
    openNpzSync,
    zip([
      { name: 'a.npy', content: good },
      { name: 'a.npy', content: good },
    ]),
  );
  refused('encrypted', openNpzSync, zip([{ name: 'a.npy', content: good, flags: 1 }]));
  refused('method 12', openNpzSync, zip([{ name: 'a.npy', content: good, method: 12 }]));
  refused('two sizes differ', openNpzSync, zip([{ name: 'a.npy', content: good, size: 5 }]));
  refused('no npy arrays', openNpzSync, zip([{ name: 'a.txt', content: good }]));
  refused('Zip64 field is missing', openNpzSync, zip([{ name: 'a.npy', content: good, method: 8, size: 0xffffffff }]));
});

test('npz: members outside the archive or inside each other', () => {
  const get = (path: string) => openNpzSync(path).get('a');
  refused('overlaps', openNpzSync, zip([{ name: 'a.npy', content: good, offset: 200 }]));
  refused(
    'overlaps',
    openNpzSync,
    zip([
      { name: 'a.npy', content: good },
      { name: 'b.npy', content: good, offset: 0 },
    ]),
  );
  refused(
    'not where the directory says',
    get,
    zip([{ name: 'b.npy', content: good }]).map((byte, i, all) =>
      i > all.length / 2 && byte === 98 && all[i + 1] === 46 ? 97 : byte,
    ),
  );
});

test('npz: bombs', () => {
  const zeros = new Uint8Array(deflateRawSync(new Uint8Array(1 << 20)));
  const claim = (size: number) => zip([{ name: 'a.npy', content: zeros, method: 8, size }]);
  refused('more than', openNpzSync, claim(0xfffffff0));
  const big = npy(dict(`(${1 << 17},)`), new Uint8Array(1 << 20));
  const bomb = new Uint8Array(deflateRawSync(big));
  // The member is larger than its size in the directory, so reading stops there.
  refused(
    'needs',
    (path) => openNpzSync(path).get('a'),
    zip([{ name: 'a.npy', content: bomb, method: 8, size: 4096 }]),
  );
  refused(
    'damaged',
    (path) => openNpzSync(path).get('a'),
    zip([{ name: 'a.npy', content: bomb, method: 8, size: big.length + 64 }]),
  );
  refused(
    'damaged',
    (path) => openNpzSync(path).get('a'),
    zip([{ name: 'a.npy', content: bomb, method: 8, size: big.length, crc: 1 }]),
  );
  refused(
    'begin with',
    (path) => openNpzSync(path).get('a'),
    zip([{ name: 'a.npy', content: new Uint8Array(64).fill(255), method: 8, size: 200 }]),
  );
});

const model = (problem: string, bytes: Uint8Array) => refused(problem, openGgufSync, bytes);
const f32 = { name: 'x', dims: [2], type: 0, offset: 0 };

test('gguf: truncated, and other versions', () => {
  const whole = gguf([['k', 8, ggufString('v')]], [f32], new Uint8Array(8));
  for (let length = 0; length < whole.length; length++) model('', whole.subarray(0, length));
  model("does not begin with 'GGUF'", text('GGML and more'));
  model('the version is 1', gguf([], [], new Uint8Array(), { version: 1 }));
  model('highest byte first', gguf([], [], new Uint8Array(), { version: 3 << 24 }));
});

test('gguf: counts, lengths and depths that are too large for the file', () => {
  model('do not fit a file', gguf([], [], new Uint8Array(64), { tensorCount: 2 ** 52 }));
  model('do not fit a file', gguf([], [], new Uint8Array(), { pairCount: 2 ** 52 }));
  model('inside the header', gguf([], [], new Uint8Array(), { pairCount: 1 }));
  model('inside the header', gguf([['k', 8, u64(2n ** 63n)]], [], new Uint8Array()));
  model('inside the header', gguf([['k', 9, concat(u32(4), u64(2n ** 61n))]], [], new Uint8Array()));
  model('inside the header', gguf([['k', 9, concat(u32(8), u64(2n ** 40n))]], [], new Uint8Array()));
  const nested = concat(...Array.from({ length: 9 }, () => concat(u32(9), u64(1))), u32(4), u64(0));
  model('nested more than', gguf([['k', 9, nested]], [], new Uint8Array(64)));
  model('unknown type 13', gguf([['k', 13, u32(0)]], [], new Uint8Array()));
  model(
    "metadata 'k' occurs twice",
    gguf(
      [
        ['k', 4, u32(0)],
        ['k', 4, u32(0)],
      ],
      [],
      new Uint8Array(),
    ),
  );
  model('general.alignment is 7', gguf([['general.alignment', 4, u32(7)]], [], new Uint8Array()));
  model('general.alignment is a', gguf([['general.alignment', 8, ggufString('a')]], [], new Uint8Array()));
});

test('gguf: headers that a hole fills', () => {
  const array = (type: number, count: number | bigint) =>
    gguf([['k', 9, concat(u32(type), u64(count))]], [], new Uint8Array());
  const counts = (counts: { tensorCount?: number; pairCount?: number }) => gguf([], [], new Uint8Array(), counts);
  const mega = 1_000_000;
  const refusedPaths = [
    sparse(array(0, 113 * mega), 114 * mega, 'a.gguf'), // more elements than an array of V8 can have
    sparse(array(8, 5 * mega), 64 * mega, 'b.gguf'),
    sparse(array(7, 5 * mega), 64 * mega, 'c.gguf'),
    sparse(array(9, mega), 64 * mega, 'd.gguf'),
    sparse(counts({ pairCount: 17 * mega }), 300 * mega, 'e.gguf'),
    sparse(counts({ tensorCount: 17 * mega }), 500 * mega, 'f.gguf'),
    sparse(gguf([['k', 8, u64(2 ** 36)]], [], new Uint8Array()), 2 ** 37, 'g.gguf'),
  ];
  const problems = opened(refusedPaths, { largest: MAX_HEADER, grown: 500 });
  const items = 'arrays have more than 4000000 values';
  const bytes = `more than ${MAX_HEADER} bytes`;
  const texts = [bytes, items, items, items, 'than 1000000 pairs', 'than 1000000 tensors', bytes];
  for (const [i, text] of texts.entries()) ok(problems[i]?.includes(text), problems[i]);
  const long = sparse(array(0, 90 * mega), 91 * mega, 'h.gguf');
  equal(opened([long], { largest: MAX_HEADER, grown: 500 }), ['opened']);
});

test('npz: directories that a hole fills', () => {
  /** A zip file that is nothing but a hole and its ends, of which the one for Zip64 names the directory. */
  const ends = (count: number, size: number, offset: number, at: number) =>
    concat(
      u32(0x06064b50),
      u64(44),
      u32(0),
      u32(0),
      u32(0),
      u64(count),
      u64(count),
      u64(size),
      u64(offset),
      ...[u32(0x07064b50), u32(0), u64(at), u32(1)],
      ...[u32(0x06054b50), u32(0), u32(0xffffffff), u32(0xffffffff), u32(0xffffffff), u16(0)],
    );
  const make = (count: number, size: number, name: string): string => {
    const path = sparse(new Uint8Array(), size, name);
    appendFileSync(path, ends(count, size, 0, size));
    return path;
  };
  const problems = opened([make(2 ** 30, 2 ** 36, 'a.npz'), make(1_500_000, 99_000_000, 'b.npz')], {
    largest: 1 << 17,
    grown: 100,
  });
  ok(problems[0]?.includes(`${MAX_HEADER} are allowed`), problems[0]);
  ok(problems[1]?.includes('more than 1000000 members'), problems[1]);
});

test('gguf: tensors', () => {
  const one = (change: Partial<typeof f32> | object, data = new Uint8Array(64)) =>
    gguf([], [{ ...f32, ...change }], data);
  model('occurs twice', gguf([], [f32, f32], new Uint8Array(64)));
  model(
    'overlaps',
    gguf(
      [],
      [
        { ...f32, dims: [16] },
        { ...f32, name: 'y', offset: 32 },
      ],
      new Uint8Array(128),
    ),
  );
  model('not a multiple of 32', one({ offset: 4 }));
  model('needs bytes up to', one({ offset: 64 }));
  model('needs bytes up to', one({ dims: [2 ** 40] }));
  model('more than 2^53 - 1 bits', one({ dims: [2 ** 40, 2 ** 40] }));
  model('the length Infinity', one({ dims: [2n ** 63n] }));
  model('has 9 axes', one({ dims: new Array(9).fill(1) }));
  model('not whole blocks of 32', one({ type: 2, dims: [33] }));
});

test('files of other formats are named in the error', async () => {
  const other = (problem: string, open: (path: string) => unknown, bytes: Uint8Array | string) =>
    equal(refused(problem, open, bytes).offset, 0);
  const npz = zip([{ name: 'a.npy', content: good }]);
  const weights = safetensors({ a: entry([8], [0, 8]) }, new Uint8Array(8));
  const llama = gguf([], [f32], new Uint8Array(8));
  for (const open of [openSafetensorsSync, openNpzSync, openGgufSync] as const)
    other('an npy file; open it with openNpy()', open, good);
  for (const open of [openSafetensorsSync, openNpySync, openGgufSync] as const)
    other('an npz file; open it with openNpz()', open, npz);
  for (const open of [openNpySync, openNpzSync, openGgufSync] as const) other('with openSafetensors()', open, weights);
  for (const open of [openSafetensorsSync, openNpySync, openNpzSync] as const) other('with openGguf()', open, llama);
  for (const open of [openSafetensorsSync, openNpySync, openNpzSync, openGgufSync] as const) {
    other('a PyTorch checkpoint', open, zip([{ name: 'archive/data.pkl', content: good }]));
    other('a Python pickle', open, concat(new Uint8Array([0x80, 2]), text('.'.repeat(50))));
    other('an HDF5 file', open, concat(new Uint8Array([0x89]), text('HDF\r\n\x1a\n'), new Uint8Array(64)));
    other('git lfs pull', open, 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n');
    other('a web page', open, '<!DOCTYPE html><title>Not found</title>');
  }
  const index = fileOf(weights, 'x.index.json');
  throws('FileFormatError', 'the index of a sharded model but this is a safetensors file', () =>
    openSafetensorsSync(index),
  );
  await rejects('FileFormatError', 'openNpy()', openSafetensors(new Blob([good])));
});

test('files opened with the function of another format', () => {
  for (const open of [openSafetensorsSync, openNpzSync, openGgufSync, openNpySync]) {
    refused('', open, concat(u16(0x1234), new Uint8Array(500)));
  }
});
