/** The smallest ONNX models: one operator, as protobuf bytes, so that no tool is needed to make them. */

const ascii = (text: string): number[] => [...new TextEncoder().encode(text)];

function varint(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest & 127) | 128);
  }
}

const number = (field: number, value: number): number[] => [...varint(field << 3), ...varint(value)];
const nested = (field: number, bytes: number[]): number[] => [
  ...varint((field << 3) | 2),
  ...varint(bytes.length),
  ...bytes,
];

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

/** A value with two axes of any length. */
function valueInfo(name: string, type: number): number[] {
  const axis = (symbol: string) => nested(1, nested(2, ascii(symbol)));
  const tensor = [...number(1, type), ...nested(2, [...axis('rows'), ...axis('columns')])];
  return [...nested(1, ascii(name)), ...nested(2, nested(1, tensor))];
}

/** A model with one operator: from `x`, as often as the operator has operands, to `y`. */
export function makeModel(operator: string, operands: number, type: keyof typeof elementTypes): Uint8Array {
  const inputs = Array.from({ length: operands }, () => nested(1, ascii('x'))).flat();
  const node = [...inputs, ...nested(2, ascii('y')), ...nested(4, ascii(operator))];
  const graph = [
    ...nested(1, node),
    ...nested(2, ascii('graph')),
    ...nested(11, valueInfo('x', elementTypes[type])),
    ...nested(12, valueInfo('y', elementTypes[type])),
  ];
  const operators = [...nested(1, []), ...number(2, 13)]; // the standard ones, version 13
  return Uint8Array.from([...number(1, 8), ...nested(7, graph), ...nested(8, operators)]);
}
