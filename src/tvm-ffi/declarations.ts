/** TypeScript declarations from the metadata of a kernel library. */

import { node } from '../native/load/node-modules.js';
import { functionNames } from './function-names.js';
import { ffi } from './library.js';
import { describeFunction, loadModule } from './module.js';
import { callBuiltin, library } from './native-values.js';
import { describeType, findType, MemberFlag } from './objects/types.js';

const { basename } = node.path;

/** The type schema of TVM-FFI: a name and its parameters. */
interface Schema {
  readonly type: string;
  readonly args?: readonly Schema[];
  readonly named_args?: { readonly return: readonly Schema[]; readonly params: readonly Schema[] };
}

const plain: Readonly<Record<string, string>> = {
  Any: 'unknown',
  None: 'undefined',
  int: 'number | bigint',
  bool: 'boolean',
  float: 'number',
  'void*': 'OpaquePointer',
  DataType: 'DataType',
  Device: 'DeviceValue',
  'DLTensor*': 'TensorView',
  'ffi.Tensor': 'Tensor',
  'ffi.String': 'string',
  'const char*': 'string',
  'ffi.Bytes': 'Uint8Array',
  'ffi.Shape': 'Shape',
  'ffi.Error': 'TVMFFIError',
};

/** Parameters that accept more than the type of a result. */
const plainParameters: Readonly<Record<string, string>> = { None: 'null | undefined', DataType: 'DataType | DType' };

/** The types that declarations import from `dlpack` and from `dlpack/tvm-ffi`. */
const coreTypes = ['DType', 'Tensor', 'TensorView'];
const objectTypes = ['Dict', 'FFIFunction', 'FFIObject', 'List', 'TVMFFIError'];
const ffiTypes = ['DataType', 'DeviceValue', 'OpaquePointer', 'Shape', ...objectTypes].sort();

/** The names of the interfaces for the types that the library registers, by their keys. */
const interfaces = new Map<string, string>();

/** The type of a result, or of a parameter, which may accept more. */
function declare(schema: Schema, isResult: boolean): string {
  const known = (isResult ? undefined : plainParameters[schema.type]) ?? plain[schema.type];
  if (known !== undefined) return known;
  const args = (schema.args ?? []).map((arg) => declare(arg, isResult));
  const [first = 'unknown', second = 'unknown'] = args;
  switch (schema.type) {
    case 'Optional':
      return `${first} | ${isResult ? 'undefined' : 'null | undefined'}`;
    case 'Variant':
      return [...new Set(args)].join(' | ');
    case 'ffi.Array':
      return `${isResult ? '' : 'readonly '}${first.includes(' ') ? `(${first})` : first}[]`;
    case 'ffi.List':
      return `List<${first}>`;
    case 'ffi.Map':
      if (isResult) return `Map<${first}, ${second}>`;
      return `ReadonlyMap<${first}, ${second}>${first === 'string' ? ` | Record<string, ${second}>` : ''}`;
    case 'ffi.Dict':
      return `Dict<${first}, ${second}>`;
    case 'ffi.Function': {
      const signature = signatureOf(schema, 0);
      return signature === null ? 'FFIFunction' : `((${signature.parameters}) => ${signature.result})`;
    }
    default:
      return interfaces.get(schema.type) ?? 'FFIObject';
  }
}

/** Older libraries list the result first among the parameters. */
function signatureOf({ named_args, args }: Schema, skip: number): { parameters: string; result: string } | null {
  const [result, parameters] = named_args
    ? [named_args.return[0], named_args.params]
    : [args?.[0], args?.slice(1) ?? []];
  if (result === undefined) return null;
  return {
    parameters: parameters
      .slice(skip)
      .map((parameter, i) => `arg${i}: ${declare(parameter, false)}`)
      .join(', '),
    result: result.type === 'None' ? 'void' : declare(result, true),
  };
}

/** The schema in the metadata of a function, field or method; null if there is none. */
function schemaOf(metadata: string | null): Schema | null {
  const text =
    metadata === null || metadata === '' ? undefined : (JSON.parse(metadata) as { type_schema?: string }).type_schema;
  return text === undefined ? null : (JSON.parse(text) as Schema);
}

const typeKeys = () => new Set(callBuiltin('ffi.GetRegisteredTypeKeys', []) as string[]);

/** Gives each type an interface: the last part of its key, or the whole key where that is taken. */
function nameInterfaces(keys: readonly string[]): void {
  const taken = new Set(['Kernels', ...coreTypes, ...ffiTypes]);
  for (const key of keys) {
    const last = (key.split('.').at(-1) as string).replaceAll(/\W/g, '_');
    const name = taken.has(last) ? key.replaceAll(/\W/g, '_') : last;
    taken.add(name);
    interfaces.set(key, name);
  }
}

function interfaceOf(key: string): string {
  const { parent, fields, methods } = describeType(findType(key) as number);
  const lines = fields.map(({ name, flags, metadata }) => {
    const schema = schemaOf(metadata);
    const type = schema === null ? 'unknown' : declare(schema, true);
    return `  ${(flags & MemberFlag.writable) === 0 ? 'readonly ' : ''}${propertyName(name)}: ${type};`;
  });
  // Static methods are methods of the class. The object itself is the first parameter of the others.
  const own = methods.filter(({ name, flags }) => (flags & MemberFlag.isStatic) === 0 && !name.startsWith('__'));
  const calls = own.map(({ name, metadata }) => methodOf(name, metadata, 1));
  const base = (parent < 0 ? undefined : interfaces.get(describeType(parent).key)) ?? 'FFIObject';
  return `/** ${key} */\nexport interface ${interfaces.get(key)} extends ${base} {\n${[...lines, ...calls].join('\n')}\n}\n`;
}

function methodOf(name: string, metadata: string | null, skip: number): string {
  const schema = schemaOf(metadata);
  const signature = schema === null ? null : signatureOf(schema, skip);
  const type = signature === null ? ': FFIFunction' : `(${signature.parameters}): ${signature.result}`;
  return `  ${propertyName(name)}${type};`;
}

const propertyName = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

function memberOf(name: string, metadata: string | null, doc: string | null): string {
  const lines = doc === null ? [] : doc.replaceAll('*/', '* /').trim().split('\n');
  const comment =
    lines.length === 0 ? '' : `  /**\n${lines.map((line) => `   * ${line}`.trimEnd()).join('\n')}\n   */\n`;
  return comment + methodOf(name, metadata, 0);
}

/**
 * Makes a `.d.ts` with the interface `Kernels`, for `loadModule<Kernels>(path)`, and an interface for each type that the
 * library registers, for `objectClass<IntPair>(key)`.
 */
export function moduleDeclarations(path: string): string {
  library();
  const before = ffi.isReflective ? typeKeys() : new Set<string>();
  const module = loadModule(path);
  const added = ffi.isReflective ? [...typeKeys()].filter((key) => !before.has(key)).sort() : [];
  nameInterfaces(added);
  const members = functionNames(path).map((name) => {
    const { metadata, doc } = describeFunction(module, name);
    return memberOf(name, metadata, doc);
  });
  const types = added.map(interfaceOf);
  const body = [...types, ...members].join('\n');
  const imports = (names: readonly string[], from: string): string => {
    const used = names.filter((name) => new RegExp(`\\b${name}\\b`).test(body));
    return used.length === 0 ? '' : `import type { ${used.join(', ')} } from '${from}';\n`;
  };
  return (
    `// Written by dlpack types from the metadata of ${basename(path)}.\n` +
    imports(coreTypes, 'dlpack') +
    imports(ffiTypes, 'dlpack/tvm-ffi') +
    `\n${types.map((type) => `${type}\n`).join('')}export interface Kernels {\n${members.join('\n')}\n}\n`
  );
}
