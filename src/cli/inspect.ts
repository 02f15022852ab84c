/** dlpack inspect: what is in a file of tensors. */

import { writeFileSync } from 'node:fs';
import { nearest } from '../base/options.js';
import { printable } from '../base/printable.js';
import { ArgumentValueError } from '../errors.js';
import { type Command, parse, UsageError } from './command.js';
import { readContents } from './inspect/contents.js';
import type { Contents, Listed } from './inspect/listed.js';
import { pngOf } from './inspect/picture.js';
import { type Statistics, statisticsOf, statisticsText } from './inspect/statistics.js';
import { bytesText, countText } from './inspect/text.js';
import { treeText } from './inspect/tree.js';

export const command: Command = {
  help: `Usage: dlpack inspect <file> [options]

Lists the tensors of a safetensors, npy, npz, GGUF or ONNX file with their dtypes, shapes and sizes, or the functions of a kernel
library. It reads only the header, so a file of any size takes a moment. Layers that look alike stand once.

  --all            list every layer
  --stats          read the data, and add the least, greatest and mean element and a histogram
  --image <name>   write the tensor of this name as a PNG
  --out <file>     the file for --image; the default is <name>.png
  --json           print JSON

  dlpack inspect model.safetensors
  dlpack inspect faces.npz --image mean --out mean.png
`,
  run(args) {
    const { values, positionals } = parse(args, {
      all: 'boolean',
      stats: 'boolean',
      image: 'string',
      out: 'string',
      json: 'boolean',
    });
    const [path, ...rest] = positionals;
    if (path === undefined) throw new UsageError('expected the path of a file');
    if (rest.length > 0) throw new UsageError(`expected one file but received "${rest[0]}", too`);
    if (values.out !== undefined && values.image === undefined) throw new UsageError('expected --image with --out');
    const contents = readContents(path);
    try {
      if (values.image !== undefined) writeImage(contents, values.image, values.out);
      else if (values.json === true) process.stdout.write(json(path, contents, values.stats === true));
      else process.stdout.write(text(path, contents, values.all === true, values.stats === true));
    } finally {
      contents.close();
    }
    return 0;
  },
};

const allTensors = ({ sections }: Contents): Listed[] => sections.flatMap(({ tensors }) => tensors);

function statistics({ load }: Listed): Statistics | null {
  if (load === null) return null;
  using tensor = load();
  return statisticsOf(tensor);
}

function summary(path: string, contents: Contents): string {
  const { format, functions } = contents;
  const tensors = allTensors(contents).filter(({ nbytes }) => nbytes !== null);
  const number = (count: number, word: string) => `${countText(count)} ${word}${count === 1 ? '' : 's'}`;
  const counted = functions.length > 0 ? number(functions.length, 'function') : number(tensors.length, 'tensor');
  const bytes = tensors.reduce((sum, { nbytes }) => sum + (nbytes ?? 0), 0);
  const elements = tensors.reduce((sum, { shape }) => sum + shape.reduce<number>((n, axis) => n * Number(axis), 1), 0);
  const sizes = tensors.length === 0 ? '' : `, ${number(elements, 'element')}, ${bytesText(bytes)}`;
  return `${printable(path)}: ${format}, ${counted}${sizes}\n`;
}

/** The longest text of metadata that is shown whole. Tokenizers put their vocabulary there. */
const METADATA_LENGTH = 60;

function metadataText(metadata: Contents['metadata']): string {
  return Object.entries(metadata)
    .map(([key, value]) => {
      const text = typeof value === 'string' || typeof value !== 'object' ? String(value) : `${lengthOf(value)} values`;
      const line = printable(text.replaceAll(/\s+/g, ' '));
      return `  ${printable(key)}: ${line.length > METADATA_LENGTH ? `${line.slice(0, METADATA_LENGTH)}…` : line}\n`;
    })
    .join('');
}

const lengthOf = (value: object | null): number =>
  (value as { length?: number } | null)?.length ?? Object.keys(value ?? {}).length;

function text(path: string, contents: Contents, isWhole: boolean, withStats: boolean): string {
  const more = (tensor: Listed): string => {
    const found = withStats ? statistics(tensor) : null;
    return found === null ? '' : `  ${statisticsText(found)}`;
  };
  const { metadata, sections, functions } = contents;
  const trees = sections
    .filter(({ tensors }) => tensors.length > 0)
    .map(
      ({ title, tensors }) => `\n${title === '' ? '' : `${title}\n`}${treeText(tensors, isWhole || withStats, more)}`,
    );
  const names = functions.length === 0 ? '' : `\n${functions.map((name) => `  ${name}\n`).join('')}`;
  return summary(path, contents) + metadataText(metadata) + trees.join('') + names;
}

function json(path: string, contents: Contents, withStats: boolean): string {
  const { format, metadata, sections, functions } = contents;
  const tensors = sections.flatMap(({ title, tensors: listed }) =>
    listed.map((tensor) => {
      const { name, dtype, shape, nbytes } = tensor;
      const section = title === '' ? {} : { section: title };
      return { ...section, name, dtype, shape, nbytes, ...(withStats ? { stats: statistics(tensor) } : {}) };
    }),
  );
  const report = { schema: 1, path, format, metadata, tensors, ...(functions.length > 0 ? { functions } : {}) };
  // JSON has no bigints, which GGUF has in its metadata.
  return `${JSON.stringify(report, (_, value) => (typeof value === 'bigint' ? String(value) : value), 2)}\n`;
}

function writeImage(contents: Contents, name: string, out = `${name.replaceAll(/[^\w.-]/g, '_')}.png`): void {
  const tensors = allTensors(contents);
  const found = tensors.find((tensor) => tensor.name === name);
  if (found === undefined) {
    const names = tensors.map((tensor) => tensor.name);
    // In a long name, people remember the last part.
    const meant = names.find((known) => known.endsWith(`.${name}`)) ?? nearest(name, names);
    const advice = meant === null ? 'dlpack inspect --all lists them' : `did you mean '${meant}'?`;
    throw new ArgumentValueError('image', `one of the ${tensors.length} tensors of the file`, name, advice);
  }
  if (found.load === null) throw new ArgumentValueError('image', 'a tensor with data of a dtype', found.dtype);
  using tensor = found.load();
  writeFileSync(out, pngOf(tensor));
  process.stdout.write(`${out}\n`);
}
