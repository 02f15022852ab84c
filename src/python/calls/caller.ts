/** Where a program called Python: the frames of a stack without those of this package. */

/** More than V8's ten frames, because up to eight frames are inside this package. */
const OWN_FRAMES = 8;

/** Records the stack. Its text is made only if somebody reads it, which takes longer than a call. */
export function captureCaller(): Error {
  const limited = Error as { stackTraceLimit?: number };
  const { stackTraceLimit } = limited;
  const hasLimit = typeof stackTraceLimit === 'number' && stackTraceLimit > 0;
  if (hasLimit) limited.stackTraceLimit = stackTraceLimit + OWN_FRAMES;
  const caller = new Error('caller');
  if (hasLimit) limited.stackTraceLimit = stackTraceLimit;
  return caller;
}

/** The folder of the published files, as it is in frames; null in a bundle, whose frames may be those of the program. */
let own: string | null | undefined;

function findOwn(): string | null {
  const frame = linesOf(captureCaller())[0] ?? '';
  const end = frame.indexOf('/dist/chunks/');
  const start = Math.max(frame.indexOf('at ') + 'at '.length, frame.lastIndexOf('(') + 1);
  return end < start ? null : frame.slice(start, end + '/dist/'.length);
}

const linesOf = ({ stack }: Error): string[] =>
  typeof stack === 'string' ? stack.split('\n').filter((line) => line.trimStart().startsWith('at ')) : [];

/** The frames of the program, a line for each. */
export function framesOf(caller: Error): string[] {
  own ??= findOwn();
  const folder = own;
  return linesOf(caller).filter((line) => folder === null || !line.includes(folder));
}
