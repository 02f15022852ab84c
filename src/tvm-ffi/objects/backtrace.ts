/**
 * Stacks of JavaScript and backtraces of TVM-FFI. A stack has lines such as `    at name (file:line:column)`, a
 * backtrace `  File "file", line 1, in name`, as Python prints them. In both, the most recent call is first. There are no
 * regular expressions here: V8 ends the process if it has to compile one where the stack is full.
 */

import { node } from '../../native/load/node-modules.js';

const { fileURLToPath } = node.url;

/**
 * How frames of this package look: the file of the published chunk, or the folder of the sources in runtimes that apply
 * source maps.
 */
let own: string | null = null;

function findOwn(): string {
  const frame = new Error().stack?.split('\n').find((line) => line.includes('findOwn')) ?? '';
  // No frame contains the second text. It is not the URL of this module, which Babel cannot convert to CommonJS.
  const file = parseFrame(frame)?.file ?? '\0';
  return file.endsWith('backtrace.ts') ? file.slice(0, -'backtrace.ts'.length) : file;
}

/** True for a frame of the functions in this package that call native code, or that native code calls. */
function isOwn(frame: string): boolean {
  own ??= findOwn();
  return frame.includes(own);
}

/** A frame without a file, which is the native function in some engines. */
const isNative = (frame: string): boolean =>
  ['(unknown)', '(native)', '(native code)'].some((place) => frame.endsWith(place));

/** A frame in a stack. */
const isFrame = (line: string): boolean => line.startsWith(' ') && line.trimStart().startsWith('at ');

/** Where a call is. */
interface Place {
  readonly name: string;
  readonly file: string;
  readonly line: string;
}

const isNumber = (text: string | undefined): text is string => Number.isInteger(Number(text || NaN));

/** The place in a frame `at name (file:line:column)` or `at file:line:column`, also without a column; null without a file. */
function parseFrame(frame: string): Place | null {
  const text = frame.trim().slice('at '.length);
  const call = text.startsWith('async ') ? text.slice('async '.length) : text;
  const open = call.endsWith(')') ? call.lastIndexOf(' (') : -1;
  const parts = (open < 0 ? call : call.slice(open + 2, -1)).split(':');
  if (isNumber(parts.at(-1)) && isNumber(parts.at(-2))) parts.pop(); // the column
  const line = parts.pop();
  if (!isNumber(line) || parts.length === 0) return null;
  return { name: open < 0 ? '<anonymous>' : call.slice(0, open), file: parts.join(':'), line };
}

/** The frames of a stack up to the native function that called JavaScript, as a backtrace. */
export function toBacktrace(stack: string): string {
  const { frames, from } = partsOf(stack);
  return frames.slice(0, from).map(toNativeFrame).join('');
}

function toNativeFrame(frame: string): string {
  const place = parseFrame(frame);
  if (place === null) return '';
  const { name, file, line } = place;
  return `  File "${file.startsWith('file:') ? pathOf(file) : file}", line ${line}, in ${name}\n`;
}

function pathOf(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    return url;
  }
}

/** The message, the frames, and where among the frames those of this package begin and end. */
function partsOf(stack: string): { message: string[]; frames: string[]; from: number; to: number } {
  const lines = stack.split('\n');
  const first = lines.findIndex(isFrame);
  const frames = first < 0 ? [] : lines.slice(first);
  const found = frames.findIndex(isOwn);
  const from = found < 0 ? frames.length : found;
  let to = from;
  while (to < frames.length && (isOwn(frames[to] as string) || isNative(frames[to] as string))) to++;
  return { message: first < 0 ? lines : lines.slice(0, first), frames, from, to };
}

/** A line of a backtrace as a line of a stack; null for other lines. */
function toFrame(line: string): string | null {
  const text = line.trimStart();
  const [start, middle, inside] = ['File "', '", line ', ', in '];
  const end = text.lastIndexOf(middle);
  const rest = text.slice(end + middle.length);
  const at = rest.indexOf(inside);
  const number = rest.slice(0, at);
  if (!text.startsWith(start) || end < 0 || at < 0 || !isNumber(number)) return null;
  return `    at ${rest.slice(at + inside.length)} (${text.slice(start.length, end)}:${number})`;
}

/** The frames of a backtrace up to the call from JavaScript, as lines of a stack. */
function toStack(backtrace: string): string[] {
  const lines = backtrace.split('\n');
  const end = lines.findIndex((line) => line.includes('dlpack::tvm_ffi::'));
  return (end < 0 ? lines : lines.slice(0, end)).map(toFrame).filter((frame) => frame !== null);
}

/** Puts the native frames of an error between those of JavaScript, in the place of this package's own frames. */
export function joinFrames(error: { stack?: unknown }, backtrace: string): void {
  try {
    if (typeof error.stack !== 'string') return;
    const { message, frames, from, to } = partsOf(error.stack);
    const inner = frames.slice(0, from);
    const known = inner.map(toNativeFrame).join('');
    const native = backtrace.startsWith(known) ? toStack(backtrace.slice(known.length)) : [];
    if (native.length > 0 || from === 0)
      error.stack = [...message, ...inner, ...native, ...frames.slice(to)].join('\n');
  } catch {
    // A frozen error, or a getter that throws: the stack stays as it is.
  }
}
