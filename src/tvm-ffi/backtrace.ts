/**
 * Stacks of JavaScript and backtraces of TVM-FFI. A stack has lines such as `    at name (file:line:column)`, a
 * backtrace `  File "file", line 1, in name`, as Python prints them. In both, the most recent call is first.
 */
import { node } from '../native/node-modules.js';

const { fileURLToPath } = node.url;

/**
 * How frames of this package look: the file of the published chunk, or the folder of the sources in runtimes that apply
 * source maps.
 */
let own: string | null = null;

function findOwn(): string {
  const frame = new Error().stack?.split('\n').find((line) => line.includes('findOwn')) ?? '';
  // No frame contains the second text. It is not the URL of this module, which Babel cannot convert to CommonJS.
  return form.exec(frame)?.[2]?.replace(/backtrace\.ts$/, '') ?? '\0';
}

/** True for a frame of the functions in this package that call native code, or that native code calls. */
function isOwn(frame: string): boolean {
  own ??= findOwn();
  return frame.includes(own);
}

/** A frame without a file, which is the native function in some engines. */
const isNative = (frame: string): boolean => /\((?:unknown|native(?: code)?)\)$/.test(frame);

/** A frame in a stack. */
const isFrame = (line: string): boolean => /^\s+at /.test(line);
/** `at name (file:line:column)`, or `at file:line:column`. */
const form = /^\s+at (?:async )?(?:(.*) \((.*?):(\d+)(?::\d+)?\)|(.*?):(\d+)(?::\d+)?)$/;

/** The frames of a stack up to the native function that called JavaScript, as a backtrace. */
export function toBacktrace(stack: string): string {
  const { frames, from } = partsOf(stack);
  return frames.slice(0, from).map(toNativeFrame).join('');
}

function toNativeFrame(frame: string): string {
  const [, name = '<anonymous>', inside, insideLine, file = inside, line = insideLine] = form.exec(frame) ?? [];
  if (file === undefined) return '';
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

/** The frames of a backtrace up to the call from JavaScript, as lines of a stack. */
function toStack(backtrace: string): string[] {
  const frames: string[] = [];
  for (const line of backtrace.split('\n')) {
    if (line.includes('dlpack::tvm_ffi::')) break;
    const found = /^\s*File "(.*)", line (\d+), in (.*)$/.exec(line);
    if (found !== null) frames.push(`    at ${found[3]} (${found[1]}:${found[2]})`);
  }
  return frames;
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

// V8 ends the process if it compiles a regular expression where the stack is full. It compiles one at the first and the
// second use, apart for strings with and without characters above U+00FF.
for (const name of ['f', 'f', '\u0100', '\u0100']) {
  // With null, `joinFrames` calls `findOwn`, and ignores its error in a program whose stacks are not strings.
  for (own of [null, '(own']) {
    joinFrames(
      { stack: `Error\n    at ${name} (/a:1:1)\n    at g (own:1:1)\n    at (native)` },
      `  File "/a", line 1, in ${name}\n  File "/b", line 1, in ${name}\n`,
    );
  }
}
own = null;
