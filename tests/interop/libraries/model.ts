/** Small ONNX models as protobuf bytes, so that no tool is needed to make them. */

const ascii = (text: string): number[] => [...new TextEncoder().encode(text)];

/** Without shifts, which would cut a number to 32 bits. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest % 128) | 128);
  }
}

const number = (field: number, value: number): number[] => [...varint(field << 3), ...varint(value)];
const nested = (field: number, bytes: readonly number[]): number[] => [
  ...varint((field << 3) | 2),
  ...varint(bytes.length),
  ...bytes,
];
const text = (field: number, value: string): number[] => nested(field, ascii(value));

/** Numbers of `TensorProto.DataType`. */
export const elementTypes = {
  float32: 1,
  uint8: 2,
  int8: 3,
  uint16: 4,
  int16: 5,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
  float64: 11,
  uint32: 12,
  uint64: 13,
} as const;

/** A length, a name, or null for any length. */
type Axis = number | string | null;
export type Type =
  | { readonly tensor: number; readonly shape?: readonly Axis[] }
  | { readonly sequence: Type }
  | { readonly optional: Type }
  | { readonly map: readonly [key: number, value: Type] };

function typeProto(type: Type): number[] {
  if ('sequence' in type) return nested(4, nested(1, typeProto(type.sequence)));
  if ('optional' in type) return nested(9, nested(1, typeProto(type.optional)));
  if ('map' in type) return nested(5, [...number(1, type.map[0]), ...nested(2, typeProto(type.map[1]))]);
  const axis = (length: Axis) =>
    nested(1, typeof length === 'number' ? number(1, length) : length === null ? [] : text(2, length));
  return nested(1, [
    ...number(1, type.tensor),
    ...(type.shape === undefined ? [] : nested(2, type.shape.flatMap(axis))),
  ]);
}

const valueInfo = (name: string, type: Type): number[] => [...text(1, name), ...nested(2, typeProto(type))];

/** An attribute: an integer, a list of integers, or texts. */
type Attribute = number | readonly number[] | readonly string[];

function attributeProto(name: string, value: Attribute): number[] {
  if (typeof value === 'number') return [...text(1, name), ...number(3, value), ...number(20, 2)];
  const isText = typeof value[0] === 'string';
  const items = value.flatMap((item) => (typeof item === 'string' ? nested(9, ascii(item)) : number(8, item)));
  return [...text(1, name), ...items, ...number(20, isText ? 8 : 7)];
}

export interface Node {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly domain?: string;
  readonly attributes?: Readonly<Record<string, Attribute>>;
}

const nodeProto = ({ op, inputs, outputs, domain, attributes = {} }: Node): number[] => [
  ...inputs.flatMap((name) => text(1, name)),
  ...outputs.flatMap((name) => text(2, name)),
  ...text(4, op),
  ...Object.entries(attributes).flatMap(([name, value]) => nested(5, attributeProto(name, value))),
  ...(domain === undefined ? [] : text(7, domain)),
];

/** A constant of a model. */
export interface Constant {
  readonly type: number;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

export interface Graph {
  readonly nodes: readonly Node[];
  readonly inputs: Readonly<Record<string, Type>>;
  readonly outputs: Readonly<Record<string, Type>>;
  readonly constants?: Readonly<Record<string, Constant>>;
  readonly opset?: number;
  /** Of ai.onnx.ml. */
  readonly mlOpset?: number;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** The bytes of a model. */
export function makeGraph({
  nodes,
  inputs,
  outputs,
  constants = {},
  opset = 13,
  mlOpset,
  metadata,
}: Graph): Uint8Array {
  const values = (field: number, types: Readonly<Record<string, Type>>) =>
    Object.entries(types).flatMap(([name, type]) => nested(field, valueInfo(name, type)));
  const graph = [
    ...nodes.flatMap((node) => nested(1, nodeProto(node))),
    ...text(2, 'graph'),
    ...Object.entries(constants).flatMap(([name, { type, shape, bytes }]) =>
      nested(5, [
        ...shape.flatMap((length) => number(1, length)),
        ...number(2, type),
        ...text(8, name),
        ...nested(9, [...bytes]),
      ]),
    ),
    ...values(11, inputs),
    ...values(12, outputs),
  ];
  const operators = [...text(1, ''), ...number(2, opset)];
  return Uint8Array.from([
    ...number(1, 10),
    ...nested(7, graph),
    ...nested(8, operators),
    ...(mlOpset === undefined ? [] : nested(8, [...text(1, 'ai.onnx.ml'), ...number(2, mlOpset)])),
    ...Object.entries(metadata ?? {}).flatMap(([key, value]) => nested(14, [...text(1, key), ...text(2, value)])),
  ]);
}

/** A model with one operator: from `x`, as often as the operator has operands, to `y`. Two axes of any length. */
export function makeModel(operator: string, operands: number, type: keyof typeof elementTypes): Uint8Array {
  const matrix = { tensor: elementTypes[type], shape: ['rows', 'columns'] };
  return makeGraph({
    nodes: [{ op: operator, inputs: Array.from({ length: operands }, () => 'x'), outputs: ['y'] }],
    inputs: { x: matrix },
    outputs: { y: matrix },
  });
}
