/** The texts of the shaders that turn images into tensors and tensors into images. */

import type { FromImageOptions, ImageDType } from '../adapters/image-options.js';
import type { Picture } from './image-source.js';
import { int } from './shader-text.js';

type Fit = NonNullable<FromImageOptions['fit']>;

/** Four factors and four terms: of red, green, blue and alpha. */
export interface Linear {
  readonly factors: readonly number[];
  readonly terms: readonly number[];
}

/** The tensor that a shader writes. */
export interface Target {
  readonly dtype: ImageDType;
  readonly channels: number;
  readonly height: number;
  readonly width: number;
  readonly isPlanes: boolean;
  readonly fit: Fit;
  readonly linear: Linear;
}

/** Elements of a dtype in a word of four bytes, and the function that makes a word of them. */
const words: Record<ImageDType, { readonly count: number; pack(elements: readonly string[]): string }> = {
  float32: { count: 1, pack: ([element]) => `bitcast<u32>(${element})` },
  float16: { count: 2, pack: (elements) => `pack2x16float(vec2<f32>(${elements.join(', ')}))` },
  uint8: { count: 4, pack: (elements) => `pack4x8unorm(vec4<f32>(${elements.join(', ')}))` },
};

const vector = (values: readonly number[]): string => `vec4<f32>(${values.map((value) => `f32(${value})`).join(', ')})`;

/** Source pixels per result pixel along both axes. */
const scales: Record<Fit, string> = {
  fill: 'ratio',
  contain: 'vec2<f32>(max(ratio.x, ratio.y))',
  cover: 'vec2<f32>(min(ratio.x, ratio.y))',
};

/**
 * A shader that samples an image once for each pixel of a tensor. A result pixel is the mean of the source pixels around its
 * centre, whose weights fall linearly to zero at the distance of one result pixel, or of one source pixel where the result
 * is larger: Pillow and torchvision reduce images in this way. At the image's own size it is the pixel itself.
 */
export function imageShader(target: Target, type: Picture['type'], group: number): { code: string; threads: number } {
  const { width, height, fit, linear } = target;
  const level = type === 'texture_external' ? '' : ', 0';
  const { body, threads } = storesOf(target);
  const code = `@group(0) @binding(0) var image: ${type};
@group(0) @binding(1) var<storage, read_write> result: array<u32>;
fn pixel(index: u32) -> vec4<f32> {
  let p = min(index, ${width * height - 1}u);
  let size = vec2<f32>(${width}, ${height});
  let limits = vec2<i32>(textureDimensions(image));
  let whole = vec2<f32>(limits);
  let ratio = whole / size;
  let scale = ${scales[fit]};
  let centre = (vec2<f32>(f32(p % ${width}u), f32(p / ${width}u)) + 0.5 - size / 2) * scale + whole / 2;
  var sum = vec4<f32>(0, 0, 0, 1);
  if (all(centre >= vec2<f32>(0)) && all(centre <= whole)) {
    let reach = max(scale, vec2<f32>(1));
    let first = max(vec2<i32>(centre - reach + 0.5), vec2<i32>(0));
    let end = min(vec2<i32>(centre + reach + 0.5), limits);
    var total = 0.0;
    sum = vec4<f32>(0);
    for (var y = first.y; y < end.y; y++) {
      let row = max(0.0, 1 - abs(f32(y) + 0.5 - centre.y) / reach.y);
      for (var x = first.x; x < end.x; x++) {
        let weight = row * max(0.0, 1 - abs(f32(x) + 0.5 - centre.x) / reach.x);
        sum += weight * textureLoad(image, vec2<i32>(x, y)${level});
        total += weight;
      }
    }
    sum /= total;
  }
  return sum * ${vector(linear.factors)} + ${vector(linear.terms)};
}
@compute @workgroup_size(${group})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let t = (group.y * groups.x + group.x) * ${group}u + local;
  if (t >= ${threads}u) { return; }
  ${body}
}
`;
  return { code, threads };
}

/** Statements that write the words of an invocation. Each word is written once, whole. */
function storesOf({ dtype, channels, width, height, isPlanes }: Target): { body: string; threads: number } {
  const { count, pack } = words[dtype];
  const pixels = width * height;
  const list = (length: number, make: (i: number) => string): string[] => Array.from({ length }, (_, i) => make(i));
  if (isPlanes && pixels % count !== 0) {
    // A word holds the end of one plane and the start of the next.
    const element = (i: number) =>
      `pixel((t * ${count}u + ${i}u) % ${pixels}u)[min((t * ${count}u + ${i}u) / ${pixels}u, 3u)]`;
    return { body: `result[t] = ${pack(list(count, element))};`, threads: Math.ceil((channels * pixels) / count) };
  }
  const read = list(count, (i) => `let v${i} = pixel(t * ${count}u + ${i}u);`);
  const stores = list(channels, (word) => {
    if (isPlanes) return `result[${(word * pixels) / count}u + t] = ${pack(list(count, (i) => `v${i}[${word}]`))};`;
    const element = (i: number) => {
      const place = word * count + i;
      return `v${Math.floor(place / channels)}[${place % channels}]`;
    };
    const last = Math.ceil((channels * pixels) / count);
    const at = `t * ${channels}u + ${word}u`;
    return `if (${at} < ${last}u) { result[${at}] = ${pack(list(count, element))}; }`;
  });
  return { body: [...read, ...stores].join('\n  '), threads: Math.ceil(pixels / count) };
}

/** The tensor that a shader draws. Steps and the start are in elements. */
export interface Drawn {
  readonly dtype: ImageDType;
  readonly start: number;
  readonly steps: readonly [row: number, column: number, channel: number];
  readonly channels: number;
  readonly linear: Linear;
  /** Colours are multiplied by alpha, as a canvas needs them. */
  readonly isPremultiplied: boolean;
}

const elements: Record<ImageDType, string> = {
  float32: 'bitcast<f32>(source[i])',
  float16: 'unpack2x16float(source[i >> 1])[i & 1]',
  uint8: 'unpack4x8unorm(source[i >> 2])[i & 3]',
};

/** A shader that draws a tensor into a texture of its size. */
export function drawShader({ dtype, start, steps, channels, linear, isPremultiplied }: Drawn): string {
  const [row, column, channel] = steps;
  const colour = [0, 1, 2].map((i) => `element(p + ${int(channels === 1 ? 0 : i * channel)})`);
  const alpha = channels === 4 ? `element(p + ${int(3 * channel)})` : '1';
  return `@group(0) @binding(0) var<storage, read> source: array<u32>;
fn element(i: i32) -> f32 { return ${elements[dtype]}; }
@vertex fn corner(@builtin(vertex_index) i: u32) -> @builtin(position) vec4<f32> {
  return vec4<f32>(f32(i & 1u) * 4 - 1, f32(i >> 1u) * 4 - 1, 0, 1);
}
@fragment fn colour(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
  let p = ${int(start)} + i32(at.y) * ${int(row)} + i32(at.x) * ${int(column)};
  let value = vec4<f32>(${colour.join(', ')}, ${alpha}) * ${vector(linear.factors)} + ${vector(linear.terms)};
  ${isPremultiplied ? 'return vec4<f32>(value.rgb * value.a, value.a);' : 'return value;'}
}
`;
}
