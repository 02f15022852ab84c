/**
 * Shaders for strided copies. Shape, steps and starts are constants of the text. Each invocation writes one unit, or one word
 * where units are smaller, so that neighbouring invocations access neighbouring memory.
 */

import { isDense, type Move, unitsOf, type Window } from './move.js';
import {
  bindings,
  type Frame,
  indices,
  int,
  maskOf,
  positions,
  readUnit,
  type Shader,
  shiftOf,
  types,
} from './shader-text.js';
import { squareOf, squareShader } from './squares.js';

/**
 * The shader of a move. `mayPad`: the bytes from the last element to the next multiple of four may be overwritten. `group`:
 * invocations of a workgroup. `bits`: how many bits of each unit are written; below 8 only for units of one byte.
 *
 * | the target | shader |
 * |---|---|
 * | units below a word, with gaps or at the edge of a word | {@link atomicShader} |
 * | contiguous along another axis than the source | {@link squareShader} |
 * | other units below a word | {@link packingShader} |
 * | other units | {@link wordShader} |
 */
export function shaderOf(move: Move, from: Window, to: Window, mayPad: boolean, group: number, bits = 8): Shader {
  const { unit } = move;
  const word = Math.max(unit, 4);
  const frame: Frame = {
    group,
    starts: [(move.from - from.offset) / unit, (move.to - to.offset) / unit],
    counts: [Math.floor(from.size / word), Math.floor(to.size / word)],
  };
  if (bits < 8) return atomicShader(move, frame, bits);
  const isAligned = move.to % 4 === 0 && ((unitsOf(move) * unit) % 4 === 0 || mayPad);
  if (unit < 4 && !(isDense(move) && isAligned)) return atomicShader(move, frame, unit * 8);
  const square = squareOf(move, group);
  if (square !== null) return squareShader(move, frame, square);
  return unit < 4 ? packingShader(move, frame) : wordShader(move, frame);
}

function program(element: string, target: string, { counts, group }: Frame, threads: number, body: string): Shader {
  const code = `${bindings(element, target, counts)}
@compute @workgroup_size(${group})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let thread = (group.y * groups.x + group.x) * ${group}u + local;
  if (thread >= ${threads}u) { return; }
  var t = i32(thread);
  ${body}
}
`;
  return { code, groups: Math.ceil(threads / group) };
}

/** Units of a word or more. */
function wordShader(move: Move, frame: Frame): Shader {
  const { text, threads } = indices(move.shape);
  const type = types[move.unit] as string;
  return program(type, type, frame, threads, `${text}\n  ${positions(move, frame)}\n  result[o] = source[f];`);
}

/** Units of 1 or 2 bytes that fill the target: each invocation writes a whole word, which no other writes. */
function packingShader(move: Move, frame: Frame): Shader {
  const { unit, shape, fromSteps } = move;
  const perWord = 4 / unit;
  const last = shape.length - 1;
  if ((shape[last] as number) % perWord !== 0) return flatShader(move, frame);
  const step = fromSteps[last] as number;
  // The same move in words: a step along the last axis is a word of the target.
  const words: Move = {
    ...move,
    shape: shape.with(last, (shape[last] as number) / perWord),
    fromSteps: fromSteps.with(last, step * perWord),
    toSteps: move.toSteps.with(last, perWord),
  };
  const { text, threads } = indices(words.shape);
  const parts = Array.from(
    { length: perWord },
    (_, i) => `(${readUnit(unit, `f + ${int(i * step)}`)} << ${i * unit * 8}u)`,
  );
  const store = `result[o / ${perWord}] = ${parts.join(' | ')};`;
  return program('u32', 'u32', frame, threads, `${text}\n  ${positions(words, frame)}\n  ${store}`);
}

/** As {@link packingShader} where a word holds the end of one row and the start of the next. */
function flatShader(move: Move, frame: Frame): Shader {
  const { unit, shape, fromSteps } = move;
  const [from, to] = frame.starts;
  const perWord = 4 / unit;
  const total = unitsOf(move);
  const steps = shape.map((length, axis) =>
    axis === 0
      ? `f += rest * ${int(fromSteps[0] as number)};`
      : `f += (rest % ${length}) * ${int(fromSteps[axis] as number)}; rest = rest / ${length};`,
  );
  const body = `var word = 0u;
  for (var k = 0; k < ${perWord}; k++) {
    var rest = t * ${perWord} + k;
    if (rest >= ${total}) { break; }
    var f = ${int(from)};
    ${steps.reverse().join('\n    ')}
    word |= ${readUnit(unit, 'f')} << (u32(k) * ${unit * 8}u);
  }
  result[${to / perWord} + t] = word;`;
  return program('u32', 'u32', frame, Math.ceil(total / perWord), body);
}

/**
 * The first bits of units of 1 or 2 bytes anywhere: other invocations write the other bytes of a word, so each clears and
 * sets bits.
 */
function atomicShader(move: Move, frame: Frame, bits: number): Shader {
  const { unit } = move;
  const { text, threads } = indices(move.shape);
  const body = `${text}
  ${positions(move, frame)}
  let at = o >> ${shiftOf(unit)};
  let bit = u32(o & ${maskOf(unit)}) * ${unit * 8}u;
  atomicAnd(&result[at], ~(${2 ** bits - 1}u << bit));
  atomicOr(&result[at], ${readUnit(unit, 'f', bits)} << bit);`;
  return program('u32', 'atomic<u32>', frame, threads, body);
}
